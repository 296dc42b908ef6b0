//! What a person reads: a table by section, and which section is to blame.

use super::outcome::Outcome;
use crate::figure::share;
use crate::screen::paint;
use crate::table::Table;
use dwell_core::Nanos;
use dwell_core::inside::grouped;
use dwell_core::tcp::section::{Leg, NoBlame, Place, Reach, SectionQuality, Way};
use std::fmt::Write as _;

/// A terminal of 80 columns has room for them, also behind a network: what the two estimates say stands in a table of its own.
const HEADS: [&str; 6] = ["section", "connections", "values", "p50", "p95", "p99"];
/// What the last of them are.
const SHARES: [f64; 3] = [0.5, 0.95, 0.99];
const ESTIMATES: [&str; 4] = ["medians of", "server side", "client side", "difference"];

impl Outcome {
    /// The table and the groups below it, those of connections that run the other way, or nobody knows which, under
    /// headings of their own, and the sentence.
    pub(super) fn text(&self, colour: bool) -> String {
        let mut text = self.tables(Way::Along);
        for (way, heading) in [(Way::Against, "the other way"), (Way::Unknown, "one way or the other")] {
            if self.running(way) > 0 {
                let _ = write!(text, "{heading}:\n{}", self.tables(way));
            }
        }
        let _ = writeln!(text, "{}", paint(&self.headline(), 1, colour));
        text
    }

    fn tables(&self, way: Way) -> String {
        let sections = || self.sections.iter().filter(|(leg, _)| leg.way == way);
        let mut rows = Table::new(&HEADS);
        for (leg, (summary, _)) in sections() {
            let shares = SHARES.map(|share| summary.rtt.quantile(share));
            rows.add_row(self.row(*leg, [summary.connections(), summary.rtt.count()], shares));
        }
        let mut text = format!("{}\n", rows.text());
        let mut rows = Table::new(&ESTIMATES);
        for (leg, (summary, _)) in sections().filter(|(leg, _)| is_inner(**leg)) {
            let sides = [&summary.server_side, &summary.client_side, &summary.consistency];
            rows.add_row(
                std::iter::once(self.name(*leg)).chain(sides.map(|times| told(times.quantile(0.5)))),
            );
        }
        if !rows.is_empty() {
            let _ = writeln!(text, "{}", rows.text());
        }
        for (leg, (summary, _)) in sections() {
            let others: Vec<String> = summary
                .qualities
                .iter()
                .filter(|(quality, _)| **quality != SectionQuality::Exact)
                .map(|(quality, count)| format!("{} {quality}", grouped(*count)))
                .collect();
            if !others.is_empty() {
                let _ = writeln!(text, "{}: {}", self.name(*leg), others.join(", "));
            }
        }
        if let Some(groups) = &self.groups {
            let heads: Vec<&str> = std::iter::once(groups.head()).chain(HEADS).collect();
            let mut rows = Table::new(&heads);
            for (name, leg, group) in groups.rows().into_iter().filter(|(_, leg, _)| leg.way == way) {
                let counts = [group.connections, group.times.count()];
                let row = self.row(leg, counts, group.times.quantiles(SHARES));
                rows.add_row(std::iter::once(name.to_string()).chain(row));
            }
            if !rows.is_empty() {
                let _ = writeln!(text, "{}", rows.text());
            }
        }
        text
    }

    fn row(
        &self,
        leg: Leg,
        counts: [u64; 2],
        quantiles: [Option<Nanos>; SHARES.len()],
    ) -> impl Iterator<Item = String> {
        let counts = counts.map(grouped).into_iter();
        std::iter::once(self.name(leg)).chain(counts).chain(quantiles.map(told))
    }

    /// Which section is to blame, with the figures that say so; or why none is.
    pub(super) fn headline(&self) -> String {
        let path = self.path(Way::Along);
        let name = |section: usize| self.name(path[section]);
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
fn is_inner(leg: Leg) -> bool {
    leg.from != Place::Client && leg.to != Place::Server
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
