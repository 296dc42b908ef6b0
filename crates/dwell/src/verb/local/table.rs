//! What a person reads of `dwell local`.

use super::told::{PERCENTILES, Told, stages};
use crate::figure::{cells, counted, share};
use crate::screen::{columns, folded, paint};
use crate::table::Table;
use dwell_core::inside::{Distribution, Missing, Point, Settings, Watch, Way, WayTally, grouped, story};
use dwell_core::{Finding, Nanos};
use std::fmt::Write as _;

/// Columns of text beside the tables.
const WIDTH: usize = 98;

/// All of it.
pub(super) fn text(told: &Told<'_>, colour: bool) -> String {
    let mut text = String::new();
    for (way, seen) in told.ways() {
        let _ = write!(text, "{}\n\n", way_text(way, seen, colour));
    }
    text.push_str(&lost(told));
    let found = told.diagnosis();
    let mut causes: Vec<String> = found.iter().map(|one| one.sentence.clone()).collect();
    if causes.is_empty() {
        let none = if told.tally.dropped().sum() == 0 { ", or dropped any" } else { "" };
        causes.push(format!("nothing that explains a tenth of their time{none}"));
    }
    section(&mut text, "what packets waited for", causes, colour);
    section(
        &mut text,
        "settings that explain it",
        told.hints(&found).into_iter().map(|hint| hint.sentence),
        colour,
    );
    section(&mut text, "slowest packets", told.slowest().into_iter().map(story), colour);
    section(&mut text, "settings", settings(&told.watch.settings), colour);
    if let Some(overhead) = &told.watched.overhead {
        let packets = told.tally.packets().max(1) as f64;
        let each = |time: Nanos| format!("{:.0} ns a packet", time.as_f64() / packets);
        let kernel = overhead.kernel().map_or_else(
            || "kernel: not measurable here, since it keeps no account of its stamps".to_owned(),
            |time| format!("kernel: {}; the hooks also run for packets that were not asked for", each(time)),
        );
        let mut lines = vec![format!("Dwell itself: {}, of the packets told; {kernel}", each(overhead.user))];
        lines.extend(overhead.hooks.iter().filter(|hook| hook.runs > 0).map(|hook| {
            let way = hook.way.map_or("all", Way::name);
            let run = hook.time.as_f64() / hook.runs as f64;
            format!(
                "{} ({way}): {run:.0} ns a run, {} runs, {}",
                hook.hook,
                grouped(hook.runs),
                each(hook.time)
            )
        }));
        section(&mut text, "what watching cost", lines, colour);
    }
    text
}

/// The stages of one way.
pub(super) fn way_text(way: Way, seen: &WayTally, colour: bool) -> String {
    let heads = PERCENTILES.map(|(_, _, name)| name);
    let mut rows = Table::new(&[&["stage", "from→to", "count"], &heads[..], &["max", "share"]].concat());
    for (stage, spans) in stages(seen) {
        let ends =
            seen.ends(stage).map_or_else(String::new, |[from, to]| format!("{}→{}", point(from), point(to)));
        let part = seen.share(stage).share;
        let bar = format!("{:>4} {}", percent(part), bar(part));
        rows.add_row([vec![stage.name().replace('_', " "), ends], figures(spans), vec![bar]].concat());
    }
    rows.add_row(
        [vec!["total".to_owned(), String::new()], figures(seen.total()), vec![" 100%".to_owned()]].concat(),
    );
    let packets = counted(seen.total().count(), "packet");
    let [difference, why] = cells(&seen.against_stamp());
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    let check =
        format!("stages' sum less the kernel's own stamp difference, at the median: {difference}{why}");
    format!("{}: {packets}\n{}\n{}", paint(way.name(), 1, colour), rows.text(), wrapped(&check))
}

fn figures(spans: &Distribution) -> Vec<String> {
    let percentiles = PERCENTILES.map(|(p, _, _)| match spans.percentile(p) {
        Finding::Value { value, .. } => brief(Nanos::from_f64(value)),
        Finding::Bound { bound, .. } => format!("≥{}", brief(Nanos::from_f64(bound))),
        Finding::Unmeasurable { .. } => "-".to_owned(),
    });
    [&[spans.count().to_string()], &percentiles[..], &[brief(spans.max())]].concat()
}

