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
    numbers: [u32; WAITING],
    /// When each was sent.
    times: [Nanos; WAITING],
    count: u8,
}

impl Queue {
    fn push(&mut self, number: u32, at: Nanos) {
        if self.count > 0 && at - self.times[0] > LOST {
            self.count = 0;
        }
        let place = usize::from(self.count);
        if place < WAITING {
            (self.numbers[place], self.times[place]) = (number, at);
            self.count += 1;
        }
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
        let (own, at) = (self.numbers[last], self.times[last]);
        let count = usize::from(self.count);
        self.numbers.copy_within(answered..count, 0);
        self.times.copy_within(answered..count, 0);
        self.count = (count - answered) as u8;
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
    /// After the last byte that it has sent; `None` before its first.
    next: Option<u32>,
    beginning: Beginning,
    newest_stamp: Option<u32>,
    bytes: Queue,
    stamps: Queue,
}

impl Sent {
    /// A SYN: its round trip is the handshake's. What lies before `next` was sent with it.
    pub(super) fn begin(&mut self, next: u32, stamp: Option<u32>) {
        *self =
            Self { next: Some(next), beginning: Beginning::Begun, newest_stamp: stamp, ..Self::default() };
    }

    /// Whether it begins here already, and has sent nothing since.
    pub(super) fn begins(&self, next: u32) -> bool {
        self.next == Some(next)
    }

    /// Whether a SYN/ACK with this acknowledgment answers its SYN, since which it has sent nothing. What that brought may have
    /// been refused.
    pub(super) fn is_opened_by(&self, acknowledgment: u32) -> bool {
        let is_near = |next: u32| next.wrapping_sub(acknowledgment) <= u32::from(u16::MAX);
        matches!(self.beginning, Beginning::Begun) && self.next.is_some_and(is_near)
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

    /// Something that is to be acknowledged: `length` sequence numbers.
    pub(super) fn send(&mut self, at: Nanos, sequence: u32, length: u32, stamp: Option<u32>, is_data: bool) {
        let end = sequence.wrapping_add(length);
        self.beginning = match self.beginning {
            Beginning::Seen(asked) => Beginning::Seen(asked),
            Beginning::Settled(since) if at - since >= LOST && self.next == Some(sequence) => {
                Beginning::Seen(Asked::Nothing)
            }
            _ => Beginning::Unseen,
        };
        let seems_new = self.next.is_none_or(|next| !is_newer(next, sequence));
        if seems_new {
            self.bytes.push(end, at);
        } else {
            // Sent again, or out of order: which one is acknowledged will not be known (Karn).
            self.bytes.forget_after(sequence);
        }
        if self.is_more(end) {
            self.next = Some(end);
        }
        if is_data && let Beginning::Seen(asked) = &mut self.beginning {
            let is_once = seems_new && !matches!(asked, Asked::Twice);
            *asked = if is_once { Asked::At(at) } else { Asked::Twice };
        }
        if let Some(stamp) = stamp
            && self.is_first_of(stamp)
        {
            self.stamps.push(stamp, at);
        }
    }

    /// Whether no segment with this time stamp passed before. Of the very first that is not known.
    #[inline]
    pub(super) fn is_first_of(&mut self, stamp: u32) -> bool {
        let is_known = self.newest_stamp.is_some();
        let is_newest = self.newest_stamp.is_none_or(|newest| is_newer(stamp, newest));
        if is_newest {
            self.newest_stamp = Some(stamp);
        }
        is_newest && is_known
    }

    /// When that was sent, so far as was [seen](Self::is_seen), which this acknowledgment answers.
    pub(super) fn acknowledged(&mut self, at: Nanos, acknowledgment: u32) -> Option<Nanos> {
        let is_beyond = self.next.is_some_and(|next| is_newer(acknowledgment, next));
        match &mut self.beginning {
            Beginning::Unseen if self.next == Some(acknowledgment) => {
                self.beginning = Beginning::Settled(at);
            }
            // It has sent more than passed. What of that passes yet is late, or sent again.
            Beginning::Settled(_) if is_beyond => self.beginning = Beginning::Unseen,
            Beginning::Seen(asked) if is_beyond => {
                *asked = Asked::Twice;
                self.next = Some(acknowledgment);
            }
            _ => {}
        }
        self.bytes.answer(acknowledgment)
    }

    /// When the time stamp was sent first that this is the first echo of.
    pub(super) fn echoed(&mut self, echo: u32) -> Option<Nanos> {
        // Something with this stamp has not passed: what passes yet with it is not what was answered first. (0 is no echo.)
        if let Some(newest) = &mut self.newest_stamp
            && echo != 0
            && is_newer(echo, *newest)
        {
            *newest = echo;
        }
        self.stamps.answer(echo)
    }

    /// Whether data that end here hold anything that it has not sent before, nor had acknowledged.
    pub(super) fn is_more(&self, end: u32) -> bool {
        self.next.is_none_or(|next| is_newer(end, next))
    }

    /// When the last byte of a request was sent to which data with this acknowledgment is the reply.
    pub(super) fn replied(&mut self, acknowledgment: u32) -> Option<Nanos> {
        let Beginning::Seen(asked) = &mut self.beginning else { return None };
        match std::mem::take(asked) {
            Asked::At(at) if self.next == Some(acknowledgment) => Some(at),
            _ => None,
        }
    }
}
