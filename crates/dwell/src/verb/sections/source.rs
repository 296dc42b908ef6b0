//! Where connections come from.

use super::clocks::{Behind, ended, nothing_within};
use crate::failure::bad_argument;
use crate::figure::counted;
use anyhow::{Result, anyhow, bail};
use dwell_core::Nanos;
use dwell_core::tcp::section::Connection;
use dwell_store::warehouse::{Account, Minute, SLACK, Span, Store};
use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the clock on the wall says.
pub(super) fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Where connections come from.
pub(super) struct Source {
    kind: Kind,
    /// The probes that are asked; a sight names its probe by the place in this list.
    asked: Vec<String>,
    /// Probes that came too late to be asked.
    newcomers: Vec<String>,
    remarks: Vec<String>,
}

enum Kind {
    Captures {
        names: Vec<String>,
        connections: Vec<Connection>,
    },
    Store {
        store: Box<dyn Store>,
        /// So many seconds back it is looked.
        last: Option<u32>,
        /// So many were to be, by clocks that are right; `None` where somebody asked for `last`, or for all of time.
        least: Option<u32>,
    },
}

/// How much is read of what is asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All of it.
    Whole,
    /// Of a warehouse what was seen of late: that is a small part, and has nearly all that is new. A connection that was seen by a
    /// probe whose clock is off may be in parts.
    Near,
}

/// What is near lies so many seconds back, by a clock that is right; by one that is gone along with, as much farther.
const NEAR: u32 = 10;

/// Of what is near, clocks may differ by so much, and a connection is still whole where that begins.
const NEAR_SLACK: Nanos = Nanos::from_secs(5);

impl Source {
    pub(super) const fn captures(
        names: Vec<String>,
        connections: Vec<Connection>,
        remarks: Vec<String>,
    ) -> Self {
        Self {
            kind: Kind::Captures { names, connections },
            asked: Vec::new(),
            newcomers: Vec::new(),
            remarks,
        }
    }

