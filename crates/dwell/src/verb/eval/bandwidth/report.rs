//! What an evaluation says of bandwidth tools, whole.

use super::cell::{Cell, cells, pooled};
use super::differential::{Differential, differentials};
use super::goal::{Standing, standings};
use super::interarrival::{Arrivals, arrivals};
use super::offered::{self, Offered, offered};
use super::page::page;
use super::panels::{Figure, figures};
use super::table;
use crate::picture::Panel;
use crate::verb::eval::grid::{Condition, Grid};
use crate::verb::eval::rows::Row;
use crate::verb::eval::sheet::Sheet;
use crate::verb::eval::uncarried::{self, Uncarried, uncarried};
use anyhow::Result;
use dwell_core::avail::Busy;
use serde_json::{Value, json};

/// Of all rows in which a tool met counted links.
pub(in crate::verb::eval) struct Report {
    rows: Vec<Row>,
    cells: Vec<Cell>,
    /// All conditions of each block together.
    pooled: Vec<Cell>,
    standings: Vec<Standing>,
    differentials: Vec<Differential>,
    offered: Vec<Offered>,
    /// What the lab did not carry, and is in none of the above.
    uncarried: Vec<Uncarried>,
    arrivals: Vec<Arrivals>,
}

impl Report {
    /// `None`: no bandwidth tool was judged. `others` are rows of another evaluation.
    pub(in crate::verb::eval) fn of(
        rows: &[Row],
        others: Vec<Row>,
        grid: &Grid,
        conditions: &[&Condition],
        seed: u64,
    ) -> Option<Self> {
        let rows: Vec<Row> = rows.iter().cloned().chain(others).filter(|row| row.met.is_some()).collect();
        let uncarried = uncarried(&rows);
        let rows: Vec<Row> = rows.into_iter().filter(Row::counts).collect();
        let cells = cells(&rows);
        let standings = standings(&cells, |block| grid.originals(block));
        let mut judged: Vec<&Condition> = Vec::new();
        for condition in conditions.iter().filter(|condition| condition.bandwidth.is_some()) {
            let known = |one: &&Condition| one.block == condition.block && one.number == condition.number;
            if !judged.iter().any(known) {
                judged.push(condition);
            }
        }
        (!cells.is_empty() || !uncarried.is_empty()).then(|| Self {
            uncarried,
            arrivals: arrivals(&judged, seed),
            pooled: pooled(&rows),
            differentials: differentials(&cells),
            offered: offered(&rows),
            rows,
            cells,
            standings,
        })
    }

    /// Tables and judgement.
    pub(in crate::verb::eval) fn text(&self) -> String {
        self.sheets().iter().map(Sheet::text).collect::<Vec<_>>().join("\n")
    }

    fn sheets(&self) -> Vec<Sheet> {
        let judgement = table::judgement(&self.standings).into_iter();
        let mut sheets = table::sheets(&self.cells);
        if let Some(last) = sheets.last_mut() {
            last.notes.extend(offered::told(&self.offered));
        }
        let left_out = uncarried::sheet(&self.uncarried);
        let changes = table::changes(&self.differentials);
        sheets
            .into_iter()
            .chain(table::overview(&self.pooled))
            .chain(changes)
            .chain(left_out)
            .chain(judgement)
            .collect()
    }

    pub(in crate::verb::eval) fn json(&self) -> Value {
        json!({
            "cells": self.cells,
            "goals": self.standings,
            "interarrival": self.arrivals,
            "changes": self.differentials,
            "offered": self.offered,
            "uncarried": self.uncarried,
        })
    }

    /// The finding, and its figures, for a picture.
    pub(in crate::verb::eval) fn panels(&self) -> (String, Vec<Box<dyn Panel>>) {
        let own = self.standings.iter().filter(|one| one.method == Busy::NAME);
        let (all, met) =
            own.fold((0, 0), |(all, met), one| (all + 1, met + usize::from(one.missed.is_empty())));
        let title = match all {
            0 => "Bandwidth tools against the truth".to_owned(),
            _ => format!("{} meets its goals in {met} of {all} cells", Busy::NAME),
        };
        (title, self.figures().into_iter().map(|figure| figure.panel).collect())
    }

    /// One page that needs nothing but itself.
    pub(in crate::verb::eval) fn page(&self, description: &str, notes: &[String]) -> Result<String> {
        // On a page the reader sees the end first.
        page(description, self.sheets().iter().rev(), self.figures(), notes)
    }

    fn figures(&self) -> Vec<Figure> {
        figures(&self.rows, &self.cells, &self.arrivals)
    }
}
