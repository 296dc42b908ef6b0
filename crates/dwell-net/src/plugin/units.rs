//! The units in which tools tell.

use super::gives::Gives;

/// The units that a quantity has, by the names that tools write.
pub(super) struct Units(&'static [(&'static str, f64)]);

/// Small letters all: tools write them in every way. No tool here tells bytes.
const RATES: &[(&str, f64)] = &[
    ("b/s", 1.0),
    ("bps", 1.0),
    ("bits/sec", 1.0),
    ("bit/s", 1.0),
    ("kb/s", 1e3),
    ("kbps", 1e3),
    ("kbit/s", 1e3),
    ("kbits/sec", 1e3),
    ("mb/s", 1e6),
    ("mbps", 1e6),
    ("mbit/s", 1e6),
    ("mbits/sec", 1e6),
    ("gb/s", 1e9),
    ("gbps", 1e9),
    ("gbit/s", 1e9),
    ("gbits/sec", 1e9),
];
const TIMES: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("usec", 1e3), ("ms", 1e6), ("msec", 1e6), ("s", 1e9)];

impl Units {
    pub(super) fn of(quantity: Gives) -> Self {
        match quantity {
            Gives::RoundTrip => Self(TIMES),
            Gives::AvailableBandwidth | Gives::Throughput | Gives::Capacity => Self(RATES),
        }
    }

    /// How many of the base unit `name` is. `B` is a byte wherever a tool writes rates, and no unit here.
    pub(super) fn scale(&self, name: &str) -> Option<f64> {
        if name.contains('B') {
            return None;
        }
        let small = name.to_lowercase();
        self.0.iter().find(|(own, _)| *own == small).map(|(_, scale)| *scale)
    }

    pub(super) fn names(&self) -> String {
        self.0.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}
