//! What one place heard.

use super::probe::{Marks, Seen, read};
use crate::capture::{Captured, Framing, LinkType};
use crate::unit::{Bytes, Nanos};
use etherparse::LaxSlicedPacket;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// Hears probes and routers' messages at one place.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    pub(super) probes: HashMap<Marks, Heard<u8>>,
    pub(super) exceeded: HashMap<Marks, Heard<IpAddr>>,
    /// Packets of any kind.
    pub(super) packets: u64,
    pub(super) beyond: u64,
    pub(super) unknown: BTreeMap<LinkType, u64>,
}

/// A packet, and what it says beside its marks: of a probe the hops that it has left, of a message the router.
#[derive(Copy, Clone, Debug)]
pub(super) struct Heard<T> {
    pub(super) at: Nanos,
    /// On the wire.
    pub(super) size: Bytes,
    pub(super) says: T,
    /// Whether it came more than once.
    pub(super) repeated: bool,
}

/// Packets of either kind that are held.
const MOST: usize = 1_000_000;

impl Tap {
    /// One more packet.
    pub fn hear(&mut self, packet: &Captured<'_>) {
        self.packets += 1;
        let Some(framing) = packet.link.framing() else {
            *self.unknown.entry(packet.link).or_default() += 1;
            return;
        };
        let sliced = match framing {
            Framing::Ethernet => LaxSlicedPacket::from_ethernet(packet.bytes).ok(),
            Framing::Bare(header) => {
                packet.bytes.get(header..).and_then(|ip| LaxSlicedPacket::from_ip(ip).ok())
            }
        };
        let (Some(sliced), Ok(at)) = (sliced, i64::try_from(packet.at)) else { return };
        let (at, size) = (Nanos(at), packet.link.on_wire(packet.length));
        let held = match read(&sliced) {
            // Other sources are the scout's, whose answers go back.
            Some(Seen::Probe(probe)) if probe.marks.source == probe.marks.destination => {
                note(&mut self.probes, probe.marks, Heard { at, size, says: probe.hops, repeated: false })
            }
            Some(Seen::Exceeded(message)) if message.marks.source == message.marks.destination => {
                let heard = Heard { at, size, says: message.router, repeated: false };
                note(&mut self.exceeded, message.marks, heard)
            }
            _ => true,
        };
        self.beyond += u64::from(!held);
    }
}

/// Keeps the first; tells whether there was room.
fn note<T>(held: &mut HashMap<Marks, Heard<T>>, marks: Marks, heard: Heard<T>) -> bool {
    if let Some(first) = held.get_mut(&marks) {
        first.repeated = true;
        return true;
    }
    let room = held.len() < MOST;
    if room {
        held.insert(marks, heard);
    }
    room
}
