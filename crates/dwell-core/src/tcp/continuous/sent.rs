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

/// What one end has sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    /// After the last byte that it has sent; `None` before its first.
    next: Option<u32>,
    /// Its beginning was not seen: before this is acknowledged, what seems new may be a repetition.
    doubtful: Option<u32>,
    newest_stamp: Option<u32>,
    bytes: Queue,
    stamps: Queue,
    asked: Asked,
}

impl Sent {
    /// A SYN: its round trip is the handshake's. What lies before `next` was sent with it.
    pub(super) fn begin(&mut self, next: u32, stamp: Option<u32>) {
        *self = Self { next: Some(next), newest_stamp: stamp, ..Self::default() };
    }

    /// Something that is to be acknowledged: `length` sequence numbers.
    pub(super) fn send(&mut self, at: Nanos, sequence: u32, length: u32, stamp: Option<u32>, is_data: bool) {
        let end = sequence.wrapping_add(length);
        let seems_new = self.next.is_none_or(|next| !is_newer(next, sequence));
        if self.next.is_none() {
            self.doubtful = Some(end);
        }
        let is_new = seems_new && self.doubtful.is_none();
        if is_new {
            self.bytes.push(end, at);
        } else {
            // Sent again, or out of order: which one is acknowledged will not be known (Karn).
            self.bytes.forget_after(sequence);
        }
        if self.next.is_none_or(|next| is_newer(end, next)) {
            self.next = Some(end);
        }
        if is_data {
            let is_once = is_new && !matches!(self.asked, Asked::Twice);
            self.asked = if is_once { Asked::At(at) } else { Asked::Twice };
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

    /// When that was sent which this acknowledgment answers.
    pub(super) fn acknowledged(&mut self, acknowledgment: u32) -> Option<Nanos> {
        if self.doubtful.is_some_and(|doubtful| !is_newer(doubtful, acknowledgment)) {
            self.doubtful = None;
        }
        self.bytes.answer(acknowledgment)
    }

    /// When the time stamp was sent first that this is the first echo of.
    pub(super) fn echoed(&mut self, echo: u32) -> Option<Nanos> {
        self.stamps.answer(echo)
    }

    /// When the last byte of a request was sent to which data with this acknowledgment is the reply.
    pub(super) fn replied(&mut self, acknowledgment: u32) -> Option<Nanos> {
        match std::mem::take(&mut self.asked) {
            Asked::At(at) if self.next == Some(acknowledgment) => Some(at),
            _ => None,
        }
    }
}
