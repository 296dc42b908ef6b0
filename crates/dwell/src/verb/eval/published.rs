//! A paper's figures beside ours.

use super::gaps::SizeGaps;
use super::method::MethodName;
use super::place::Place;
use super::rows::Row;
use super::show::none;
use crate::figure::figure;
use crate::table::Table;
use dwell_core::stats::quantile::median;
use dwell_core::truth::{MeanInterval, mean_interval};
use dwell_core::{Finding, Quantity, Side, Unit, Vantage};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Papers/000 draws such intervals over its ten runs.
const CONFIDENCE: f64 = 0.98;

/// Figures that a paper prints for one block of the grid, in microseconds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    /// Where they stand in the paper.
    pub(super) at: String,
    block: String,
    /// The paper's method.
    method: MethodName,
    /// What it found.
    #[serde(default)]
    found_us: BTreeMap<Quantity, f64>,
    /// What it holds for the truth.
    #[serde(default)]
    actual_us: BTreeMap<Quantity, f64>,
    /// G_avg of each trailing size, the smallest first.
    #[serde(default)]
    gaps_us: Vec<f64>,
}

impl Published {
    /// What is wrong with it, if anything is.
    pub(super) fn problem(&self, blocks: &BTreeSet<&String>) -> Option<String> {
        (!blocks.contains(&self.block)).then(|| format!("there is no block `{}`", self.block))
    }
}

/// One figure of a paper, and ours. All in microseconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Beside {
    at: String,
    block: String,
    figure: String,
    /// As the paper has it.
    printed: Option<f64>,
    /// What the paper holds for the truth.
    actual: Option<f64>,
    /// Ours, from either kind of stamps.
    ours: Vec<Ours>,
    /// What was really so here.
    truth: Option<f64>,
}

/// What the runs of a block say.
#[derive(Clone, Debug, Serialize)]
struct Ours {
    stamps: Vantage,
    /// Runs that gave a value.
    values: usize,
    /// Mean of the runs' averages, with its 98 % interval.
    #[serde(flatten)]
    mean: Option<MeanInterval>,
    /// The runs that gave bounds, in words.
    bounds: Option<String>,
}

/// What Dwell's own methods say of the same host.
const OWN: [(&str, Quantity); 2] =
    [("knee", Quantity::ApplicationStage), ("coalescence", Quantity::CoalescencePeriod)];

/// Every figure of `published` beside ours, and what Dwell's own methods say.
pub(super) fn beside(published: &[Published], rows: &[Row], gaps: &[(Place, SizeGaps)]) -> Vec<Beside> {
    let mut all = Vec::new();
    let mut last = "";
    for paper in published {
        let of_block: Vec<&Row> = rows.iter().filter(|row| row.place.block == paper.block).collect();
        if of_block.is_empty() {
            continue;
        }
        // Once for each block, ahead of the paper's figures.
        if paper.block != last {
            for (method, quantity) in OWN {
                let own: Vec<&Row> = of_block.iter().copied().filter(|row| row.method == method).collect();
                all.extend(of_rows(paper, &own, quantity, true));
            }
        }
        last = &paper.block;
        let method: Vec<&Row> =
            of_block.iter().copied().filter(|row| row.method == paper.method.stage()).collect();
        let quantities: BTreeSet<Quantity> =
            paper.found_us.keys().chain(paper.actual_us.keys()).copied().collect();
        all.extend(quantities.into_iter().filter_map(|quantity| of_rows(paper, &method, quantity, false)));
        all.extend(of_gaps(paper, gaps));
    }
    all
}

