//! Frames of what passed.

use super::format::CaptureLink;
use super::headers;
use super::wrapping::{Wrapping, ethernet};
use crate::passing::{Passed, Seen};
use dwell_core::tcp::{Segment, TcpFlags};
use std::net::IpAddr;

/// A frame's headers, and how many bytes of zeros follow them.
pub(super) struct Frame {
    pub(super) headers: Vec<u8>,
    pub(super) zeros: usize,
}

/// No frame of Ethernet is shorter, without its check sequence.
const SHORTEST: usize = 60;

impl CaptureLink {
    /// The link's header before a packet of an Ethernet type.
    fn header(self, out: &mut Vec<u8>, ethertype: u16) {
        match self {
            Self::Ethernet => ethernet(out, ethertype),
            Self::Raw => {}
            Self::Cooked => {
                out.extend_from_slice(&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]);
                out.extend_from_slice(&ethertype.to_be_bytes());
            }
            Self::Cooked2 => {
                out.extend_from_slice(&ethertype.to_be_bytes());
                out.extend_from_slice(&[0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]);
            }
            Self::Loopback => out.extend_from_slice(&[if ethertype == 0x0800 { 2 } else { 30 }, 0, 0, 0]),
        }
    }

    /// The frames of what passed: one, or two fragments.
    pub(super) fn frames(self, passed: &Passed, bare: bool) -> Vec<Frame> {
        let wrapping =
            if bare { Wrapping::Bare } else { Wrapping::of(passed.connection, self == Self::Ethernet) };
        match &passed.what {
            Seen::Segment(segment) => self.segment(wrapping, segment),
            Seen::Unreachable(message) => {
                let mut body = Vec::new();
                let protocol = headers::unreachable(&mut body, message);
                // The router in the way has the address of the server's network.
                vec![self.framed(wrapping, message.to.address, message.from.address, protocol, &body, 0)]
            }
        }
    }

    fn segment(self, wrapping: Wrapping, segment: &Segment) -> Vec<Frame> {
        let mut body = Vec::with_capacity(60);
        headers::tcp(&mut body, segment);
        let (from, to) = (segment.from.address, segment.to.address);
        let zeros = segment.payload as usize;
        match (from, to) {
            (IpAddr::V4(from), IpAddr::V4(to))
                if wrapping == Wrapping::Fragments && zeros >= 64 && !segment.flags.has(TcpFlags::SYN) =>
            {
                let first = (body.len() + zeros / 2).next_multiple_of(8);
                let second = body.len() + zeros - first;
                let fragment = |flags: u16, body: &[u8], zeros: usize| {
                    let mut headers = Vec::with_capacity(90);
                    let length = body.len() + zeros;
                    wrapping
                        .open(&mut headers, true, 20 + length, |out, ethertype| self.header(out, ethertype));
                    headers::ipv4(&mut headers, from.octets(), to.octets(), 6, length, flags);
                    headers.extend_from_slice(body);
                    Frame { headers, zeros }
                };
                vec![fragment(0x2000, &body, first - body.len()), fragment((first / 8) as u16, &[], second)]
            }
            _ => vec![self.framed(wrapping, from, to, 6, &body, zeros)],
        }
    }

    fn framed(
        self,
        wrapping: Wrapping,
        from: IpAddr,
        to: IpAddr,
        protocol: u8,
        body: &[u8],
        zeros: usize,
    ) -> Frame {
        let v4 = from.is_ipv4();
        let extension: &[u8] =
            if wrapping == Wrapping::Extension && !v4 { &[protocol, 0, 1, 4, 0, 0, 0, 0] } else { &[] };
        let length = extension.len() + body.len() + zeros;
        let mut headers = Vec::with_capacity(160);
        let whole = length + if v4 { 20 } else { 40 };
        wrapping.open(&mut headers, v4, whole, |out, ethertype| self.header(out, ethertype));
        headers::ip(&mut headers, from, to, if extension.is_empty() { protocol } else { 0 }, length);
        headers.extend_from_slice(extension);
        headers.extend_from_slice(body);
        let padding = if self == Self::Ethernet { SHORTEST.saturating_sub(headers.len() + zeros) } else { 0 };
        Frame { headers, zeros: zeros + padding }
    }
}
