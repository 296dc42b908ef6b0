//! The shortest of each interval.

use super::super::{Endpoint, Half};
use super::shortest::Told;
use super::{By, End};
use crate::unit::Nanos;
use std::cmp::Ordering;

/// The round trips to one end of a connection in one interval, by what tells them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    /// When the interval began, since the epoch of the probe's clock: a multiple of its length.
    pub from: Nanos,
    /// When it ended.
    pub until: Nanos,
    /// From the probe to this end and back.
    pub to: Endpoint,
    /// Which end that is; `None` where the opening was not seen.
    pub end: Option<End>,
    /// The other end of the connection.
    pub other: Endpoint,
    /// What tells them.
    pub by: By,
    /// The shortest: exact if all of them are.
    pub least: Half,
    /// Their mean; where not all are exact, they are that long at most.
    pub mean: Nanos,
    /// How many there were.
    pub samples: u64,
}

/// An interval.
#[derive(Debug)]
struct Interval {
    /// Which one it is, counted from the epoch.
    number: i64,
    told: Vec<Told>,
}

/// Which interval is not over, and what is over and not taken yet.
#[derive(Debug)]
pub(super) struct Intervals {
    every: Nanos,
    /// Counted from the epoch.
    open: i64,
    /// When that begins.
    from: i64,
    over: Vec<Interval>,
}

impl Intervals {
    /// # Panics
    /// If an interval is no time at all.
    pub(super) fn new(every: Nanos) -> Self {
        assert!(every > Nanos::ZERO, "an interval takes time");
        Self { every, open: i64::MIN, from: i64::MIN, over: Vec::new() }
    }

    fn number(&self, at: Nanos) -> i64 {
        at.0.div_euclid(self.every.0)
    }

    /// Where a time lies: within the interval that is not over, behind it, or before it.
    pub(super) fn place(&self, at: Nanos) -> Ordering {
        // The comparisons spare most a division.
        let is_within = at.0 >= self.from && at.0.abs_diff(self.from) < self.every.0.unsigned_abs();
        if is_within { Ordering::Equal } else { self.number(at).cmp(&self.open) }
    }

    /// What the interval has of some flows is told: it is over, or they are forgotten.
    pub(super) fn tell(&mut self, told: Vec<Told>) {
        if !told.is_empty() {
            self.over.push(Interval { number: self.open, told });
        }
    }

    /// The interval is that of this time.
    pub(super) fn open(&mut self, at: Nanos) {
        self.open = self.number(at);
        self.from = self.open.saturating_mul(self.every.0);
    }

    /// Whether one is over that was not taken yet.
    #[inline]
    pub(super) const fn has_more(&self) -> bool {
        !self.over.is_empty()
    }

    /// What is over, each once.
    pub(super) fn take(&mut self) -> impl Iterator<Item = RoundTrips> {
        let every = self.every.0;
        self.over.drain(..).flat_map(move |Interval { number, told }| {
            let from = Nanos(number.saturating_mul(every));
            let until = Nanos(from.0.saturating_add(every));
            told.into_iter().map(move |told| told.of(from, until))
        })
    }
}