    pub(super) fn store(store: Box<dyn Store>, last: Option<u32>) -> Self {
        Self {
            kind: Kind::Store { store, last, least: None },
            asked: Vec::new(),
            newcomers: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The probes that have sent something by now of a span.
    fn there(&mut self, span: Span) -> Result<Vec<String>> {
        Ok(match &mut self.kind {
            Kind::Captures { names, .. } => sorted(names),
            Kind::Store { store, .. } => store.probes(span)?.into_iter().collect(),
        })
    }

    /// The span that is asked.
    fn span(&self) -> Span {
        span(self.seconds())
    }

    /// So many seconds back it is looked; `None`: as far as there is anything.
    pub(super) const fn seconds(&self) -> Option<u32> {
        match self.kind {
            Kind::Captures { .. } => None,
            Kind::Store { last, .. } => last,
        }
    }

    /// Asks these probes, or all that there are. Says what is missing where that makes no section.
    pub(super) fn ask(&mut self, order: &[String]) -> Result<Option<String>> {
        for (place, name) in order.iter().enumerate() {
            if order[..place].contains(name) {
                bail!(bad_argument(anyhow!("{name} is in the order twice")));
            }
        }
        if let [only] = order {
            bail!(bad_argument(anyhow!("one place has no sections: --order names {only} alone")));
        }
        let mut there = self.there(self.span())?;
        // Days that the span is not near are looked at only where it has not all that is wanted.
        if there.len() < 2 || order.iter().any(|name| !there.contains(name)) {
            there = self.there(Span::ALL)?;
        }
        if let Some(name) = order.iter().find(|name| !there.contains(name)) {
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            return Ok(Some(format!("there is no probe {name:?}; there are {there}")));
        }
        self.asked = if order.is_empty() { there } else { order.to_vec() };
        Ok(match &self.asked[..] {
            [] => Some("no probe has sent anything yet".to_owned()),
            [only] => Some(format!("only {only} has sent anything: one place has no sections")),
            _ => None,
        })
    }

    /// The same, where they cannot be waited for.
    pub(super) fn probes(&mut self, order: &[String]) -> Result<Vec<String>> {
        match self.ask(order)? {
            None => Ok(self.asked.clone()),
            Some(why) if order.is_empty() => bail!(why),
            Some(why) => bail!(bad_argument(anyhow!(why))),
        }
    }

    /// The probes that are asked.
    pub(super) fn asked(&self) -> &[String] {
        &self.asked
    }

    /// Notes which probes have sent something since all were asked, and hands out those, each once.
    pub(super) fn newcomers(&mut self) -> Result<Vec<String>> {
        let mut new = self.there(self.span())?;
        new.retain(|name| !self.asked.contains(name) && !self.newcomers.contains(name));
        self.newcomers.extend_from_slice(&new);
        Ok(new)
    }

    /// From now on, only what was first seen within so many seconds, if nobody asked for another time.
    pub(super) fn narrow(&mut self, seconds: u32) {
        if let Kind::Store { last: last @ None, least, .. } = &mut self.kind {
            (*last, *least) = (Some(seconds), Some(seconds));
        }
    }

    /// Looks so much farther back as the clock of a probe is behind, if nobody asked for another time. It never looks less far again:
    /// what waits there would be lost.
    pub(super) fn widen(&mut self) -> Result<()> {
        let Kind::Store { store, last: Some(last), least: Some(least) } = &mut self.kind else {
            return Ok(());
        };
        let now = now();
        let newest = store.newest(Span { from: now, until: now })?;
        let behind = Behind::among(&self.asked, &newest, now).into_iter().filter(Behind::is_joined);
        *last = behind.map(|behind| behind.reach(*least)).fold(*last, u32::max);
        Ok(())
    }

    /// What is to be known of the probes' clocks: beside this host's, where it says what is asked, and else beside each other.
    pub(super) fn clocks(&mut self) -> Result<Vec<String>> {
        let Kind::Store { store, last, least } = &mut self.kind else { return Ok(Vec::new()) };
        let Some(last) = last else { return Ok(ended(&self.asked, &store.senders(Span::ALL)?)) };
        let now = now();
        let newest = store.newest(Span { from: now, until: now })?;
        let behind = Behind::among(&self.asked, &newest, now);
        Ok(behind.iter().map(|behind| behind.told(least.unwrap_or(*last), *last)).collect())
    }

    /// Why there is no connection.
    pub(super) fn why_none(&mut self) -> Result<String> {
        if let Kind::Store { store, last: Some(last), .. } = &mut self.kind {
            let from = store.days()?.last().map_or(Nanos::ZERO, |day| day.start());
            let mut newest = store.newest(Span { from, until: from })?;
            newest.retain(|probe, _| self.asked.contains(probe));
            return Ok(nothing_within(*last, &newest, now()));
        }
        Ok("no connection with both sequence numbers was seen".to_owned())
    }

    /// What is to be known of what was read, of which [`Self::each`] left out so much; of a warehouse as it is now, so that following tells what is new.
    pub(super) fn remarks(&mut self, twice: u64) -> Result<Vec<String>> {
        let clocks = self.clocks()?;
        let Kind::Store { store, last, .. } = &mut self.kind else { return Ok(self.remarks.clone()) };
        let span = span(*last);
        let accounts = store.accounts(span)?;
        let asked = accounts.iter().filter(|(name, _)| self.asked.contains(name));
        let missing = asked.flat_map(|(name, account)| missing(name, account, span));
        let left_out = left_out(store.lone(&self.asked, span)?, twice);
        Ok(left_out
            .into_iter()
            .chain(clocks)
            .chain(missing)
            .chain(self.newcomers.iter().map(|name| late(name)))
            .collect())
    }

    /// Whether it hands out what was first seen earlier before what was first seen later.
    pub(super) const fn is_in_time(&self) -> bool {
        matches!(self.kind, Kind::Captures { .. })
    }

    /// Hands out connections, until `take` breaks off. Returns how many records of theirs a warehouse left out, because their probe
    /// has an earlier one; of captures the remarks say it.
    pub(super) fn each(
        &mut self,
        reach: Reach,
        take: &mut dyn FnMut(Connection) -> ControlFlow<()>,
    ) -> Result<u64> {
        match &mut self.kind {
            Kind::Captures { names, connections } => {
                let places: Vec<Option<usize>> =
                    names.iter().map(|name| self.asked.iter().position(|asked| asked == name)).collect();
                for connection in connections.iter() {
                    let mut connection = connection.clone();
                    connection
                        .sights
                        .retain_mut(|sight| places[sight.probe].map(|place| sight.probe = place).is_some());
                    connection.sights.sort_unstable_by_key(|sight| sight.probe);
                    if !connection.sights.is_empty() && take(connection).is_break() {
                        break;
                    }
                }
                Ok(0)
            }
            Kind::Store { store, last, least } => {
                let (last, slack) = match reach {
                    Reach::Whole => (*last, SLACK),
                    Reach::Near => (near(*last, *least), NEAR_SLACK),
                };
                Ok(store.connections(&self.asked, span(last), slack, take)?)
            }
        }
    }
}

/// How far back what is near goes, where it is looked `last` seconds back, of which `least` are for right clocks.
fn near(last: Option<u32>, least: Option<u32>) -> Option<u32> {
    let behind = last.zip(least).map_or(0, |(last, least)| last.saturating_sub(least));
    let near = NEAR.saturating_add(behind);
    Some(last.map_or(near, |last| near.min(last)))
}

/// What is said of handshakes that are in no connection: `lone`, for they lack the server's number, and `twice`, for their place
/// has an earlier one.
pub(super) fn left_out(lone: u64, twice: u64) -> Vec<String> {
    let told = [
        (lone, "without the server's number, joined with none"),
        (twice, "that one place has seen before, left out"),
    ];
    let some = told.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, why)| format!("{} {why}", counted(count, "handshake"))).collect()
}

