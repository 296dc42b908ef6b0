//! What is asked of our own method, cell by cell, and what the originals of the published methods did elsewhere.

use super::cell::Cell;
use crate::figure::share;
use crate::verb::eval::grid::EvalWorld;
use dwell_core::avail::Busy;
use dwell_core::capacity::SparedRuns;
use dwell_core::throughput::report;
use serde::{Deserialize, Serialize};

/// What a tool of ours is to reach in every cell.
struct Goal {
    words: &'static str,
    median_error: f64,
    p95_error: f64,
    /// Of a value without a warning.
    worst_unwarned: Option<f64>,
    coverage: Option<f64>,
    seconds: Option<f64>,
    /// Share of what the link carries in that time, or so many packets, whichever is more.
    load: Option<(f64, f64)>,
}

const LAB: Goal = Goal {
    words: "median error 5 %, 95th percentile 12 % of capacity, range covers 90 %, under 2 s, 2 % of the link or 300 packets",
    median_error: 0.05,
    p95_error: 0.12,
    worst_unwarned: None,
    coverage: Some(0.9),
    seconds: Some(2.0),
    load: Some((0.02, 300.0)),
};

const SIM: Goal = Goal {
    words: "median error 5 %, 95th percentile 10 % of capacity, none above 25 % without a warning",
    median_error: 0.05,
    p95_error: 0.1,
    worst_unwarned: Some(0.25),
    coverage: None,
    seconds: None,
    load: None,
};

const CAPACITY: Goal = Goal {
    words: "median error 2 %, 95th percentile 5 %, none above 25 % without a warning, under 5 s",
    median_error: 0.02,
    p95_error: 0.05,
    worst_unwarned: Some(0.25),
    coverage: None,
    seconds: Some(5.0),
    load: None,
};

/// A TCP connection of ours is as fast as iperf3's to within this share.
const AS_FAST: f64 = 0.02;
const IPERF3: &str = "iperf3";

/// What an original found in the one condition of a block, in a lab of the same kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::verb::eval) struct Original {
    /// The published method.
    method: String,
    /// What was free, in megabits per second.
    truth_mbps: f64,
    /// What each of its runs found.
    found_mbps: Vec<f64>,
}

impl Original {
    /// What is wrong with it, if anything is, beside these methods.
    pub(super) fn problem(&self, methods: &[String]) -> Option<String> {
        let method = &self.method;
        if !methods.contains(method) {
            return Some(format!(
                "originals: `{method}` is none of this block's methods, so nothing stands beside it"
            ));
        }
        (self.found_mbps.is_empty() || self.truth_mbps <= 0.0)
            .then(|| format!("originals: {method}: needs a truth above 0 and at least one figure found"))
    }

    /// Median size of its error, as a share of that truth.
    fn error(&self) -> f64 {
        let errors: Vec<f64> =
            self.found_mbps.iter().map(|found| (found - self.truth_mbps).abs() / self.truth_mbps).collect();
        dwell_core::stats::quantile::median(&errors).unwrap_or(f64::INFINITY)
    }
}

/// How a cell stands against what is asked of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Standing {
    pub(super) world: EvalWorld,
    pub(super) condition: String,
    pub(super) method: String,
    /// What is asked.
    pub(super) goal: &'static str,
    /// What is missed, each with what was reached; empty: met.
    pub(super) missed: Vec<String>,
}

/// Of every cell of our own methods, and of each published one that an original stands beside; `originals` are those of
/// a block.
pub(super) fn standings<'a>(cells: &[Cell], originals: impl Fn(&str) -> &'a [Original]) -> Vec<Standing> {
    let standing = |cell: &Cell, goal, missed| Standing {
        world: cell.world,
        condition: cell.condition_text(),
        method: cell.method.clone(),
        goal,
        missed,
    };
    cells
        .iter()
        .flat_map(|cell| {
            let own = goal(cell).map(|goal| standing(cell, goal.words, goal.missed(cell)));
            let iperf3 = cells.iter().find(|other| {
                (other.world, other.number, &other.block) == (cell.world, cell.number, &cell.block)
                    && other.method == IPERF3
            });
            let as_fast = iperf3.filter(|_| cell.method == report::NAME);
            let as_fast = as_fast
                .map(|other| standing(cell, "within 2 % of iperf3 in alternation", slower(cell, other)));
            let beside = originals(&cell.block).iter().filter(|original| original.method == cell.method);
            let beside = beside
                .map(|original| standing(cell, "at least as near as its original", original.missed(cell)));
            own.into_iter().chain(as_fast).chain(beside).collect::<Vec<_>>()
        })
        .collect()
}

/// What is asked of a cell; `None`: its tool is not one of our own methods.
fn goal(cell: &Cell) -> Option<&'static Goal> {
    match (cell.method.as_str(), cell.world) {
        (Busy::NAME, EvalWorld::Lab) => Some(&LAB),
        (Busy::NAME, EvalWorld::Sim) => Some(&SIM),
        (SparedRuns::NAME, _) => Some(&CAPACITY),
        _ => None,
    }
}

