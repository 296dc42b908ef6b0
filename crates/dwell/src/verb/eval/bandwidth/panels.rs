//! The figures of papers/004, of what was measured here.

use super::cell::Cell;
use super::interarrival::Arrivals;
use crate::picture::{self, Bundle, Follow, Followed, Judged, Mark, Measurement, Panel, Strand};
use crate::verb::eval::grid::EvalWorld;
use crate::verb::eval::rows::Row;
use dwell_core::{BitRate, Quantity, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// A figure with what it shows.
pub(super) struct Figure {
    pub(super) caption: String,
    pub(super) panel: Box<dyn Panel>,
}

/// More charts than this are not looked at.
const MOST_CHARTS: usize = 24;

/// All of them: accuracy for each world and rate, then time and cost, then the series of repeated measurements, then
/// the cross traffic.
pub(super) fn figures(rows: &[Row], cells: &[Cell], arrivals: &[Arrivals]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (world, name) in [(EvalWorld::Lab, "lab"), (EvalWorld::Sim, "simulator")] {
        let rates: BTreeSet<u64> =
            cells.iter().filter(|cell| cell.world == world).map(|cell| cell.capacity_bps as u64).collect();
        for rate in rates {
            let here: Vec<&Cell> =
                cells.iter().filter(|cell| cell.world == world && cell.capacity_bps as u64 == rate).collect();
            let place = format!("{name}, tight link of {}", BitRate(rate));
            figures.extend(accuracy(&here, &place));
            figures.extend(costs(&here, &place));
        }
        figures.extend(follow(rows, world, name));
    }
    figures.extend(gaps(arrivals));
    figures
}

/// Figure 4: what each tool said, mean and deviation, over what was free.
fn accuracy(cells: &[&Cell], place: &str) -> Option<Figure> {
    let (mut blocks, mut charts): (Vec<String>, Vec<picture::Cell>) = (Vec::new(), Vec::new());
    for cell in cells.iter().filter(|cell| cell.unit == Unit::Bps) {
        let Some(found) = cell.found else { continue };
        let block = place_of(&mut blocks, &cell.block);
        let title = titled(&cell.method, cell.quantity);
        let at = charts.iter().position(|chart| chart.title == title).unwrap_or_else(|| {
            charts.push(picture::Cell { title, series: Vec::new() });
            charts.len() - 1
        });
        let series = &mut charts[at].series;
        series.resize_with(series.len().max(block + 1), Vec::new);
        let mega = |bps: f64| bps / 1e6;
        series[block].push(Mark {
            truth: mega(cell.truth.map_or(cell.free_bps.mean, |truth| truth.mean)),
            estimate: mega(found.mean),
            low: mega(found.mean - found.deviation),
            high: mega(found.mean + found.deviation),
            inside: true,
        });
    }
    charts.truncate(MOST_CHARTS);
    let capacity = cells.iter().any(|cell| cell.quantity == Quantity::NarrowLinkCapacity);
    let judged = Judged {
        quantity: if capacity { "rate" } else { "available bandwidth" }.to_owned(),
        unit: "Mb/s",
        most: cells.first().map(|cell| cell.capacity_bps / 1e6),
        methods: blocks,
        cells: charts,
    };
    (!judged.cells.is_empty()).then(|| Figure {
        caption: format!("Accuracy ({place}): mean reading and standard deviation against what the counters left free. After papers/004, Figure 4."),
        panel: Box::new(judged),
    })
}

fn titled(method: &str, quantity: Quantity) -> String {
    match quantity {
        Quantity::AvailableBandwidth => method.to_owned(),
        other => format!("{method} ({})", other.name().replace('_', " ")),
    }
}

fn place_of(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// Figure 6, and the measurement time beside it.
fn costs(cells: &[&Cell], place: &str) -> Vec<Figure> {
    type Of = fn(&Cell) -> Option<f64>;
    let kinds: [(&str, &str, Of); 3] = [
        ("Measurement time", "time (s)", |cell| Some(cell.median_seconds)),
        ("Intrusiveness: tool rate over available bandwidth", "intrusiveness (%)", |cell| {
            cell.intrusiveness.map(|share| share * 100.0)
        }),
        ("Overhead: tool rate over cross-traffic rate", "overhead (%)", |cell| {
            cell.overhead.map(|share| share * 100.0)
        }),
    ];
    kinds
        .into_iter()
        .filter_map(|(name, upwards, of)| {
            let lines = lines(cells, of);
            (!lines.is_empty()).then(|| Figure {
                caption: format!("{name} ({place}). After papers/004, Figure 6 and section 5.3.2."),
                panel: Box::new(Bundle {
                    across: "available bandwidth (Mb/s)".to_owned(),
                    upwards: upwards.to_owned(),
                    logarithmic: false,
                    strands: lines,
                }),
            })
        })
        .collect()
}

/// The mean over all kinds of traffic of what each tool took at each tenth of the link that was free.
fn lines(cells: &[&Cell], of: impl Fn(&Cell) -> Option<f64>) -> Vec<Strand> {
    let mut tools: Vec<(String, BTreeMap<i64, Vec<f64>>)> = Vec::new();
    for cell in cells {
        let Some(figure) = of(cell) else { continue };
        let tenth = (cell.free_bps.mean / cell.capacity_bps * 10.0).round() as i64;
        let at = tools.iter().position(|(name, _)| *name == cell.method).unwrap_or_else(|| {
            tools.push((cell.method.clone(), BTreeMap::new()));
            tools.len() - 1
        });
        tools[at].1.entry(tenth).or_default().push(figure);
    }
    let capacity = cells.first().map_or(0.0, |cell| cell.capacity_bps) / 1e6;
    tools
        .into_iter()
        .map(|(name, tenths)| {
            let mean = |all: Vec<f64>| all.iter().sum::<f64>() / all.len() as f64;
            let points = tenths.into_iter().map(|(tenth, all)| (tenth as f64 / 10.0 * capacity, mean(all)));
            Strand { name, points: points.collect() }
        })
        .collect()
}

/// Figures 5 and 7: measurement after measurement on one path.
fn follow(rows: &[Row], world: EvalWorld, name: &str) -> Option<Figure> {
    let mut tools: Vec<Followed> = Vec::new();
    for row in rows.iter().filter(|row| row.world == world && row.run == 0 && row.unit != Some(Unit::Ns)) {
        let Some(met) = &row.met else { continue };
        let title = format!("{}, {}", titled(&row.method, row.quantity), row.condition_text());
        let at = tools.iter().position(|tool| tool.title == title).unwrap_or_else(|| {
            tools.push(Followed { title, measurements: Vec::new() });
            tools.len() - 1
        });
        let judged = row.finding();
        let told = match judged {
            dwell_core::Finding::Value { value, low, high, .. } => Some((value / 1e6, low / 1e6, high / 1e6)),
            _ => None,
        };
        let (from, span) = (met.began_ns as f64 / 1e9, met.span_ns as f64 / 1e9);
        tools[at].measurements.push(Measurement {
            from,
            to: from + span,
            truth: row.truth.unwrap_or(met.free_bps as f64) / 1e6,
            told,
        });
    }
    tools.retain(|tool| tool.measurements.len() > 1);
    tools.truncate(MOST_CHARTS);
    (!tools.is_empty()).then(|| Figure {
        caption: format!("Measurement after measurement ({name}): what each told when it ended, beside what the counters left free. After papers/004, Figures 5 and 7."),
        panel: Box::new(Follow { tools }),
    })
}

/// Figures 2 and 3: the traffic that the tools met.
fn gaps(arrivals: &[Arrivals]) -> Option<Figure> {
    let line = |one: &Arrivals| Strand {
        name: one.condition.clone(),
        points: one.longer.iter().map(|(ns, share)| (ns / 1e3, *share)).collect(),
    };
    // Of very many conditions, those of the least, a middle and the most load say enough.
    let few: Vec<&Arrivals> = match arrivals.len() {
        0..=12 => arrivals.iter().collect(),
        count => (0..12).map(|place| &arrivals[place * (count - 1) / 11]).collect(),
    };
    (!few.is_empty()).then(|| Figure {
        caption: "Cross traffic on the tight link: times between its packets as they are sent, and the share of them that is longer. After papers/004, Figures 2 and 3.".to_owned(),
        panel: Box::new(Bundle {
            across: "time from one packet to the next (µs)".to_owned(),
            upwards: "share that is longer".to_owned(),
            logarithmic: true,
            strands: few.into_iter().map(line).collect(),
        }),
    })
}
