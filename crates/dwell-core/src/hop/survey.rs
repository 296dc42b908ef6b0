//! Who answers where: the first look at a path, as traceroute takes it.

use super::{Answer, HopFacts, HopMethod, HopStep, MOST_HOPS, Round, Route, Says, Shot, Spent, Stop, Volley};
use crate::unit::{Bytes, ETHERNET_OVERHEAD, Nanos};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Hops that are asked in one round: each beyond the destination costs it a message, of which it has few to give.
const AT_ONCE: u8 = 4;
/// Rounds of silence after which nobody is expected any more.
const SILENT_ROUNDS: u8 = 2;
/// How often a hop is asked for each size.
const ATTEMPTS: usize = 3;
/// 1,280 bytes of IP.
const SAFE: Bytes = Bytes(1_280 + ETHERNET_OVERHEAD.0);
/// Apart. Nothing is known of the links yet: 1,500 bytes in this time take 600 kb/s.
const APART: Nanos = Nanos::from_millis(20);

/// Finds the hops.
#[derive(Clone, Debug)]
pub struct Survey {
    facts: HopFacts,
    asked: u8,
    answers: BTreeMap<u8, Vec<(Shot, Answer, Nanos)>>,
    done: bool,
}

impl Survey {
    /// Its name in records.
    pub const NAME: &'static str = "survey";

    /// Of a path of which this is known.
    #[must_use]
    pub fn new(facts: HopFacts) -> Self {
        Self { facts, asked: 0, answers: BTreeMap::new(), done: false }
    }

    fn reached(&self) -> Option<u8> {
        let says = |answers: &[(Shot, Answer, Nanos)], what| {
            answers.iter().any(|(_, answer, _)| answer.says == what)
        };
        let ends =
            |answers: &[(Shot, Answer, Nanos)]| says(answers, Says::Reached) || says(answers, Says::Refused);
        self.answers.iter().find(|(_, answers)| ends(answers)).map(|(hop, _)| *hop)
    }

    /// What was found.
    #[must_use]
    pub fn route(&self) -> Route {
        let HopFacts { least, most } = self.facts;
        let largest =
            |answers: &Vec<(Shot, Answer, Nanos)>| answers.iter().any(|(sent, ..)| sent.size == most);
        let last = self.reached().or_else(|| self.answers.keys().last().copied()).unwrap_or(0);
        let stops: Vec<Stop> = (1..=last).map(|hop| self.stop(hop)).collect();
        let within = || self.answers.range(..=last).flat_map(|(_, answers)| answers);
        let sizes = |shot: Bytes| {
            within().filter(move |(sent, ..)| sent.size == shot).map(|(_, answer, _)| answer.size)
        };
        // Where a message grows with its probe, it is full for probes of its own size at the latest.
        let full = sizes(most).max().unwrap_or(least);
        let grows = sizes(least).any(|size| size < full);
        let even = if grows { full.max(least) } else { least };
        let took = |hop: u8, size: Bytes| {
            let of = within().filter(move |(sent, ..)| sent.size == size && sent.hop == Some(hop));
            of.filter_map(|(_, answer, left)| answer.at.0.checked_sub(left.0)).min()
        };
        let more =
            |hop| took(hop, most).zip(took(hop, least)).map(|(large, small)| large.saturating_sub(small));
        // The most of all hops: who took a queue for a link is slower than need be, and no worse.
        let serialisation = (1..=last).filter_map(more).max().unwrap_or(0).max(0) as f64;
        let bytes = most.0.saturating_sub(least.0).max(1);

        // Where the largest are lost and the smallest are not, a link is too narrow for them. IPv6's least MTU is what most
        // links carry.
        let fits = self.answers.get(&last).is_none_or(largest);
        let most = if fits { most } else { most.min(SAFE) };
        let serialisation = Nanos::from_f64(serialisation * most.0 as f64 / bytes as f64);
        Route { stops, even: even.min(most), most, serialisation }
    }

    fn stop(&self, hop: u8) -> Stop {
        let answers = self.answers.get(&hop).map_or(&[][..], Vec::as_slice);
        let mut by: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for address in answers.iter().filter_map(|(_, answer, _)| answer.by) {
            *by.entry(address).or_default() += 1;
        }
        let took = answers
            .iter()
            .filter_map(|(_, answer, left)| answer.at.0.checked_sub(left.0))
            .filter(|ns| *ns > 0);
        let says = [Says::Reached, Says::Refused, Says::Exceeded];
        Stop {
            hop,
            address: by.iter().max_by_key(|(_, count)| **count).map(|(address, _)| *address),
            says: says.into_iter().find(|what| answers.iter().any(|(_, answer, _)| answer.says == *what)),
            addresses: by.len(),
            round_trip: took.min().map(Nanos),
        }
    }
}

impl HopMethod for Survey {
    fn next(&mut self) -> HopStep {
        let heard = self.answers.keys().last().copied().unwrap_or(0);
        let silent = self.asked.saturating_sub(heard) >= AT_ONCE * SILENT_ROUNDS;
        if self.done || self.reached().is_some() || silent || self.asked >= MOST_HOPS {
            self.done = true;
            return HopStep::Done;
        }
        let hops = self.asked + 1..=(self.asked + AT_ONCE).min(MOST_HOPS);
        self.asked = *hops.end();
        let HopFacts { least, most } = self.facts;
        let volley = |(hop, size)| Volley { pause: APART, shots: vec![Shot::at(hop, size)] };
        let sizes = std::iter::repeat_n([most, least], ATTEMPTS).flatten();
        let round: Round =
            sizes.flat_map(|size| hops.clone().map(move |hop| (hop, size))).map(volley).collect();
        HopStep::Fire(round)
    }

    fn see(&mut self, sighting: &[Spent]) {
        for Spent { shot, left, answer } in sighting {
            let (Some(hop), Some(answer)) = (shot.hop, answer) else { continue };
            self.answers.entry(hop).or_default().push((*shot, *answer, *left));
        }
    }
}