fn of_rows(paper: &Published, all: &[&Row], quantity: Quantity, own: bool) -> Option<Beside> {
    let rows: Vec<&Row> = all.iter().copied().filter(|row| row.quantity == quantity).collect();
    let truth = |of: Quantity| {
        let truths: Vec<f64> =
            all.iter().filter(|row| row.quantity == of).filter_map(|row| row.truth).collect();
        median(&truths).map(|ns| ns / 1e3)
    };
    // Where every trailing packet waited for the heading one, only the latter has a processing time of its own.
    let alone = || truth(Quantity::PptHeading).filter(|_| quantity == Quantity::PptAverage);
    let first = rows.first()?;
    let ours = [Vantage::Capture, Vantage::Application].into_iter().filter_map(|stamps| {
        let findings: Vec<Finding> =
            rows.iter().filter(|row| row.stamps == stamps).map(|row| row.finding()).collect();
        let values: Vec<f64> = findings.iter().filter_map(|f| Some(f.estimate()? / 1e3)).collect();
        (!findings.is_empty()).then(|| Ours::new(stamps, &values, bounds(&findings)))
    });
    let name = quantity.name().replace('_', " ");
    let printed = |figures: &BTreeMap<Quantity, f64>| figures.get(&quantity).copied().filter(|_| !own);
    Some(Beside {
        at: if own { String::new() } else { paper.at.clone() },
        block: paper.block.clone(),
        figure: if own { format!("{name} ({})", first.method) } else { name },
        printed: printed(&paper.found_us),
        actual: printed(&paper.actual_us),
        ours: ours.collect(),
        truth: truth(quantity).or_else(alone),
    })
}

