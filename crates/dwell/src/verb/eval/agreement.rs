//! How estimates of sections agree with ping, as paper 003 tells it, and with the truth: how many are near enough, and
//! the signed-rank test of their differences.

use super::rows::Row;
use super::sections::{PING, PROBES, Within};
use crate::figure::{figure, share};
use crate::table::Table;
use dwell_core::Unit;
use dwell_core::stats::quantile::median;
use dwell_core::stats::signed_rank::SignedRank;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The runs of one block and section, held against one reference.
#[derive(Debug)]
pub(super) struct Agreement {
    block: String,
    section: String,
    against: &'static str,
    within: Within,
    /// Runs that have the reference.
    runs: usize,
    /// Estimate less reference, and whether that is near enough.
    differences: Vec<(f64, bool)>,
}

/// One for each block, section and reference, in the order of the rows; `within` says what is near enough in a block.
pub(super) fn agreements(rows: &[Row], within: &BTreeMap<String, Within>) -> Vec<Agreement> {
    let section = |row: &Row, method: &str| {
        row.method.strip_prefix(method).and_then(|rest| rest.strip_prefix(' ')).map(str::to_owned)
    };
    let pings: BTreeMap<_, f64> = rows
        .iter()
        .filter_map(|row| Some(((row.place.clone(), section(row, PING)?), row.estimate?)))
        .collect();
    let mut all: Vec<Agreement> = Vec::new();
    for row in rows {
        let Some((section, within)) = section(row, PROBES).zip(within.get(&row.place.block)) else {
            continue;
        };
        let ping = pings.get(&(row.place.clone(), section.clone())).copied();
        for (against, reference) in [("ping", ping), ("truth", row.truth)] {
            let Some(reference) = reference else { continue };
            let known = all
                .iter_mut()
                .find(|one| one.block == row.place.block && one.section == section && one.against == against);
            let one = match known {
                Some(one) => one,
                None => {
                    let (block, section) = (row.place.block.clone(), section.clone());
                    let new = Agreement {
                        block,
                        section,
                        against,
                        within: *within,
                        runs: 0,
                        differences: Vec::new(),
                    };
                    all.push(new);
                    all.last_mut().expect("just pushed")
                }
            };
            one.runs += 1;
            let off = row.estimate.map(|estimate| estimate - reference);
            one.differences.extend(off.map(|off| (off, off.abs() <= within.of(reference))));
        }
    }
    all
}

impl Agreement {
    fn near(&self) -> usize {
        self.differences.iter().filter(|(_, near)| *near).count()
    }

    fn differences(&self) -> Vec<f64> {
        self.differences.iter().map(|(off, _)| *off).collect()
    }

    fn worst(&self) -> Option<f64> {
        self.differences().into_iter().max_by(|one, other| one.abs().total_cmp(&other.abs()))
    }

    pub(super) fn json(&self) -> Value {
        let test = SignedRank::of(&self.differences());
        json!({
            "block": self.block,
            "section": self.section,
            "against": self.against,
            "runs": self.runs,
            "values": self.differences.len(),
            "near_enough": self.near(),
            "median_difference_ns": median(&self.differences()),
            "worst_difference_ns": self.worst(),
            "signed_rank": test.map(|test| json!({
                "pairs": test.pairs, "w": test.above.min(test.below), "z": test.z, "p": test.p,
            })),
        })
    }
}

/// One line each.
pub(super) fn text(agreements: &[Agreement]) -> Option<String> {
    if agreements.is_empty() {
        return None;
    }
    let mut table = Table::new(&[
        "block",
        "section",
        "against",
        "near enough",
        "of runs",
        "share",
        "values",
        "median difference",
        "worst",
        "pairs",
        "W",
        "z",
        "P",
    ]);
    let told = |value: Option<f64>| value.map_or_else(super::show::none, |value| figure(value, Unit::Ns));
    for one in agreements {
        let test = SignedRank::of(&one.differences());
        let tested = |of: fn(&SignedRank) -> String| test.as_ref().map_or_else(super::show::none, of);
        table.add_row([
            one.block.clone(),
            one.section.clone(),
            one.against.to_owned(),
            format!("{} (within {})", one.near(), one.within.text()),
            one.runs.to_string(),
            share(one.near() as f64 / one.runs.max(1) as f64),
            one.differences.len().to_string(),
            told(median(&one.differences())),
            told(one.worst()),
            tested(|test| test.pairs.to_string()),
            tested(|test| test.above.min(test.below).to_string()),
            tested(|test| format!("{:.4}", test.z)),
            tested(|test| format!("{:.3}", test.p)),
        ]);
    }
    Some(format!(
        "Sections against ping, as paper 003 has it, and against what the links did by their own stamps (signed-rank test by Wilcoxon):\n{}",
        table.text()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::grid::EvalWorld;
    use super::super::place::Place;
    use super::super::rows::Origin;
    use super::*;
    use dwell_core::{Effort, Finding, Quantity, Vantage};

    fn row(method: &str, run: u32, found: Option<f64>, truth: Option<f64>) -> Row {
        let origin = Origin {
            world: EvalWorld::Lab,
            place: Place { block: "b".to_owned(), condition: 0, run },
            condition: [].into(),
            method: method.to_owned(),
            stamps: Vantage::Application,
            effort: Effort::default(),
            seconds: 1.0,
        };
        let finding = found
            .map_or_else(|| Finding::unmeasurable("ambiguous"), |found| Finding::nanos(found, found, found));
        Row::new(&origin, Quantity::RoundTrip, &finding, truth, None)
    }

    #[test]
    fn each_estimate_is_held_against_its_own_ping_and_its_own_truth() {
        let within: Within = toml::from_str("share = 0.1\ntime = '5 ms'\n").unwrap();
        let rows = [
            row("sections source", 0, Some(104e6), Some(100e6)),
            row("ping source", 0, Some(90e6), Some(100e6)),
            row("sections source", 1, Some(26e6), Some(20e6)),
            row("ping source", 1, Some(25e6), Some(20e6)),
            row("sections source", 2, None, Some(20e6)),
            row("ping source", 2, Some(20e6), Some(20e6)),
            row("sections transit", 0, Some(1e6), None),
        ];
        let all = agreements(&rows, &[("b".to_owned(), within)].into());
        let told: Vec<_> = all
            .iter()
            .map(|one| (one.section.as_str(), one.against, one.near(), one.differences.len(), one.runs))
            .collect();
        assert_eq!(told, [("source", "ping", 1, 2, 3), ("source", "truth", 1, 2, 3)]);
        assert_eq!(all[0].worst(), Some(14e6));
        assert_eq!(all[1].json()["signed_rank"]["pairs"], 2);
        assert!(text(&all).unwrap().contains("1 (within 10 % or 5.0 ms)"));
        assert!(agreements(&rows, &BTreeMap::new()).is_empty() && text(&[]).is_none());
    }
}
