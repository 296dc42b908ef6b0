//! Gaps between packets of one size, and what they say of a link.

use crate::clock::CLOCK_RATE_DOUBT;
use crate::stats::Estimate;
use crate::unit::{Bytes, INTER_FRAME_GAP};

/// The gap that packets of one size keep.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(in crate::capacity) struct Dispersion {
    pub(in crate::capacity) size: Bytes,
    /// Nanoseconds.
    pub(in crate::capacity) gap: Estimate,
}

impl Dispersion {
    pub(in crate::capacity) fn framed(size: Bytes) -> f64 {
        (size + INTER_FRAME_GAP).0 as f64
    }

    /// Nanoseconds per byte, gamma counted.
    pub(in crate::capacity) fn per_byte(&self) -> f64 {
        self.gap.value / Self::framed(self.size)
    }

    /// The rate of the link that sets this gap. Whether the link spends an inter-frame gap is not known: the low end
    /// of the interval is without. Neither is the rate of the receiver's clock.
    pub(in crate::capacity) fn rate(&self) -> Estimate {
        let rate = |bytes: f64, gap: f64| 8e9 * bytes / gap;
        Estimate {
            value: rate(Self::framed(self.size), self.gap.value),
            low: rate(self.size.0 as f64, self.gap.high) * (1.0 - CLOCK_RATE_DOUBT),
            high: rate(Self::framed(self.size), self.gap.low) * (1.0 + CLOCK_RATE_DOUBT),
        }
    }
}

/// How gaps change from a smaller size to a larger one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::capacity) enum Trend {
    /// As a link makes them.
    Rising,
    /// As a host does.
    Flat,
    /// The interval holds both.
    Undecided,
}

pub(in crate::capacity) fn trend(small: &Dispersion, large: &Dispersion) -> Trend {
    let span = large.size.0 as f64 - small.size.0 as f64;
    let serialisation = (small.gap.value + large.gap.value)
        / (Dispersion::framed(small.size) + Dispersion::framed(large.size));
    let middle = serialisation / 2.0 * span;
    let apart = (small.gap.half_width().powi(2) + large.gap.half_width().powi(2)).sqrt();
    let rise = large.gap.value - small.gap.value;
    // A link's gap is proportional to the framed size; a share that each packet costs whatever its size is the host's.
    let proportional = large.per_byte() * span;
    if rise - apart > middle && rise + apart > 0.9 * proportional {
        Trend::Rising
    } else if rise + apart < middle {
        Trend::Flat
    } else {
        Trend::Undecided
    }
}

/// The rate that a slope in nanoseconds per byte stands for.
pub(in crate::capacity) fn rate(slope: &Estimate) -> Estimate {
    Estimate {
        value: 8e9 / slope.value,
        low: 8e9 / slope.high * (1.0 - CLOCK_RATE_DOUBT),
        high: 8e9 / slope.low * (1.0 + CLOCK_RATE_DOUBT),
    }
}
