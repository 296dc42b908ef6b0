//! What a person reads.

use super::account::Account;
use super::row::Sure;
use super::taken::Figures;
use super::throughout::Throughout;
use crate::captures::skipped;
use crate::figure::counted;
use crate::screen;
use crate::table::Table;
use dwell_core::Nanos;
use dwell_core::inside::{Distribution, grouped};
use dwell_core::tcp::continuous::Samples;
use dwell_core::tcp::tracker::Counts;
use dwell_core::tcp::{Half, Handshake, MOST_PREFIXES, Quality, Seen, Summary, ToServer};
use dwell_net::capture::RingCounts;
use serde_json::Value;
use std::fmt::Write as _;

/// Networks of servers that are listed.
const LISTED: usize = 10;

/// The whole of it.
pub(super) fn text(probe: &str, all: &Figures, colour: bool) -> String {
    let head = format!("{} seen at {probe}", counted(all.handshakes.handshakes(), "TCP handshake"));
    format!("{}\n{}", screen::paint(&head, 1, colour), figures(all))
}

/// All figures.
pub(super) fn figures(figures: &Figures) -> String {
    format!("{}{}", handshakes(&figures.handshakes), throughout(&figures.throughout))
}

/// What followed the handshakes; nothing where nothing is known.
fn throughout(throughout: &Throughout) -> String {
    let mut table =
        Table::new(&["throughout, the shortest of each interval", "count", "p50", "p90", "p99", "longest"]);
    for (name, spans) in throughout.rows() {
        table.add_row(row(name, spans));
    }
    if table.is_empty() { String::new() } else { format!("\n{}\n", table.text()) }
}

/// Those of the handshakes: by quality, by half, by network.
fn handshakes(summary: &Summary) -> String {
    let told =
        |(quality, count): (Quality, u64)| (count > 0).then(|| format!("{} {quality}", grouped(count)));
    let qualities: Vec<String> = summary.qualities().filter_map(told).collect();
    let mut halves = Table::new(&["exact ones", "count", "p50", "p90", "p99", "longest"]);
    for (name, spans) in [
        ("server half: from here to the server and back", summary.server()),
        ("client half: from here to the client and back", summary.client()),
        ("round trip", summary.total()),
    ] {
        halves.add_row(row(name, spans));
    }
    let mut text = format!("{}\n\n{}\n", qualities.join(", "), halves.text());
    let _ = write!(text, "\n{}", networks(summary));
    text
}

/// By network; those that are not listed are a row together.
fn networks(summary: &Summary) -> String {
    let networks = summary.by_server();
    let (listed, more) = networks.split_at(LISTED.min(networks.len()));
    let mut others = *summary.others();
    more.iter().for_each(|(_, to)| others.merge(to));
    // Nobody knows how many had to give way: some came again. But not all can have a place.
    let (least, at_least) = if summary.others().connections > 0 { (1, "at least ") } else { (0, "") };
    let others_name = format!("{at_least}{}", counted(more.len() as u64 + least, "other"));
    let mut table =
        Table::new(&["network of servers", "connections", "exact", "least", "mean of the server half"]);
    let span = |span: Option<Nanos>| span.map_or_else(|| "-".to_owned(), |span| span.to_string());
    let mut row = |name: String, to: &ToServer| {
        let at_least = if to.is_part { "at least " } else { "" };
        let connections = format!("{at_least}{}", grouped(to.connections));
        table.add_row([name, connections, grouped(to.exact), span(to.least()), span(to.mean())]);
    };
    listed.iter().for_each(|(network, to)| row(network.to_string(), to));
    if others.connections > 0 {
        row(others_name, &others);
    }
    let mut text = format!("{}\n", table.text());
    if listed.iter().any(|(_, to)| to.is_part) {
        let _ = writeln!(
            text,
            "at least: {} networks are told apart at a time; of one that came when all had their places, others may hold more",
            grouped(MOST_PREFIXES as u64)
        );
    }
    text
}

fn row(name: &str, spans: &Distribution) -> [String; 6] {
    let at = |p: f64| spans.quantile(p).map_or_else(|| "-".to_owned(), |span| span.to_string());
    [name.to_owned(), grouped(spans.count()), at(0.5), at(0.9), at(0.99), at(1.0)]
}

/// A half in a few words.
fn half(half: Half) -> String {
    match half {
        Half::Exact(span) => span.to_string(),
        Half::AtMost(span) => format!("at most {span}"),
        Half::OneOf(one, other) => format!("{one} or {other}"),
        Half::Unknown => Sure::Unknown.name().to_owned(),
    }
}

