//! Requests that any host's kernel answers, and what comes back.

use dwell_core::host::agentless::Request;
use dwell_core::unit::ETHERNET_MIN;
use dwell_core::{Bytes, Packet};
use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Slice, Icmpv4Type, Icmpv6Header, Icmpv6Slice, Icmpv6Type,
    Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeader, TcpHeaderSlice,
};
use std::net::IpAddr;

/// Ethernet header, FCS, preamble and SFD.
const ETHERNET: u64 = 26;
/// Of an echo request: its number, and what tells it from those of others.
const MARK: usize = 12;
/// Source ports of SYNs, below those that kernels give to programs by themselves. Each SYN has the next one, so that
/// an open port takes none for a repetition.
const PORTS: u16 = 4_096;
const FIRST_PORT: u16 = 20_000;

/// What makes the requests of one run.
#[derive(Copy, Clone, Debug)]
pub(super) struct Maker {
    pub(super) request: Request,
    /// This host's address, and the other's.
    pub(super) near: IpAddr,
    pub(super) far: IpAddr,
    /// The other host's TCP port.
    pub(super) port: u16,
    /// Drawn anew for each run.
    pub(super) nonce: u64,
}

/// What a packet that came says of the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The reply to the request of this number.
    Reply {
        /// Counted over the run.
        number: u32,
        /// Whether it opened a connection.
        opened: bool,
    },
    /// Somebody on the way, or the host itself, refuses.
    Refused(String),
}

impl Maker {
    fn over_payload(&self) -> u64 {
        let ip = if self.far.is_ipv4() { 20 } else { 40 };
        ETHERNET + ip + if self.request == Request::Icmp { 8 } else { 20 }
    }

    /// The smallest request on the wire.
    pub(super) fn min_size(&self) -> Bytes {
        let mark = if self.request == Request::Icmp { MARK as u64 } else { 0 };
        Bytes(self.over_payload() + mark).max(ETHERNET_MIN)
    }

    /// The largest, where IP packets may have `mtu` bytes. A SYN carries nothing.
    pub(super) fn max_size(&self, mtu: u64) -> Bytes {
        match self.request {
            Request::Icmp => Bytes(mtu + ETHERNET).max(self.min_size()),
            Request::Tcp => self.min_size(),
        }
    }

    fn id(&self) -> u16 {
        self.nonce as u16
    }

    fn sequence(&self, number: u32) -> u32 {
        ((self.nonce >> 32) as u32).wrapping_add(number)
    }

    fn source_port(&self, number: u32) -> u16 {
        let start = self.nonce >> 16;
        FIRST_PORT + (start.wrapping_add(u64::from(number)) % u64::from(PORTS)) as u16
    }

    /// A request as a raw socket takes it.
    pub(super) fn make(&self, packet: Packet, number: u32) -> Vec<u8> {
        match self.request {
            Request::Icmp => self.echo(packet.size, number),
            Request::Tcp => self.syn(number),
        }
    }

    fn echo(&self, size: Bytes, number: u32) -> Vec<u8> {
        let mut payload = vec![0; (size.0.saturating_sub(self.over_payload()) as usize).max(MARK)];
        payload[..4].copy_from_slice(&number.to_be_bytes());
        payload[4..MARK].copy_from_slice(&self.nonce.to_be_bytes());
        let header = IcmpEchoHeader { id: self.id(), seq: number as u16 };
        let mut bytes = match self.far {
            IpAddr::V4(_) => {
                Icmpv4Header::with_checksum(Icmpv4Type::EchoRequest(header), &payload).to_bytes().to_vec()
            }
            // The kernel fills in the checksum.
            IpAddr::V6(_) => Icmpv6Header::new(Icmpv6Type::EchoRequest(header)).to_bytes().to_vec(),
        };
        bytes.append(&mut payload);
        bytes
    }