/// What a connection of ours misses beside one of iperf3, each of what was free while it ran.
fn slower(cell: &Cell, other: &Cell) -> Vec<String> {
    let of_free = |cell: &Cell| Some(cell.found?.mean / cell.truth?.mean);
    let (Some(own), Some(other)) = (of_free(cell), of_free(other)) else {
        return vec!["there is nothing to compare".to_owned()];
    };
    let off = own / other - 1.0;
    if off.abs() <= AS_FAST { Vec::new() } else { vec![format!("{:+.1} % of iperf3", off * 100.0)] }
}

impl Goal {
    fn missed(&self, cell: &Cell) -> Vec<String> {
        let mut missed = Vec::new();
        if cell.values == 0 {
            missed.push(format!("no value: {}", cell.reason.as_deref().unwrap_or("it gives none")));
            return missed;
        }
        let mut above = |what: &str, figure: Option<f64>, most: Option<f64>| {
            if let (Some(figure), Some(most)) = (figure, most)
                && figure > most
            {
                missed.push(format!("{what} {} > {}", share(figure), share(most)));
            }
        };
        above("median error", cell.median_error, Some(self.median_error));
        above("95th percentile", cell.p95_error, Some(self.p95_error));
        above("worst without a warning", cell.worst_unwarned_error, self.worst_unwarned);
        if let (Some(covered), Some(least)) = (cell.coverage, self.coverage)
            && covered < least
        {
            missed.push(format!("range covers {} < {}", share(covered), share(least)));
        }
        if let Some(most) = self.seconds
            && cell.median_seconds > most
        {
            missed.push(format!("{:.1} s > {most} s", cell.median_seconds));
        }
        if let (Some((most, packets)), Some(sent)) = (self.load, cell.median_packets)
            && cell.median_share > most
            && sent > packets
        {
            missed.push(format!(
                "{} of the link > {}, with {sent} packets",
                share(cell.median_share),
                share(most)
            ));
        }
        if cell.values < cell.measurements {
            missed.push(format!(
                "{} of {} without a value",
                cell.measurements - cell.values,
                cell.measurements
            ));
        }
        missed
    }
}

impl Original {
    fn missed(&self, cell: &Cell) -> Vec<String> {
        let Some(own) =
            cell.median_error.map(|error| error * cell.capacity_bps / cell.free_bps.mean.max(1.0))
        else {
            return vec![format!("no value: {}", cell.reason.as_deref().unwrap_or("it gives none"))];
        };
        let error = self.error();
        if own <= error {
            Vec::new()
        } else {
            vec![format!("off by {} where it was by {}", share(own), share(error))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::cells;
    use super::super::cell::tests::row;
    use super::*;

    fn standing(offs: &[Option<f64>], warnings: usize) -> Vec<String> {
        let rows: Vec<_> =
            offs.iter().zip(0..).map(|(off, run)| row(Busy::NAME, run, *off, warnings)).collect();
        standings(&cells(&rows), |_| &[]).remove(0).missed
    }

    #[test]
    fn goals_are_met_or_missed_by_name() {
        assert!(standing(&[Some(1.0), Some(-2.0), Some(3.0)], 0).is_empty());
        let missed = standing(&[Some(6.0), Some(-7.0), Some(30.0)], 0);
        assert!(missed[0].starts_with("median error 7.0 % > 5.0 %"), "{missed:?}");
        assert!(missed[2].starts_with("worst without a warning 30 % > 25 %"), "{missed:?}");
        assert_eq!(standing(&[Some(6.0), Some(-7.0), Some(30.0)], 1).len(), 2, "a doubt was told");
        assert_eq!(standing(&[None], 0), ["no value: gives up"]);
        assert_eq!(standing(&[Some(1.0), Some(1.0), None], 0), ["1 of 3 without a value"]);
    }

    #[test]
    fn a_connection_of_ours_is_held_against_iperf3_by_what_was_free() {
        let found = |method: &str, free: f64, found: f64| {
            let mut row = row(method, 0, Some(found - 50.0), 0);
            row.truth = Some(free * 1e6);
            row
        };
        let missed = |own: f64| {
            let rows = [found(report::NAME, 50.0, own), found(IPERF3, 52.0, 51.0)];
            standings(&cells(&rows), |_| &[]).remove(0).missed
        };
        assert!(missed(49.1).is_empty(), "as large a share of what was free");
        assert_eq!(missed(51.0), ["+4.0 % of iperf3"]);
    }

    #[test]
    fn an_original_is_the_measure_of_its_method() {
        let original = |found: f64| Original {
            method: "pathload".to_owned(),
            truth_mbps: 47.6,
            found_mbps: vec![found, found],
        };
        let cells = cells(&[row("pathload", 0, Some(5.0), 0)]);
        let missed = |found| {
            let originals = [original(found)];
            standings(&cells, |_| &originals).remove(0).missed
        };
        // Ours is off by a tenth of what is free; the first by 30 %, the second by 1 %.
        assert!(missed(61.7).is_empty());
        assert_eq!(missed(48.0).len(), 1);
    }
}
