//! What is told of echoes: table, document, picture.

use super::heard::Heard;
use crate::figure::cells;
use crate::output::Output;
use crate::picture::{Instants, Panel, Picture, Timeline};
use crate::screen::{print_json, print_text, report_text};
use anyhow::{Result, bail};
use dwell_core::echo::{Echo, HostTimes};
use dwell_core::stats::quantile::median;
use dwell_core::{Finding, Nanos, Quantity, Report};
use dwell_store::Ask;
use serde_json::{Map, Value, json};

/// Findings that the document holds, in the order of the paper's table.
const QUANTITIES: [Quantity; 7] = [
    Quantity::TapGap,
    Quantity::AnswerTime,
    Quantity::TwoWayPpt,
    Quantity::PptAverage,
    Quantity::PptUp,
    Quantity::PptDown,
    Quantity::PptAsymmetry,
];

pub(super) fn tell(ask: &Ask, heard: &Heard, report: &Report, output: &Output) -> Result<()> {
    if output.json {
        print_json(&document(ask, heard, report)?)?;
    } else {
        let with = heard.echoes.iter().filter(|echo| echo.host.is_some()).count();
        let text = report_text(report);
        print_text(&format!("{text}{} echoes, {with} with the host's own times\n", heard.echoes.len()))?;
    }
    if let Some(file) = &output.plot {
        let [found, _] = cells(&report.finding(Quantity::TwoWayPpt));
        let title = format!("Up to the host's answer and down again a packet takes {found}");
        let here = &heard.circumstances;
        let mut notes =
            vec![format!("dwell {}: echo of {} ({})", env!("CARGO_PKG_VERSION"), ask.target, here.world)];
        notes.extend(here.notes.iter().map(|(name, text)| format!("{name}: {text}")));
        Picture { title, notes, panels: panels(&heard.echoes) }.write(file)?;
    }
    match report.finding(Quantity::TwoWayPpt) {
        Finding::Unmeasurable { reason } => bail!("could not measure: {reason}"),
        _ => Ok(()),
    }
}

fn document(ask: &Ask, heard: &Heard, report: &Report) -> Result<Value> {
    let mut document = Map::new();
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    put("verb", json!("echo"));
    put("dwell", json!(env!("CARGO_PKG_VERSION")));
    put("target", json!(ask.target));
    put("method", json!(report.method));
    put("probe", json!(ask.config.get("probe")));
    for quantity in QUANTITIES {
        put(quantity.name(), serde_json::to_value(report.finding(quantity))?);
    }
    put("echoes", json!(heard.echoes.len()));
    put("places", serde_json::to_value(&heard.places)?);
    put("tap_only", json!(heard.only[0]));
    put("host_only", json!(heard.only[1]));
    put("warnings", json!(report.warnings));
    put("circumstances", serde_json::to_value(&heard.circumstances)?);
    Ok(Value::Object(document))
}

/// The paper's Figure 5 at the medians, and its Figures 6 and 7: how gap, answer and what is left are spread.
fn panels(echoes: &[Echo]) -> Vec<Box<dyn Panel>> {
    let us = |time: Nanos| time.as_f64() / 1e3;
    let of =
        |time: &dyn Fn(&Echo) -> Option<Nanos>| echoes.iter().filter_map(time).map(us).collect::<Vec<_>>();
    let answer = |echo: &Echo| echo.host.map(|HostTimes { t3, t5, .. }| t5 - t3);
    let gap = of(&|echo| Some(echo.t7 - echo.t1));
    let (receiving, answers, both) = (of(&|echo| Some(echo.receiving)), of(&answer), of(&Echo::two_way));
    let up = of(&|echo| Some(echo.halves()?.0));
    let down = of(&|echo| Some(echo.halves()?.1));
    let [gap_at, receiving_at] = [&gap, &receiving].map(|times| median(times).unwrap_or(0.0));
    let (answer_at, both_at) = (median(&answers), median(&both));
    // Without the host's kernel stamps, half of what is left lies on either side, as the paper has it.
    let t3 = both_at.map(|both| receiving_at + median(&up).unwrap_or(both / 2.0));
    let line = Timeline {
        t2: receiving_at,
        t3,
        t5: t3.zip(answer_at).map(|(t3, answer)| t3 + answer),
        t7: gap_at,
        ways: median(&up).zip(median(&down)),
        halved: up.is_empty(),
    };
    let spread = Instants {
        of: "Echoes",
        series: [
            ("t7 - t1, at the tap", gap),
            ("t5 - t3, the host's answer", answers),
            ("2 PPT", both),
            ("PPT up", up),
        ]
        .into_iter()
        .filter(|(_, times)| !times.is_empty())
        .map(|(name, times)| (name.to_owned(), times))
        .collect(),
    };
    vec![Box::new(line), Box::new(spread)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::host::salehin2013;

    #[test]
    fn the_picture_says_what_the_table_says() {
        // At the median 2 us either way, and 10 us for both.
        let echo = |(up, down): (i64, i64)| Echo {
            t1: Nanos::ZERO,
            t7: Nanos::from_micros(up + 5 + down),
            receiving: Nanos::ZERO,
            host: Some(HostTimes {
                arrived: Some(Nanos::ZERO),
                t3: Nanos::from_micros(up),
                t5: Nanos::from_micros(up + 5),
                departed: Some(Nanos::from_micros(up + 5 + down)),
            }),
        };
        let echoes: Vec<Echo> = [(1, 9), (2, 2), (9, 1)].into_iter().cycle().take(15).map(echo).collect();
        let report = salehin2013::report(&echoes);
        let picture = Picture { title: String::new(), notes: Vec::new(), panels: panels(&echoes) };
        let picture = picture.drawing().expect("drawn");
        for (quantity, way) in [(Quantity::PptUp, "up"), (Quantity::PptDown, "down")] {
            let us = report.finding(quantity).estimate().expect("a value") / 1e3;
            assert!(picture.contains(&format!("{way} {us} µs")), "{way} {us}: {picture}");
        }
    }
}