    fn syn(&self, number: u32) -> Vec<u8> {
        let mut header = TcpHeader::new(self.source_port(number), self.port, self.sequence(number), 65_535);
        header.syn = true;
        let checksum = match (self.near, self.far) {
            (IpAddr::V4(near), IpAddr::V4(far)) => {
                header.calc_checksum_ipv4_raw(near.octets(), far.octets(), &[])
            }
            (IpAddr::V6(near), IpAddr::V6(far)) => {
                header.calc_checksum_ipv6_raw(near.octets(), far.octets(), &[])
            }
            // Both are ends of one packet.
            _ => Ok(0),
        };
        // An empty segment is never too long for a checksum.
        header.checksum = checksum.unwrap_or(0);
        header.to_bytes().to_vec()
    }

    /// Reads what a raw ICMP socket received.
    pub(super) fn read_icmp(&self, bytes: &[u8]) -> Option<Answer> {
        if self.far.is_ipv6() {
            let icmp = Icmpv6Slice::from_slice(bytes).ok()?;
            return match icmp.icmp_type() {
                Icmpv6Type::EchoReply(header) => self.read_echo(header, icmp.payload()),
                Icmpv6Type::DestinationUnreachable(_) => {
                    let quoted = Ipv6HeaderSlice::from_slice(icmp.payload()).ok()?;
                    let ours = IpAddr::from(quoted.destination()) == self.far;
                    let rest = icmp.payload().get(quoted.slice().len()..)?;
                    (ours && self.is_quoted(rest))
                        .then(|| Answer::Refused(refusal6(icmp.code_u8()).to_owned()))
                }
                _ => None,
            };
        }
        let ip = Ipv4HeaderSlice::from_slice(bytes).ok()?;
        let icmp = Icmpv4Slice::from_slice(bytes.get(ip.slice().len()..)?).ok()?;
        match icmp.icmp_type() {
            Icmpv4Type::EchoReply(header) => self.read_echo(header, icmp.payload()),
            Icmpv4Type::DestinationUnreachable(_) => {
                let quoted = Ipv4HeaderSlice::from_slice(icmp.payload()).ok()?;
                let ours = IpAddr::from(quoted.destination()) == self.far;
                let rest = icmp.payload().get(quoted.slice().len()..)?;
                (ours && self.is_quoted(rest)).then(|| Answer::Refused(refusal4(icmp.code_u8()).to_owned()))
            }
            _ => None,
        }
    }

    /// Reads what a raw TCP socket received.
    pub(super) fn read_tcp(&self, bytes: &[u8]) -> Option<Answer> {
        let skipped =
            if self.far.is_ipv4() { Ipv4HeaderSlice::from_slice(bytes).ok()?.slice().len() } else { 0 };
        let tcp = TcpHeaderSlice::from_slice(bytes.get(skipped..)?).ok()?;
        let number = tcp.acknowledgment_number().wrapping_sub(self.sequence(1));
        let ours = tcp.source_port() == self.port && tcp.destination_port() == self.source_port(number);
        (ours && tcp.ack() && (tcp.syn() || tcp.rst())).then(|| Answer::Reply { number, opened: tcp.syn() })
    }

    fn read_echo(&self, header: IcmpEchoHeader, payload: &[u8]) -> Option<Answer> {
        let (number, nonce) = payload.get(..MARK)?.split_at(4);
        let ours = header.id == self.id() && nonce == self.nonce.to_be_bytes();
        let number = u32::from_be_bytes(number.try_into().ok()?);
        ours.then_some(Answer::Reply { number, opened: false })
    }

    /// Whether the first bytes behind a quoted IP header are those of a request.
    fn is_quoted(&self, bytes: &[u8]) -> bool {
        let word = |at: usize| bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
        match self.request {
            Request::Icmp => word(4) == Some(self.id()),
            Request::Tcp => {
                let ports = FIRST_PORT..FIRST_PORT + PORTS;
                word(2) == Some(self.port) && word(0).is_some_and(|port| ports.contains(&port))
            }
        }
    }
}

fn refusal4(code: u8) -> &'static str {
    match code {
        0 | 6 | 11 => "its network is unreachable",
        1 | 7 | 12 => "the host is unreachable",
        2 => "it does not speak that protocol",
        3 => "the port is unreachable",
        9 | 10 | 13 => "a filter on the way prohibits it",
        _ => "it is unreachable",
    }
}

