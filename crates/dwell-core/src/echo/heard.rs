//! What a captured packet is to an echo: the request, the reply, or nothing.

use super::message::{self, Answer};
use crate::capture::{Captured, Framing};
use crate::unit::{Bytes, Nanos};
use etherparse::{Icmpv4Type, Icmpv6Type, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Which packets make the host answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// ICMP echo requests, of either version of IP.
    Icmp,
    /// Datagrams to a port of the host; the answer begins as they do.
    Udp {
        /// The port.
        port: u16,
    },
    /// Segments with data to a port of the host; the first segment with data that acknowledges one is the answer.
    Tcp {
        /// The port.
        port: u16,
    },
}

/// Which of the two.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Request,
    Reply,
}

/// What tells one echo from all others: the same in every capture of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Who asked. Of ICMP the ports are 0.
    pub requester: SocketAddr,
    /// Who was asked.
    pub responder: SocketAddr,
    /// Identifier and sequence number (ICMP), first bytes of the payload (UDP, and Dwell's own over TCP), number of the
    /// byte after the request (TCP).
    pub id: [u8; 16],
}

/// A packet of an echo.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) at: Nanos,
    pub(crate) part: Part,
    pub(crate) key: Key,
    /// On the wire.
    pub(crate) size: Bytes,
    /// Whether it is one of Dwell's own, which carry a number.
    pub(crate) numbered: bool,
    /// What Dwell's own responder says in its reply.
    pub(crate) answer: Option<Answer>,
}

/// Reads a packet of a link that is known; `None` where it is none of an echo, or too little of it was captured.
pub(crate) fn hear(packet: &Captured<'_>, asked: Asked) -> Option<Heard> {
    let (part, key, payload) = match packet.link.framing()? {
        Framing::Ethernet => read(&LaxSlicedPacket::from_ethernet(packet.bytes).ok()?, asked),
        Framing::Bare(header) => read(&LaxSlicedPacket::from_ip(packet.bytes.get(header..)?).ok()?, asked),
    }?;
    let at = Nanos(i64::try_from(packet.at).ok()?);
    let answer = if part == Part::Reply { Answer::read(payload) } else { None };
    let (numbered, size) = (message::id(payload).is_some(), packet.link.on_wire(packet.length));
    Some(Heard { at, part, key, size, numbered, answer })
}

fn read<'a>(packet: &LaxSlicedPacket<'a>, asked: Asked) -> Option<(Part, Key, &'a [u8])> {
    let (from, to, length): (IpAddr, IpAddr, usize) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let length = usize::from(header.total_len()).checked_sub(header.slice().len())?;
            (header.source_addr().into(), header.destination_addr().into(), length)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            // Extension headers belong to the payload here; what is left of it is the transport's.
            let extensions = ip.extensions().slice().len();
            let length = usize::from(header.payload_length()).checked_sub(extensions)?;
            (header.source_addr().into(), header.destination_addr().into(), length)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let key = |part, ports: (u16, u16), id, payload: &'a [u8]| {
        let (from, to) = (SocketAddr::new(from, ports.0), SocketAddr::new(to, ports.1));
        let (requester, responder) = if part == Part::Request { (from, to) } else { (to, from) };
        Some((part, Key { requester, responder, id }, payload))
    };
    // To the host's port: a request. From it: a reply.
    let part = |port, source, destination| match port {
        _ if port == destination => Some(Part::Request),
        _ if port == source => Some(Part::Reply),
        _ => None,
    };
    match (asked, packet.transport.as_ref()?) {
        (Asked::Icmp, TransportSlice::Icmpv4(icmp)) => match icmp.icmp_type() {
            Icmpv4Type::EchoRequest(echo) => key(Part::Request, (0, 0), numbers([echo.id, echo.seq]), &[]),
            Icmpv4Type::EchoReply(echo) => key(Part::Reply, (0, 0), numbers([echo.id, echo.seq]), &[]),
            _ => None,
        },
        (Asked::Icmp, TransportSlice::Icmpv6(icmp)) => match icmp.icmp_type() {
            Icmpv6Type::EchoRequest(echo) => key(Part::Request, (0, 0), numbers([echo.id, echo.seq]), &[]),
            Icmpv6Type::EchoReply(echo) => key(Part::Reply, (0, 0), numbers([echo.id, echo.seq]), &[]),
            _ => None,
        },
        (Asked::Udp { port }, TransportSlice::Udp(udp)) => {
            let part = part(port, udp.source_port(), udp.destination_port())?;
            let mut id = [0; 16];
            // Its own length, so that padding of short frames is no payload.
            let stated = usize::from(udp.length()).saturating_sub(8);
            let payload = udp.payload();
            let bytes = payload.get(..stated.min(16))?;
            id[..bytes.len()].copy_from_slice(bytes);
            key(part, (udp.source_port(), udp.destination_port()), id, payload)
        }
        (Asked::Tcp { port }, TransportSlice::Tcp(tcp)) => {
            let part = part(port, tcp.source_port(), tcp.destination_port())?;
            let data = length.checked_sub(tcp.header_slice().len())?;
            if data == 0 || tcp.syn() || tcp.rst() {
                return None;
            }
            let next = match part {
                Part::Request => tcp.sequence_number().wrapping_add(data as u32),
                Part::Reply => tcp.acknowledgment_number(),
            };
            let [high, low] = [(next >> 16) as u16, next as u16];
            // Dwell's own messages carry a number, which stands also where several probes are acknowledged at once.
            let id = message::id(tcp.payload()).unwrap_or(numbers([high, low]));
            key(part, (tcp.source_port(), tcp.destination_port()), id, tcp.payload())
        }
        _ => None,
    }
}

fn numbers([first, second]: [u16; 2]) -> [u8; 16] {
    let mut id = [0; 16];
    id[..2].copy_from_slice(&first.to_be_bytes());
    id[2..4].copy_from_slice(&second.to_be_bytes());
    id
}
