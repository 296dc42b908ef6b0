//! What the links of a lab of kernel shapers carried, by the counters of its interfaces.
//!
//! What a link sent is counted by the port that it hangs on. Of that, cross traffic is what the bridge at the far end
//! took up, where all of it leaves there; where some goes further, it is what the port sent less what reached the
//! host under test, so that packets under test which were lost count as cross traffic there.

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::way::Way;
use crate::wiring::{BRIDGE, ETHERNET_HEADER, HOST_PORT, Wiring};
use dwell_core::truth::{LinkCount, Reading};
use dwell_core::{Bytes, Direction};
use dwell_net::clock;
use dwell_sim::{Framing, LinkSpec};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::sync::{Mutex, PoisonError};

/// Check sequence and preamble, which no interface counts.
const UNCOUNTED: Bytes = Bytes(12);

/// The counters of all namespaces of a lab, held open.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Source, nodes, destination.
    places: Mutex<Vec<File>>,
}

/// Packets and bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Count {
    /// What these packets took of a link; `unseen` bytes of each were not counted.
    fn on(self, framing: Framing, unseen: u64) -> f64 {
        (self.bytes + self.packets * (unseen + (UNCOUNTED + framing.gap()).0)) as f64
    }
}

/// One interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Interface {
    name: String,
    received: Count,
    sent: Count,
}

impl Counters {
    pub(crate) fn open(wiring: &Wiring) -> Result<Self, LabError> {
        let open = |place: &Namespace| {
            // The file shows the namespace of the thread that opened it, whoever reads it.
            place.within(|| {
                File::open("/proc/thread-self/net/dev").map_err(LabError::system("open its counters"))
            })
        };
        let places = [&wiring.source].into_iter().chain(&wiring.nodes).chain([&wiring.destination]);
        Ok(Self { places: Mutex::new(places.map(open).collect::<Result<_, _>>()?) })
    }

    /// What each of `links`, those of one way, carried up to now. `alone`: the other way has no cross traffic.
    pub(crate) fn reading(&self, way: Way<'_>, alone: bool) -> Result<Reading, LabError> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let began = clock::monotonic();
        let places = places.iter_mut().map(interfaces).collect::<io::Result<Vec<_>>>();
        let places = places.map_err(LabError::system("read its counters"))?;
        let at = began + (clock::monotonic() - began) / 2;
        let of = |place: usize, port: &str| {
            places.get(place)?.iter().find(|interface| interface.name == port).cloned()
        };
        let host = if way.direction == Direction::Forward { places.len() - 1 } else { 0 };
        let arrived = of(host, HOST_PORT).map_or(Count::default(), |host| host.received);
        let count = |(index, link): (usize, &LinkSpec)| {
            // The first place is the source.
            let [from, to] = way.ends(index, 1).map(|node| node + 1);
            let sent = of(from, way.port()).map_or(0.0, |port| port.sent.on(link.framing, 0));
            let bridge = |place| of(place, BRIDGE).unwrap_or_default();
            let taken = bridge(to).received.on(link.framing, ETHERNET_HEADER.into());
            let entered = bridge(from).sent.on(link.framing, 0);
            let through = |(from, other): (usize, &LinkSpec)| {
                other
                    .cross
                    .iter()
                    .any(|cross| from + cross.hops > index + 1 || from < index && from + cross.hops > index)
            };
            let told_apart = alone && !way.links[..=index].iter().enumerate().any(through);
            let own =
                if told_apart { (sent - taken).max(0.0) } else { arrived.on(link.framing, 0).min(sent) };
            let cross = sent - own;
            let cross_dropped = if told_apart { (entered - cross).max(0.0) } else { 0.0 };
            LinkCount { link: index, rate: link.rate, share: 1.0, own, cross, cross_dropped }
        };
        Ok(Reading { at, links: way.links.iter().enumerate().map(count).collect() })
    }
}

/// The interfaces of a namespace.
fn interfaces(file: &mut File) -> io::Result<Vec<Interface>> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text.lines().filter_map(interface).collect())
}

/// A line of `/proc/net/dev`: eight figures of what was received, then eight of what was sent.
fn interface(line: &str) -> Option<Interface> {
    let (name, figures) = line.split_once(':')?;
    let figures: Vec<u64> = figures.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let count = |at: usize| Some(Count { bytes: *figures.get(at)?, packets: *figures.get(at + 1)? });
    Some(Interface { name: name.trim().to_owned(), received: count(0)?, sent: count(8)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_read() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n\
                    \x20 down: 1500 2 0 0 0 0 0 0 90000 60 0 0 0 0 0 0\n";
        let read: Vec<_> = text.lines().filter_map(interface).collect();
        let count = |packets, bytes| Count { packets, bytes };
        let down = Interface { name: "down".to_owned(), received: count(2, 1_500), sent: count(60, 90_000) };
        assert_eq!(read, [down]);
        // 24 bytes around what an interface counts of a packet.
        assert_eq!(read[0].sent.on(Framing::Ethernet, 0), 90_000.0 + 60.0 * 24.0);
        assert_eq!(read[0].sent.on(Framing::None, 14), 90_000.0 + 60.0 * 26.0);
    }
}
