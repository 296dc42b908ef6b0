//! What a probe ships.

use super::row::Row;
use super::{Day, Minute, WarehouseError};
use dwell_core::Nanos;
use dwell_core::tcp::{Half, Handshake};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher as _;
use std::ops::Range;

/// The longest name of a probe.
pub const MAX_PROBE_NAME: usize = 64;

/// So many minutes of dropped packets are told in one batch: more go into the next.
pub const MAX_MINUTES: usize = 1_440;

/// A round trip that is longer than this was never one: TCP gives up long before.
const MAX_ROUND_TRIP: Nanos = Nanos::from_secs(3_600);

/// From 2000 to 2100: a clock that tells another time was never set.
const YEARS: Range<Nanos> = Nanos::from_secs(946_684_800)..Nanos::from_secs(4_102_444_800);

/// Records of one probe, kept all or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Name of the probe: letters, digits, `.`, `_` and `-`.
    pub probe: String,
    /// This life of the probe's spool: random, so that a spool which was lost does not number its batches anew.
    pub epoch: u64,
    /// Which batch of the epoch.
    pub serial: u64,
    /// What the probe saw.
    pub records: Vec<Handshake>,
    /// What it gave up since the batch before, by reason.
    pub given_up: BTreeMap<String, u64>,
    /// Packets that the kernel dropped before the probe saw them, told since the batch before, by the minute. One that tells of
    /// nothing else that has a time names the minute in which it was made, with none.
    pub dropped: BTreeMap<Minute, u64>,
}

impl Batch {
    /// Under which day it is kept, whole: that of its middle record, which one clock gone mad does not move; without
    /// records that of the last minute that it tells of; and day 0 when it tells of none.
    #[must_use]
    pub fn day(&self) -> Day {
        let mut times: Vec<Nanos> = self.records.iter().map(|record| record.first_at).collect();
        if times.is_empty() {
            let told = self.dropped.last_key_value().map(|(minute, _)| minute.start());
            return told.filter(|at| YEARS.contains(at)).map_or(Day(0), Day::of);
        }
        let middle = times.len() / 2;
        Day::of(*times.select_nth_unstable(middle).1)
    }

    /// Parts records, in the order in which they came, into those of one batch each: of a capture of many days no day is
    /// absurd beside the others. Where the day goes on and does not come back, another batch begins; what comes back was one
    /// record, or some, whose time is absurd, and stays among those that show it.
    #[must_use]
    pub fn part(records: Vec<Handshake>) -> Vec<Vec<Handshake>> {
        let days: Vec<Day> = records.iter().map(|record| Day::of(record.first_at)).collect();
        if days.windows(2).all(|two| two[0] == two[1]) {
            return vec![records];
        }
        let last: HashMap<Day, usize> = days.iter().copied().zip(0..).collect();
        let (mut records, mut parts) = (records.into_iter(), Vec::new());
        let (mut begin, mut end) = (0, 0);
        for (place, day) in days.iter().enumerate() {
            if place > end {
                parts.push(records.by_ref().take(place - begin).collect());
                begin = place;
            }
            end = end.max(last[day]);
        }
        parts.push(records.collect());
        parts
    }

    /// What is kept of it.
    pub(super) fn admitted(&self) -> Admitted {
        let day = self.day();
        let mut missing = self.given_up.clone();
        let mut rows = Vec::with_capacity(self.records.len());
        for record in &self.records {
            match absurd(record, day) {
                None => rows.push(Row::of(record)),
                Some(reason) => {
                    // What a probe says that it gave up may be any number.
                    let count = missing.entry(reason.to_owned()).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
        // Maps of numbers are always JSON.
        let json = |told: serde_json::Result<String>| told.unwrap_or_default();
        let given_up = json(serde_json::to_string(&missing));
        let dropped = json(serde_json::to_string(&self.dropped));
        let digest = digest(&rows, &given_up, &dropped);
        Admitted { rows, given_up, dropped, digest }
    }

    /// Its records that cannot be true, by reason: they are counted, not kept.
    #[must_use]
    pub fn absurd(&self) -> BTreeMap<&'static str, u64> {
        let day = self.day();
        let mut counts = BTreeMap::new();
        for reason in self.records.iter().filter_map(|record| absurd(record, day)) {
            *counts.entry(reason).or_default() += 1;
        }
        counts
    }

    /// Whether its probe has a name that can stand in a statement, a file name and a metric.
    ///
    /// # Errors
    /// Tells which names can.
    pub fn check(&self) -> Result<(), WarehouseError> {
        Self::check_name(&self.probe)
    }

    /// Whether this can name a probe.
    ///
    /// # Errors
    /// Tells what can.
    pub fn check_name(name: &str) -> Result<(), WarehouseError> {
        Self::check_place(name)?;
        // As a folder's name, of a spool, it would be another folder.
        if name.chars().all(|letter| letter == '.') {
            return Err(WarehouseError::ProbeName { name: name.to_owned() });
        }
        Self::check_letters(name)
    }

    /// Whether this can name a place between client and server.
    ///
    /// # Errors
    /// Where it names one of these.
    pub fn check_place(name: &str) -> Result<(), WarehouseError> {
        if matches!(name, "client" | "server") {
            return Err(WarehouseError::End { name: name.to_owned() });
        }
        Ok(())
    }

    /// Whether this can stand in a statement. Whatever else a probe cannot be called now, one that is kept may have been.
    pub(super) fn check_letters(name: &str) -> Result<(), WarehouseError> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        if (1..=MAX_PROBE_NAME).contains(&name.len()) && name.chars().all(plain) {
            return Ok(());
        }
        Err(WarehouseError::ProbeName { name: name.to_owned() })
    }
}

/// What is kept of a batch.
pub(super) struct Admitted {
    /// Its records that can be true.
    pub(super) rows: Vec<Row>,
    /// Records that are missing, by reason, in JSON: what the probe gave up, and those that cannot be true.
    pub(super) given_up: String,
    /// Packets that the kernel dropped, by the minute, in JSON.
    pub(super) dropped: String,
    /// By which it is told from another batch of the same number: a host that is set back to where it was, with all that runs on
    /// it, counts on from there.
    pub(super) digest: u64,
}

/// A number that another batch does not have. It is not 0, which says that there is none.
fn digest(rows: &[Row], given_up: &str, dropped: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(given_up.as_bytes());
    hasher.write(dropped.as_bytes());
    for row in rows {
        // Of a handshake that is another one, one of these is.
        hasher.write_i64(row.key);
        hasher.write_i64(row.first_at);
        hasher.write_i64(row.server[0]);
        hasher.write_i64(row.client[0]);
    }
    hasher.finish().max(1)
}

/// Why a record cannot be true.
fn absurd(record: &Handshake, day: Day) -> Option<&'static str> {
    let days = i64::from(Day::of(record.first_at).0) - i64::from(day.0);
    if days.abs() > 1 || !YEARS.contains(&record.first_at) {
        return Some("absurd-time");
    }
    let absurd = |half| match half {
        Half::Unknown => false,
        Half::Exact(time) | Half::AtMost(time) => !(Nanos::ZERO..=MAX_ROUND_TRIP).contains(&time),
        Half::OneOf(one, two) => [one, two].iter().any(|time| !(Nanos::ZERO..=MAX_ROUND_TRIP).contains(time)),
    };
    [record.server_half, record.client_half, record.total]
        .into_iter()
        .any(absurd)
        .then_some("absurd-round-trip")
}
