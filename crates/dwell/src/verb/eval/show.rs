//! An evaluation as text: the worst cases first, then the papers' figures beside ours, then both
//! halves of the truth, then the summary.

use super::cells::Cell;
use super::halves;
use super::place::Place;
use super::published::{self, Beside};
use super::rows::Row;
use super::worst::worst;
use crate::figure::{cells as finding_cells, figure, share};
use crate::table::Table;
use dwell_core::{Quantity, Unit};
use std::fmt::Write as _;

/// So many of the worst cases are told.
const WORST: usize = 10;
/// More rows, or more lines of the summary, are not for a terminal.
const MOST: usize = 100;

/// All that a person reads of it; `repeat` is the command that makes a run again.
pub(super) fn text(
    rows: &[Row],
    cells: &[Cell],
    beside: &[Beside],
    every_run: bool,
    repeat: &dyn Fn(&Place) -> String,
) -> String {
    let mut text = String::new();
    if every_run || rows.len() <= MOST {
        let _ = writeln!(text, "{}\n", all(rows));
    }
    let worst = worst(rows, WORST);
    if !worst.is_empty() {
        let _ = writeln!(text, "The worst cases, each with the command that repeats it:");
    }
    for row in worst {
        let _ = writeln!(text, "{}\n    {}", case(row), repeat(&row.place));
    }
    if !beside.is_empty() {
        let _ = writeln!(text, "\n{}", published::text(beside));
    }
    if let Some(halves) = halves::text(rows) {
        let _ = writeln!(text, "\n{halves}");
    }
    // Of very many conditions, the pooled lines alone.
    let few = every_run || cells.len() <= MOST;
    let told = cells.iter().filter(|cell| few || cell.is_pooled());
    if !cells.is_empty() {
        let _ = writeln!(text, "\n{}", summary(told));
    }
    text
}

/// What was so, also where nothing was found that has a unit.
fn truth(row: &Row) -> String {
    let of_quantity = match row.quantity {
        Quantity::AvailableBandwidth
        | Quantity::NarrowLinkCapacity
        | Quantity::EndLinkCapacity
        | Quantity::Throughput => Unit::Bps,
        Quantity::CoalescencePresent => Unit::Flag,
        Quantity::CoalescenceKind => Unit::Kind,
        _ => Unit::Ns,
    };
    row.truth.map_or_else(none, |truth| figure(truth, row.unit.unwrap_or(of_quantity)))
}

/// A row in words.
fn case(row: &Row) -> String {
    let judgement = row.judgement();
    let [found, sure] = finding_cells(&judgement.finding);
    let truth = truth(row);
    let quantity = row.quantity.name().replace('_', " ");
    let sure = if sure.is_empty() { sure } else { format!(" ({sure})") };
    let inside = row.outside.as_ref().map(|why| format!("; outside, as {why}")).unwrap_or_default();
    format!(
        "  {}: {} {quantity}: {found}{sure}; true {truth}{inside}",
        row.condition_text(),
        row.method_text()
    )
}

/// One line a row.
fn all(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        "condition",
        "run",
        "method",
        "quantity",
        "truth",
        "found",
        "95 % interval, or why",
        "error",
        "inside",
        "probes",
        "bytes",
        "s",
    ]);
    for row in rows {
        let judgement = row.judgement();
        let [found, sure] = finding_cells(&judgement.finding);
        table.add_row([
            row.condition_text(),
            row.run.to_string(),
            row.method_text(),
            row.quantity.name().replace('_', " "),
            truth(row),
            found,
            sure,
            judgement.relative_error().map_or_else(none, share),
            match (&row.uncarried, &row.outside) {
                (Some(why), _) => format!("not counted: {why}"),
                (None, Some(why)) => format!("no: {why}"),
                (None, None) => "yes".to_owned(),
            },
            row.probes.to_string(),
            row.bytes.to_string(),
            format!("{:.1}", row.seconds),
        ]);
    }
    table.text()
}

/// One line a cell. Errors and values are those inside the region where the quantity can be identified.
fn summary<'a>(cells: impl Iterator<Item = &'a Cell>) -> String {
    let mut table = Table::new(&[
        "condition",
        "method",
        "quantity",
        "runs",
        "inside",
        "values",
        "truth",
        "median error",
        "of truth",
        "95 % below",
        "worst",
        "holds: interval",
        "bound",
        "outside: interval",
        "bound",
    ]);
    for cell in cells {
        let (score, inside, outside) = (&cell.score, &cell.inside, &cell.outside);
        let unit = cell.unit.unwrap_or(Unit::Ns);
        // A median of kinds says nothing; that they are right stands under the intervals that hold.
        let plain = |value: Option<f64>| {
            value.filter(|_| !unit.is_named()).map_or_else(none, |value| figure(value, unit))
        };
        let part = |value: Option<f64>| value.filter(|_| !unit.is_named()).map_or_else(none, share);
        table.add_row([
            cell.condition_text(),
            cell.method_text(),
            cell.quantity.name().replace('_', " "),
            score.runs.to_string(),
            share(inside.runs as f64 / score.runs.max(1) as f64),
            inside.values.to_string(),
            plain(inside.truth),
            plain(inside.median_error),
            part(inside.median_relative_error),
            // What clocks differ by says nothing about how well it can be told.
            if unit == Unit::Ppm { plain(inside.p95_error) } else { part(inside.p95_relative_error) },
            part(inside.worst_relative_error),
            inside.coverage.map_or_else(none, share),
            inside.bounds_hold.map_or_else(none, share),
            outside.coverage.map_or_else(none, share),
            outside.bounds_hold.map_or_else(none, share),
        ]);
    }
    table.text()
}

pub(super) fn none() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::eval::grid::EvalWorld;
    use crate::verb::eval::rows::Origin;
    use dwell_core::nic::Kind;
    use dwell_core::{Effort, Finding, Vantage};

    #[test]
    fn what_is_so_is_told_in_its_own_unit_also_where_nothing_was_found() {
        let origin = Origin {
            world: EvalWorld::Sim,
            place: Place { block: "b".to_owned(), condition: 0, run: 0 },
            condition: [].into(),
            method: "coalescence".to_owned(),
            stamps: Vantage::Application,
            effort: Effort::default(),
            seconds: 0.0,
        };
        let nothing = Finding::unmeasurable("all lost");
        let told = |quantity, so| truth(&Row::new(&origin, quantity, &nothing, Some(so), None));
        let kind = Kind::ALL[1];
        assert_eq!(told(Quantity::CoalescencePresent, 1.0), "yes");
        assert_eq!(told(Quantity::CoalescenceKind, kind.code()), kind.to_string());
        assert_eq!(told(Quantity::AvailableBandwidth, 7e7), "70 Mb/s");
        assert_eq!(told(Quantity::CoalescencePeriod, 5e4), "50.0 us");
    }
}
