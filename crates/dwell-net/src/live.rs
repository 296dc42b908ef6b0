//! A live path: trains between this host and an agent.

use crate::connect_config::ConnectConfig;
use crate::facts;
use crate::link::{CarryError, Link};
use crate::live_error::{ConnectError, LiveError};
use crate::probe::{Framing, MAX_PAYLOAD};
use crate::protocol::{self, Limits};
use dwell_core::mtu;
use dwell_core::{
    Bytes, Circumstances, Departure, Direction, Fate, Fleet, HostFacts, Nanos, Passage, Path, PathFacts,
};
use std::io;

/// A path between this host and an agent.
pub struct LivePath {
    config: ConnectConfig,
    link: Link,
    facts: PathFacts,
    near_facts: HostFacts,
    largest_forward: Bytes,
    largest_reverse: Option<Bytes>,
    /// Idle times before trains, as they really were.
    idle: Vec<Nanos>,
}

/// Idle times kept: more tell nothing more of their median.
const IDLE_KEPT: usize = 10_000;

impl LivePath {
    /// Opens a session with an agent and finds out how large packets may be.
    ///
    /// # Errors
    /// Each says what stood in the way, and what to do.
    pub fn connect(config: ConnectConfig) -> Result<Self, ConnectError> {
        let mut link = Link::open(&config)?;
        let framing = Framing::of(link.address.ip());
        let sendable =
            facts::mtu_towards(link.local.ip()).map_or(Bytes(u64::MAX), |mtu| framing.size_of_mtu(mtu));
        let ceiling = sendable.min(framing.size(MAX_PAYLOAD));
        let forward = Sizing { link: &mut link, direction: Direction::Forward, ceiling, framing };
        let largest_forward = mtu::search(forward)?;
        let largest_reverse = if link.proven {
            let ceiling = largest_forward;
            let reverse = Sizing { link: &mut link, direction: Direction::Reverse, ceiling, framing };
            Some(mtu::search(reverse)?)
        } else {
            None
        };
        let max_size = largest_reverse.unwrap_or(largest_forward);
        let near_facts = facts::gather(link.local.ip(), link.prober.placed());
        let facts = PathFacts {
            max_size,
            min_size: framing.min_size(),
            resolution: link.resolution,
            end_link: None,
            narrow_link: None,
            coalescence: None,
        };
        Ok(Self { config, link, facts, near_facts, largest_forward, largest_reverse, idle: Vec::new() })
    }

    /// Both hosts, as far as they tell.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let mut sender = self.near_facts.clone();
        sender.stamps = self.link.near_stamps.names();
        let mut receiver = self.link.far_facts.clone();
        receiver.stamps = self.link.far_stamps.names();
        let reverse =
            self.largest_reverse.map_or("unknown: no probe arrives".to_owned(), |size| size.to_string());
        let notes = [
            ("largest packet forward", self.largest_forward.to_string()),
            ("largest packet reverse", reverse),
            ("round trip on the control channel", self.link.round_trip.to_string()),
        ];
        let mut idle = self.idle.clone();
        idle.sort_unstable();
        Circumstances {
            world: "live".to_owned(),
            sender,
            receiver,
            idle_before_probe: idle.get(idle.len() / 2).copied(),
            notes: notes.map(|(name, text)| (name.to_owned(), text)).into(),
        }
    }

    fn note_idle(&mut self, passages: &[Passage]) {
        let sent = |fate: Option<&Fate>| fate.map(|fate| fate.sent.nearest_wire());
        for pair in passages.windows(2) {
            let (before, after) = (&pair[0].observation.fates, &pair[1].observation.fates);
            if let (Some(before), Some(after)) = (sent(before.last()), sent(after.first())) {
                self.idle.push(after - before);
            }
        }
        self.idle.truncate(IDLE_KEPT);
    }

    /// Carries trains of one direction that stay within the agent's limits.
    fn carry_some(&mut self, fleet: &[Departure], direction: Direction) -> Result<Vec<Passage>, LiveError> {
        match self.link.carry(fleet, direction) {
            Err(CarryError::BeforeStart(lost)) => {
                // An agent that was restarted, or ended an idle session: nothing is lost yet.
                let mut link = Link::open(&self.config)
                    .map_err(|source| LiveError::Gone { lost, source: Box::new(source) })?;
                link.inherit_clocks(&self.link);
                self.link = link;
                self.link.carry(fleet, direction)
            }
            other => other,
        }
        .map_err(|error| match error {
            CarryError::BeforeStart(error) | CarryError::Midway(error) => LiveError::Vanished(error),
            CarryError::Live(error) => error,
        })
    }
}

