//! What lies around a packet on its link.

use super::headers;
use crate::random::hash;

/// What lies around a packet on its link.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    Bare,
    Vlan,
    QinQ,
    Mpls,
    Pppoe,
    Gre,
    Vxlan,
    IpInIp,
    /// Segments with data come in two fragments, if they are of IPv4.
    Fragments,
    /// A hop-by-hop header, if it is IPv6.
    Extension,
}

/// The two ends of every tunnel.
const OUTER: [[u8; 4]; 2] = [[192, 0, 2, 1], [192, 0, 2, 2]];

const ETHERNET_ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

impl Wrapping {
    /// That of a connection: most have none.
    pub(super) fn of(connection: u32, ethernet: bool) -> Self {
        let choices: &[Self] = if ethernet {
            &[
                Self::Vlan,
                Self::QinQ,
                Self::Mpls,
                Self::Pppoe,
                Self::Gre,
                Self::Vxlan,
                Self::IpInIp,
                Self::Fragments,
                Self::Extension,
            ]
        } else {
            &[Self::Gre, Self::Vxlan, Self::IpInIp, Self::Fragments, Self::Extension]
        };
        let drawn = hash(0x7772_6170, connection.into()) % 30;
        choices.get(drawn as usize).copied().unwrap_or(Self::Bare)
    }

    /// The headers around an IP packet of `length` bytes; `link` writes the link's own for an Ethernet type.
    pub(super) fn open(self, out: &mut Vec<u8>, v4: bool, length: usize, link: impl Fn(&mut Vec<u8>, u16)) {
        let ethertype: u16 = if v4 { 0x0800 } else { 0x86dd };
        let mut tunnel = |protocol: u8, header: &[u8]| {
            link(out, 0x0800);
            headers::ipv4(out, OUTER[0], OUTER[1], protocol, header.len() + length, 0);
            out.extend_from_slice(header);
        };
        let [high, low] = ethertype.to_be_bytes();
        match self {
            Self::Bare | Self::Fragments | Self::Extension => link(out, ethertype),
            Self::Vlan => {
                link(out, 0x8100);
                out.extend_from_slice(&[0, 100, high, low]);
            }
            Self::QinQ => {
                link(out, 0x88a8);
                out.extend_from_slice(&[0, 7, 0x81, 0, 0, 100, high, low]);
            }
            Self::Mpls => {
                link(out, 0x8847);
                // Two labels, the second the bottom of the stack.
                out.extend_from_slice(&[0x00, 0x06, 0x40, 0x40, 0x00, 0x06, 0x51, 0x40]);
            }
            Self::Pppoe => {
                link(out, 0x8864);
                out.extend_from_slice(&[0x11, 0, 0, 9]);
                out.extend_from_slice(&((2 + length) as u16).to_be_bytes());
                out.extend_from_slice(if v4 { &[0, 0x21] } else { &[0, 0x57] });
            }
            Self::Gre => tunnel(47, &[0, 0, high, low]),
            Self::IpInIp => tunnel(if v4 { 4 } else { 41 }, &[]),
            Self::Vxlan => {
                let mut header = vec![0xc0, 0x01, 0x12, 0xb5];
                header.extend_from_slice(&((8 + 8 + 14 + length) as u16).to_be_bytes());
                header.extend_from_slice(&[0, 0, 8, 0, 0, 0, 0, 0, 42, 0]);
                header.extend_from_slice(&ETHERNET_ADDRESSES);
                header.extend_from_slice(&[high, low]);
                tunnel(17, &header);
            }
        }
    }
}

/// An Ethernet header.
pub(super) fn ethernet(out: &mut Vec<u8>, ethertype: u16) {
    out.extend_from_slice(&ETHERNET_ADDRESSES);
    out.extend_from_slice(&ethertype.to_be_bytes());
}
