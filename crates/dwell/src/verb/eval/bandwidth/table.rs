//! The table of all tools, and the judgement, as text and for a page.

use super::cell::{Cell, Spread};
use super::differential::Differential;
use super::goal::Standing;
use crate::figure::{figure, share};
use crate::verb::eval::grid::EvalWorld;
use crate::verb::eval::sheet::Sheet;
use crate::verb::eval::show::none;
use dwell_core::{BitRate, Quantity, Unit};

const HEADS: [&str; 16] = [
    "condition",
    "tool",
    "values",
    "truth",
    "found, mean",
    "± deviation",
    "error, median",
    "95 % below",
    "worst",
    "range holds",
    "bounds hold",
    "time",
    "intrusiveness",
    "overhead",
    "packets",
    "limited by",
];

/// The worlds that have cells, by their names: they are never mixed.
fn worlds(cells: &[Cell]) -> impl Iterator<Item = (&'static str, Vec<&Cell>)> {
    let worlds =
        [(EvalWorld::Lab, "in the lab, on this machine's kernel"), (EvalWorld::Sim, "in the simulator")];
    let of = |world| cells.iter().filter(move |cell| cell.world == world).collect::<Vec<_>>();
    worlds.into_iter().map(move |(world, name)| (name, of(world))).filter(|(_, cells)| !cells.is_empty())
}

/// One table for each world, of the cells that are there; what it is called goes before the world's name.
fn by_world(cells: &[Cell], title: &str, of: impl Fn(Vec<&Cell>) -> Sheet) -> Vec<Sheet> {
    let sheet = |(name, cells): (&str, Vec<&Cell>)| {
        let sheet = of(cells);
        Sheet { title: format!("{title} {name}{}", sheet.title), ..sheet }
    };
    worlds(cells).map(sheet).collect()
}

/// One table for each world, with a line for each tool in each condition.
pub(super) fn sheets(cells: &[Cell]) -> Vec<Sheet> {
    by_world(cells, "Bandwidth tools", |cells| {
        let reasons = cells.iter().filter_map(|cell| {
            Some(format!(
                "{} gave no value: {}",
                cell.method,
                cell.reason.as_deref().filter(|_| cell.values == 0)?
            ))
        });
        Sheet {
            title: "; errors in shares of the tight link's capacity, or of that which was to be found"
                .to_owned(),
            heads: HEADS.to_vec(),
            notes: once(reasons),
            rows: cells.into_iter().map(line).collect(),
        }
    })
}

/// What is free, and was found, is another figure in each condition: without these columns all can be told together.
const OF_ONE: std::ops::Range<usize> = 3..6;

/// The same with all conditions of each block together.
pub(super) fn overview(pooled: &[Cell]) -> Vec<Sheet> {
    by_world(pooled, "All conditions together", |cells| {
        let mut heads = HEADS.to_vec();
        heads.drain(OF_ONE);
        heads[0] = "block";
        let rows = cells.into_iter().map(|cell| {
            let mut line = line(cell);
            line.drain(OF_ONE);
            line[0].clone_from(&cell.block);
            line
        });
        Sheet { title: String::new(), heads, notes: Vec::new(), rows: rows.collect() }
    })
}

/// Whether tools see that the load changes.
pub(super) fn changes(differentials: &[Differential]) -> Option<Sheet> {
    let world = |one: &Differential| world_name(one.world).to_owned();
    let rows = differentials.iter().map(|one| {
        vec![
            world(one),
            one.block.clone(),
            BitRate(one.capacity_bps as u64).to_string(),
            one.method.clone(),
            one.steps.to_string(),
            format!("{:.2}", one.ratio),
            share(one.median_error),
            share(one.worst_error),
        ]
    });
    (!differentials.is_empty()).then(|| Sheet {
        title: "From one load to the next: what the reading changed by, over what was free changed by".to_owned(),
        heads: vec!["world", "block", "tight link", "tool", "steps", "ratio, median", "off, median", "worst"],
        rows: rows.collect(),
        notes: vec![
            "A ratio of 1 sees every change, one of 0 none; how far off in shares of the tight link's capacity.".to_owned(),
        ],
    })
}

