//! The worst cases: what a reader of an evaluation should look at first.

use super::rows::Row;
use dwell_core::{Finding, Side};
use std::collections::BTreeMap;

/// How bad a row is; 0 where there is nothing to look at. A claim that is wrong is worse than any that is right, the
/// worse the further the truth lies outside it; then no value where one is due; then the size of the error.
fn badness(row: &Row) -> f64 {
    let judgement = row.judgement();
    let (Some(truth), finding) = (judgement.truth, &judgement.finding) else { return 0.0 };
    match (finding.holds(truth), finding) {
        (Some(false), _) => 2.0 + distance(finding, truth) / truth.abs().max(f64::MIN_POSITIVE),
        (_, Finding::Bound { .. } | Finding::Unmeasurable { .. }) => f64::from(u8::from(row.inside)),
        _ => judgement.relative_error().map_or(0.0, |error| error.abs().min(0.99)),
    }
}

/// How far `truth` lies outside what was claimed.
fn distance(finding: &Finding, truth: f64) -> f64 {
    match finding {
        Finding::Value { low, high, .. } => (low - truth).max(truth - high),
        Finding::Bound { bound, side: Side::Upper, .. } => truth - bound,
        Finding::Bound { bound, side: Side::Lower, .. } => bound - truth,
        Finding::Unmeasurable { .. } => 0.0,
    }
}

/// The `count` worst of the rows that count, the worst first. Every method and quantity shows its worst row before any
/// shows its second: one that is wrong everywhere does not push out the others.
pub(super) fn worst(rows: &[Row], count: usize) -> Vec<&Row> {
    let mut groups: BTreeMap<_, Vec<(f64, &Row)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.counts()) {
        let bad = badness(row);
        if bad > 0.0 {
            groups.entry((row.method_text(), row.quantity)).or_default().push((bad, row));
        }
    }
    let worse = |one: &(f64, &Row), other: &(f64, &Row)| other.0.total_cmp(&one.0);
    let mut ranked: Vec<(usize, f64, &Row)> = Vec::new();
    for mut group in groups.into_values() {
        group.sort_by(worse);
        ranked.extend(group.into_iter().enumerate().map(|(rank, (bad, row))| (rank, bad, row)));
    }
    ranked.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let mut worst: Vec<(f64, &Row)> =
        ranked.into_iter().take(count).map(|(_, bad, row)| (bad, row)).collect();
    worst.sort_by(worse);
    worst.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::eval::grid::EvalWorld;
    use crate::verb::eval::place::Place;
    use crate::verb::eval::rows::Origin;
    use dwell_core::{Effort, Quantity, Unit, Vantage};

    fn row(method: &str, condition: u32, finding: &Finding, outside: Option<&str>) -> Row {
        let origin = Origin {
            world: EvalWorld::Sim,
            place: Place { block: "b".to_owned(), condition, run: 0 },
            condition: [].into(),
            method: method.to_owned(),
            stamps: Vantage::Application,
            effort: Effort::default(),
            seconds: 0.0,
        };
        let outside = outside.map(str::to_owned);
        Row::new(&origin, Quantity::ApplicationStage, finding, Some(100.0), outside)
    }

    #[test]
    fn wrong_claims_come_first_and_every_method_is_heard() {
        let at_most = |bound| Finding::at_most(bound, Unit::Ns, "dispersion");
        let rows = [
            row("a", 0, &Finding::nanos(101.0, 95.0, 105.0), None),
            row("a", 1, &Finding::nanos(50.0, 45.0, 55.0), None),
            row("a", 2, &Finding::nanos(20.0, 15.0, 25.0), None),
            row("b", 3, &at_most(120.0), None),
            row("b", 4, &at_most(120.0), Some("too short")),
            row("b", 5, &at_most(90.0), Some("too short")),
            row("c", 6, &Finding::nanos(90.0, 85.0, 105.0), None),
        ];
        let places = |count| worst(&rows, count).iter().map(|row| row.place.condition).collect::<Vec<_>>();
        assert_eq!(places(3), [2, 5, 6]);
        // A bound that holds where no value is due is nothing to look at.
        assert_eq!(places(10), [2, 1, 5, 3, 6, 0]);
        // Nor is what the lab did not carry, however wrong.
        let mut rows = rows.clone();
        rows[2].uncarried = Some("held wrongly".to_owned());
        assert!(worst(&rows, 10).iter().all(|row| row.place.condition != 2));
    }
}
