//! What one end has sent, and what of it is not answered yet.

use super::super::tracker::is_newer;
use crate::unit::Nanos;

/// So many are waited for at once: of a full window some segments are sampled, not all.
const WAITING: usize = 4;

/// What has waited so long will not be answered.
const LOST: Nanos = Nanos::from_secs(10);

/// The oldest of what will be answered by its number and is not yet, a few.
#[derive(Copy, Clone, Debug, Default)]
struct Queue {
    /// When the oldest was sent.
    since: Nanos,
    numbers: [u32; WAITING],
    /// So many nanoseconds after the oldest each was sent. What is sent later than they can say is not sampled, nor what is stamped
    /// before another that was sent before it.
    later: [u32; WAITING],
    count: u8,
    /// The newest number, waited for or not, if one is known.
    newest: u32,
    is_known: bool,
}

impl Queue {
    /// One in which none is waited for.
    fn of(newest: Option<u32>) -> Self {
        Self { newest: newest.unwrap_or(0), is_known: newest.is_some(), ..Self::default() }
    }

    fn newest(&self) -> Option<u32> {
        self.is_known.then_some(self.newest)
    }

    const fn set_newest(&mut self, number: u32) {
        (self.newest, self.is_known) = (number, true);
    }

    fn push(&mut self, number: u32, at: Nanos) {
        if self.count == 0 || at - self.since > LOST {
            (self.count, self.since) = (0, at);
        }
        let place = usize::from(self.count);
        let last = if place > 0 { self.later[place - 1] } else { 0 };
        if place < WAITING
            && let Ok(later) = u32::try_from((at - self.since).0)
            && later >= last
        {
            (self.numbers[place], self.later[place]) = (number, later);
            self.count += 1;
        }
    }

    /// Something with this number passes late, stamped then, which asks for an answer or for nothing: it was the first with it.
    fn correct(&mut self, number: u32, at: Nanos, asks: bool) {
        let count = usize::from(self.count);
        // Nearly all pass in order.
        if count == 0 || at >= self.at(count - 1) {
            return;
        }
        let kept: [(u32, Nanos); WAITING] =
            std::array::from_fn(|place| (self.numbers[place], self.at(place)));
        let is_it = |(one, then): &(u32, Nanos)| *one == number && at < *then;
        if !kept[..count].iter().any(is_it) {
            return;
        }
        self.count = 0;
        for one in &kept[..count] {
            match is_it(one) {
                true if asks => self.push(number, at),
                true => {}
                false => self.push(one.0, one.1),
            }
        }
    }

    /// When the one at this place was sent.
    fn at(&self, place: usize) -> Nanos {
        self.since + Nanos(i64::from(self.later[place]))
    }

    /// How many of them have a number that is not beyond this one.
    fn up_to(&self, number: u32) -> usize {
        let waiting = &self.numbers[..usize::from(self.count)];
        waiting.iter().take_while(|waiting| !is_newer(**waiting, number)).count()
    }

    /// Answers up to `number`: when that was sent which has just this number.
    #[inline]
    fn answer(&mut self, number: u32) -> Option<Nanos> {
        let answered = self.up_to(number);
        let last = answered.checked_sub(1)?;
        let (own, at) = (self.numbers[last], self.at(last));
        let left = usize::from(self.count) - answered;
        if left > 0 {
            let oldest = self.later[answered];
            self.since = self.at(answered);
            for place in 0..left {
                self.numbers[place] = self.numbers[answered + place];
                self.later[place] = self.later[answered + place] - oldest;
            }
        }
        self.count = left as u8;
        (own == number).then_some(at)
    }

    /// What lies beyond `number` is waited for no longer.
    fn forget_after(&mut self, number: u32) {
        self.count = self.up_to(number) as u8;
    }
}

/// What one end asks of the other with its data, since the other's last.
#[derive(Copy, Clone, Debug, Default)]
enum Asked {
    #[default]
    Nothing,
    /// Its last data passed then, and all of it once.
    At(Nanos),
    /// Something of it passed twice, or out of order, or may have.
    Twice,
}

