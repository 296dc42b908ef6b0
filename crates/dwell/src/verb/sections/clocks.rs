//! Whether the probes' clocks go with this host's: what is asked of the last seconds is asked by both.

use dwell_core::Nanos;
use dwell_store::warehouse::{Day, Minute};
use std::collections::{BTreeMap, BTreeSet};

/// A probe ships what it sees within this, and its clock is right: what is older is told.
const LATE: Nanos = Nanos::from_secs(60);

/// So far behind a clock is gone along with: over the edges of a span a warehouse joins no farther.
const APART: Nanos = Nanos::from_secs(600);

/// The most that such a clock adds to a span: whole minutes.
pub(super) const FARTHEST: Nanos = Nanos::from_secs(660);

/// How far the newest record of a probe is behind this host's clock: of a clock that is behind, or of a probe that sends nothing.
pub(super) struct Behind<'a> {
    probe: &'a str,
    by: Nanos,
}

impl<'a> Behind<'a> {
    /// Those of these probes of which it is worth a word.
    pub(super) fn among(probes: &'a [String], newest: &BTreeMap<String, Nanos>, now: Nanos) -> Vec<Self> {
        let of = |probe: &'a String| Some(Self { probe, by: now - *newest.get(probe)? });
        probes.iter().filter_map(of).filter(|behind| behind.by > LATE).collect()
    }

    /// Whether the clock may be that far behind, and what it tells be joined with the others'.
    pub(super) fn is_joined(&self) -> bool {
        self.by <= APART
    }

    /// So many seconds back its records lie where those of a right clock lie `seconds` back, in whole minutes.
    pub(super) fn reach(&self, seconds: u32) -> u32 {
        let minutes = u32::try_from(self.by.0 / MINUTE.0).unwrap_or(u32::MAX).saturating_add(1);
        seconds.saturating_add(minutes.saturating_mul(60))
    }

    /// What is said of it, where `asked` seconds are wanted of a right clock, and `last` were looked at.
    pub(super) fn told(&self, asked: u32, last: u32) -> String {
        let (probe, old, reach) = (self.probe, old(self.by), self.reach(asked));
        let done = if reach <= last {
            format!("It was looked back {last} s")
        } else {
            format!("--last {reach} looks back as far")
        };
        format!(
            "{probe}'s newest record is {old} old by this host's clock: is its clock behind, or does it send nothing? {done}"
        )
    }
}

/// What is said of those of these probes that ended days before another, by the days on which each has sent something.
pub(super) fn ended(probes: &[String], senders: &BTreeMap<Day, BTreeSet<String>>) -> Vec<String> {
    let ends = probes.iter().filter_map(|probe| {
        let (day, _) = senders.iter().rev().find(|(_, sent)| sent.contains(probe))?;
        Some((*day, probe))
    });
    let Some((last, latest)) = ends.clone().max_by_key(|(day, _)| *day) else { return Vec::new() };
    let told = |(day, probe): (Day, &String)| {
        let days = last.0 - day.0;
        // Around midnight two days are but a moment.
        (days > 1).then(|| {
            format!(
                "{probe}'s last records are of {day}, {days} days before those of {latest}: is a clock off by days, or does it send nothing any more?"
            )
        })
    };
    ends.filter_map(told).collect()
}

/// Why nothing is told of the last so many seconds.
pub(super) fn nothing_within(last: u32, newest: &BTreeMap<String, Nanos>, now: Nanos) -> String {
    let told = newest.values().max().map(|at| {
        let when = if *at > now { "ahead of this host's clock".to_owned() } else { old(now - *at) + " ago" };
        format!("; the newest record is of {} ({when})", Minute::of(*at))
    });
    format!("no connection began within the last {last} s{}", told.unwrap_or_default())
}

const MINUTE: Nanos = Nanos::from_secs(60);

/// A time in the largest unit of which there are two.
fn old(time: Nanos) -> String {
    let units = [("days", 86_400), ("h", 3_600), ("min", 60)];
    let seconds = time.0 / 1_000_000_000;
    let fit = units.into_iter().find(|(_, unit)| seconds >= 2 * unit);
    fit.map_or_else(|| format!("{seconds} s"), |(name, unit)| format!("{} {name}", seconds / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_late_is_told_with_what_to_do() {
        let probes = ["in", "mid", "out", "none"].map(str::to_owned);
        let second = Nanos::from_secs;
        let newest = [("in", 9_940), ("mid", 9_870), ("out", 8_000), ("other", 1)];
        let newest = newest.map(|(probe, at)| (probe.to_owned(), second(at))).into();
        let behind = Behind::among(&probes, &newest, second(10_000));
        let told: Vec<String> = behind.iter().map(|behind| behind.told(120, 300)).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("mid's newest record is 2 min old"), "{told:?}");
        assert!(told[0].ends_with("It was looked back 300 s"), "{told:?}");
        assert!(told[1].ends_with("--last 2160 looks back as far"), "{told:?}");
        assert!(behind[0].is_joined() && !behind[1].is_joined());
        assert_eq!(Behind { probe: "in", by: APART }.reach(0), 660, "FARTHEST");
        let nothing = nothing_within(60, &newest, second(10_000 + 2 * 86_400));
        assert!(
            nothing.ends_with("within the last 60 s; the newest record is of 1970-01-01 02:45 (2 days ago)")
        );
        let ahead = nothing_within(60, &newest, second(9_000));
        assert!(ahead.ends_with("02:45 (ahead of this host's clock)"), "{ahead}");
        assert_eq!(
            nothing_within(60, &BTreeMap::new(), second(1)),
            "no connection began within the last 60 s"
        );
        assert_eq!([119, 120, 7_199].map(|s| old(second(s))), ["119 s", "2 min", "119 min"]);
    }
}
