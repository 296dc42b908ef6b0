//! What all runs of one tool in one condition say together: the four figures of papers/004, section 5, and ours.

use super::met::Met;
use crate::verb::eval::grid::EvalWorld;
use crate::verb::eval::rows::{Row, condition_text};
use dwell_core::stats::quantile::{median, quantile};
use dwell_core::truth::Verdict;
use dwell_core::{Quantity, Unit};
use serde::Serialize;
use std::collections::BTreeMap;
use toml::Value;

/// One tool in one condition. Rates are what packets take of an Ethernet link.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    pub(super) world: EvalWorld,
    pub(super) block: String,
    pub(super) condition: BTreeMap<String, Value>,
    pub(super) number: u32,
    pub(super) method: String,
    pub(super) quantity: Quantity,
    pub(super) unit: Unit,
    pub(super) measurements: usize,
    pub(super) values: usize,
    /// What the tight link carries.
    pub(super) capacity_bps: f64,
    /// What was free in the mean over each measurement, and how that varied from one to the next.
    pub(super) free_bps: Spread,
    /// What it was to find.
    pub(super) truth: Option<Spread>,
    /// What the tool said.
    pub(super) found: Option<Spread>,
    /// Size of the error as a share of the tight link's capacity, or of the capacity that was to be found.
    pub(super) median_error: Option<f64>,
    pub(super) p95_error: Option<f64>,
    pub(super) worst_error: Option<f64>,
    /// The worst of those that told no doubt.
    pub(super) worst_unwarned_error: Option<f64>,
    /// Share of the values whose interval holds the truth, of those that have one.
    pub(super) coverage: Option<f64>,
    /// Bounds, told where there was no value, and how many of them hold.
    pub(super) bounds: usize,
    pub(super) bounds_hold: usize,
    pub(super) median_seconds: f64,
    /// Tool rate over available bandwidth.
    pub(super) intrusiveness: Option<f64>,
    /// Tool rate over cross traffic's.
    pub(super) overhead: Option<f64>,
    pub(super) median_packets: Option<f64>,
    /// Of what the tight link carries in the measurement's time, the tool's share.
    pub(super) median_share: f64,
    /// How often a result said what limited it, by what it said.
    pub(super) limits: BTreeMap<&'static str, usize>,
    /// Why there were no values, where there were none.
    pub(super) reason: Option<String>,
}

/// Mean and standard deviation.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let mean = (count > 0.0).then(|| values.iter().sum::<f64>() / count)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self { mean, deviation: if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 } })
    }
}

impl Cell {
    /// The condition in a few words.
    pub(super) fn condition_text(&self) -> String {
        condition_text(&self.condition)
    }

    /// Of these rows, all of one tool in one condition; `None` where the path has no limited link.
    fn of(rows: &[&Row]) -> Option<Self> {
        let first = rows.first()?;
        let met: Vec<&Met> = rows.iter().filter_map(|row| row.met.as_ref()).collect();
        let capacity = met.first()?.capacity_bps as f64;
        let all = |of: fn(&Met) -> f64| met.iter().map(|met| of(met)).collect::<Vec<f64>>();
        let mean = |of: fn(&Met) -> Option<f64>| {
            Spread::of(&met.iter().filter_map(|met| of(met)).collect::<Vec<_>>()).map(|spread| spread.mean)
        };
        let estimates: Vec<f64> = rows.iter().filter_map(|row| row.estimate).collect();
        // Of several links, each measurement by its own.
        let whole = |row: &Row| match row.quantity {
            Quantity::NarrowLinkCapacity => row.truth,
            _ => Some(row.met.as_ref()?.capacity_bps.max(1) as f64),
        };
        let error = |row: &Row| Some(row.judgement().error()?.abs() / whole(row)?);
        let truths: Vec<f64> = rows.iter().filter_map(|row| row.truth).collect();
        let errors: Vec<f64> = rows.iter().filter_map(|row| error(row)).collect();
        let unwarned = |row: &&&Row| row.met.as_ref().is_some_and(|met| met.warnings == 0);
        let held = |verdict: Verdict| {
            let such = rows.iter().filter(move |row| row.verdict == verdict && row.has_range());
            such.filter_map(|row| row.finding().holds(row.truth?)).collect::<Vec<bool>>()
        };
        let (values, bounds) = (held(Verdict::Value), held(Verdict::Bound));
        let holding = |held: &[bool]| held.iter().filter(|held| **held).count();
        let mut limits = BTreeMap::new();
        for limit in met.iter().filter_map(|met| met.limit) {
            *limits.entry(limit.name()).or_insert(0) += 1;
        }
        let packets: Vec<f64> = met.iter().filter_map(|met| Some(met.packets? as f64)).collect();
        Some(Self {
            world: first.world,
            block: first.place.block.clone(),
            condition: first.condition.clone(),
            number: first.place.condition,
            method: first.method.clone(),
            quantity: first.quantity,
            unit: rows.iter().find_map(|row| row.unit).unwrap_or(Unit::Bps),
            measurements: rows.len(),
            values: estimates.len(),
            capacity_bps: capacity,
            free_bps: Spread::of(&all(|met| met.free_bps as f64))?,
            truth: Spread::of(&truths),
            found: Spread::of(&estimates),
            median_error: median(&errors),
            p95_error: quantile(&errors, 0.95),
            worst_error: errors.iter().copied().reduce(f64::max),
            worst_unwarned_error: rows.iter().filter(unwarned).filter_map(|row| error(row)).reduce(f64::max),
            coverage: (!values.is_empty()).then(|| holding(&values) as f64 / values.len() as f64),
            bounds: bounds.len(),
            bounds_hold: holding(&bounds),
            median_seconds: median(&rows.iter().map(|row| row.seconds).collect::<Vec<_>>())?,
            intrusiveness: mean(Met::intrusiveness),
            overhead: mean(Met::overhead),
            median_packets: median(&packets),
            median_share: median(&all(|met| met.tool_bps as f64 / met.capacity_bps.max(1) as f64))?,
            limits,
            reason: rows
                .iter()
                .find(|row| row.estimate.is_none())
                .and_then(|row| row.why().map(str::to_owned)),
        })
    }
}

