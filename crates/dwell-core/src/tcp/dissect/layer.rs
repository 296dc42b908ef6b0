//! The headers that a frame is made of, one behind the other.

use super::rest::Rest;
use super::{Passing, Skipped, bridged, icmp, ip, link, ppp, tcp, tunnel, wireless};
use crate::capture::LinkType;
use crate::unit::Nanos;
use std::net::IpAddr;

/// What stands next in a frame.
#[derive(Copy, Clone, Debug)]
pub(super) enum Layer {
    /// The header of a link.
    Link(LinkType),
    /// An Ethernet header.
    Ethernet,
    /// What this number of the registry of Ethernet's types names.
    Type(u16),
    /// A header of logical link control (IEEE 802.2).
    Llc,
    /// A frame of Wi-Fi.
    Wifi,
    /// A frame of PPP.
    Ppp,
    /// An IP packet of either version.
    Ip,
    /// What an IP packet carries.
    Transport(Carried),
}

/// Between whom an IP packet goes, and what it carries.
#[derive(Copy, Clone, Debug)]
pub(super) struct Carried {
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    /// By its number in IANA's registry.
    pub(super) protocol: u8,
    /// Whether the rest is in other packets.
    pub(super) in_part: bool,
}

/// What a header is followed by.
#[derive(Copy, Clone, Debug)]
pub(super) enum Next<'a> {
    Within(Layer, Rest<'a>),
    Found(Passing<'a>),
}

impl Layer {
    /// Reads one header.
    pub(super) fn next<'a>(self, at: Nanos, rest: Rest<'a>) -> Result<Next<'a>, Skipped> {
        let (layer, rest) = match self {
            Self::Link(link) => link::first(link, rest)?,
            Self::Ethernet => bridged::ethernet(rest)?,
            Self::Type(number) => bridged::typed(number, rest)?,
            Self::Llc => bridged::llc(rest)?,
            Self::Wifi => wireless::wifi(rest, 1)?,
            Self::Ppp => ppp::ppp(rest)?,
            Self::Ip => ip::either(rest).map(Self::carried)?,
            Self::Transport(carried) => return carried.next(at, rest),
        };
        Ok(Next::Within(layer, rest))
    }

    /// What an IP packet carries, and the rest behind its headers.
    pub(super) const fn carried((carried, rest): (Carried, Rest<'_>)) -> (Self, Rest<'_>) {
        (Self::Transport(carried), rest)
    }
}

impl Carried {
    fn next<'a>(self, at: Nanos, rest: Rest<'a>) -> Result<Next<'a>, Skipped> {
        let (layer, rest) = match self.protocol {
            6 => return tcp::segment(at, &self, rest).map(Passing::Segment).map(Next::Found),
            17 => return tunnel::datagram(at, &self, rest),
            1 => return icmp::v4(at, rest).map(Passing::Unreachable).map(Next::Found),
            58 => return icmp::v6(at, rest).map(Passing::Unreachable).map(Next::Found),
            4 | 41 => (Self::ip_of(self.protocol), rest),
            47 => tunnel::gre(rest)?,
            // EtherIP (RFC 3378), MPLS (RFC 4023), Ethernet behind segment routing (RFC 8986).
            97 => (Layer::Ethernet, rest.behind(2)?),
            137 => (Layer::Type(bridged::MPLS), rest),
            143 => (Layer::Ethernet, rest),
            // Authentication behind IPv4; behind IPv6 it is one of its headers.
            51 => {
                let behind = Self { protocol: rest.u8(0)?, ..self };
                (Layer::Transport(behind), rest.behind(8 + usize::from(rest.u8(1)?) * 4)?)
            }
            50 => return Err(Skipped::Encrypted),
            _ => return Err(Skipped::NotTcp),
        };
        Ok(Next::Within(layer, rest))
    }

    const fn ip_of(protocol: u8) -> Layer {
        Layer::Type(if protocol == 4 { ip::V4 } else { ip::V6 })
    }
}
