//! Newtypes for the quantities of the field, so that no bare number means both bits and bytes.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A time span, or an instant on some stated clock, in nanoseconds. Arithmetic saturates: foreign stamps may be
/// anything, and a saturated time is an outlier, while an overflow would be a panic.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub i64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The largest span.
    pub const MAX: Self = Self(i64::MAX);

    /// Whole microseconds.
    #[must_use]
    pub const fn from_micros(us: i64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// Whole milliseconds.
    #[must_use]
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Whole seconds.
    #[must_use]
    pub const fn from_secs(s: i64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// The nearest nanosecond to `ns`; NaN becomes zero.
    #[must_use]
    pub fn from_f64(ns: f64) -> Self {
        Self(ns.round() as i64)
    }

    /// Nanoseconds as a float, for statistics.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Microseconds.
    #[must_use]
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span without its sign.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// Whether a time is this far from another at most, before or behind it.
    #[inline]
    #[must_use]
    pub const fn is_near(self, other: Self, within: Self) -> bool {
        self.0.abs_diff(other.0) <= within.0.unsigned_abs()
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Nanos {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Mul<i64> for Nanos {
    type Output = Self;
    fn mul(self, factor: i64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<i64> for Nanos {
    type Output = Self;
    fn div(self, divisor: i64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Nanos {
    /// With the unit that keeps the figure between 1 and 1000: `31.4 us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let digits = f.precision().unwrap_or(1);
        match self.0.unsigned_abs() {
            0..=999 => write!(f, "{} ns", self.0),
            1_000..=999_999 => write!(f, "{:.digits$} us", ns / 1e3),
            1_000_000..=999_999_999 => write!(f, "{:.digits$} ms", ns / 1e6),
            _ => write!(f, "{:.digits$} s", ns / 1e9),
        }
    }
}

/// A size in bytes. Of a packet it is the size on the wire as papers/000 counts it: from preamble to frame check
/// sequence, 54 bytes over the UDP payload with IPv4; the inter-frame gap is not in it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Bits in these bytes.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self(0), Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

/// A rate in bits per second.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BitRate(pub u64);

impl BitRate {
    /// Millions of bits per second.
    #[must_use]
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps.saturating_mul(1_000_000))
    }

    /// The time that `size` takes at this rate, in fractional nanoseconds; infinite at rate zero.
    #[must_use]
    pub fn nanos_for(self, size: Bytes) -> f64 {
        size.bits() as f64 * 1e9 / self.0 as f64
    }

    /// The time that `size` takes at this rate, to the nearest nanosecond.
    #[must_use]
    pub fn time_for(self, size: Bytes) -> Nanos {
        Nanos::from_f64(self.nanos_for(size))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bps = self.0 as f64;
        match self.0 {
            0..=999 => write!(f, "{} b/s", self.0),
            1_000..=999_999 => write!(f, "{:.4} kb/s", Trimmed(bps / 1e3)),
            1_000_000..=999_999_999 => write!(f, "{:.4} Mb/s", Trimmed(bps / 1e6)),
            _ => write!(f, "{:.4} Gb/s", Trimmed(bps / 1e9)),
        }
    }
}

/// A number with as many significant digits as the format's precision asks, without trailing zeros.
struct Trimmed(f64);

impl fmt::Display for Trimmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(4);
        let whole = self.0.abs().log10().floor().max(0.0) as usize + 1;
        let text = format!("{:.*}", digits.saturating_sub(whole), self.0);
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        f.write_str(text)
    }
}

/// Inter-frame gap of Ethernet: 96 bit times, written as the 12 bytes that it takes on the link (gamma of papers/000).
pub const INTER_FRAME_GAP: Bytes = Bytes(12);

/// What Ethernet adds around an IP packet: header 14, frame check sequence 4, preamble and start delimiter 8.
pub const ETHERNET_OVERHEAD: Bytes = Bytes(26);

/// The smallest Ethernet frame with its preamble: 64 + 8.
pub const ETHERNET_MIN: Bytes = Bytes(72);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_matches_the_paper() {
        // papers/000 section 4.1: 87 B at 10 Mb/s take 69.6 us, and with gamma 79.2.
        let c = BitRate::from_mbps(10);
        assert_eq!(c.time_for(Bytes(87)), Nanos(69_600));
        assert_eq!(c.time_for(Bytes(87)) + c.time_for(INTER_FRAME_GAP), Nanos(79_200));
    }

    #[test]
    fn figures_print_with_their_unit() {
        assert_eq!(Nanos(31_400).to_string(), "31.4 us");
        assert_eq!(Nanos(-2_500_000).to_string(), "-2.5 ms");
        assert_eq!(BitRate::from_mbps(100).to_string(), "100 Mb/s");
        assert_eq!(BitRate(98_765_432).to_string(), "98.77 Mb/s");
        assert_eq!(BitRate(1_000_000_000).to_string(), "1 Gb/s");
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
        assert_eq!(-Nanos(i64::MIN), Nanos::MAX);
    }

    #[test]
    fn what_is_near_is_so_on_either_side() {
        let near = |one: i64, other: i64, within: i64| Nanos(one).is_near(Nanos(other), Nanos(within));
        assert!(near(5, 8, 3) && near(8, 5, 3) && near(7, 7, 0));
        assert!(!near(5, 9, 3) && !near(9, 5, 3));
        assert!(!near(i64::MIN, i64::MAX, i64::MAX) && !near(i64::MAX, i64::MIN, 1));
    }
}
