//! The table of all tools, and the judgement, as text and for a page.

use super::cell::{Cell, Spread};
use super::goal::Standing;
use crate::figure::{figure, share};
use crate::screen::table;
use crate::verb::eval::grid::EvalWorld;
use crate::verb::eval::show::none;
use dwell_core::{Quantity, Unit};
use std::fmt::Write as _;

/// Heads and rows.
pub(super) struct Grid {
    pub(super) title: String,
    pub(super) heads: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Grid {
    fn text(&self) -> String {
        let mut table = table(&self.heads);
        for row in &self.rows {
            table.add_row(row);
        }
        format!("{}:\n{}\n", self.title, table.trim_fmt())
    }
}

const HEADS: [&str; 14] = [
    "condition",
    "tool",
    "values",
    "truly free",
    "found, mean",
    "± deviation",
    "error, median",
    "95 % below",
    "worst",
    "range holds",
    "time",
    "intrusiveness",
    "overhead",
    "packets",
];

/// One table for each world that was measured in: they are never mixed.
pub(super) fn grids(cells: &[Cell]) -> Vec<Grid> {
    let of = |world: EvalWorld, name: &str| {
        let rows: Vec<_> = cells.iter().filter(|cell| cell.world == world).map(line).collect();
        (!rows.is_empty()).then(|| Grid {
            title: format!("Bandwidth tools {name}; errors in shares of the tight link's capacity"),
            heads: HEADS.to_vec(),
            rows,
        })
    };
    [of(EvalWorld::Lab, "in the lab, on this machine's kernel"), of(EvalWorld::Sim, "in the simulator")]
        .into_iter()
        .flatten()
        .collect()
}

fn line(cell: &Cell) -> Vec<String> {
    let part = |value: Option<f64>| value.map_or_else(none, share);
    let of = |spread: Option<Spread>, of: fn(Spread) -> f64, unit| {
        spread.map_or_else(none, |spread| figure(rounded(of(spread)), unit))
    };
    let tool = match cell.quantity {
        Quantity::AvailableBandwidth => cell.method.clone(),
        other => format!("{} ({})", cell.method, other.name().replace('_', " ")),
    };
    let values = match &cell.reason {
        Some(reason) if cell.values == 0 => format!("none: {reason}"),
        _ => format!("{} of {}", cell.values, cell.measurements),
    };
    vec![
        cell.condition_text(),
        tool,
        values,
        figure(rounded(cell.free_bps.mean), Unit::Bps),
        of(cell.found, |spread| spread.mean, cell.unit),
        of(cell.found, |spread| spread.deviation, cell.unit),
        part(cell.median_error),
        part(cell.p95_error),
        part(cell.worst_error),
        part(cell.coverage),
        format!("{:.2} s", cell.median_seconds),
        part(cell.intrusiveness),
        part(cell.overhead),
        cell.median_packets.map_or_else(none, |packets| format!("{packets:.0}")),
    ]
}

/// To four digits: more are noise, and harder to read.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powf(3.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}

/// The judgement, cell by cell.
pub(super) fn judgement(standings: &[Standing]) -> Option<Grid> {
    let (all, met) = (standings.len(), standings.iter().filter(|one| one.missed.is_empty()).count());
    let rows = standings.iter().map(|one| {
        let verdict = if one.missed.is_empty() { "met".to_owned() } else { one.missed.join("; ") };
        let world = if one.world == EvalWorld::Lab { "lab" } else { "simulator" };
        vec![world.to_owned(), one.condition.clone(), one.method.clone(), one.goal.to_owned(), verdict]
    });
    (all > 0).then(|| Grid {
        title: format!("Goals: {met} of {all} met"),
        heads: vec!["world", "condition", "tool", "asked", "met, or what is missed"],
        rows: rows.collect(),
    })
}

/// All that a person reads of it.
pub(super) fn text(cells: &[Cell], standings: &[Standing]) -> String {
    let mut text = String::new();
    for grid in grids(cells).iter().chain(judgement(standings).iter()) {
        let _ = writeln!(text, "{}", grid.text());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::cell::cells;
    use super::super::cell::tests::row;
    use super::*;

    #[test]
    fn worlds_have_tables_of_their_own() {
        let sim = row("pathload", 0, Some(1.0), 0);
        let mut lab = row("pathload", 0, Some(20.0), 0);
        lab.world = EvalWorld::Lab;
        let cells = cells(&[sim, lab]);
        let grids = grids(&cells);
        assert_eq!(grids.len(), 2);
        assert_eq!(grids[0].rows[0][4], "70 Mb/s");
        assert_eq!(grids[1].rows[0][4], "51 Mb/s");
        assert!(grids.iter().all(|grid| grid.rows[0].len() == grid.heads.len()));
    }

    #[test]
    fn figures_have_four_digits() {
        assert_eq!(rounded(48_123_456.0), 48_120_000.0);
        assert_eq!((rounded(0.0), rounded(-1.23456)), (0.0, -1.235));
    }
}