/// The runs that gave no value, in words.
fn bounds(findings: &[Finding]) -> Option<String> {
    let of = |wanted: Side| -> Vec<f64> {
        let bound = |finding: &Finding| match finding {
            Finding::Bound { bound, side, .. } if *side == wanted => Some(*bound),
            _ => None,
        };
        findings.iter().filter_map(bound).collect()
    };
    let told = |side, word: &str| {
        let bounds = of(side);
        let middle = figure(median(&bounds)?, Unit::Ns);
        Some(format!("{word} {middle} in {} of {} runs", bounds.len(), findings.len()))
    };
    let told: Vec<String> =
        [told(Side::Upper, "at most"), told(Side::Lower, "at least")].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn of_gaps(paper: &Published, gaps: &[(Place, SizeGaps)]) -> Vec<Beside> {
    let own =
        |gaps: &&(Place, SizeGaps)| gaps.0.block == paper.block && gaps.1.method == paper.method.stage();
    let gaps: Vec<&SizeGaps> = gaps.iter().filter(own).map(|(_, gaps)| gaps).collect();
    // A run may have to use sizes a byte or two off the paper's: the place among the sizes counts.
    let mut places: HashMap<(Vantage, usize), Vec<&SizeGaps>> = HashMap::new();
    let mut place = 0;
    let mut before: Option<&SizeGaps> = None;
    for one in gaps {
        place = match before {
            Some(before) if before.stamps == one.stamps && before.size < one.size => place + 1,
            _ => 0,
        };
        before = Some(one);
        places.entry((one.stamps, place)).or_default().push(one);
    }
    let figure = |(place, printed): (usize, &f64)| {
        let of = |stamps| places.get(&(stamps, place));
        let some = of(Vantage::Capture).or(of(Vantage::Application))?.first()?;
        let ours = [Vantage::Capture, Vantage::Application].into_iter().filter_map(|stamps| {
            let averages: Vec<f64> = of(stamps)?.iter().map(|gaps| gaps.average / 1e3).collect();
            Some(Ours::new(stamps, &averages, None))
        });
        Some(Beside {
            at: paper.at.clone(),
            block: paper.block.clone(),
            figure: format!("gap of {}", some.size),
            printed: Some(*printed),
            actual: some.expected.map(|ns| ns / 1e3),
            ours: ours.collect(),
            truth: None,
        })
    };
    paper.gaps_us.iter().enumerate().filter_map(figure).collect()
}

impl Ours {
    fn new(stamps: Vantage, values: &[f64], bounds: Option<String>) -> Self {
        // One run has a figure, but no interval over runs.
        let alone = |value: &f64| MeanInterval { runs: 1, mean: *value, low: *value, high: *value };
        let mean = mean_interval(values, CONFIDENCE).or_else(|| values.first().map(alone));
        Self { stamps, values: values.len(), mean, bounds }
    }

    fn text(&self) -> String {
        let mean = self.mean.map(|mean| {
            let half = (mean.high - mean.low) / 2.0;
            if mean.runs == 1 {
                digits(mean.mean)
            } else {
                format!("{} ± {}", digits(mean.mean), digits(half))
            }
        });
        match (mean, &self.bounds) {
            (Some(mean), None) => mean,
            (Some(mean), Some(bounds)) => format!("{mean} in {} runs, {bounds}", self.values),
            (None, Some(bounds)) => bounds.clone(),
            (None, None) => "not measurable".to_owned(),
        }
    }
}

/// Microseconds to three digits.
fn digits(us: f64) -> String {
    let decimals = if us.abs() < 9.995 { 2 } else { 1 };
    format!("{us:.decimals$}")
}

/// The papers' figures and ours, in microseconds.
pub(super) fn text(beside: &[Beside]) -> String {
    let mut table = Table::new(&[
        "in the paper",
        "block",
        "figure (us)",
        "printed",
        "ours: capture stamps",
        "application stamps",
        "true here",
        "actual or expected, by the paper",
    ]);
    for one in beside {
        let ours = |stamps| one.ours.iter().find(|ours| ours.stamps == stamps).map_or_else(none, Ours::text);
        table.add_row([
            one.at.clone(),
            one.block.clone(),
            one.figure.clone(),
            one.printed.map_or_else(none, |us| us.to_string()),
            ours(Vantage::Capture),
            ours(Vantage::Application),
            one.truth.map_or_else(none, digits),
            one.actual.map_or_else(none, digits),
        ]);
    }
    format!("Means of the runs' averages with their 98 % intervals:\n{}", table.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::eval::grid::EvalWorld;
    use crate::verb::eval::rows::Origin;
    use dwell_core::{Bytes, Effort};

    fn paper() -> Published {
        let text = "at = 'Table 3'\nblock = 'b'\nmethod = 'salehin2015'\nfound_us = { ppt_heading = 17 }\n\
                    actual_us = { ppt_heading = 21 }\ngaps_us = [79, 98]\n";
        toml::from_str(text).unwrap()
    }

    fn row(method: &str, run: u32, quantity: Quantity, finding: &Finding) -> Row {
        let origin = Origin {
            world: EvalWorld::Sim,
            place: Place { block: "b".to_owned(), condition: 0, run },
            condition: [].into(),
            method: method.to_owned(),
            stamps: Vantage::Application,
            effort: Effort::default(),
            seconds: 0.0,
        };
        Row::new(&origin, quantity, finding, Some(20_500.0), None)
    }

    fn gaps(run: u32, size: u64, average: f64) -> (Place, SizeGaps) {
        let place = Place { block: "b".to_owned(), condition: 0, run };
        let (method, stamps) = ("salehin2015".to_owned(), Vantage::Application);
        let (low, high) = (average, average);
        (place, SizeGaps { method, stamps, size: Bytes(size), low, average, high, expected: Some(79_200.0) })
    }

    #[test]
    fn figures_stand_beside_the_mean_of_the_runs() {
        let heading = |run, us: f64| {
            let ns = us * 1e3;
            row("salehin2015", run, Quantity::PptHeading, &Finding::nanos(ns, ns, ns))
        };
        let bound = Finding::at_most(67_200.0, Unit::Ns, "dispersion");
        let rows = [heading(0, 20.0), heading(1, 22.0), row("knee", 0, Quantity::ApplicationStage, &bound)];
        // One run used a byte more for its second size.
        let gaps = [gaps(0, 87, 78e3), gaps(0, 112, 98e3), gaps(1, 87, 80e3), gaps(1, 113, 99e3)];
        let beside = beside(&[paper()], &rows, &gaps);
        let told: Vec<(&str, Option<f64>)> =
            beside.iter().map(|one| (one.figure.as_str(), one.ours[0].mean.map(|mean| mean.mean))).collect();
        let wanted = [
            ("application stage (knee)", None),
            ("ppt heading", Some(21.0)),
            ("gap of 87 B", Some(79.0)),
            ("gap of 112 B", Some(98.5)),
        ];
        assert_eq!(told, wanted);
        assert_eq!(
            (beside[1].printed, beside[1].actual, beside[1].truth),
            (Some(17.0), Some(21.0), Some(20.5))
        );
        let text = text(&beside);
        assert!(text.contains("at most 67.2 us in 1 of 1 runs") && text.contains("21.0 ± 31.8"), "{text}");
    }
}
