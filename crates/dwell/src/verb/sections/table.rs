//! What a person reads: a table by section, and which section is to blame.

use super::outcome::Outcome;
use crate::figure::share;
use crate::screen::{paint, table};
use dwell_core::Nanos;
use dwell_core::inside::Differences;
use dwell_core::tcp::section::{Place, SectionQuality, Summary};
use std::fmt::Write as _;

const HEADS: [&str; 9] = [
    "section",
    "connections",
    "p50",
    "p95",
    "p99",
    "server side p50",
    "client side p50",
    "difference p50",
    "not exact",
];

impl Outcome {
    /// The table, the groups below it, and the sentence.
    pub(super) fn text(&self, colour: bool) -> String {
        let mut rows = table(&HEADS);
        for ((from, to), (summary, _)) in &self.sections {
            rows.add_row(self.row(*from, *to, summary));
        }
        let mut text = format!("{}\n", rows.trim_fmt());
        if !self.groups.is_empty() {
            let heads: Vec<&str> = std::iter::once("of").chain(HEADS).collect();
            let mut rows = table(&heads);
            for ((from, to, group), summary) in &self.groups {
                rows.add_row(std::iter::once(group.clone()).chain(self.row(*from, *to, summary)));
            }
            let _ = writeln!(text, "{}", rows.trim_fmt());
        }
        let _ = writeln!(text, "{}", paint(&self.headline(), 1, colour));
        text
    }

    fn row(&self, from: Place, to: Place, summary: &Summary) -> Vec<String> {
        let told = |times: &Differences, share| {
            times.quantile(share).map_or_else(|| "-".to_owned(), |time: Nanos| time.to_string())
        };
        let other: Vec<String> = summary
            .qualities
            .iter()
            .filter(|(quality, _)| **quality != SectionQuality::Exact)
            .map(|(quality, count)| format!("{count} {quality}"))
            .collect();
        vec![
            format!("{} to {}", self.name(from), self.name(to)),
            summary.connections().to_string(),
            told(&summary.rtt, 0.5),
            told(&summary.rtt, 0.95),
            told(&summary.rtt, 0.99),
            told(&summary.server_side, 0.5),
            told(&summary.client_side, 0.5),
            told(&summary.consistency, 0.5),
            other.join(", "),
        ]
    }

    /// Which section is to blame, with the figures that say so.
    pub(super) fn headline(&self) -> String {
        let Some(((from, to), blame)) = self.blame() else {
            return "No section is to blame: not each of the path has a figure".to_owned();
        };
        let spread = blame.spread_share().map_or_else(
            || "nothing spreads".to_owned(),
            |part| {
                format!("{} of the spread p95 - p50 ({} of {})", share(part), blame.spread, blame.all_spreads)
            },
        );
        let normal = blame.now_and_normal.map_or_else(String::new, |(now, normal)| {
            format!("; its median of late is {now}, where {normal} is normal")
        });
        let median = blame.median_share().map_or_else(
            || "a median of nothing".to_owned(),
            |part| format!("{} of the median ({} of {})", share(part), blame.median, blame.all_medians),
        );
        format!("Blame {} to {}: {median}, {spread}{normal}", self.name(from), self.name(to))
    }
}
