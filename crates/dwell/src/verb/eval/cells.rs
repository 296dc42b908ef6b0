//! The score of each condition, method and quantity.

use super::rows::{Row, condition_text, method_text};
use dwell_core::truth::Score;
use dwell_core::{Quantity, Unit, Vantage};
use serde::Serialize;
use std::collections::BTreeMap;
use toml::Value;

/// All runs of one condition, method and quantity.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    #[serde(skip)]
    pooled: bool,
    #[serde(skip)]
    block: String,
    pub(super) condition: BTreeMap<String, Value>,
    pub(super) method: String,
    pub(super) stamps: Vantage,
    pub(super) quantity: Quantity,
    pub(super) unit: Option<Unit>,
    /// All runs.
    #[serde(flatten)]
    pub(super) score: Score,
    /// Those in which the quantity can be identified.
    pub(super) inside: Score,
    /// The others.
    pub(super) outside: Score,
}

impl Cell {
    /// The condition in a few words.
    pub(super) fn condition_text(&self) -> String {
        condition_text(&self.condition)
    }

    /// The method with its stamps.
    pub(super) fn method_text(&self) -> String {
        method_text(&self.method, self.stamps)
    }

    /// Whether it is of a whole block.
    pub(super) fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// Whether `pooled` has no other runs than this cell.
    fn covers(&self, pooled: &Self) -> bool {
        self.block == pooled.block
            && self.quantity == pooled.quantity
            && self.method_text() == pooled.method_text()
            && self.score.runs == pooled.score.runs
    }

    fn of(pooled: bool, condition: BTreeMap<String, Value>, rows: &[&Row]) -> Self {
        let judged: Vec<_> = rows.iter().map(|row| (row.inside, row.judgement())).collect();
        let part =
            |inside: bool| Score::of(judged.iter().filter(|(is, _)| *is == inside).map(|(_, judged)| judged));
        Self {
            pooled,
            block: rows[0].place.block.clone(),
            condition,
            method: rows[0].method.clone(),
            stamps: rows[0].stamps,
            quantity: rows[0].quantity,
            unit: rows.iter().find_map(|row| row.unit),
            score: Score::of(judged.iter().map(|(_, judged)| judged)),
            inside: part(true),
            outside: part(false),
        }
    }
}

/// Cells in the order in which their first rows came, and one for each block, method and quantity with all
/// conditions of the block pooled. Bandwidth tools have tables of their own.
pub(super) fn cells(rows: &[Row]) -> Vec<Cell> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.met.is_none()).collect();
    let own = grouped(&rows, false, |row| row.condition.clone());
    let pooled = grouped(&rows, true, |row| {
        let all = Value::String(format!("all of {}", row.place.block));
        [("block".to_owned(), all)].into()
    });
    // Random conditions have one run each: their own cells would say nothing.
    let several = rows.iter().any(|row| row.run > 0);
    let own: Vec<Cell> = own.into_iter().filter(|_| several).collect();
    // A block of a single condition is told once.
    let alone = |cell: &Cell| own.iter().any(|one| one.covers(cell));
    let pooled: Vec<Cell> = pooled.into_iter().filter(|cell| !alone(cell)).collect();
    own.into_iter().chain(pooled).collect()
}

fn grouped(rows: &[&Row], pooled: bool, condition: impl Fn(&Row) -> BTreeMap<String, Value>) -> Vec<Cell> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    let mut place: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let key = format!("{:?} {} {:?}", condition(row), row.method_text(), row.quantity);
        let at = *place.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(row);
    }
    groups.iter().map(|rows| Cell::of(pooled, condition(rows[0]), rows)).collect()
}