/// Whether what seems new may have been sent before anything of this end was seen.
///
/// An acknowledgment does not end that: a sender that goes back sends all again that was under way, however much it is, and
/// the answers to what it had sent before arrive soon after each.
#[derive(Copy, Clone, Debug, Default)]
enum Beginning {
    /// It may.
    #[default]
    Unseen,
    /// A SYN, and nothing since: anybody can forge one, and an old one may come late. What follows is known to be new once it is
    /// answered.
    Begun,
    /// It may; and since then all that was seen of it is acknowledged, and it has sent nothing.
    Settled(Nanos),
    /// Not since the handshake, or a rest in which whatever had been under way would have been sent again. What it asks is
    /// known then too.
    Seen(Asked),
}

/// What one end has sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    beginning: Beginning,
    /// The newest number is that after the last byte that it has sent.
    bytes: Queue,
    /// Its time stamps.
    stamps: Queue,
}

impl Sent {
    /// A SYN: its round trip is the handshake's. What lies before `next` was sent with it.
    pub(super) fn begin(&mut self, next: u32, stamp: Option<u32>) {
        // It may pass late: then what passed before it bore newer stamps, and was the first to.
        let known = self.stamps.newest().filter(|known| stamp.is_some_and(|stamp| is_newer(*known, stamp)));
        let stamps = Queue::of(known.or(stamp));
        *self = Self { beginning: Beginning::Begun, bytes: Queue::of(Some(next)), stamps };
    }

    /// Whether it begins here already, and has sent nothing since.
    pub(super) fn begins(&self, next: u32) -> bool {
        self.bytes.newest() == Some(next)
    }

    /// Whether a SYN/ACK with this acknowledgment answers its SYN, since which it has sent nothing. What that brought may have
    /// been refused.
    pub(super) fn is_opened_by(&self, acknowledgment: u32) -> bool {
        let is_near = |next: u32| next.wrapping_sub(acknowledgment) <= u32::from(u16::MAX);
        self.is_begun() && self.bytes.newest().is_some_and(is_near)
    }

    /// Whether it has sent a SYN, and nothing since.
    pub(super) const fn is_begun(&self) -> bool {
        matches!(self.beginning, Beginning::Begun)
    }

    /// Whether nothing of it was heard.
    pub(super) fn is_unheard(&self) -> bool {
        self.bytes.newest().is_none() && self.stamps.newest().is_none()
    }

    /// Its SYN is answered, or answers one: all that it sends from here is seen.
    pub(super) const fn opened(&mut self) {
        self.beginning = Beginning::Seen(Asked::Nothing);
    }

    /// Whether what seems new is.
    #[inline]
    pub(super) const fn is_seen(&self) -> bool {
        matches!(self.beginning, Beginning::Seen(_))
    }

    /// Something that is to be acknowledged: `length` sequence numbers, with a time stamp of which it is known or not that nothing bore
    /// it before.
    pub(super) fn send(
        &mut self,
        at: Nanos,
        sequence: u32,
        length: u32,
        stamp: Option<(u32, bool)>,
        is_data: bool,
    ) {
        let end = sequence.wrapping_add(length);
        self.beginning = match self.beginning {
            Beginning::Seen(asked) => Beginning::Seen(asked),
            Beginning::Settled(since) if at - since >= LOST && self.bytes.newest() == Some(sequence) => {
                Beginning::Seen(Asked::Nothing)
            }
            _ => Beginning::Unseen,
        };
        let seems_new = self.bytes.newest().is_none_or(|next| !is_newer(next, sequence));
        if seems_new {
            self.bytes.push(end, at);
        } else {
            // Sent again, or out of order: which one is acknowledged will not be known (Karn).
            self.bytes.forget_after(sequence);
        }
        if self.is_more(end) {
            self.bytes.set_newest(end);
        }
        if is_data && let Beginning::Seen(asked) = &mut self.beginning {
            let is_once = seems_new && !matches!(asked, Asked::Twice);
            *asked = if is_once { Asked::At(at) } else { Asked::Twice };
        }
        if let Some((stamp, is_first)) = stamp {
            self.stamp(stamp, at, is_first);
        }
    }

    /// A segment with this time stamp, which asks for an answer or not: the first with it is what its echo answers. Of the very first that
    /// passes it is not known whether it is; nor, where the beginning was not seen, of those that may be copies.
    #[inline]
    pub(super) fn stamp(&mut self, stamp: u32, at: Nanos, asks: bool) {
        match self.stamps.newest() {
            Some(newest) if is_newer(stamp, newest) => {
                self.stamps.set_newest(stamp);
                if asks {
                    self.stamps.push(stamp, at);
                }
            }
            Some(_) => self.stamps.correct(stamp, at, asks),
            None => self.stamps.set_newest(stamp),
        }
    }

