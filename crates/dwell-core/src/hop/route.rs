//! The hops of a path, as a survey found them.

use super::{Says, Spent};
use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Where packets may expire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Its number, from 1.
    pub hop: u8,
    /// Who answers most there; `None`: nobody does.
    pub address: Option<IpAddr>,
    /// What is said there; `None`: nothing.
    pub says: Option<Says>,
    /// How many addresses answered.
    pub addresses: usize,
    /// The least time to its answer.
    pub round_trip: Option<Nanos>,
}

/// The way to a destination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Hop by hop, up to the destination or the last one that answers.
    pub stops: Vec<Stop>,
    /// The smallest probe about which every hop's message is of one size: it quotes as much of any larger one.
    pub even: Bytes,
    /// The largest probe.
    pub most: Bytes,
    /// What the links to the last hop take for the largest probe, once each and perhaps more: probes that are this far
    /// apart do not queue behind each other.
    pub serialisation: Nanos,
}

impl Route {
    /// Those that answer.
    pub fn answering(&self) -> impl Iterator<Item = &Stop> {
        self.stops.iter().filter(|stop| matches!(stop.says, Some(Says::Exceeded | Says::Reached)))
    }

    /// Whether the last hop is the destination itself.
    #[must_use]
    pub fn reached(&self) -> bool {
        self.stops.last().is_some_and(|stop| stop.says == Some(Says::Reached))
    }

    /// Whether an answer is one as the survey heard them: of the same kind and of the one who answers most at that hop.
    pub(super) fn is_of(&self, spent: &Spent) -> bool {
        let (Some(hop), Some(answer)) = (spent.shot.hop, spent.answer) else { return false };
        let stop = self.stops.iter().find(|stop| stop.hop == hop);
        stop.is_some_and(|stop| stop.says == Some(answer.says) && stop.address == answer.by)
    }
}
