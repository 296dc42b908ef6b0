//! A TCP segment as a probe sees it.

use super::Endpoint;
use crate::unit::Nanos;

/// What a tracker needs to know of a segment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When it passed, since the epoch of the probe's clock.
    pub at: Nanos,
    /// Who sent it.
    pub from: Endpoint,
    /// Whom it is for.
    pub to: Endpoint,
    /// Its control bits.
    pub flags: TcpFlags,
    /// Its sequence number.
    pub sequence: u32,
    /// What it acknowledges; nothing without [`TcpFlags::ACK`].
    pub acknowledgment: u32,
    /// Bytes of payload by its headers, however few of them were captured.
    pub payload: u32,
    /// What its options say.
    pub options: Options,
}

/// An ICMP message that tells that a segment was refused on its way.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// When the message passed.
    pub at: Nanos,
    /// Who had sent the segment that it quotes.
    pub from: Endpoint,
    /// Whom that was for.
    pub to: Endpoint,
    /// Its sequence number.
    pub sequence: u32,
}

impl Unreachable {
    /// What it quotes, if that was a SYN, as if it passed now.
    pub(super) fn quoted_syn(&self) -> Segment {
        let Self { at, from, to, sequence } = *self;
        let (flags, options) = (TcpFlags::SYN, Options::default());
        Segment { at, from, to, flags, sequence, acknowledgment: 0, payload: 0, options }
    }
}

/// The options that matter here.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Time stamps (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// TCP Fast Open (RFC 7413).
    pub fast_open: bool,
    /// Multipath TCP (RFC 8684).
    pub mptcp: bool,
    /// The capture cut them: what is not known of them may be there.
    pub cut: bool,
}

/// The values of the time stamp option.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the clock of the other end, as it was heard last.
    pub echo: u32,
}

/// The control bits of a segment (RFC 9293, 3.1), the lowest bit FIN.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// The first segment of its direction.
    pub const SYN: Self = Self(0x02);
    /// Refused, or broken off.
    pub const RST: Self = Self(0x04);
    /// Hand it to the program at once.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment counts.
    pub const ACK: Self = Self(0x10);
    /// ECN's echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// ECN's answer to an echo.
    pub const CWR: Self = Self(0x80);

    /// Whether all of `others` are set.
    #[must_use]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Both.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}