/// A time in three figures, without spaces.
pub(super) fn brief(span: Nanos) -> String {
    let (ns, unit) = match span.0 {
        ns @ ..1_000 => return format!("{ns}ns"),
        ns @ ..1_000_000 => (ns as f64 / 1e3, "us"),
        ns @ ..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        ns => (ns as f64 / 1e9, "s"),
    };
    // As it is rounded: 9.996 is 10.0.
    let digits = if ns < 9.995 { 2 } else { usize::from(ns < 99.95) };
    format!("{ns:.digits$}{unit}")
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Six columns are the whole.
fn bar(part: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part * 48.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// A point's name on the screen.
pub(super) fn point(point: Point) -> &'static str {
    match point {
        Point::Nic => "NIC",
        Point::Driver => "driver",
        Point::Protocol => "protocol",
        Point::Queue => "queue",
        Point::Waking => "waking",
        Point::Running => "running",
        Point::Asked => "asked",
        Point::Read => "read",
        Point::Stamped => "stamped",
        Point::Called => "called",
        Point::Discipline => "qdisc",
        Point::Xmit => "xmit",
        Point::Handed => "handed",
        Point::Completed => "sent",
    }
}

/// What is not told, and what the host dropped: always, also when there is none.
pub(super) fn lost(told: &Told<'_>) -> String {
    let losses = &told.watched.losses;
    let untold = format!(
        "not told: {} (no room towards Dwell {}, none among those under way {}, unmatched reads {})",
        counted(losses.sum(), "packet"),
        losses.buffer_full,
        losses.table_full,
        losses.unmatched
    );
    let skipped = (losses.skipped_runs != 0).then(|| {
        format!(
            "the kernel left out {} runs of Dwell's programs, which ran on that core already: a packet, or a point of it, \
             each",
            grouped(losses.skipped_runs)
        )
    });
    let dropped = told.tally.dropped();
    let by = dropped.ranked();
    let reasons: Vec<String> =
        by.iter().map(|((way, reason), count)| format!("{} {reason} {count}", way.name())).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    let drops = format!("dropped by the host: {}{reasons}", counted(dropped.sum(), "packet"));
    let early = told.watched.ended.as_ref().map(|why| format!("ended after {}: {why}", told.watched.span));
    let lines = [Some(untold), skipped, Some(drops), early].into_iter().flatten();
    lines.map(|line| wrapped(&line) + "\n").collect()
}

fn section(text: &mut String, title: &str, sentences: impl IntoIterator<Item = String>, colour: bool) {
    let mut sentences = sentences.into_iter().peekable();
    if sentences.peek().is_some() {
        let _ = writeln!(text, "\n{}", paint(title, 1, colour));
    }
    for sentence in sentences {
        let _ = writeln!(text, "{}", wrapped(&sentence));
    }
}

/// A sentence on lines of [`WIDTH`] at most, all but the first indented.
pub(super) fn wrapped(sentence: &str) -> String {
    folded(&format!("- {sentence}"), columns().unwrap_or(WIDTH).min(WIDTH), "  ")
}

/// What is known of the settings, in some lines; the document has all.
fn settings(settings: &Settings) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(name) = &settings.interface {
        let told = [
            settings.driver.as_ref().map(|driver| format!("driver {driver}")),
            settings.discipline.as_ref().map(|kind| format!("queueing discipline {kind}")),
            settings.coalescing.get("rx-usecs").map(|us| format!("rx-usecs {us}")),
            settings.coalescing.get("rx-frames").map(|frames| format!("rx-frames {frames}")),
            settings.gro_flush_timeout.map(|timeout| format!("gro_flush_timeout {timeout}")),
            settings.napi_defer_hard_irqs.map(|polls| format!("napi_defer_hard_irqs {polls}")),
            settings
                .offloads
                .get("rx-gro")
                .map(|on| format!("receive offload {}", if *on { "on" } else { "off" })),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        lines.push(format!(
            "{name}: {}",
            if told.is_empty() { "nothing could be read".to_owned() } else { told.join(", ") }
        ));
    }
    let irqs: Vec<String> = settings
        .interrupts
        .iter()
        .map(|interrupt| format!("{} on {}", interrupt.name, interrupt.cores))
        .collect();
    if !irqs.is_empty() {
        lines.push(format!("interrupts: {}", irqs.join(", ")));
    }
    let governor = settings.governor.as_deref().unwrap_or("not shown");
    let deepest = settings.idle_states.iter().filter(|state| !state.disabled).max_by_key(|state| state.exit);
    let idle =
        deepest.map_or_else(|| "not shown".to_owned(), |state| format!("to {} ({})", state.name, state.exit));
    let under = if settings.hypervisor { ", under a hypervisor" } else { "" };
    lines.push(format!("CPU governor {governor}, idle states {idle}{under}"));
    if let (Some(default), Some(max)) = (settings.room_default, settings.room_max) {
        lines.push(format!(
            "room of a socket's queue {} B, at most {} B",
            grouped(default.0),
            grouped(max.0)
        ));
    }
    lines
}

/// What cannot be seen, before it starts.
pub(super) fn missing(watch: &Watch) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Missing { point: which, reason } in &watch.missing {
        match reasons.iter_mut().find(|(told, _)| told == reason) {
            Some((_, points)) => points.push(point(*which)),
            None => reasons.push((reason, vec![point(*which)])),
        }
    }
    let line =
        |(reason, points): (&str, Vec<&str>)| format!("not seen here: {}: {reason}\n", points.join(", "));
    reasons.into_iter().map(line).collect()
}

