//! A path to a host whose kernel answers by itself, and back: what is seen of a host without an agent.

use super::{END_OF_TIME, SimError, WARM_UP, Way, ways};
use crate::random::{Stream, stream};
use crate::scenario::{HostSpec, Scenario};
use dwell_core::host::agentless::Request;
use dwell_core::unit::ETHERNET_MIN;
use dwell_core::{
    Arrival, Departure, Fate, Fleet, Nanos, Observation, Packet, Passage, Path, PathFacts, Stamps,
};

/// Requests to the destination of a scenario, and its kernel's replies, stamped by the source's. All trains go forward;
/// a packet's arrival is its reply's at the source.
///
/// A request waits in the destination's NIC and passes its kernel stage as any packet does. The kernel then answers,
/// one request after the other, each within `answer` of the host's (`answer_cold` where it was at rest); the reply takes
/// the links back, and passes the source's NIC and kernel.
#[derive(Clone, Debug)]
pub struct AnsweringPath {
    forth: Way,
    back: Way,
    destination: HostSpec,
    chance: Stream,
    /// When the kernel is done with all that it answered so far.
    free: Nanos,
    facts: PathFacts,
    now: Nanos,
}

impl AnsweringPath {
    /// The path of `scenario`, in which all chance follows from `seed`.
    #[must_use]
    pub fn new(scenario: &Scenario, seed: u64, request: Request) -> Self {
        let [forth, back] = ways(scenario, seed);
        let facts = PathFacts {
            max_size: match request {
                Request::Icmp => scenario.max_size(),
                Request::Tcp => ETHERNET_MIN,
            },
            min_size: ETHERNET_MIN,
            resolution: scenario.source.clock.resolution,
            end_link: None,
            narrow_link: None,
            coalescence: None,
        };
        let (destination, chance) = (scenario.destination.clone(), stream(seed, &[2]));
        Self { forth, back, destination, chance, free: Nanos::ZERO, facts, now: WARM_UP }
    }

    /// Lets the kernel answer the requests that reach it. `sent` are all of the fleet, in the order of sending.
    fn answer(&mut self, sent: &[Packet]) {
        for request in self.forth.deliveries(&mut self.now) {
            let asked = self.forth.receiver.receive(request.delivered).queued;
            let HostSpec { answer, answer_cold, cold_after, .. } = &self.destination;
            let answer = answer_cold.as_ref().filter(|_| asked - self.free >= *cold_after).unwrap_or(answer);
            self.free = self.free.max(asked) + answer.sample(&mut self.chance);
            self.back.network.inject(self.free, request.packet as u64, sent[request.packet].size);
        }
    }

    /// The replies' arrivals at the source, request by request.
    fn replies(&mut self, count: usize) -> Vec<Option<Arrival>> {
        let mut arrivals: Vec<Option<Arrival>> = vec![None; count];
        for (reply, place) in self.back.deliveries(&mut self.now).into_iter().zip(0..) {
            let reception = self.back.receiver.receive(reply.delivered);
            self.now = self.now.max(reception.stamped);
            let stamps = self.back.received_at(reception);
            // Nobody waits for replies: a program looks for them when all is over.
            let stamps = Stamps { application: stamps.nearest_wire(), ..stamps };
            let first = Arrival { stamps, order: place, copies: 0 };
            arrivals[reply.packet].get_or_insert(first).copies += 1;
        }
        arrivals
    }
}

impl Path for AnsweringPath {
    type Error = SimError;

    fn facts(&self) -> PathFacts {
        self.facts
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, SimError> {
        if self.now + fleet.iter().map(Departure::lasts).sum() > END_OF_TIME {
            return Err(SimError::EndOfTime);
        }
        for Departure { pause, train } in fleet {
            let earliest = self.now;
            self.now = self.forth.send(train, earliest + *pause, earliest);
        }
        let packets: Vec<Packet> =
            fleet.iter().flat_map(|departure| departure.train.packets.clone()).collect();
        self.answer(&packets);
        let sendings = std::mem::take(&mut self.forth.sent);
        let mut replies = self.replies(packets.len()).into_iter();
        let mut sendings = sendings.into_iter();
        let passage = |departure: &Departure| {
            let packets = &departure.train.packets;
            let of_train = sendings.by_ref().zip(replies.by_ref()).take(packets.len());
            let mut fates: Vec<Fate> = packets
                .iter()
                .zip(of_train)
                .map(|(packet, (sending, arrival))| Fate {
                    packet: *packet,
                    sent: self.forth.sent_at(sending),
                    arrival,
                })
                .collect();
            Observation::rank(&mut fates);
            Passage {
                observation: Observation { direction: departure.train.direction, fates, overflowed: 0 },
                truth: None,
            }
        };
        Ok(fleet.iter().map(passage).collect())
    }
}