/// What is said of a probe that came too late.
pub(super) fn late(name: &str) -> String {
    format!(
        "{name} began to send when sections had been told without it, and is left out; begin anew to have it in"
    )
}

/// By name, as those of a warehouse are: what nothing tells is the same in whichever order they are given.
fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

/// The last so many seconds, or all of time.
fn span(last: Option<u32>) -> Span {
    let from = |seconds: u32| now() - Nanos::from_secs(seconds.into());
    last.map_or(Span::ALL, |seconds| Span { from: from(seconds), until: Nanos::MAX })
}

/// Minutes that are told one by one, the worst of them.
const MINUTES: usize = 10;

/// What a probe did not send: records that it gave up on the days near a span, and what its kernel dropped before it saw it, in the span.
fn missing(name: &str, account: &Account, span: Span) -> Vec<String> {
    let given_up = account.given_up.iter();
    // Neither of what was given up nor of numbers is it known when that was, but on which day it was told.
    let whenever = if span == Span::ALL { "" } else { "in the days around the span: " };
    // A probe names what reasons it likes; the terminal is not its own.
    let plain =
        |reason: &str| -> String { reason.chars().filter(|letter| !letter.is_control()).take(80).collect() };
    let mut told: Vec<String> = given_up
        .map(|(reason, count)| {
            format!("{whenever}{name} gave up {}: {}", counted(*count, "record"), plain(reason))
        })
        .collect();
    if account.renumbered > 0 {
        let numbers = counted(account.renumbered, "number");
        told.push(format!(
            "{whenever}{name} gave {numbers} to other batches as well, all of which are kept: was its host set back to a snapshot?"
        ));
    }
    // The minute in which the span begins lies in it too.
    let from = Minute::of(span.from);
    let dropped = account.dropped.iter().filter(|(minute, _)| **minute >= from);
    let mut dropped: Vec<(Minute, u64)> = dropped.map(|(minute, packets)| (*minute, *packets)).collect();
    dropped.sort_by_key(|(minute, packets)| (Reverse(*packets), *minute));
    let more = dropped.split_off(dropped.len().min(MINUTES));
    dropped.sort_unstable();
    told.extend(dropped.iter().map(|(minute, packets)| {
        format!("{name} missed packets at {minute}: the kernel dropped {packets}; connections may be missing there")
    }));
    if !more.is_empty() {
        let packets = more.iter().fold(0u64, |sum, (_, packets)| sum.saturating_add(*packets));
        let minutes = counted(more.len() as u64, "more minute");
        told.push(format!("{name} missed packets in {minutes}: the kernel dropped {packets}"));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_a_part_of_what_is_asked_for_and_goes_as_far_back_as_clocks_are_behind() {
        assert_eq!(near(Some(120), Some(120)), Some(10));
        assert_eq!(near(Some(420), Some(120)), Some(310));
        assert_eq!(near(Some(5), None), Some(5));
        assert_eq!(near(Some(3_600), None), Some(10));
        assert_eq!(near(None, None), Some(10));
    }

    #[test]
    fn dropped_packets_are_told_by_the_minute_the_worst_first_where_they_are_many() {
        let mut account = Account::default();
        account.given_up.insert("kill\x1b[2Jed".to_owned(), 3);
        account.dropped = (0..12).map(|n| (Minute(29_916_660 + n), u64::try_from(n).unwrap() + 1)).collect();
        let told = missing("in", &account, Span::ALL);
        assert_eq!(told.len(), 12, "{told:?}");
        assert_eq!(told[0], "in gave up 3 records: kill[2Jed");
        assert!(told[1].contains("2026-11-18 11:02: the kernel dropped 3;"), "{told:?}");
        assert_eq!(told[11], "in missed packets in 2 more minutes: the kernel dropped 3");
        let late = Span { from: Minute(29_916_671).start() + Nanos(5), until: Nanos::MAX };
        assert_eq!(missing("in", &account, late).len(), 2);
        assert_eq!(
            missing("in", &account, late)[0],
            "in the days around the span: in gave up 3 records: kill[2Jed"
        );
        assert!(missing("in", &Account::default(), Span::ALL).is_empty());
    }
}
