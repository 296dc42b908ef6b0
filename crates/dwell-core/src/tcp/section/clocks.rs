//! Which records under one key are one connection: those that began together.
//!
//! Ports come again, and where both ends always begin with the same numbers, so does the key. What two probes saw hundreds
//! of seconds apart is one connection only if their clocks are as far apart, which all the others that both saw tell.

use super::{Connection, Ends, Sight};
use crate::unit::Nanos;
use std::ops::ControlFlow;

/// Two records of one connection begin no farther apart than this, where their clocks agree: who opens one sends its last SYN
/// 63 s after its first (Linux), and a minute is left to clocks. What has the same ports and numbers sooner is taken for the same connection.
pub const TOGETHER: Nanos = Nanos::from_secs(120);

/// So many connections wait at most until it is known how far clocks are apart.
const MOST: usize = 65_536;

/// A probe's record of a connection, and when it begins by that probe's clock.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When the connection was seen first.
    pub first_at: Nanos,
    /// What was seen of it.
    pub sight: Sight,
}

/// Tells connections apart that share a key, by how far the probes' clocks are apart. That is learned from what is joined.
#[derive(Debug)]
pub struct Clocks {
    probes: usize,
    most: usize,
    /// Of each two probes, how many connections both saw within [`TOGETHER`].
    near: Vec<u64>,
    waiting: Vec<(Ends, Vec<Seen>)>,
    /// How far each probe's clock is ahead, once that is settled.
    ahead: Option<Vec<Nanos>>,
}

/// Takes a connection, and how many records of it were left out, because their probe has an earlier one.
pub type TakeOf<'a> = dyn FnMut(Connection, u64) -> ControlFlow<()> + 'a;

impl Clocks {
    /// Of so many probes.
    #[must_use]
    pub fn new(probes: usize) -> Self {
        Self { probes, most: MOST, near: vec![0; probes * probes], waiting: Vec::new(), ahead: None }
    }

    /// Takes note of a connection whose records begin together.
    pub fn note(&mut self, connection: &Connection) {
        for (place, one) in connection.sights.iter().enumerate() {
            for two in &connection.sights[place + 1..] {
                let place = self.pair(one.probe, two.probe);
                self.near[place] += 1;
            }
        }
    }

    /// Takes all records under a key, and hands out the connections that they are of, now or in the end. Of several records
    /// of a probe that are of one connection, the earliest counts.
    pub fn part(&mut self, ends: Ends, mut seen: Vec<Seen>, take: &mut TakeOf<'_>) -> ControlFlow<()> {
        seen.sort_by_key(|seen| (seen.first_at, seen.sight.probe));
        let ends_at = seen.last().map_or(Nanos::ZERO, |last| last.first_at);
        if seen.first().is_none_or(|first| ends_at - first.first_at <= TOGETHER) {
            let Some((connection, left_out)) = whole(ends, &seen) else { return ControlFlow::Continue(()) };
            self.note(&connection);
            return take(connection, left_out);
        }
        if let Some(ahead) = &self.ahead {
            return parted(ends, seen, ahead, take);
        }
        self.waiting.push((ends, seen));
        if self.waiting.len() < self.most { ControlFlow::Continue(()) } else { self.finish(take) }
    }

    /// Nothing is still to come: hands out what waits.
    pub fn finish(&mut self, take: &mut TakeOf<'_>) -> ControlFlow<()> {
        let ahead = self.ahead();
        for (ends, seen) in std::mem::take(&mut self.waiting) {
            parted(ends, seen, &ahead, take)?;
        }
        self.ahead = Some(ahead);
        ControlFlow::Continue(())
    }

    const fn pair(&self, one: usize, two: usize) -> usize {
        if one < two { one * self.probes + two } else { two * self.probes + one }
    }

