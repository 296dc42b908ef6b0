//! The connections to each network of servers, in bounded memory: whichever has the most keeps its place.

use super::{Ending, Handshake, Prefix, Quality};
use crate::unit::Nanos;
use std::cmp::Reverse;
use std::collections::binary_heap::{BinaryHeap, PeekMut};
use std::collections::hash_map::HashMap;

/// Networks of servers that are told apart; the connections to all others are counted together.
pub const MOST_PREFIXES: usize = 1_000;

/// The connections to one network.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ToServer {
    /// All of them.
    pub connections: u64,
    /// Those whose server half is exact.
    pub exact: u64,
    /// Whether more of them may be among the others: of a network that has its place since others have given way, and may have been
    /// one of these.
    pub is_part: bool,
    sum: Nanos,
    /// The least exact server half; without any, of no meaning.
    least: Nanos,
}

impl ToServer {
    fn add(&mut self, handshake: &Handshake) {
        self.connections += 1;
        if let (Some(half), false) = (handshake.server_half.exact(), handshake.quality() == Quality::Refused)
        {
            self.count(1, half, half);
        }
    }

    /// Counts the connections to another network as well.
    pub fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        if other.exact > 0 {
            self.count(other.exact, other.sum, other.least);
        }
    }

    fn count(&mut self, exact: u64, sum: Nanos, least: Nanos) {
        self.least = if self.exact == 0 { least } else { self.least.min(least) };
        self.exact += exact;
        self.sum += sum;
    }

    /// The least exact server half.
    #[must_use]
    pub fn least(&self) -> Option<Nanos> {
        (self.exact > 0).then_some(self.least)
    }

    /// The mean of the exact server halves.
    #[must_use]
    pub fn mean(&self) -> Option<Nanos> {
        let count = i64::try_from(self.exact).ok().filter(|count| *count > 0)?;
        Some(Nanos(self.sum.0 / count))
    }
}

/// What keeps a network its place: the connections that its servers answered, and among those with as many, all. A scan of
/// many networks has many connections, and none that is answered.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    answered: u64,
    connections: u64,
}

impl Weight {
    fn add(&mut self, handshake: &Handshake) {
        // A refusal is an answer of a host, not of a connection: a scan has these too.
        let is_answered = handshake.ending == Ending::Established || handshake.syn_acks > 0;
        self.answered += u64::from(is_answered);
        self.connections += 1;
    }
}

/// A network's place.
#[derive(Clone, Debug)]
struct Place {
    to: ToServer,
    weight: Weight,
}

/// The connections to each network of servers, [`MOST_PREFIXES`] at most.
///
/// Where there is no place, the network that weighs least gives way, and whichever takes its place takes its weight over (Space-Saving:
/// Metwally, Agrawal and El Abbadi 2005). So a network to which more than a thousandth of all answered connections go has a place,
/// whenever it came: all weights together are these connections, and none outside weighs more than the least.
#[derive(Clone, Debug, Default)]
pub(super) struct ByServer {
    places: HashMap<Prefix, Place>,
    /// The lightest on top, each by a weight that it had: weights only grow, so it is enough to look at the top again.
    lightest: BinaryHeap<Reverse<(Weight, Prefix)>>,
    others: ToServer,
}

impl ByServer {
    /// One more.
    pub(super) fn add(&mut self, handshake: &Handshake) {
        let network = Prefix::of(handshake.server.address);
        if let Some(place) = self.places.get_mut(&network) {
            place.to.add(handshake);
            place.weight.add(handshake);
            return;
        }
        let mut new = Place { to: ToServer::default(), weight: Weight::default() };
        if self.places.len() < MOST_PREFIXES {
            new.weight.add(handshake);
            self.lightest.push(Reverse((new.weight, network)));
        } else {
            let Some(mut top) = lightest(&mut self.lightest, &self.places) else { return };
            let Reverse((weight, gone)) = *top;
            new.weight = weight;
            new.weight.add(handshake);
            // What nobody answered takes no place from what somebody did.
            if weight.answered > 0 && new.weight.answered == weight.answered {
                self.others.add(handshake);
                return;
            }
            *top = Reverse((new.weight, network));
            drop(top);
            new.to.is_part = self.others.connections > 0;
            if let Some(gone) = self.places.remove(&gone) {
                self.others.merge(&gone.to);
            }
        }
        new.to.add(handshake);
        self.places.insert(network, new);
    }

    /// Those that have a place, those with the most connections first.
    pub(super) fn ranked(&self) -> Vec<(Prefix, ToServer)> {
        let mut all: Vec<_> = self.places.iter().map(|(network, place)| (*network, place.to)).collect();
        all.sort_unstable_by_key(|(network, to)| (Reverse(to.connections), *network));
        all
    }

    /// All others.
    pub(super) const fn others(&self) -> &ToServer {
        &self.others
    }
}

/// The lightest network, by what it weighs now.
fn lightest<'a>(
    heap: &'a mut BinaryHeap<Reverse<(Weight, Prefix)>>,
    places: &HashMap<Prefix, Place>,
) -> Option<PeekMut<'a, Reverse<(Weight, Prefix)>>> {
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((weight, network)) = *top;
        let now = places.get(&network)?.weight;
        if now == weight {
            break;
        }
        *top = Reverse((now, network));
    }
    heap.peek_mut()
}

#[cfg(test)]
#[path = "by_server_tests.rs"]
mod tests;
