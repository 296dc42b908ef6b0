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

/// What one end has sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    /// After the last byte that it has sent; `None` before its first.
    next: Option<u32>,
    newest_stamp: Option<u32>,
    bytes: Queue,
    stamps: Queue,
    /// When its last data passed that nothing was said to yet; `None` also if it was sent twice.
    asked: Option<Nanos>,
}

impl Sent {
    /// A SYN: its round trip is the handshake's.
    pub(super) fn begin(&mut self, sequence: u32) {
        *self = Self { next: Some(sequence.wrapping_add(1)), ..Self::default() };
    }

    /// Something that is to be acknowledged: `length` sequence numbers.
    pub(super) fn send(&mut self, at: Nanos, sequence: u32, length: u32, stamp: Option<u32>, is_data: bool) {
        let end = sequence.wrapping_add(length);
        let is_new = self.next.is_none_or(|next| !is_newer(next, sequence));
        if is_new {
            self.bytes.push(end, at);
            self.next = Some(end);
        } else {
            // Sent again, or out of order: which one is acknowledged will not be known (Karn).
            self.bytes.forget_after(sequence);
            if self.next.is_some_and(|next| is_newer(end, next)) {
                self.next = Some(end);
            }
        }
        if is_data {
            self.asked = is_new.then_some(at);
        }
        if let Some(stamp) = stamp
            && self.newest_stamp.is_none_or(|newest| is_newer(stamp, newest))
        {
            self.newest_stamp = Some(stamp);
            self.stamps.push(stamp, at);
        }
    }

    /// When that was sent which this acknowledgment answers.
    pub(super) fn acknowledged(&mut self, acknowledgment: u32) -> Option<Nanos> {
        self.bytes.answer(acknowledgment)
    }

    /// When the time stamp was sent first that this is the first echo of.
    pub(super) fn echoed(&mut self, echo: u32) -> Option<Nanos> {
        self.stamps.answer(echo)
    }

    /// When the last byte of a request was sent to which data with this acknowledgment is the reply.
    pub(super) fn replied(&mut self, acknowledgment: u32) -> Option<Nanos> {
        self.asked.take().filter(|_| self.next == Some(acknowledgment))
    }
}