    /// Of each two probes, how many connections both saw near to each other, and how far apart they saw the others, in order. Of
    /// what they did not see equally often nothing tells which belong together.
    fn apart(&self) -> (Vec<u64>, Vec<Vec<Nanos>>) {
        let (mut near, mut far) = (self.near.clone(), vec![Vec::new(); self.near.len()]);
        for (_, seen) in &self.waiting {
            let times = |probe: usize| seen.iter().filter(|seen| seen.sight.probe == probe).count();
            let first = earliest(seen);
            for (place, one) in first.iter().enumerate() {
                let (probe, at) = (one.sight.probe, one.first_at);
                let alike = first[place + 1..].iter().filter(|two| times(two.sight.probe) == times(probe));
                for two in alike {
                    let (other, later) = (two.sight.probe, two.first_at - at);
                    let pair = self.pair(probe, other);
                    if later <= TOGETHER {
                        near[pair] += 1;
                    } else {
                        far[pair].push(if probe < other { later } else { -later });
                    }
                }
            }
        }
        far.iter_mut().for_each(|far| far.sort_unstable());
        (near, far)
    }

    /// How far each clock is ahead of the first one's: step by step from probe to probe, over those two first that saw most
    /// connections together.
    fn ahead(&self) -> Vec<Nanos> {
        let (near, far) = self.apart();
        let mut ahead: Vec<Option<Nanos>> = vec![None; self.probes];
        while let Some(unknown) = ahead.iter().position(Option::is_none) {
            let mut most = (0, unknown, Nanos::ZERO);
            for (known, of_known) in ahead.iter().enumerate().filter_map(|(known, by)| Some((known, (*by)?)))
            {
                for probe in (0..self.probes).filter(|probe| ahead[*probe].is_none()) {
                    let (near, far) = (near[self.pair(known, probe)], &far[self.pair(known, probe)]);
                    let together = near + far.len() as u64;
                    if together > most.0 {
                        let by = usual(near, far);
                        most = (together, probe, if known < probe { of_known + by } else { of_known - by });
                    }
                }
            }
            ahead[most.1] = Some(most.2);
        }
        ahead.into_iter().flatten().collect()
    }
}

/// How far two clocks are apart: not at all, if no more connections are told far apart than near to each other.
fn usual(near: u64, far: &[Nanos]) -> Nanos {
    if far.len() as u64 > near { far[far.len() / 2] } else { Nanos::ZERO }
}

fn parted(ends: Ends, mut seen: Vec<Seen>, ahead: &[Nanos], take: &mut TakeOf<'_>) -> ControlFlow<()> {
    let at = |seen: &Seen| seen.first_at - ahead[seen.sight.probe];
    seen.sort_by_key(|seen| (at(seen), seen.sight.probe));
    let mut rest = &seen[..];
    while let Some(first) = rest.first() {
        let together = rest.partition_point(|seen| at(seen) - at(first) <= TOGETHER);
        let (one, behind) = rest.split_at(together);
        if let Some((connection, left_out)) = whole(ends, one) {
            take(connection, left_out)?;
        }
        rest = behind;
    }
    ControlFlow::Continue(())
}

/// Of these, which are in order of time, the earliest of each probe.
fn earliest(seen: &[Seen]) -> Vec<Seen> {
    let mut first: Vec<Seen> = Vec::with_capacity(seen.len());
    for seen in seen {
        if first.iter().all(|first| first.sight.probe != seen.sight.probe) {
            first.push(*seen);
        }
    }
    first
}

/// Of these one connection, and how many of them were left out; `None` of none.
fn whole(ends: Ends, seen: &[Seen]) -> Option<(Connection, u64)> {
    let first_at = seen.iter().map(|seen| seen.first_at).min()?;
    let mut sights: Vec<Sight> = earliest(seen).iter().map(|seen| seen.sight).collect();
    sights.sort_by_key(|sight| sight.probe);
    let left_out = (seen.len() - sights.len()) as u64;
    Some((Connection { ends, first_at, sights }, left_out))
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;