/// A connection on one line.
pub(super) fn connection(handshake: &Handshake) -> String {
    let flags: Vec<&str> = handshake.flags.iter().map(dwell_core::tcp::Flag::name).collect();
    format!(
        "{} > {}: server half {}, client half {}, {}{}{}",
        handshake.client,
        handshake.server,
        half(handshake.server_half),
        half(handshake.client_half),
        handshake.quality(),
        if flags.is_empty() { "" } else { "; " },
        flags.join(" ")
    )
}

/// What became of the packets, by reason; always, also when all is well.
pub(super) fn account(account: &Account) -> String {
    let packets: u64 = account.seen.iter().map(|seen| seen.packets).sum();
    let mut text = String::new();
    if let Some(live) = &account.live {
        let _ = writeln!(text, "{} in {:.1} s", kernel(&live.counts), live.seconds);
        if let Some(why) = &live.unfiltered {
            let _ = writeln!(text, "the kernel ran no filter, and every packet was looked at here: {why}");
        }
        if let Some(why) = &live.ended {
            let _ = writeln!(text, "ended early: {why}");
        }
    }
    let skipped =
        skipped(&account.seen).map_or_else(|| "none skipped".to_owned(), |told| format!("skipped: {told}"));
    let _ = writeln!(text, "{} looked at, {skipped}", counted(packets, "packet"));
    let _ = writeln!(text, "out of the ordinary: {}", odd(account.seen.iter().map(|seen| seen.counts)));
    if let Some(told) = samples(&account.seen) {
        let _ = writeln!(text, "throughout connections: {told}");
    }
    account.remarks.iter().for_each(|remark| {
        let _ = writeln!(text, "{remark}");
    });
    text
}

/// What became of the samples throughout connections, if those were asked for.
fn samples(seen: &[Seen]) -> Option<String> {
    let all: Vec<Samples> = seen.iter().filter_map(|seen| seen.samples).collect();
    let sum = |of: fn(&Samples) -> u64, what| counted(all.iter().map(of).sum(), what);
    (!all.is_empty()).then(|| {
        let unproven = match all.iter().map(|all| all.unproven).sum() {
            0 => String::new(),
            count => format!(
                "; {} withheld, of data that may have been sent before its connection was seen",
                counted(count, "acknowledgment")
            ),
        };
        format!(
            "{}; {} forgotten for others{unproven}",
            sum(|all| all.samples, "sample"),
            sum(|all| all.forgotten_flows, "flow")
        )
    })
}

/// What the kernel counted.
pub(super) fn kernel(counts: &RingCounts) -> String {
    let seen = counts.filtered.map_or_else(String::new, |filtered| {
        let odd = [(filtered.cut, "cut short"), (filtered.too_deep, "too deep")];
        let odd: String = odd
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!(" ({} {why})", grouped(*count)))
            .collect();
        format!("{} passed by{odd}, ", counted(filtered.seen, "packet"))
    });
    let full = match counts.freezes {
        0 => String::new(),
        times => format!(" (the ring was full {})", counted(times, "time")),
    };
    let unstamped = if counts.unstamped == 0 {
        String::new()
    } else {
        format!(", {} without the NIC's stamp", grouped(counts.unstamped))
    };
    let downs = match counts.downs {
        0 => String::new(),
        times => format!(", an interface went down {}", counted(times, "time")),
    };
    format!(
        "{seen}{} passed the filter, {} dropped by the kernel{full}{unstamped}{downs}",
        grouped(counts.passed),
        grouped(counts.dropped)
    )
}

/// What the trackers counted that is out of the ordinary, by their names for it.
fn odd(all: impl Iterator<Item = Counts>) -> String {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for counts in all {
        let Ok(Value::Object(counts)) = serde_json::to_value(counts) else { continue };
        for (name, count) in counts {
            let count = count.as_u64().unwrap_or_default();
            match sums.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => sums.push((name, count)),
            }
        }
    }
    // The table has these.
    sums.retain(|(name, sum)| *sum > 0 && !matches!(name.as_str(), "established" | "refused"));
    let told: Vec<String> =
        sums.iter().map(|(name, sum)| format!("{} {}", grouped(*sum), name.replace('_', " "))).collect();
    if told.is_empty() { "nothing".to_owned() } else { told.join(", ") }
}

/// The finding as a sentence, for the title of a picture.
pub(super) fn headline(summary: &Summary) -> String {
    let median = |spans: &Distribution| {
        spans.quantile(0.5).map_or_else(|| "unknown".to_owned(), |span| span.to_string())
    };
    format!(
        "Of the round trip, {} at the median lie on the server's side and {} on the client's",
        median(summary.server()),
        median(summary.client())
    )
}