    /// When that was sent, so far as was [seen](Self::is_seen), which this acknowledgment answers.
    pub(super) fn acknowledged(&mut self, at: Nanos, acknowledgment: u32) -> Option<Nanos> {
        let is_beyond = self.bytes.newest().is_some_and(|next| is_newer(acknowledgment, next));
        match &mut self.beginning {
            Beginning::Unseen if self.bytes.newest() == Some(acknowledgment) => {
                self.beginning = Beginning::Settled(at);
            }
            // It has sent more than passed. What of that passes yet is late, or sent again.
            Beginning::Settled(_) if is_beyond => self.beginning = Beginning::Unseen,
            Beginning::Seen(asked) if is_beyond => {
                *asked = Asked::Twice;
                self.bytes.set_newest(acknowledgment);
            }
            _ => {}
        }
        self.bytes.answer(acknowledgment)
    }

    /// When the time stamp was sent first that this is the first echo of.
    pub(super) fn echoed(&mut self, echo: u32) -> Option<Nanos> {
        // Something with this stamp has not passed: what passes yet with it is not what was answered first. (0 is no echo.)
        if self.stamps.newest().is_some_and(|newest| echo != 0 && is_newer(echo, newest)) {
            self.stamps.set_newest(echo);
        }
        self.stamps.answer(echo)
    }

    /// Whether data that end here hold anything that it has not sent before, nor had acknowledged.
    pub(super) fn is_more(&self, end: u32) -> bool {
        self.bytes.newest().is_none_or(|next| is_newer(end, next))
    }

    /// When the last byte of a request was sent to which data with this acknowledgment is the reply.
    pub(super) fn replied(&mut self, acknowledgment: u32) -> Option<Nanos> {
        let Beginning::Seen(asked) = &mut self.beginning else { return None };
        match std::mem::take(asked) {
            Asked::At(at) if self.bytes.newest() == Some(acknowledgment) => Some(at),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LOST, Queue, WAITING, is_newer};
    use crate::unit::Nanos;
    use proptest::prelude::*;

    /// Numbers in ascending order, whatever their times, and answers between them: what is told is when just that was sent, and all is
    /// told that fits.
    fn hold(steps: Vec<(bool, u32, i64)>) -> Result<(), TestCaseError> {
        let (mut queue, mut waiting) = (Queue::default(), Vec::<(u32, Nanos)>::new());
        let (mut number, mut at) = (u32::MAX - 20, Nanos(1 << 40));
        for (is_sent, more, later) in steps {
            if is_sent {
                (number, at) = (number.wrapping_add(more), at + Nanos(later));
                queue.push(number, at);
                if waiting.first().is_some_and(|(_, oldest)| at - *oldest > LOST) {
                    waiting.clear();
                }
                let since = waiting.first().map_or(Nanos::ZERO, |(_, oldest)| at - *oldest);
                let is_in_order = waiting.last().is_none_or(|(_, last)| at >= *last);
                if waiting.len() < WAITING && is_in_order && since.0 <= i64::from(u32::MAX) {
                    waiting.push((number, at));
                }
            } else {
                let answer = number.wrapping_sub(more);
                let left: Vec<_> =
                    waiting.iter().copied().filter(|(one, _)| is_newer(*one, answer)).collect();
                let told = waiting.iter().find(|(one, _)| *one == answer).map(|(_, at)| *at);
                prop_assert_eq!(queue.answer(answer), told);
                waiting = left;
            }
            let kept: Vec<_> = (0..usize::from(queue.count)).map(|place| queue.at(place)).collect();
            prop_assert_eq!(kept, waiting.iter().map(|(_, at)| *at).collect::<Vec<_>>());
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn what_is_answered_was_sent_then(
            steps in prop::collection::vec((any::<bool>(), 1..4_u32, prop_oneof![
                0..1_000_i64, -500..0_i64, 0..6_000_000_000_i64,
            ]), 1..60),
        ) {
            hold(steps)?;
        }
    }
}