fn world_name(world: EvalWorld) -> &'static str {
    if world == EvalWorld::Lab { "lab" } else { "simulator" }
}

/// Each text once, in the order in which they came.
fn once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// What its results said was the limit, the most frequent first.
fn limits(cell: &Cell) -> String {
    let mut told: Vec<_> = cell.limits.iter().collect();
    told.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
    match told.as_slice() {
        [] => none(),
        [(limit, _)] => (**limit).to_owned(),
        many => many.iter().map(|(limit, times)| format!("{limit} {times}")).collect::<Vec<_>>().join(", "),
    }
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
    let values = format!("{} of {}", cell.values, cell.measurements);
    vec![
        cell.condition_text(),
        tool,
        values,
        of(cell.truth, |spread| spread.mean, Unit::Bps),
        of(cell.found, |spread| spread.mean, cell.unit),
        of(cell.found, |spread| spread.deviation, cell.unit),
        part(cell.median_error),
        part(cell.p95_error),
        part(cell.worst_error),
        part(cell.coverage),
        if cell.bounds > 0 { format!("{} of {}", cell.bounds_hold, cell.bounds) } else { none() },
        format!("{:.2} s", cell.median_seconds),
        part(cell.intrusiveness),
        part(cell.overhead),
        cell.median_packets.map_or_else(none, |packets| format!("{packets:.0}")),
        limits(cell),
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
pub(super) fn judgement(standings: &[Standing]) -> Option<Sheet> {
    let (all, met) = (standings.len(), standings.iter().filter(|one| one.missed.is_empty()).count());
    let world = |one: &Standing| world_name(one.world);
    let rows = standings.iter().map(|one| {
        let verdict = if one.missed.is_empty() { "met".to_owned() } else { one.missed.join("; ") };
        vec![world(one).to_owned(), one.condition.clone(), one.method.clone(), verdict]
    });
    let asked =
        standings.iter().map(|one| format!("Asked of {} in the {}: {}.", one.method, world(one), one.goal));
    (all > 0).then(|| Sheet {
        title: format!("Goals: {met} of {all} met"),
        heads: vec!["world", "condition", "tool", "met, or what is missed"],
        notes: once(asked),
        rows: rows.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::cell::cells;
    use super::super::cell::tests::row;
    use super::*;
    use dwell_core::limit::Limit;

    #[test]
    fn worlds_have_tables_of_their_own() {
        let sim = row("pathload", 0, Some(1.0), 0);
        let mut lab = row("pathload", 0, Some(20.0), 0);
        lab.world = EvalWorld::Lab;
        let cells = cells(&[sim, lab]);
        let sheets = sheets(&cells);
        assert_eq!(sheets.len(), 2);
        assert_eq!(sheets[0].rows[0][4], "70 Mb/s");
        assert_eq!(sheets[1].rows[0][4], "51 Mb/s");
        assert!(sheets.iter().all(|sheet| sheet.rows[0].len() == sheet.heads.len()));
    }

    #[test]
    fn what_limited_is_said_with_its_times_where_runs_differ() {
        let rows: Vec<_> = (0..3).map(|run| row("ptr", run, Some(1.0), 0)).collect();
        assert_eq!(limits(&cells(&rows)[0]), "link");
        let mut differ = rows;
        differ[1].met.as_mut().unwrap().limit = Some(Limit::Unstable);
        assert_eq!(limits(&cells(&differ)[0]), "link 2, unstable 1");
        differ.iter_mut().for_each(|row| row.met.as_mut().unwrap().limit = None);
        assert_eq!(limits(&cells(&differ)[0]), none());
    }

    #[test]
    fn figures_have_four_digits() {
        assert_eq!(rounded(48_123_456.0), 48_120_000.0);
        assert_eq!((rounded(0.0), rounded(-1.23456)), (0.0, -1.235));
    }
}
