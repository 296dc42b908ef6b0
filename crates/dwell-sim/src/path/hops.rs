//! The simulator as a [`HopPath`]: routers that packets expire at, and their messages' way back.

use super::{END_OF_TIME, SimError, WARM_UP, Way, ways};
use crate::link::{LinkSpec, Node, RouterSpec};
use crate::network::Outcome;
use crate::random::{Stream, stream};
use crate::scenario::Scenario;
use dwell_core::hop::{Answer, HopFacts, HopPath, Round, Says, Shot, Sighting, Spent};
use dwell_core::unit::{ETHERNET_MIN, ETHERNET_OVERHEAD};
use dwell_core::{BitRate, Bytes, Nanos, Packet};
use std::net::{IpAddr, Ipv4Addr};

/// Bytes of an ICMP message in front of what it quotes: IPv4 and ICMP headers.
const MESSAGE_HEADERS: u64 = 28;

/// The forward links of a scenario, ended by routers and the destination, and the links back. A router's message enters
/// the way back where the router stands: so many links before its end as the packet passed.
#[derive(Clone, Debug)]
pub struct SimHops {
    forth: Way,
    back: Way,
    /// By hop, from 1: the last is the destination.
    ends: Vec<End>,
    back_links: usize,
    facts: HopFacts,
    chance: Stream,
    now: Nanos,
}

/// Where packets may end.
#[derive(Clone, Debug)]
struct End {
    /// The link before it, from 0.
    link: usize,
    router: RouterSpec,
    /// When it is done with the messages so far.
    free: Nanos,
    /// When its allowance of messages was full or will be: the later, the fewer are left.
    allowance: Nanos,
}

/// What is true of one hop.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct HopTruth {
    /// The rate of the slowest link between the router before and this one; `None`: unshaped.
    pub capacity: Option<BitRate>,
    /// What a byte more takes between the two, in nanoseconds: more than 8 / `capacity` where there is a switch.
    pub byte_ns: f64,
    /// The rate of the slowest link up to here.
    pub segment: Option<BitRate>,
}

impl SimHops {
    /// The path of `scenario`, in which all chance follows from `seed`.
    #[must_use]
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let [forth, back] = ways(scenario, seed);
        let count = scenario.links.len();
        let end = |(link, spec): (usize, &LinkSpec)| {
            match &spec.node {
                Node::Switch if link + 1 < count => None,
                Node::Switch => Some(RouterSpec::default()),
                Node::Router(router) => Some(router.clone()),
            }
            .map(|mut router| {
                if link + 1 == count {
                    router.answer = scenario.destination.answer.clone();
                }
                End { link, router, free: Nanos::ZERO, allowance: Nanos::ZERO }
            })
        };
        Self {
            ends: scenario.links.iter().enumerate().filter_map(end).collect(),
            back_links: scenario.reverse_links().len(),
            facts: HopFacts { least: ETHERNET_MIN, most: scenario.max_size() },
            chance: stream(seed, &[2]),
            now: WARM_UP,
            forth,
            back,
        }
    }

    /// What is true of each hop of `scenario`.
    #[must_use]
    pub fn truth(scenario: &Scenario) -> Vec<HopTruth> {
        let mut truths = Vec::new();
        let (mut capacity, mut segment, mut byte_ns) = (None, None, 0.0);
        let least = |a: Option<BitRate>, b: Option<BitRate>| a.into_iter().chain(b).min();
        for (index, link) in scenario.links.iter().enumerate() {
            capacity = least(capacity, link.rate);
            segment = least(segment, link.rate);
            byte_ns += link.rate.map_or(0.0, |rate| rate.nanos_for(Bytes(1)));
            if link.node != Node::Switch || index + 1 == scenario.links.len() {
                truths.push(HopTruth { capacity, byte_ns, segment });
                (capacity, byte_ns) = (None, 0.0);
            }
        }
        truths
    }

    /// The place among `ends` where a packet goes.
    fn end_of(&self, shot: Shot) -> usize {
        shot.hop.map_or(usize::MAX, usize::from).saturating_sub(1).min(self.ends.len() - 1)
    }

    /// Fires a volley into the forward links; returns when each packet departed, by the source's clock.
    fn send(&mut self, volley: &dwell_core::hop::Volley, first: u64) -> Vec<Nanos> {
        let packet = |shot: &Shot| Packet { size: shot.size, hold: Nanos::ZERO };
        let packets: Vec<Packet> = volley.shots.iter().map(packet).collect();
        let sendings = self.forth.sender.send(&packets, self.now + volley.pause, self.now);
        let mut left = Vec::with_capacity(packets.len());
        for ((shot, sending), key) in volley.shots.iter().zip(&sendings).zip(first..) {
            if shot.size <= self.facts.most {
                let last = self.ends[self.end_of(*shot)].link;
                self.forth.network.inject_between(sending.departed, key, shot.size, [0, last]);
            }
            left.push(self.forth.sent_at(*sending).nearest_wire());
        }
        self.now = sendings.last().map_or(self.now, |last| last.departed);
        left
    }

    /// Lets routers and destination answer what came to them, and sends the messages back. What they are about, by key.
    fn answer(&mut self, shots: &[Shot]) -> Vec<(usize, Bytes)> {
        let mut outcomes = Vec::new();
        self.now = self.now.max(self.forth.network.finish(&mut outcomes));
        let mut came: Vec<(Nanos, usize)> = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            match outcome {
                Outcome::Leaves { key, at, .. } => came.push((at, key as usize)),
                Outcome::Lost { at, .. } => self.now = self.now.max(at),
            }
        }
        came.sort_unstable();
        let mut messages = Vec::new();
        let worked = self.back.network.worked();
        for (at, key) in came {
            self.now = self.now.max(at);
            let (shot, place) = (shots[key], self.end_of(shots[key]));
            let (Some(_), Some(end)) = (shot.hop, self.ends.get_mut(place)) else { continue };
            let Some(at) = end.answer(at, &mut self.chance) else { continue };
            let quoting = shot.size.0.saturating_sub(ETHERNET_OVERHEAD.0) + MESSAGE_HEADERS;
            let size = (Bytes(quoting.min(end.router.message.0)) + ETHERNET_OVERHEAD).max(ETHERNET_MIN);
            let from = self.back_links.saturating_sub(end.link + 1);
            self.back.network.inject_between(at.max(worked), messages.len() as u64, size, [from, usize::MAX]);
            messages.push((key, size));
        }
        messages
    }
}

