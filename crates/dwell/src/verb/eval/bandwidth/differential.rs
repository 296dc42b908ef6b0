//! Whether a tool sees that the load changes, where it may be wrong in what is free (Strauss, Katabi, Kaashoek, IMC 2003,
//! section 5: spruce was judged by differences, as nobody knew the truth).

use super::cell::Cell;
use crate::verb::eval::grid::EvalWorld;
use dwell_core::Unit;
use dwell_core::stats::quantile::median;
use serde::Serialize;
use std::collections::BTreeMap;

/// One tool over all loads of a block at which nothing else differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Differential {
    pub(super) world: EvalWorld,
    pub(super) block: String,
    pub(super) capacity_bps: f64,
    pub(super) method: String,
    /// From each load to the next.
    pub(super) steps: usize,
    /// What the tool's reading changed by, as a share of what was free changed by, at the median.
    pub(super) ratio: f64,
    /// How far the one change was from the other, as a share of the capacity: median and worst.
    pub(super) median_error: f64,
    pub(super) worst_error: f64,
}

/// Changes of less than this share of the capacity are those of chance.
const LEAST: f64 = 0.03;

/// Of each tool whose truth differs from cell to cell.
pub(super) fn differentials(cells: &[Cell]) -> Vec<Differential> {
    type Key<'a> = (bool, &'a str, u64, &'a str);
    let mut groups: BTreeMap<Key<'_>, Vec<(f64, f64)>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.unit == Unit::Bps) {
        let (Some(found), Some(truth)) = (cell.found, cell.truth) else { continue };
        let key = (
            cell.world == EvalWorld::Sim,
            cell.block.as_str(),
            cell.capacity_bps as u64,
            cell.method.as_str(),
        );
        groups.entry(key).or_default().push((truth.mean, found.mean));
    }
    let of = |((sim, block, capacity, method), mut points): (Key<'_>, Vec<(f64, f64)>)| {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let capacity_bps = capacity as f64;
        let steps: Vec<(f64, f64)> = points
            .windows(2)
            .map(|two| (two[1].0 - two[0].0, two[1].1 - two[0].1))
            .filter(|step| step.0 > LEAST * capacity_bps)
            .collect();
        let errors: Vec<f64> =
            steps.iter().map(|(truth, found)| (found - truth).abs() / capacity_bps).collect();
        Some(Differential {
            world: if sim { EvalWorld::Sim } else { EvalWorld::Lab },
            block: block.to_owned(),
            capacity_bps,
            method: method.to_owned(),
            steps: steps.len(),
            ratio: median(&steps.iter().map(|(truth, found)| found / truth).collect::<Vec<_>>())?,
            median_error: median(&errors)?,
            worst_error: errors.iter().copied().reduce(f64::max)?,
        })
    };
    groups.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cell::cells;
    use super::super::cell::tests::row;
    use super::*;

    #[test]
    fn a_tool_that_is_always_too_high_still_sees_a_change() {
        let at = |condition: u32, free: f64, found: f64| {
            let mut row = row("a", 0, Some(found - 50.0), 0);
            row.place.condition = condition;
            row.truth = Some(free * 1e6);
            row
        };
        let all = differentials(&cells(&[
            at(0, 20.0, 30.0),
            at(1, 50.0, 60.0),
            at(2, 80.0, 75.0),
            at(3, 81.0, 20.0),
        ]));
        assert_eq!((all.len(), all[0].steps), (1, 2), "{all:?}");
        assert!((all[0].ratio - 0.75).abs() < 1e-9 && (all[0].worst_error - 0.15).abs() < 1e-9, "{all:?}");
        assert!(differentials(&cells(&[at(0, 20.0, 30.0)])).is_empty());
    }
}
