//! What a link carried, by time.

use super::Picos;
use crate::framing::Framing;
use crate::link::LinkSpec;
use dwell_core::{BitRate, Bytes};

/// Whose bytes they are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Own,
    Cross,
    /// Of others, and dropped.
    Dropped,
}

/// Bytes of each class.
pub(super) type Tally = [f64; 3];

/// What of a packet counts, and what the link carries of that.
#[derive(Copy, Clone, Debug)]
pub(super) struct Counted {
    framing: Framing,
    /// A token bucket sees no gaps between frames, and where it is the limit none are counted.
    gaps: bool,
    pub(super) rate: Option<BitRate>,
}

impl Counted {
    pub(super) fn of_link(link: &LinkSpec) -> Self {
        let tokens = link.tokens();
        let gaps = tokens.is_none_or(|tokens| link.rate.is_some_and(|rate| rate <= tokens));
        let rate = if gaps { link.rate } else { tokens };
        Self { framing: link.framing, gaps, rate }
    }

    #[inline]
    pub(super) fn of(self, size: Bytes) -> f64 {
        let bytes = if self.gaps { self.framing.occupied(size) } else { self.framing.padded(size) };
        bytes.0 as f64
    }

    /// What a packet of `size` takes of a link for each byte of it that counts.
    pub(super) fn scale(self, size: Bytes) -> f64 {
        self.framing.occupied(size).0 as f64 / self.of(size)
    }
}

/// As many as there ever are: with more, each takes twice the time.
const MOST_BINS: usize = 1 << 15;

/// How long a bin is at first: for a third of a second.
const FIRST_WIDTH: Picos = 10_000_000;

/// Counts bytes in bins of time, so that any interval can be asked for, as fine as some ten thousandth of all time so
/// far.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    width: Picos,
    bins: Vec<Tally>,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self { width: FIRST_WIDTH, bins: Vec::new() }
    }

    /// `bytes` begin to be sent at `at`.
    #[inline]
    pub(super) fn add(&mut self, at: Picos, class: Class, bytes: f64) {
        let bin = self.bin_of(at);
        self.bins[bin][class as usize] += bytes;
    }

    /// `bytes` are sent evenly between the two.
    pub(super) fn spread(&mut self, from: Picos, to: Picos, class: Class, bytes: f64) {
        if to <= from {
            return;
        }
        let (last, rate) = (self.bin_of(to), bytes / (to - from) as f64);
        for bin in self.bin_of(from)..=last {
            let start = self.width * bin as Picos;
            let within = to.min(start + self.width) - from.max(start);
            self.bins[bin][class as usize] += rate * within.max(0) as f64;
        }
    }

    /// What began to be sent up to `at`.
    pub(super) fn until(&self, at: Picos) -> Tally {
        let bins = at.max(0) as f64 / self.width as f64;
        let whole = bins as usize;
        let mut sum = Tally::default();
        let mut add = |bin: &Tally, share: f64| {
            sum.iter_mut().zip(bin).for_each(|(sum, bytes)| *sum += bytes * share);
        };
        self.bins.iter().take(whole).for_each(|bin| add(bin, 1.0));
        if let Some(last) = self.bins.get(whole) {
            add(last, bins - whole as f64);
        }
        sum
    }

    /// The bin of this instant, which is there afterwards.
    #[inline]
    fn bin_of(&mut self, at: Picos) -> usize {
        let bin = (at.max(0) / self.width) as usize;
        if bin < self.bins.len() { bin } else { self.grow(at) }
    }

    #[cold]
    fn grow(&mut self, at: Picos) -> usize {
        while (at.max(0) / self.width) as usize >= MOST_BINS {
            self.width *= 2;
            let merged = self.bins.chunks(2).map(|pair| match pair {
                [one, other] => std::array::from_fn(|class| one[class] + other[class]),
                rest => rest[0],
            });
            self.bins = merged.collect();
        }
        let bin = (at.max(0) / self.width) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, Tally::default());
        }
        bin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Picos = 1_000_000_000;

    #[test]
    fn nothing_is_lost_as_bins_widen() {
        let mut meter = Meter::new();
        for ms in 0..5_000 {
            meter.add(ms * MS, Class::Cross, 1_000.0);
            meter.add(ms * MS + 1, Class::Own, 10.0);
        }
        meter.spread(0, 5_000 * MS, Class::Dropped, 5e6);
        assert!(meter.bins.len() <= MOST_BINS && meter.width > FIRST_WIDTH);
        let [own, cross, dropped] = meter.until(5_001 * MS);
        assert_eq!((own, cross), (50_000.0, 5e6));
        assert!((dropped - 5e6).abs() < 1.0);
        let [from, to] = [1_000, 3_000].map(|ms| meter.until(ms * MS));
        assert!((to[1] - from[1] - 2e6).abs() <= 1_000.0, "{from:?} {to:?}");
        assert!((to[2] - from[2] - 2e6).abs() < 1.0);
    }

    #[test]
    fn a_bin_is_shared_out() {
        let mut meter = Meter::new();
        meter.add(FIRST_WIDTH, Class::Own, 100.0);
        assert_eq!(meter.until(FIRST_WIDTH)[0], 0.0);
        assert_eq!(meter.until(FIRST_WIDTH * 3 / 2)[0], 50.0);
        assert_eq!(meter.until(FIRST_WIDTH * 9)[0], 100.0);
        assert_eq!(meter.until(-5), Tally::default());
    }
}
