//! The times between packets of the cross traffic on the tight link, as its sources send them: so that a reader sees what
//! the tools met (papers/004, Figures 2 and 3).

use crate::verb::eval::grid::Condition;
use crate::verb::eval::rows::condition_text;
use dwell_core::Nanos;
use dwell_core::stats::quantile::quantile;
use dwell_sim::{Flow, LinkSpec, Scenario};
use serde::Serialize;

/// So many gaps are looked at.
const GAPS: usize = 20_000;

/// Of a traffic, these shares of the gaps are told: the rare ones by ever finer steps.
const SHARES: [f64; 21] = [
    0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.007, 0.005,
    0.003, 0.002, 0.001,
];

/// How far apart the packets of a condition's cross traffic are.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Arrivals {
    pub(super) condition: String,
    /// Gap in nanoseconds, and the share of the gaps that are longer.
    pub(super) longer: Vec<(f64, f64)>,
}

/// Of each condition that has cross traffic on its most loaded link.
pub(super) fn arrivals(conditions: &[&Condition], seed: u64) -> Vec<Arrivals> {
    let of = |condition: &&Condition| {
        let gaps = gaps(condition.scenario().ok()?, seed)?;
        let longer =
            SHARES.into_iter().filter_map(|share| Some((quantile(&gaps, 1.0 - share)?, share))).collect();
        Some(Arrivals { condition: condition_text(&condition.settings), longer })
    };
    conditions.iter().filter_map(of).collect()
}

/// Those of all flows that enter at the most loaded link, put together.
fn gaps(scenario: &Scenario, seed: u64) -> Option<Vec<f64>> {
    let offered = |link: &LinkSpec| {
        let bits: f64 = link.cross.iter().filter_map(|cross| link.bits_of(cross)).sum();
        link.rate.map_or(0.0, |rate| bits / rate.0 as f64)
    };
    let link = scenario.links.iter().max_by(|one, other| offered(one).total_cmp(&offered(other)))?;
    let flows = link.cross.iter().zip(seed..).filter_map(|(cross, seed)| Flow::new(cross, link, seed));
    let mut flows: Vec<_> = flows.map(|flow| flow.map(|(at, _)| at).peekable()).collect();
    let mut next = || {
        let first =
            flows.iter_mut().enumerate().filter_map(|(index, flow)| Some((*flow.peek()?, index))).min()?;
        flows[first.1].next()
    };
    let mut last: Nanos = next()?;
    let gaps: Vec<f64> = std::iter::from_fn(|| {
        let at = next()?;
        let gap = at - last;
        last = at;
        Some(gap.as_f64())
    })
    .take(GAPS)
    .collect();
    (!gaps.is_empty()).then_some(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_gaps_are_exponential_and_those_of_two_flows_come_twice_as_fast() {
        let flow = "[[links.cross]]\nkind = 'poisson'\nload = 0.2\nsize = '1518 B'\n";
        let scenario = |flows: usize| {
            let text = format!("name = 'x'\n[[links]]\nrate = '100 Mb/s'\n{}", flow.repeat(flows));
            Scenario::parse("x", &text).unwrap()
        };
        let mean = |gaps: &[f64]| gaps.iter().sum::<f64>() / gaps.len() as f64;
        let one = gaps(&scenario(1), 1).unwrap();
        let two = gaps(&scenario(2), 1).unwrap();
        assert!((mean(&one) / mean(&two) - 2.0).abs() < 0.1);
        let longer = one.iter().filter(|gap| **gap > mean(&one)).count() as f64 / one.len() as f64;
        assert!((longer - (-1.0_f64).exp()).abs() < 0.02, "{longer}");
        assert_eq!(gaps(&scenario(0), 1), None);
    }
}
