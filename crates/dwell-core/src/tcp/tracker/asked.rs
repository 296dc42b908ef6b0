//! What asks for an answer, and which of its repetitions was answered.

use super::super::{Half, Segment};
use crate::unit::Nanos;

/// Two equal SYNs closer than this are one that was seen twice. No sender repeats so soon: the first time-out is 1 s
/// (RFC 6298, 2.1), Linux' shortest 200 ms; the copies of a mirror, or of a router's two sides, come within a few
/// milliseconds at most. Of two equal SYN/ACKs one may answer a SYN, the other be sent by the server's timer: they are
/// one where a SYN was seen twice.
const COPY: Nanos = Nanos::from_millis(10);

/// An answer that took so long may be a repetition, of which the first was lost before it came here: its sender's first
/// time-out is 1 s (RFC 6298, 2.1), and a timer may be a little early.
pub(in super::super) const TIMEOUT: Nanos = Nanos::from_millis(990);

/// Of two that pass closer than this the second may overtake the first behind the probe. Then the answer to the first
/// names the second, which its sender has heard by then. A server's answer to a repeated SYN and what its own timer
/// repeats are that close.
const OVERTAKING: Nanos = Nanos::from_millis(200);

/// The segments of one kind that ask for the same answer: a SYN, or a SYN/ACK, and its repetitions.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Asked {
    first: Nanos,
    newest: Nanos,
    first_value: u32,
    newest_value: u32,
    /// That of the one before the newest.
    before_value: u32,
    /// How many passed, those with other numbers too.
    count: u16,
    marks: Marks,
}

/// What is so of them: a bit each, for there are two of these in all that is kept.
#[derive(Copy, Clone, Debug, Default)]
struct Marks(u8);

/// More than one passed with this number.
const REPEATED: Marks = Marks(1);
/// The last one bears a time stamp.
const STAMPED: Marks = Marks(1 << 1);
/// Each bears a time stamp, newer than that of the one before it: so a value names one of them alone.
const TELLING: Marks = Marks(1 << 2);
/// Each bears a time stamp, none older than that of the one before it: what names none of them passed elsewhere.
const ORDERED: Marks = Marks(1 << 3);
/// The last one came too long after the one before it to overtake it.
const APART: Marks = Marks(1 << 4);
/// One before the first may have been forgotten.
const FORGOTTEN: Marks = Marks(1 << 5);

impl Marks {
    const fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    const fn with(self, mark: Self, is_so: bool) -> Self {
        Self(if is_so { self.0 | mark.0 } else { self.0 & !mark.0 })
    }

    const fn set(&mut self, mark: Self, is_so: bool) {
        *self = self.with(mark, is_so);
    }
}

/// Which of those that asked was answered.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Which {
    /// None has asked, or nothing can be told.
    #[default]
    Unknown,
    /// The newest, for certain.
    Newest,
    /// One of them, and nothing tells which.
    Any,
    /// One that did not pass here, older than the newest that did.
    Unseen,
    /// Something newer than all that passed here.
    Later,
}

