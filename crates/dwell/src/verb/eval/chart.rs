//! An evaluation as a picture.

use super::cells::Cell;
use super::rows::Row;
use crate::figure::share;
use crate::picture::{self, Judged, Mark, Panel};
use dwell_core::{Finding, Quantity, Unit};
use std::collections::BTreeMap;

/// The quantity with the most values in rows, and a small chart for each kind of condition.
pub(super) fn panels(rows: &[Row], cells: &[Cell]) -> (String, Vec<Box<dyn Panel>>) {
    let mut count: BTreeMap<Quantity, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.unit == Some(Unit::Ns) && row.truth.is_some()) {
        *count.entry(row.quantity).or_default() += 1;
    }
    let preferred = [Quantity::ApplicationStage].into_iter().find(|quantity| count.contains_key(quantity));
    let Some(quantity) = preferred.or_else(|| count.iter().max_by_key(|(_, n)| **n).map(|(q, _)| *q)) else {
        return ("No value was found".to_owned(), Vec::new());
    };
    // The published estimators give the whole time, not the application's share of it: they are drawn against that.
    let whole = quantity == Quantity::ApplicationStage;
    let drawn = |row: &&Row| {
        row.quantity == quantity
            || (whole && row.quantity == Quantity::PptHeading && row.method.starts_with("salehin"))
    };
    let mut methods: Vec<String> = Vec::new();
    let mut charts: Vec<picture::Cell> = Vec::new();
    for row in rows.iter().filter(drawn) {
        let Finding::Value { value, low, high, .. } = row.finding() else { continue };
        let Some(truth) = row.truth else { continue };
        let method = place(&mut methods, row.method_text());
        let title = chart_of(row, rows);
        let at = charts.iter().position(|chart| chart.title == title).unwrap_or_else(|| {
            charts.push(picture::Cell { title, series: Vec::new() });
            charts.len() - 1
        });
        let series = &mut charts[at].series;
        series.resize_with(series.len().max(method + 1), Vec::new);
        let us = 1e-3;
        // The papers' figures are drawn against A, which they do not look for.
        let inside = row.inside || row.quantity != quantity;
        let (truth, estimate) = (truth * us, value * us);
        series[method].push(Mark { truth, estimate, low: low * us, high: high * us, inside });
    }
    let name = quantity.name().replace('_', " ");
    let first = cells.iter().rev().find(|cell| cell.quantity == quantity);
    let title = first.and_then(|cell| {
        let error = share(cell.inside.median_relative_error?);
        Some(format!(
            "{}: median error {error} of the {name}, {} values",
            cell.method_text(),
            cell.inside.values
        ))
    });
    let title = title.unwrap_or_else(|| format!("Estimates of the {name} against the truth"));
    let name = if whole { "application stage, or PPT (papers)".to_owned() } else { name };
    (title, vec![Box::new(Judged { quantity: name, unit: "µs", most: None, methods, cells: charts })])
}

fn place(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

/// The chart that a row belongs to: its block and its settings but those of the hosts, which the truth shows. Where
/// that makes more charts than a picture holds, its block alone.
fn chart_of(row: &Row, rows: &[Row]) -> String {
    const MOST: usize = 12;
    let title = |row: &Row| {
        let mut link = row.clone();
        link.condition.retain(|key, _| key == "block" || key.starts_with("links"));
        link.condition_text()
    };
    let titles: std::collections::BTreeSet<String> = rows.iter().map(title).collect();
    if titles.len() <= MOST {
        return title(row);
    }
    row.place.block.clone()
}
