//! Probes as they travel, and what routers quote of them: echo replies that nobody asked for, which no host answers.

use etherparse::{
    Icmpv4Type, Icmpv6Type, IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice, LaxNetSlice, LaxSlicedPacket,
    PacketBuilder, TransportSlice,
};
use std::net::IpAddr;

/// Kinds of ICMP messages: echo reply of either version.
const ECHO_REPLY: u8 = 0;
const ECHO_REPLY_6: u8 = 129;

/// What the probes carry, so that nobody takes them for replies of a host.
const MAGIC: [u8; 8] = *b"dwellfsd";

/// Bytes of an ICMP header.
const ICMP: usize = 8;

/// What of a probe is the same at every place, and in every router's quotation.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Marks {
    /// From where, by what it says.
    pub source: IpAddr,
    /// Where to.
    pub destination: IpAddr,
    /// Of the run.
    pub id: u16,
    /// Its number in the run: 2 n of the direct probe of pair n, 2 n + 1 of the hop-limited one.
    pub sequence: u16,
}

/// A probe.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which.
    pub marks: Marks,
    /// How many routers it passes before it expires at the next: its time to live, or hop limit.
    pub hops: u8,
    /// Of the IP packet, in bytes.
    pub length: u16,
}

/// A router's message that a probe's time was exceeded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Of which probe.
    pub marks: Marks,
    /// By which router, by what it says.
    pub router: IpAddr,
    /// To whom.
    pub to: IpAddr,
    /// Of the IP packet, in bytes.
    pub length: u16,
}

/// A packet of the method.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Probe(Probe),
    Exceeded(Exceeded),
}

impl Probe {
    /// The smallest IP packet that a probe is, for a destination of that version of IP.
    #[must_use]
    pub fn least(to: IpAddr) -> u16 {
        let ip = if to.is_ipv4() { 20 } else { 40 };
        (ip + ICMP + MAGIC.len()) as u16
    }

    /// The IP packet, without any link's header; `None` where the addresses are of two versions.
    #[must_use]
    pub fn write(&self) -> Option<Vec<u8>> {
        let Marks { source, destination, id, sequence } = self.marks;
        let mut payload = MAGIC.to_vec();
        let more = self.length.saturating_sub(Self::least(destination));
        payload.resize(payload.len() + usize::from(more), 0);
        let mut bytes = Vec::with_capacity(usize::from(self.length));
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                PacketBuilder::ipv4(source.octets(), destination.octets(), self.hops)
                    .icmpv4_echo_reply(id, sequence)
                    .write(&mut bytes, &payload)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                PacketBuilder::ipv6(source.octets(), destination.octets(), self.hops)
                    .icmpv6_echo_reply(id, sequence)
                    .write(&mut bytes, &payload)
            }
            _ => return None,
        }
        .ok()?;
        Some(bytes)
    }
}

impl Exceeded {
    /// Of an IP packet without any link's header; `None` where that is none, or quotes no probe.
    #[must_use]
    pub fn read(packet: &[u8]) -> Option<Self> {
        match read(&LaxSlicedPacket::from_ip(packet).ok()?)? {
            Seen::Exceeded(exceeded) => Some(exceeded),
            Seen::Probe(_) => None,
        }
    }
}

/// What a packet is to the method; `None` where nothing, or where too little of it was captured.
pub(crate) fn read(packet: &LaxSlicedPacket<'_>) -> Option<Seen> {
    let (source, destination, hops, length): (IpAddr, IpAddr, u8, u16) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let (from, to) = (header.source_addr(), header.destination_addr());
            (from.into(), to.into(), header.ttl(), header.total_len())
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let (from, to) = (header.source_addr(), header.destination_addr());
            (from.into(), to.into(), header.hop_limit(), header.payload_length().checked_add(40)?)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let probe = |id, sequence, payload: &[u8]| {
        let marks = Marks { source, destination, id, sequence };
        payload.starts_with(&MAGIC).then_some(Seen::Probe(Probe { marks, hops, length }))
    };
    let exceeded = |marks| Some(Seen::Exceeded(Exceeded { marks, router: source, to: destination, length }));
    match packet.transport.as_ref()? {
        // Either version of ICMP is of its own version of IP.
        TransportSlice::Icmpv4(icmp) if source.is_ipv4() => match icmp.icmp_type() {
            Icmpv4Type::EchoReply(echo) => probe(echo.id, echo.seq, icmp.payload()),
            Icmpv4Type::TimeExceeded(_) => exceeded(quoted(icmp.payload())?),
            _ => None,
        },
        TransportSlice::Icmpv6(icmp) if source.is_ipv6() => match icmp.icmp_type() {
            Icmpv6Type::EchoReply(echo) => probe(echo.id, echo.seq, icmp.payload()),
            Icmpv6Type::TimeExceeded(_) => exceeded(quoted_6(icmp.payload())?),
            _ => None,
        },
        _ => None,
    }
}

