//! What a picture of a run shows: the rate, and the round trip, over time.

use crate::picture::Line;
use dwell_core::Nanos;
use dwell_core::throughput::{Interval, Transfer};

fn middle(part: &Interval) -> f64 {
    (part.from + part.span / 2).as_secs_f64()
}

/// The rate at which the program read.
pub(super) fn rates(run: &Transfer, fine: Nanos) -> Line {
    let points = run.intervals(fine).into_iter().map(|part| (middle(&part), part.rate.0 as f64 / 1e6));
    Line { points: points.collect(), upwards: "Payload read (Mb/s)" }
}

/// The sender's round trip.
pub(super) fn round_trips(run: &Transfer, fine: Nanos) -> Line {
    let points = run.intervals(fine).into_iter();
    let points = points.filter_map(|part| Some((middle(&part), part.rtt?.as_f64() / 1e6)));
    Line { points: points.collect(), upwards: "Round trip (ms)" }
}
