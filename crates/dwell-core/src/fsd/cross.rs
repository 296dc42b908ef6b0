//! Two places together: pairs of probes that both saw whole. What cannot be matched beyond doubt is counted by its
//! reason, and not used.

use super::probe::Marks;
use super::tap::{Heard, Tap};
use super::{Crossing, Pair};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What came of the probes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crossed {
    /// Those beyond doubt, in the order in which they left.
    pub pairs: Vec<Pair>,
    /// Whose messages they hold.
    pub router: Option<IpAddr>,
    /// What became of all.
    pub tally: Tally,
}

/// What both places saw, by what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Packets of any kind, at the source's side and at the destination's.
    pub packets: [u64; 2],
    /// Pairs of which the source's side saw a probe.
    pub asked: u64,
    /// Pairs that are used.
    pub pairs: u64,
    /// Pairs of which the source's side saw one probe alone.
    pub half: u64,
    /// Pairs whose hop-limited probe was to expire at another hop.
    pub other_hop: u64,
    /// Pairs of which some packet was seen more than once at one place.
    pub duplicated: u64,
    /// Pairs whose hop-limited probe reached the destination's side.
    pub not_expired: u64,
    /// Pairs of which nothing reached the destination's side.
    pub lost: u64,
    /// Pairs whose direct probe arrived, and no message.
    pub unanswered: u64,
    /// Pairs whose message arrived, and not the direct probe.
    pub direct_lost: u64,
    /// Pairs that another router answered than most.
    pub other_router: u64,
    /// Pairs that the destination's side alone saw.
    pub foreign: u64,
    /// Packets of the method beyond the most that are held.
    pub beyond: u64,
    /// Packets of links that are not known, by the link's name.
    pub unknown_link: BTreeMap<String, u64>,
}

/// Joins what was heard on the source's side (`near`) and on the destination's (`far`) of pairs whose hop-limited
/// probe passes `near` with `hops` left.
#[must_use]
pub fn cross(near: &Tap, far: &Tap, hops: u8) -> Crossed {
    let mut tally = Tally { packets: [near.packets, far.packets], ..Tally::default() };
    for tap in [near, far] {
        tally.beyond += tap.beyond;
        for (link, count) in &tap.unknown {
            *tally.unknown_link.entry(link.to_string()).or_default() += count;
        }
    }
    let pairs = |tap: &Tap| -> BTreeSet<Marks> {
        tap.probes.keys().chain(tap.exceeded.keys()).map(direct_of).collect()
    };
    let asked: BTreeSet<Marks> = near.probes.keys().map(direct_of).collect();
    tally.asked = asked.len() as u64;
    tally.foreign = pairs(far).difference(&asked).count() as u64;
    let mut matched = Vec::new();
    for direct in asked {
        match pair(near, far, direct, hops) {
            Ok(pair) => matched.push(pair),
            Err(why) => *why.of(&mut tally) += 1,
        }
    }
    let mut answers: BTreeMap<IpAddr, u64> = BTreeMap::new();
    matched.iter().for_each(|(router, _)| *answers.entry(*router).or_default() += 1);
    let router = answers.into_iter().rev().max_by_key(|(_, count)| *count).map(|(router, _)| router);
    let all = matched.len();
    let mut pairs: Vec<Pair> =
        matched.into_iter().filter(|(by, _)| Some(*by) == router).map(|(_, pair)| pair).collect();
    tally.other_router = (all - pairs.len()) as u64;
    tally.pairs = pairs.len() as u64;
    pairs.sort_unstable_by_key(|pair| pair.direct.left);
    Crossed { pairs, router, tally }
}

/// The marks of the direct probe of the same pair.
fn direct_of(marks: &Marks) -> Marks {
    Marks { sequence: marks.sequence & !1, ..*marks }
}

/// Why a pair is not used.
#[derive(Copy, Clone, Debug)]
enum Unused {
    Half,
    OtherHop,
    Duplicated,
    NotExpired,
    Lost,
    Unanswered,
    DirectLost,
}

impl Unused {
    fn of(self, tally: &mut Tally) -> &mut u64 {
        match self {
            Self::Half => &mut tally.half,
            Self::OtherHop => &mut tally.other_hop,
            Self::Duplicated => &mut tally.duplicated,
            Self::NotExpired => &mut tally.not_expired,
            Self::Lost => &mut tally.lost,
            Self::Unanswered => &mut tally.unanswered,
            Self::DirectLost => &mut tally.direct_lost,
        }
    }
}

fn pair(near: &Tap, far: &Tap, direct: Marks, hops: u8) -> Result<(IpAddr, Pair), Unused> {
    let limited = Marks { sequence: direct.sequence | 1, ..direct };
    let (Some(direct_left), Some(limited_left)) = (near.probes.get(&direct), near.probes.get(&limited))
    else {
        return Err(Unused::Half);
    };
    if limited_left.says != hops {
        return Err(Unused::OtherHop);
    }
    let (arrived, message) = (far.probes.get(&direct), far.exceeded.get(&limited));
    let repeated = [Some(direct_left), Some(limited_left), arrived].into_iter().flatten();
    if repeated.into_iter().any(|heard| heard.repeated) || message.is_some_and(|heard| heard.repeated) {
        return Err(Unused::Duplicated);
    }
    if far.probes.contains_key(&limited) {
        return Err(Unused::NotExpired);
    }
    match (arrived, message) {
        (None, None) => Err(Unused::Lost),
        (Some(_), None) => Err(Unused::Unanswered),
        (None, Some(_)) => Err(Unused::DirectLost),
        (Some(arrived), Some(message)) => {
            let pair =
                Pair { direct: crossing(direct_left, arrived), limited: crossing(limited_left, message) };
            Ok((message.says, pair))
        }
    }
}

fn crossing<A, B>(left: &Heard<A>, arrived: &Heard<B>) -> Crossing {
    Crossing { left: left.at, arrived: arrived.at, sent: left.size, received: arrived.size }
}

impl Tally {
    /// What was not used, each reason in words with its count; empty where all was.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        let counts = [
            (self.half, "of which the source's side saw one probe alone"),
            (self.other_hop, "whose hop-limited probe was to expire at another hop"),
            (self.duplicated, "of which a packet was seen more than once at one place"),
            (self.not_expired, "whose hop-limited probe reached the destination's side instead of expiring"),
            (self.lost, "of which nothing reached the destination's side"),
            (self.unanswered, "whose direct probe arrived, and no time-exceeded message"),
            (self.direct_lost, "whose time-exceeded message arrived, and not the direct probe"),
            (self.other_router, "that another router answered than most"),
            (self.foreign, "that the destination's side alone saw"),
        ];
        let pairs = counts.into_iter().filter(|(count, _)| *count > 0);
        let pairs = pairs.map(|(count, why)| format!("{count} pairs {why}"));
        let beyond = (self.beyond > 0)
            .then(|| format!("{} packets of probes beyond the first 1,000,000", self.beyond));
        let links = self.unknown_link.iter().map(|(link, count)| {
            format!("{count} packets of a link that cannot be read here ({link}); Ethernet, Linux cooked, BSD loopback and bare IP can")
        });
        pairs.chain(beyond).chain(links).collect()
    }
}
