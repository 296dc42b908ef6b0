//! TTL-limited probing: packets that expire at a router, whose time-exceeded message tells that they came so far.
//!
//! Such probes are no trains: each packet has an end of its own, and what comes back is a message. So they have a seam of
//! their own, as pure as [`Method`](crate::Method) is: a [`HopMethod`] asks for [`Volley`]s and is shown what became of
//! them, a [`HopPath`] fires them. The simulator, a lab of routers, a live path and a record are such paths.
//!
//! First goes the [`Survey`]: who answers where, and how much of a probe a router quotes. On the [`Route`] that it found
//! run [`Pathchar`], [`Segment`] and [`Pathneck`] ([`Walk`] is all of them in turn); [`join`] brings them together, and finds what one of them alone
//! cannot see: layer-2 hops that store and forward.

mod estimate;
mod joined;
mod limit;
mod narrow;
mod pathchar;
mod pathneck;
mod route;
mod schedule;
mod segment;
mod survey;
mod walk;
mod whole;
mod wire;

pub use joined::{HiddenHop, HopFound, Joined, join};
pub use pathchar::Pathchar;
pub use pathneck::{Pathneck, Tight};
pub use route::{Route, Stop};
pub use segment::{Alone, Segment};
pub use survey::Survey;
pub use walk::Walk;
pub use wire::{Flow, Reply};

use crate::method::Effort;
use crate::report::Finding;
use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The most routers that a probe passes.
pub const MOST_HOPS: u8 = 30;

/// One packet of a volley.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shot {
    /// Where it ends, from 1: the router that it expires at, or the destination if that is nearer. `None`: load, which
    /// goes all the way and is answered by nobody.
    pub hop: Option<u8>,
    /// Size on the wire, as [`Bytes`] defines it.
    pub size: Bytes,
}

impl Shot {
    /// One that asks the router at `hop` for a message.
    #[must_use]
    pub const fn at(hop: u8, size: Bytes) -> Self {
        Self { hop: Some(hop), size }
    }

    /// One that asks nobody.
    #[must_use]
    pub const fn load(size: Bytes) -> Self {
        Self { hop: None, size }
    }
}

/// Packets that are sent back to back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volley {
    /// Idle time between the last departure before it and its first.
    pub pause: Nanos,
    /// At least one packet.
    pub shots: Vec<Shot>,
}

/// Volleys that are fired one after another before any answer is looked at.
pub type Round = Vec<Volley>;

/// What a message says.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// The packet's time was exceeded: a router.
    Exceeded,
    /// The packet came to the host that it was for.
    Reached,
    /// Somebody on the way does not let it through.
    Refused,
}

/// A message about a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What it says.
    pub says: Says,
    /// Whose it is, by its source address.
    pub by: Option<IpAddr>,
    /// Its own size on the wire.
    pub size: Bytes,
    /// When it came, on the clock that stamped the packet.
    pub at: Nanos,
}

/// What became of one packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// As asked.
    pub shot: Shot,
    /// When it left.
    pub left: Nanos,
    /// `None`: nobody answered.
    pub answer: Option<Answer>,
}

impl Spent {
    /// From leaving to the answer, in nanoseconds; `None` without one, or with one that came before it was asked for.
    #[must_use]
    pub fn round_trip(&self) -> Option<f64> {
        let took = self.answer?.at.0.checked_sub(self.left.0)?;
        (took > 0).then_some(took as f64)
    }
}

/// What became of a volley, packet by packet in the order of sending.
pub type Sighting = Vec<Spent>;

/// What a method wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HopStep {
    /// Fire these, then show all of them.
    Fire(Round),
    /// Enough is known.
    Done,
}

/// A method of hop-limited packets: never opens a socket, reads a clock or sleeps.
pub trait HopMethod {
    /// The next step, given all that was seen so far.
    fn next(&mut self) -> HopStep;

    /// What became of a volley. One that this method did not ask for is passed over where it cannot serve.
    fn see(&mut self, sighting: &[Spent]);
}

/// What is known of a path beforehand.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopFacts {
    /// The smallest packet on the wire that can be sent.
    pub least: Bytes,
    /// The largest.
    pub most: Bytes,
}

/// Something that fires volleys: the simulator, a lab, a live path, a record.
pub trait HopPath {
    /// What can go wrong on the way.
    type Error: std::error::Error + Send + Sync + 'static;

    /// What is known beforehand.
    fn facts(&self) -> HopFacts;

    /// Fires a round, and returns one sighting for each of its volleys, in their order.
    ///
    /// # Errors
    /// When the path can carry nothing any more; that nobody answers is no error.
    fn fire(&mut self, round: &Round) -> Result<Vec<Sighting>, Self::Error>;
}

/// Runs `method` on `path` until it is done, and hands every sighting to `keep` as it comes.
///
/// # Errors
/// The path's own.
pub fn run<P: HopPath>(
    method: &mut dyn HopMethod,
    path: &mut P,
    mut keep: impl FnMut(Sighting),
) -> Result<Effort, P::Error> {
    let mut effort = Effort::default();
    while let HopStep::Fire(round) = method.next() {
        for (volley, sighting) in round.iter().zip(path.fire(&round)?) {
            count(&mut effort, volley.pause, &sighting);
            method.see(&sighting);
            keep(sighting);
        }
    }
    Ok(effort)
}

/// Adds the cost of a volley.
pub fn count(effort: &mut Effort, pause: Nanos, sighting: &[Spent]) {
    effort.probes += 1;
    effort.packets += sighting.len() as u64;
    let asked = sighting.iter().filter(|spent| spent.shot.hop.is_some());
    effort.lost += asked.filter(|spent| spent.answer.is_none()).count() as u64;
    effort.bytes = effort.bytes + sighting.iter().map(|spent| spent.shot.size).sum();
    if let (Some(first), Some(last)) = (sighting.first(), sighting.last()) {
        effort.span += pause + Nanos(last.left.0.saturating_sub(first.left.0).max(0));
    }
}

/// What a method found at each hop.
pub type ByHop = BTreeMap<u8, Finding>;

#[cfg(test)]
mod tests;