/// Whether `one` is later than `other` on a clock of 32 bits that wraps.
pub(in super::super) const fn is_newer(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

/// Whether two equal segments with these stamps are one.
pub(in super::super) fn is_copy_at(one: Nanos, other: Nanos) -> bool {
    (one - other).abs() < COPY
}

impl Asked {
    pub(super) fn once(segment: &Segment) -> Self {
        let value = segment.options.timestamps.map(|stamps| stamps.value);
        Self {
            first: segment.at,
            newest: segment.at,
            first_value: value.unwrap_or(0),
            newest_value: value.unwrap_or(0),
            before_value: value.unwrap_or(0),
            count: 1,
            marks: [STAMPED, TELLING, ORDERED]
                .into_iter()
                .fold(APART, |marks, mark| marks.with(mark, value.is_some())),
        }
    }

    /// One before it may have been forgotten: then what does not name it may answer that.
    pub(super) const fn note_forgotten(&mut self) {
        self.marks.set(FORGOTTEN, true);
    }

    /// Whether one before it may have been forgotten.
    pub(super) const fn is_after_forgotten(&self) -> bool {
        self.marks.has(FORGOTTEN)
    }

    /// Whether `segment` is the newest once more, seen twice and sent once.
    pub(super) fn is_copy(&self, segment: &Segment) -> bool {
        let value = segment.options.timestamps.map(|stamps| stamps.value);
        self.count > 0
            && is_copy_at(self.newest, segment.at)
            && value == self.marks.has(STAMPED).then_some(self.newest_value)
    }

    /// Asked again, by `segment`.
    pub(super) fn again(&mut self, segment: &Segment) {
        if self.count == 0 {
            *self = Self::once(segment);
            return;
        }
        let value = segment.options.timestamps.map(|stamps| stamps.value);
        let is_newest = value.is_some_and(|value| is_newer(value, self.newest_value));
        let is_in_order = value.is_some_and(|value| !is_newer(self.newest_value, value));
        self.marks.set(TELLING, self.marks.has(TELLING) && is_newest);
        self.marks.set(ORDERED, self.marks.has(ORDERED) && is_in_order);
        self.marks.set(APART, segment.at - self.newest >= OVERTAKING);
        self.marks.set(STAMPED, value.is_some());
        self.before_value = self.newest_value;
        self.newest_value = value.unwrap_or(0);
        self.newest = segment.at;
        self.count = self.count.saturating_add(1);
        self.marks.set(REPEATED, true);
    }

    /// The newest was one more, although it equals the one before it.
    pub(super) fn another_like_it(&mut self, at: Nanos) {
        self.newest = self.newest.max(at);
        self.marks.set(TELLING, false);
        self.count = self.count.saturating_add(1);
        self.marks.set(REPEATED, true);
    }

    /// The only one that passed, after its answer.
    pub(super) fn late(&mut self, segment: &Segment) {
        let forgotten = self.marks.has(FORGOTTEN);
        *self = Self::once(segment);
        self.marks.set(FORGOTTEN, forgotten);
    }

    /// Asked anew, by a segment with another number: those before it are not repeated by it, but count.
    pub(super) fn another(&mut self, segment: &Segment) {
        *self = Self { count: self.count.saturating_add(1), ..Self::once(segment) };
    }

    pub(super) const fn count(&self) -> u16 {
        self.count
    }

    /// When the only one passed, and its time stamp.
    pub(super) fn only(&self) -> Option<(Nanos, Option<u32>)> {
        (self.count == 1).then_some((self.first, self.marks.has(STAMPED).then_some(self.first_value)))
    }

    pub(super) const fn is_repeated(&self) -> bool {
        self.marks.has(REPEATED)
    }

    pub(super) fn first(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.first)
    }

    /// Whether one was sent again before this time, or may have been.
    pub(super) fn is_repeated_by(&self, at: Nanos) -> bool {
        self.marks.has(REPEATED) && self.newest <= at
    }

    /// When the last of them was stamped, in the order of the stamps.
    pub(super) fn last(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.first.max(self.newest))
    }

    /// Which one is answered by a segment with this TSecr. That which they name is so for certain if it is the
    /// newest. An older one may be named by the answer to a newer: Linux echoes the first SYN's TSval from every
    /// SYN/ACK, and the first SYN/ACK's from the answer to a later one.
    pub(super) fn answered(&self, echo: Option<u32>) -> Which {
        // Some send no echo but 0, which then names nothing.
        match (self.count, echo.filter(|echo| *echo != 0 || self.newest_value == 0)) {
            (0, _) => Which::Unknown,
            (_, Some(echo))
                if self.marks.has(TELLING) && echo == self.newest_value && self.marks.has(APART) =>
            {
                Which::Newest
            }
            (_, Some(echo)) if self.marks.has(ORDERED) && is_newer(echo, self.newest_value) => Which::Later,
            (_, Some(echo)) if self.marks.has(ORDERED) && is_newer(self.first_value, echo) => Which::Unseen,
            // Nothing passed between the last two.
            (_, Some(echo))
                if self.marks.has(ORDERED)
                    && is_newer(echo, self.before_value)
                    && is_newer(self.newest_value, echo) =>
            {
                Which::Unseen
            }
            _ if self.marks.has(FORGOTTEN) => Which::Unknown,
            _ if self.marks.has(REPEATED) => Which::Any,
            _ => Which::Newest,
        }
    }

    /// Whether a TSecr names the newest.
    pub(super) fn is_named(&self, echo: Option<u32>) -> bool {
        self.marks.has(TELLING) && echo == Some(self.newest_value)
    }

    /// Whether a TSecr names something that did not pass here.
    pub(super) fn names_unseen(&self, echo: Option<u32>) -> bool {
        matches!(self.answered(echo), Which::Unseen | Which::Later)
    }

    /// How long ago that was at `at`. Nothing is told of an answer that was stamped before its question.
    pub(super) fn since(&self, which: Which, at: Nanos) -> Half {
        let (newest, first) = (at - self.newest, at - self.first);
        match which {
            Which::Newest if newest >= TIMEOUT => Half::AtMost(newest),
            Which::Newest if newest >= Nanos::ZERO => Half::Exact(newest),
            // The newest was answered before, unseen, or not at all.
            Which::Any if newest.min(first) >= TIMEOUT => Half::AtMost(newest.max(first)),
            Which::Any if newest.min(first) >= Nanos::ZERO => {
                Half::OneOf(newest.min(first), newest.max(first))
            }
            _ => Half::Unknown,
        }
    }

    /// The longest that it can have been at `at`, if something that passed here was answered.
    pub(super) fn at_most(&self, which: Which, at: Nanos) -> Half {
        match which {
            _ if at < self.first.max(self.newest) => Half::Unknown,
            Which::Newest => Half::AtMost(at - self.newest),
            Which::Any | Which::Later => Half::AtMost(at - self.first.min(self.newest)),
            Which::Unknown | Which::Unseen => Half::Unknown,
        }
    }
}