/// Cells in the order in which their first rows came; each world has its own.
pub(super) fn cells(rows: &[Row]) -> Vec<Cell> {
    grouped(rows, |row| row.place.condition.to_string())
}

/// The same with all conditions of a block pooled.
pub(super) fn pooled(rows: &[Row]) -> Vec<Cell> {
    grouped(rows, |_| String::new())
}

fn grouped(rows: &[Row], condition: impl Fn(&Row) -> String) -> Vec<Cell> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    let mut place: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.met.is_some()) {
        let key = format!("{:?} {} {} {}", row.world, row.place.block, condition(row), row.method);
        let at = *place.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(row);
    }
    groups.iter().filter_map(|rows| Cell::of(rows)).collect()
}

#[cfg(test)]
pub(in crate::verb::eval) mod tests {
    use super::*;
    use crate::verb::eval::place::Place;
    use crate::verb::eval::rows::Origin;
    use dwell_core::limit::Limit;
    use dwell_core::{Effort, Finding, Vantage};

    /// One measurement at 100 Mb/s with 50 free, off by so many Mb/s.
    pub(in crate::verb::eval) fn row(method: &str, run: u32, off: Option<f64>, warnings: usize) -> Row {
        let bps = |mbps: f64| mbps * 1e6;
        let finding = off.map_or_else(
            || Finding::unmeasurable("gives up"),
            |off| Finding::value(bps(50.0 + off), bps(48.0 + off), bps(52.0 + off), Unit::Bps),
        );
        found(method, run, &finding, warnings)
    }

    /// One that told this.
    fn found(method: &str, run: u32, finding: &Finding, warnings: usize) -> Row {
        let origin = Origin {
            world: EvalWorld::Sim,
            place: Place { block: "b".to_owned(), condition: 0, run },
            condition: [("block".to_owned(), Value::String("b".to_owned()))].into(),
            method: method.to_owned(),
            stamps: Vantage::Application,
            effort: Effort { probes: 10, ..Effort::default() },
            seconds: 1.0 + f64::from(run),
        };
        let met = Met {
            capacity_bps: 100_000_000,
            free_bps: 50_000_000,
            cross_bps: 50_000_000,
            offered_bps: 50_000_000,
            asked_bps: Some(50_000_000),
            tool_bps: 1_000_000,
            began_ns: 0,
            span_ns: 1_000_000_000,
            packets: Some(300),
            warnings,
            limit: Some(Limit::Link),
        };
        let mut row = Row::new(&origin, Quantity::AvailableBandwidth, finding, Some(50e6), None);
        row.met = Some(met);
        row
    }

    #[test]
    fn who_tells_no_range_is_not_judged_by_one_and_bounds_are_by_themselves() {
        let point = found("a", 0, &Finding::value(49e6, 49e6, 49e6, Unit::Bps), 0);
        // Of a method of ours it is a range all the same, and a wrong one.
        assert_eq!(cells(&[point.clone(), row("a", 1, Some(1.0), 0)])[0].coverage, Some(0.5));
        let mut foreign = point;
        foreign.met.as_mut().expect("as made above").packets = None;
        assert_eq!(cells(&[foreign.clone(), row("a", 1, Some(1.0), 0)])[0].coverage, Some(1.0));
        assert_eq!(cells(&[foreign])[0].coverage, None);
        let at_most = |run, bound| found("a", run, &Finding::at_most(bound, Unit::Bps, "dispersion"), 0);
        let told = &cells(&[row("a", 0, Some(1.0), 0), at_most(1, 60e6), at_most(2, 40e6)])[0];
        assert_eq!((told.values, told.bounds, told.bounds_hold, told.coverage), (1, 2, 1, Some(1.0)));
    }

    #[test]
    fn errors_are_shares_of_the_capacity() {
        let rows = [
            row("a", 0, Some(1.0), 0),
            row("a", 1, Some(-3.0), 0),
            row("a", 2, Some(30.0), 1),
            row("a", 3, None, 0),
            row("b", 0, None, 0),
        ];
        let cells = cells(&rows);
        assert_eq!(cells.len(), 2);
        let a = &cells[0];
        assert_eq!((a.measurements, a.values), (4, 3));
        assert_eq!(a.limits, [("link", 4)].into());
        assert!((a.median_error.unwrap() - 0.03).abs() < 1e-9);
        assert!((a.worst_error.unwrap() - 0.3).abs() < 1e-9);
        assert!((a.worst_unwarned_error.unwrap() - 0.03).abs() < 1e-9, "that of 30 % told a doubt");
        assert!((a.coverage.unwrap() - 1.0 / 3.0).abs() < 1e-9);
        assert!((a.found.unwrap().mean - 59.333e6).abs() < 1e3 && a.found.unwrap().deviation > 17e6);
        assert_eq!((a.intrusiveness, a.overhead), (Some(0.02), Some(0.02)));
        assert_eq!(cells[1].found, None);
        assert_eq!(cells[1].reason.as_deref(), Some("gives up"));
    }
}
