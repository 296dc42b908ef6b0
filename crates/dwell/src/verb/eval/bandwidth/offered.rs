//! Whether the cross traffic came as it was asked for (papers/004, section 5: to 2 %).

use super::met::Met;
use crate::verb::eval::grid::EvalWorld;
use crate::verb::eval::rows::{Row, condition_text};
use dwell_core::BitRate;
use dwell_sim::{LinkSpec, Scenario};
use serde::Serialize;

/// So much of what was asked for it may be off.
const OFF: f64 = 0.02;

/// What one condition was to carry of others on its tight link, and what came there while tools measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Offered {
    pub(super) world: EvalWorld,
    pub(super) condition: String,
    pub(super) asked_bps: f64,
    pub(super) offered_bps: f64,
    /// Over which time, of all measurements together.
    pub(super) seconds: f64,
    /// By how much it was off, as a share of what was asked for.
    pub(super) off: f64,
}

/// What traffic was asked for on a link, counted where it enters and passes; `None` where it gives what it gets.
pub(super) fn asked(scenario: &Scenario, link: usize) -> Option<f64> {
    let enters = |(at, spec): (usize, &LinkSpec)| -> Option<f64> {
        let passing = spec.cross.iter().filter(|cross| (at..at + cross.hops).contains(&link));
        // A flow that names no rate reacts.
        passing.map(|cross| spec.bits_of(cross).filter(|bits| *bits > 0.0)).sum()
    };
    scenario.links.iter().enumerate().take(link + 1).map(enters).sum()
}

/// Condition by condition, where there was traffic to be checked.
pub(super) fn offered(rows: &[Row]) -> Vec<Offered> {
    let mut all: Vec<(EvalWorld, String, [f64; 3])> = Vec::new();
    for row in rows {
        let Some(Met { asked_bps: Some(asked), offered_bps, span_ns, .. }) = row.met.clone() else {
            continue;
        };
        if asked == 0 {
            continue;
        }
        let (condition, seconds) = (condition_text(&row.condition), span_ns as f64 / 1e9);
        let known = |one: &&mut (EvalWorld, String, _)| one.0 == row.world && one.1 == condition;
        let sums = [asked as f64 * seconds, offered_bps as f64 * seconds, seconds];
        match all.iter_mut().find(known) {
            Some((.., before)) => before.iter_mut().zip(sums).for_each(|(before, more)| *before += more),
            None => all.push((row.world, condition, sums)),
        }
    }
    all.into_iter()
        .map(|(world, condition, [asked, offered, seconds])| Offered {
            world,
            condition,
            // Whole bits, as they are in the rows: means of equal rates are that rate.
            asked_bps: (asked / seconds).round(),
            offered_bps: (offered / seconds).round(),
            seconds,
            off: offered / asked - 1.0,
        })
        .collect()
}

impl Offered {
    /// What is to be said of it; `None`: it came as asked.
    pub(super) fn doubt(&self) -> Option<String> {
        (self.off.abs() > OFF).then(|| {
            format!(
                "{}: of others {} were asked for on the tight link and {} came ({:+.1} % in {:.1} s)",
                self.condition,
                BitRate(self.asked_bps as u64),
                BitRate(self.offered_bps as u64),
                self.off * 100.0,
                self.seconds
            )
        })
    }
}

/// How many came as asked, in a line, and those that did not, each in its own.
pub(super) fn told(offered: &[Offered]) -> Vec<String> {
    let doubts: Vec<String> = offered.iter().filter_map(Offered::doubt).collect();
    if offered.is_empty() {
        return doubts;
    }
    let met = offered.len() - doubts.len();
    let head = format!("Cross traffic came as asked for, to 2 %, in {met} of {} conditions.", offered.len());
    [head].into_iter().chain(doubts).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cell::tests::row;
    use super::*;

    #[test]
    fn what_passes_a_link_is_asked_there() {
        let text = "name = 'x'\n[[links]]\nrate = '100 Mb/s'\n\
                    [[links.cross]]\nkind = 'poisson'\nload = 0.3\nhops = 2\n\
                    [[links]]\nrate = '50 Mb/s'\n[[links.cross]]\nkind = 'constant'\nrate = '5 Mb/s'\n\
                    [[links]]\nrate = '50 Mb/s'\n[[links.cross]]\nkind = { tcp = {} }\n";
        let scenario = Scenario::parse("x", text).unwrap();
        assert_eq!(asked(&scenario, 0), Some(30e6));
        assert_eq!(asked(&scenario, 1), Some(35e6));
        assert_eq!(asked(&scenario, 2), None, "TCP takes what it gets");
    }

    #[test]
    fn measurements_count_by_their_time() {
        let met = |offered, seconds: i64| {
            let mut row = row("a", 0, Some(1.0), 0);
            if let Some(met) = &mut row.met {
                (met.asked_bps, met.offered_bps) = (Some(50_000_000), offered);
                met.span_ns = seconds * 1_000_000_000;
            }
            row
        };
        let near = offered(&[met(40_000_000, 1), met(50_600_000, 20)]);
        assert_eq!((near.len(), near[0].doubt()), (1, None), "{near:?}");
        let off = offered(&[met(40_000_000, 1), met(50_000_000, 3)]);
        assert!(off[0].doubt().unwrap().contains("-5.0 % in 4.0 s"), "{off:?}");
        assert_eq!(told(&off).len(), 2);
        assert!(told(&[]).is_empty());
    }
}