/// The probe that an IPv4 router quotes: at the least its IP header and 8 bytes more (RFC 792).
fn quoted(bytes: &[u8]) -> Option<Marks> {
    let ip = Ipv4HeaderSlice::from_slice(bytes).ok()?;
    let icmp = bytes.get(ip.slice().len()..).filter(|_| ip.protocol() == IpNumber::ICMP)?;
    marks(ip.source_addr().into(), ip.destination_addr().into(), icmp, ECHO_REPLY)
}

fn quoted_6(bytes: &[u8]) -> Option<Marks> {
    let ip = Ipv6HeaderSlice::from_slice(bytes).ok()?;
    let icmp = bytes.get(ip.slice().len()..).filter(|_| ip.next_header() == IpNumber::IPV6_ICMP)?;
    marks(ip.source_addr().into(), ip.destination_addr().into(), icmp, ECHO_REPLY_6)
}

fn marks(source: IpAddr, destination: IpAddr, icmp: &[u8], reply: u8) -> Option<Marks> {
    let [kind, 0, _, _, id0, id1, sequence0, sequence1] = *icmp.first_chunk::<ICMP>()? else { return None };
    let [id, sequence] = [[id0, id1], [sequence0, sequence1]].map(u16::from_be_bytes);
    (kind == reply).then_some(Marks { source, destination, id, sequence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn probe(to: &str, length: u16) -> Probe {
        let to: IpAddr = to.parse().unwrap();
        let marks = Marks { source: to, destination: to, id: 0xfedc, sequence: 0xba98 };
        Probe { marks, hops: 3, length }
    }

    #[test]
    fn a_probe_is_read_as_it_was_written() {
        for (to, length) in [("192.0.2.7", 56), ("192.0.2.7", 576), ("2001:db8::7", 1280)] {
            let probe = probe(to, length);
            let bytes = probe.write().unwrap();
            assert_eq!(bytes.len(), usize::from(length));
            assert_eq!(read(&LaxSlicedPacket::from_ip(&bytes).unwrap()), Some(Seen::Probe(probe)));
            assert_eq!(Exceeded::read(&bytes), None);
        }
        let two = Marks { source: [192, 0, 2, 1].into(), ..probe("2001:db8::7", 80).marks };
        assert_eq!(Probe { marks: two, hops: 1, length: 80 }.write(), None);
    }

    #[test]
    fn what_a_router_quotes_names_the_probe() {
        // The least that a router may quote, and much.
        for quoted in [28, 200] {
            let probe = probe("192.0.2.7", 576);
            let bytes = probe.write().unwrap();
            let mut message = Vec::new();
            PacketBuilder::ipv4([192, 0, 2, 1], [192, 0, 2, 7], 64)
                .icmpv4_raw(11, 0, [0; 4])
                .write(&mut message, &bytes[..quoted])
                .unwrap();
            let exceeded = Exceeded::read(&message).unwrap();
            let (router, to) = ([192, 0, 2, 1].into(), [192, 0, 2, 7].into());
            let length = 28 + quoted as u16;
            assert_eq!(exceeded, Exceeded { marks: probe.marks, router, to, length });
        }
    }

    #[test]
    fn a_quoted_datagram_or_request_is_none_of_ours() {
        let mut bytes = probe("2001:db8::7", 80).write().unwrap();
        let message = |quoted: &[u8]| {
            let mut message = Vec::new();
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
                .icmpv6_raw(3, 0, [0; 4])
                .write(&mut message, quoted)
                .unwrap();
            Exceeded::read(&message)
        };
        assert!(message(&bytes).is_some());
        assert!(message(&bytes[..47]).is_none(), "cut before the sequence number");
        bytes[40] = 128;
        assert!(message(&bytes).is_none(), "an echo request");
        bytes[6] = 17;
        assert!(message(&bytes).is_none(), "a datagram");
    }

    #[test]
    fn icmp_of_one_version_in_ip_of_the_other_is_none_of_ours() {
        let (four, six) = (probe("192.0.2.7", 56), probe("2001:db8::7", 80));
        let mut bytes = six.write().unwrap();
        bytes[6] = 1;
        bytes[40] = ECHO_REPLY;
        assert_eq!(read(&LaxSlicedPacket::from_ip(&bytes).unwrap()), None);
        let message = |kind, quoted: &[u8]| {
            let mut message = Vec::new();
            PacketBuilder::ipv6([1; 16], [2; 16], 64)
                .icmpv6_raw(kind, 0, [0; 4])
                .write(&mut message, quoted)
                .unwrap();
            message
        };
        let mut of_four = message(11, &four.write().unwrap());
        of_four[6] = 1;
        assert_eq!(Exceeded::read(&of_four), None);
        assert!(Exceeded::read(&message(3, &six.write().unwrap())).is_some());
    }

    proptest! {
        #[test]
        fn no_bytes_upset_it(bytes in prop::collection::vec(any::<u8>(), 0..120), six: bool) {
            let mut packet = bytes;
            if let Some(first) = packet.first_mut() {
                *first = if six { 0x60 } else { 0x45 };
            }
            let _ = Exceeded::read(&packet);
        }
    }
}
