//! Measurements made by hand, for tests.

use super::{Busy, Config};
use crate::stream::Passed;
use crate::stream::sample::Sample;
use crate::train::PathFacts;
use crate::unit::{Bytes, Nanos};

pub(super) const OWN: f64 = 120e3;

/// What a link of which 0.3 is loaded shows to a sender whose packets leave every 12 us: of bursts the gaps `apart` between them,
/// of slower trains a load of `slower`, and of single packets that every other waits so long.
pub(super) fn seen(apart: impl Fn(usize) -> f64, slower: f64, waits: f64) -> Busy {
    let facts = PathFacts {
        max_size: Bytes(1_514),
        min_size: Bytes(60),
        resolution: Nanos(1),
        end_link: None,
        coalescence: None,
        narrow_link: None,
    };
    let mut busy = Busy::new(Config::default(), &facts);
    for _ in 0..3 {
        let mut came = 0.0;
        let burst: Vec<Passed> = (0..11)
            .map(|number| {
                came += if number == 0 { 0.0 } else { apart(number) };
                Passed { number, sent: 12e3 * number as f64, came }
            })
            .collect();
        busy.samples.see_burst(&burst, None);
    }
    let met = |input: f64, load: f64| Sample {
        input,
        output: OWN + load * input,
        gaps: 10.0,
        blur: 0.0,
        scatter: 0.0,
    };
    busy.samples.full = vec![met(0.85 * OWN, 0.3); 8];
    busy.samples.whole_looks = busy.samples.full.clone();
    busy.samples.near = vec![vec![met(1.2 * OWN, slower); 7]];
    busy.samples.firsts =
        (0..24).map(|i| (1e7 * f64::from(i), if i % 2 == 0 { 0.0 } else { waits })).collect();
    (busy.sending.packets, busy.sending.pauses) = (293, Nanos::from_millis(1_000));
    busy
}