/// What was found first, as lines under a picture.
pub(super) fn note(told: &Told<'_>) -> Vec<String> {
    let found = told.diagnosis();
    let first = found.first().map_or("nothing explains a tenth of the time", |first| first.sentence.as_str());
    folded(&format!("- {first}"), WIDTH, "  ").lines().map(str::to_owned).collect()
}

/// A way in one line, for the title of a picture.
pub(super) fn headline(told: &Told<'_>) -> String {
    let Some((way, seen)) = told.ways().next() else { return "No packet was seen".to_owned() };
    let longest = stages(seen).max_by_key(|(_, spans)| spans.sum());
    let longest = longest.map_or_else(String::new, |(stage, _)| {
        format!("; {} of all time is {}", share(seen.share(stage).share), stage.name().replace('_', " "))
    });
    let median = seen.total().quantile(0.5).unwrap_or_default();
    let verb = match way {
        Way::Receive => "A received packet takes",
        Way::Send => "A sent packet takes",
        Way::Answer => "The kernel's answer takes",
    };
    format!("{verb} {median} at the median{longest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::Bytes;
    use dwell_core::inside::{Dropped, Event, Flow, Journey, Protocol, Tally, Times, Watched};
    use std::net::SocketAddr;

    #[test]
    fn times_in_three_figures() {
        assert_eq!(
            [999, 1_234, 9_996, 45_600, 456_789, 1_000_000].map(|ns| brief(Nanos(ns))),
            ["999ns", "1.23us", "10.0us", "45.6us", "457us", "1.00ms"]
        );
    }

    #[test]
    fn a_table_is_at_most_a_hundred_columns_wide() {
        let mut tally = Tally::new(1);
        let end = SocketAddr::from(([127, 0, 0, 1], 9));
        for packet in 0..1_000_i64 {
            let mut times = Times::default();
            let span = 1_000_i64 << (packet % 20);
            Point::ALL
                .into_iter()
                .enumerate()
                .for_each(|(place, point)| times.set(point, Nanos(place as i64 * span)));
            let flow = Flow { protocol: Protocol::Udp, local: end, remote: end };
            let journey = Journey::new(Way::Receive, flow, Bytes(60), times);
            tally.add(Event::Journey(Box::new(journey)));
        }
        let text = way_text(Way::Receive, tally.way(Way::Receive), false);
        assert!(text.contains('≥') && text.contains("driver→protocol"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn where_nothing_explains_the_time_drops_are_not_denied() {
        let (watched, mut tally) = (Watched::default(), Tally::new(1));
        let watch = Watch {
            interface: None,
            observer: String::new(),
            missing: Vec::new(),
            settings: Settings::default(),
        };
        let waited = |tally: &Tally| {
            let text = text(&Told { watch: &watch, tally, watched: &watched }, false);
            text.lines().find(|line| line.contains("nothing that explains")).map(str::to_owned)
        };
        let nothing = "- nothing that explains a tenth of their time";
        assert_eq!(waited(&tally), Some(format!("{nothing}, or dropped any")));
        let reason = "OTHERHOST".to_owned();
        tally.add(Event::Dropped(Dropped { at: Nanos::ZERO, way: Way::Receive, flow: None, reason }));
        assert_eq!(waited(&tally).as_deref(), Some(nothing));
    }

    #[test]
    fn long_sentences_are_folded() {
        let folded = wrapped(&"word ".repeat(60));
        assert!(
            folded.lines().count() > 2 && folded.lines().all(|line| line.chars().count() <= WIDTH),
            "{folded}"
        );
    }

    #[test]
    fn a_bar_is_its_share() {
        assert_eq!(bar(1.0).chars().count(), 6);
        assert_eq!((bar(0.0).as_str(), bar(0.0625).as_str()), ("", "▍"));
    }
}