fn refusal6(code: u8) -> &'static str {
    match code {
        0 => "there is no route to it",
        1 | 5 | 6 => "a filter on the way prohibits it",
        3 => "the host is unreachable",
        4 => "the port is unreachable",
        _ => "it is unreachable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::Nanos;
    use proptest::prelude::*;

    fn maker(request: Request, far: &str) -> Maker {
        let far: IpAddr = far.parse().unwrap();
        let near: IpAddr = if far.is_ipv4() { [192, 0, 2, 1].into() } else { "2001:db8::1".parse().unwrap() };
        Maker { request, near, far, port: 9, nonce: 0x1234_5678_9abc_def0 }
    }

    fn smallest(maker: &Maker) -> Packet {
        Packet { size: maker.min_size(), hold: Nanos::ZERO }
    }

    /// The IPv4 header of a packet to `to`.
    fn ip(to: [u8; 4], protocol: u8) -> Vec<u8> {
        let protocol = etherparse::IpNumber(protocol);
        etherparse::Ipv4Header::new(40, 64, protocol, [192, 0, 2, 9], to).unwrap().to_bytes().to_vec()
    }

    #[test]
    fn an_echo_comes_back_as_it_went() {
        for far in ["192.0.2.7", "2001:db8::7"] {
            let maker = maker(Request::Icmp, far);
            let mut bytes = maker.make(smallest(&maker), 70_000);
            assert!(maker.read_icmp(&bytes).is_none(), "a request is no reply");
            bytes[0] = if maker.far.is_ipv4() { 0 } else { 129 };
            let header = if maker.far.is_ipv4() { ip([192, 0, 2, 1], 1) } else { Vec::new() };
            let reply = [header, bytes].concat();
            assert_eq!(maker.read_icmp(&reply), Some(Answer::Reply { number: 70_000, opened: false }));
            let other = Maker { nonce: 1, ..maker };
            assert_eq!(other.read_icmp(&reply), None);
        }
        assert_eq!(maker(Request::Icmp, "192.0.2.7").min_size(), Bytes(72));
    }

    #[test]
    fn a_syn_is_answered_by_what_acknowledges_it() {
        let maker = maker(Request::Tcp, "192.0.2.7");
        let syn = maker.make(smallest(&maker), 5_000);
        let syn = TcpHeaderSlice::from_slice(&syn).unwrap();
        let mut reply = TcpHeader::new(9, syn.source_port(), 0, 0);
        (reply.ack, reply.rst) = (true, true);
        reply.acknowledgment_number = syn.sequence_number().wrapping_add(1);
        let read =
            |reply: &TcpHeader| maker.read_tcp(&[ip([192, 0, 2, 1], 6), reply.to_bytes().to_vec()].concat());
        assert_eq!(read(&reply), Some(Answer::Reply { number: 5_000, opened: false }));
        (reply.syn, reply.rst) = (true, false);
        assert_eq!(read(&reply), Some(Answer::Reply { number: 5_000, opened: true }));
        reply.source_port = 10;
        assert_eq!(read(&reply), None);
    }

    #[test]
    fn a_refusal_says_why() {
        let maker = maker(Request::Tcp, "192.0.2.7");
        let syn = maker.make(smallest(&maker), 3);
        let error = |code: u8, to: [u8; 4]| {
            let start = vec![3, code, 0, 0, 0, 0, 0, 0];
            maker.read_icmp(&[ip([192, 0, 2, 1], 1), start, ip(to, 6), syn[..8].to_vec()].concat())
        };
        let filtered = Answer::Refused("a filter on the way prohibits it".to_owned());
        assert_eq!(error(13, [192, 0, 2, 7]), Some(filtered));
        assert_eq!(error(13, [192, 0, 2, 8]), None, "somebody else's");
    }

    proptest! {
        #[test]
        fn no_bytes_upset_it(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            for far in ["192.0.2.7", "2001:db8::7"] {
                for request in [Request::Icmp, Request::Tcp] {
                    let maker = maker(request, far);
                    let _ = (maker.read_icmp(&bytes), maker.read_tcp(&bytes));
                }
            }
        }
    }
}