impl End {
    /// When it sends the message about a packet that came at `at`; `None`: it sends none.
    fn answer(&mut self, at: Nanos, chance: &mut Stream) -> Option<Nanos> {
        let RouterSpec { answer, every, burst, silent, .. } = &self.router;
        let owed = self.allowance.max(at) + *every;
        if *silent || owed - at > *every * i64::from((*burst).max(1)) {
            return None;
        }
        self.allowance = owed;
        self.free = self.free.max(at) + answer.sample(chance);
        Some(self.free)
    }
}

impl HopPath for SimHops {
    type Error = SimError;

    fn facts(&self) -> HopFacts {
        self.facts
    }

    fn fire(&mut self, round: &Round) -> Result<Vec<Sighting>, SimError> {
        if self.now + round.iter().map(|volley| volley.pause).sum::<Nanos>() > END_OF_TIME {
            return Err(SimError::EndOfTime);
        }
        // Packets enter any link of the way back, so none of its links may be further on.
        self.now = self.now.max(self.back.network.worked());
        let shots: Vec<Shot> = round.iter().flat_map(|volley| volley.shots.iter().copied()).collect();
        let mut left = Vec::with_capacity(shots.len());
        for volley in round {
            left.extend(self.send(volley, left.len() as u64));
        }
        let messages = self.answer(&shots);
        let mut answers: Vec<Option<Answer>> = vec![None; shots.len()];
        for through in self.back.deliveries(&mut self.now) {
            let reception = self.back.receiver.receive(through.delivered);
            self.now = self.now.max(reception.stamped);
            let (key, size) = messages[through.packet];
            let place = self.end_of(shots[key]);
            let says = if place + 1 == self.ends.len() { Says::Reached } else { Says::Exceeded };
            let at = self.back.received_at(reception).nearest_wire();
            answers[key].get_or_insert(Answer { says, by: Some(address(place)), size, at });
        }
        let mut spent = shots.iter().zip(left).zip(answers).map(|((shot, left), answer)| Spent {
            shot: *shot,
            left,
            answer,
        });
        Ok(round.iter().map(|volley| spent.by_ref().take(volley.shots.len()).collect()).collect())
    }
}

/// An address for the hop at this place.
fn address(place: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(place + 1).unwrap_or(u8::MAX)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_has_six_messages_and_then_one_a_second() {
        let router = RouterSpec { every: Nanos::from_secs(1), ..RouterSpec::default() };
        let mut end = End { link: 0, router, free: Nanos::ZERO, allowance: Nanos::ZERO };
        let mut chance = stream(1, &[]);
        let mut told =
            |ms| (0..100).filter(|_| end.answer(Nanos::from_millis(ms), &mut chance).is_some()).count();
        assert_eq!([0, 999, 1_000, 3_100, 100_000].map(&mut told), [6, 0, 1, 2, 6]);
    }
}