impl Path for LivePath {
    type Error = LiveError;

    fn facts(&self) -> PathFacts {
        self.facts
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, LiveError> {
        let mut passages = Vec::with_capacity(fleet.len());
        let mut rest = fleet.as_slice();
        while let Some(first) = rest.first() {
            let direction = first.train.direction;
            let (some, after) = rest.split_at(fitting(rest, direction, &self.link.limits));
            let carried = self.carry_some(some, direction)?;
            self.note_idle(&carried);
            passages.extend(carried);
            rest = after;
        }
        Ok(passages)
    }
}

/// How many trains from the front can go as one fleet: same direction, within the agent's limits. At least one: what
/// is too much by itself the agent refuses, and says why.
fn fitting(fleet: &[Departure], direction: Direction, limits: &Limits) -> usize {
    let (mut packets, mut duration, mut cost) = (0, Nanos::ZERO, Nanos::ZERO);
    let fits = |departure: &&Departure| {
        let one = std::slice::from_ref(*departure);
        packets += departure.train.packets.len();
        duration += protocol::duration(one);
        cost += limits.cost(one);
        departure.train.direction == direction
            && packets <= limits.packets_per_fleet as usize
            && duration <= limits.fleet_duration
            && cost - duration <= Limits::AHEAD
    };
    fleet.iter().take_while(fits).count().max(1)
}

/// The search for how large packets may be, in one direction.
struct Sizing<'a> {
    link: &'a mut Link,
    direction: Direction,
    ceiling: Bytes,
    framing: Framing,
}

impl mtu::Carrier for Sizing<'_> {
    type Error = ConnectError;

    fn arrives(&mut self, fleet: &[Departure]) -> Result<Vec<bool>, ConnectError> {
        let address = self.link.address;
        let mut fleet = fleet.to_vec();
        fleet.iter_mut().for_each(|departure| departure.train.direction = self.direction);
        let passages = self.link.carry(&fleet, self.direction).map_err(|error| match error {
            CarryError::BeforeStart(source) | CarryError::Midway(source) => {
                ConnectError::Channel { address, source }
            }
            CarryError::Live(LiveError::Refused(refusal)) => ConnectError::Refused { address, refusal },
            CarryError::Live(error) => ConnectError::ThisHost(io::Error::other(error)),
        })?;
        let arrived = |passage: &Passage| passage.observation.fates.iter().all(|fate| fate.arrival.is_some());
        Ok(passages.iter().map(arrived).collect())
    }

    fn nothing_arrives(&self) -> ConnectError {
        ConnectError::ProbesDropped { address: self.link.address }
    }

    fn ceiling(&self) -> Bytes {
        self.ceiling
    }

    fn floor(&self) -> Bytes {
        self.framing.min_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::Train;

    #[test]
    fn a_fleet_that_is_too_much_at_once_goes_in_parts() {
        // 60 MB each, where 125 MB a second are allowed: a second and a bit of it at once.
        let train = Train::burst(Bytes(60_000), 1_000);
        let fleet = vec![Departure { pause: Nanos::ZERO, train }; 6];
        let limits = Limits::default();
        let part = fitting(&fleet, Direction::Forward, &limits);
        assert_eq!(part, 2);
        let announcement = |count: usize| protocol::Announcement {
            first: 0,
            grace: Nanos::ZERO,
            fleet: fleet[..count].to_vec(),
        };
        assert!(limits.admit(&announcement(part), Direction::Forward).is_ok());
        assert!(limits.admit(&announcement(part + 1), Direction::Forward).is_err());
    }
}
