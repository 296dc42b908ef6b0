//! What a person reads: a table by section, and which section is to blame.

use super::outcome::Outcome;
use crate::figure::share;
use crate::screen::paint;
use crate::table::Table;
use dwell_core::Nanos;
use dwell_core::inside::grouped;
use dwell_core::tcp::section::{NoBlame, Place, Reach, SectionQuality};
use std::fmt::Write as _;

/// A terminal of 80 columns has room for them, also behind a network: what the two estimates say stands in a table of its own.
const HEADS: [&str; 6] = ["section", "connections", "values", "p50", "p95", "p99"];
/// What the last of them are.
const SHARES: [f64; 3] = [0.5, 0.95, 0.99];
const ESTIMATES: [&str; 4] = ["medians of", "server side", "client side", "difference"];

impl Outcome {
    /// The table, the groups below it, and the sentence.
    pub(super) fn text(&self, colour: bool) -> String {
        let mut rows = Table::new(&HEADS);
        for ((from, to), (summary, _)) in &self.sections {
            let shares = SHARES.map(|share| summary.rtt.quantile(share));
            rows.add_row(self.row((*from, *to), [summary.connections(), summary.rtt.count()], shares));
        }
        let mut text = format!("{}\n", rows.text());
        let mut rows = Table::new(&ESTIMATES);
        for ((from, to), (summary, _)) in self.sections.iter().filter(|((from, to), _)| is_inner(*from, *to))
        {
            let sides = [&summary.server_side, &summary.client_side, &summary.consistency];
            rows.add_row(
                std::iter::once(self.section(*from, *to)).chain(sides.map(|times| told(times.quantile(0.5)))),
            );
        }
        if !rows.is_empty() {
            let _ = writeln!(text, "{}", rows.text());
        }
        for ((from, to), (summary, _)) in &self.sections {
            let others: Vec<String> = summary
                .qualities
                .iter()
                .filter(|(quality, _)| **quality != SectionQuality::Exact)
                .map(|(quality, count)| format!("{} {quality}", grouped(*count)))
                .collect();
            if !others.is_empty() {
                let _ = writeln!(text, "{} to {}: {}", self.name(*from), self.name(*to), others.join(", "));
            }
        }
        if let Some(groups) = &self.groups {
            let heads: Vec<&str> = std::iter::once(groups.head()).chain(HEADS).collect();
            let mut rows = Table::new(&heads);
            for (name, ends, group) in groups.rows() {
                let counts = [group.connections, group.times.count()];
                let row = self.row(ends, counts, group.times.quantiles(SHARES));
                rows.add_row(std::iter::once(name.to_string()).chain(row));
            }
            if !rows.is_empty() {
                let _ = writeln!(text, "{}", rows.text());
            }
        }
        let _ = writeln!(text, "{}", paint(&self.headline(), 1, colour));
        text
    }

    fn section(&self, from: Place, to: Place) -> String {
        format!("{} to {}", self.name(from), self.name(to))
    }

    fn row(
        &self,
        (from, to): (Place, Place),
        counts: [u64; 2],
        quantiles: [Option<Nanos>; SHARES.len()],
    ) -> impl Iterator<Item = String> {
        let counts = counts.map(grouped).into_iter();
        std::iter::once(self.section(from, to)).chain(counts).chain(quantiles.map(told))
    }

    /// Which section is to blame, with the figures that say so; or why none is.
    pub(super) fn headline(&self) -> String {
        let path = self.path();
        let name = |section: usize| {
            let (from, to) = path[section];
            format!("{} to {}", self.name(from), self.name(to))
        };
        let blame = match self.blame() {
            Ok(blame) => blame,
            Err(why) => return format!("No section stands out: {}", why_none(why, name)),
        };
        let part = |part: Option<f64>, what: &str, of: [Nanos; 2]| {
            part.map(|part| format!("{} of the {what} ({} of {})", share(part), of[0], of[1]))
        };
        let median = part(blame.median_share(), "median", [blame.median, blame.all_medians]);
        let spread = part(blame.spread_share(), "spread p95 - p50", [blame.spread, blame.all_spreads]);
        let normal = blame.now_and_normal.map_or_else(String::new, |(now, normal)| {
            format!("; its median of late is {now}, where {normal} is normal")
        });
        format!(
            "Blame {}: {}, {}{normal}",
            name(blame.section),
            median.unwrap_or_else(|| "no median is above 0".to_owned()),
            spread.unwrap_or_else(|| "nothing spreads".to_owned()),
        )
    }
}

/// Between two probes: the sections at the ends have one estimate.
fn is_inner(from: Place, to: Place) -> bool {
    from != Place::Client && to != Place::Server
}

fn told(time: Option<Nanos>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| time.to_string())
}

/// Why no section is to blame.
fn why_none(why: NoBlame, name: impl Fn(usize) -> String) -> String {
    let reach = |reach: Reach| {
        let [low, high] = reach.interval;
        format!("p95 of {} {} ({low} to {high})", name(reach.section), reach.value)
    };
    match why {
        NoBlame::Unmeasured(section) => format!("no connection tells {}", name(section)),
        NoBlame::Negative(section) => {
            format!("{} is below 0 at the median; the places contradict each other", name(section))
        }
        NoBlame::NoTime => "none takes any time".to_owned(),
        NoBlame::TooFew(section, count) => format!("{} has too few connections, {count}", name(section)),
        NoBlame::Alike(most, next) => format!("{}, {}: chance may part them", reach(most), reach(next)),
        NoBlame::Close(most, next) => format!("{}, {}: not a quarter apart", reach(most), reach(next)),
    }
}
