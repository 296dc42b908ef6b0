//! Probes as they travel, and what is said about them: UDP to a port on which nobody listens, as traceroute sends them.
//!
//! All probes of a run have the same addresses and ports, so that a router that spreads flows over several ways sends all
//! of them by one (Augustin et al., Paris traceroute, IMC 2006). Which one a message is about, its checksum tells, which
//! is among the 8 bytes of UDP that any router quotes (RFC 792): the payload makes it what it shall be. A packet that
//! nobody shall answer has a false checksum: routers do not look, and the host drops it in silence.

use super::Says;
use crate::unit::{Bytes, ETHERNET_MIN, ETHERNET_OVERHEAD};
use etherparse::{
    Icmpv4Slice, Icmpv6Slice, IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice, PacketBuilder, UdpHeaderSlice,
};
use std::net::IpAddr;

/// Bytes of a UDP header.
const UDP: usize = 8;
/// Of the payload: what makes the checksum what it shall be.
const WEIGHT: usize = 2;
/// What is left of an initial time to live of packets that go all the way.
const FAR: u8 = 64;

/// The probes of one run, and who they go to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// This host.
    pub near: IpAddr,
    /// The destination.
    pub far: IpAddr,
    /// The ports at both.
    pub ports: [u16; 2],
}

/// A message about a probe.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What it says.
    pub says: Says,
    /// About which probe.
    pub number: u16,
    /// Its own size on the wire.
    pub size: Bytes,
}

impl Flow {
    fn ip(&self) -> usize {
        if self.far.is_ipv4() { 20 } else { 40 }
    }

    /// The smallest probe on the wire.
    #[must_use]
    pub fn least(&self) -> Bytes {
        on_wire(self.ip() + UDP + WEIGHT)
    }

    /// The IP packet of `size` on the wire that expires at `hop`, or of load that nobody answers; `None` where the
    /// addresses are of two versions. `number` is not 0, which UDP takes for no checksum.
    #[must_use]
    pub fn write(&self, size: Bytes, hop: Option<u8>, number: u16) -> Option<Vec<u8>> {
        let length = usize::try_from(size.0.saturating_sub(ETHERNET_OVERHEAD.0)).ok()?;
        let payload = vec![0; length.saturating_sub(self.ip() + UDP).max(WEIGHT)];
        let mut bytes = Vec::with_capacity(length);
        let hops = hop.unwrap_or(FAR);
        let builder = match (self.near, self.far) {
            (IpAddr::V4(near), IpAddr::V4(far)) => PacketBuilder::ipv4(near.octets(), far.octets(), hops),
            (IpAddr::V6(near), IpAddr::V6(far)) => PacketBuilder::ipv6(near.octets(), far.octets(), hops),
            _ => return None,
        };
        builder.udp(self.ports[0], self.ports[1]).write(&mut bytes, &payload).ok()?;
        let udp = self.ip();
        let checksum = u16::from_be_bytes(*bytes.get(udp + 6..)?.first_chunk()?);
        // The checksum is the complement of a sum in ones' complement: what is added to the payload it loses.
        let weight = subtract(checksum, number);
        // A false checksum is off by one in that arithmetic, whatever it is.
        let told = if hop.is_some() { number } else { add(number, 1).max(1) };
        bytes[udp + 6..udp + 8].copy_from_slice(&told.to_be_bytes());
        bytes[udp + UDP..udp + UDP + WEIGHT].copy_from_slice(&weight.to_be_bytes());
        Some(bytes)
    }

    /// What an ICMP message, with its IPv4 header as raw sockets give it, says of a probe of this flow; over IPv6 without
    /// its IP header. `None`: it is about something else.
    #[must_use]
    pub fn read(&self, packet: &[u8], length: usize) -> Option<Reply> {
        match self.far {
            IpAddr::V4(_) => self.read_4(packet, length),
            IpAddr::V6(_) => self.read_6(packet, length),
        }
    }

    fn read_4(&self, packet: &[u8], length: usize) -> Option<Reply> {
        let header = Ipv4HeaderSlice::from_slice(packet).ok()?.slice().len();
        let icmp = Icmpv4Slice::from_slice(packet.get(header..)?).ok()?;
        let says = match (icmp.type_u8(), icmp.code_u8()) {
            (11, 0) => Says::Exceeded,
            (3, 3) => Says::Reached,
            // Too large for a link: the probe's fault.
            (3, 4) => return None,
            (3, _) => Says::Refused,
            _ => return None,
        };
        let quoted = icmp.payload();
        let ip = Ipv4HeaderSlice::from_slice(quoted).ok()?;
        let ours = self.far == IpAddr::V4(ip.destination_addr()) && ip.protocol() == IpNumber::UDP;
        let number = self.number(quoted.get(ip.slice().len()..).filter(|_| ours)?)?;
        Some(Reply { says, number, size: on_wire(length) })
    }

    fn read_6(&self, message: &[u8], length: usize) -> Option<Reply> {
        let icmp = Icmpv6Slice::from_slice(message).ok()?;
        let says = match (icmp.type_u8(), icmp.code_u8()) {
            (3, 0) => Says::Exceeded,
            (1, 4) => Says::Reached,
            (1, _) => Says::Refused,
            _ => return None,
        };
        let quoted = icmp.payload();
        let ip = Ipv6HeaderSlice::from_slice(quoted).ok()?;
        let ours = self.far == IpAddr::V6(ip.destination_addr()) && ip.next_header() == IpNumber::UDP;
        let number = self.number(quoted.get(ip.slice().len()..).filter(|_| ours)?)?;
        Some(Reply { says, number, size: on_wire(length + self.ip()) })
    }

    fn number(&self, udp: &[u8]) -> Option<u16> {
        let udp = UdpHeaderSlice::from_slice(udp).ok()?;
        ([udp.source_port(), udp.destination_port()] == self.ports).then(|| udp.checksum())
    }
}

/// The size on the wire of an IP packet of this length.
fn on_wire(length: usize) -> Bytes {
    (Bytes(length as u64) + ETHERNET_OVERHEAD).max(ETHERNET_MIN)
}

/// In ones' complement.
fn add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

fn subtract(a: u16, b: u16) -> u16 {
    add(a, !b)
}
