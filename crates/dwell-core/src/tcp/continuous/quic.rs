//! QUIC (RFC 9000): round-trip times from its handshake, and from the spin bit.

use super::super::{FlowHash, Half};
use super::flows::{Beside, Flows, Kept, State};
use super::shortest::SIGNS;
use super::{By, Datagram, End, FlowLimits, Sample};
use crate::unit::Nanos;

/// The versions whose headers are known: 1 (RFC 9000) and 2 (RFC 9369).
const VERSIONS: [u32; 2] = [1, 0x6b33_43cf];

/// So many edges of the spin bit must have come in turn before one is believed: an end that does not spin sets the bit
/// at random (RFC 9000, 17.4), and 1 in 256 of those flows gets so far.
const IN_TURN: u8 = 8;

/// What a datagram's first bytes say.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Header {
    /// A packet of the handshake, of a known version or that negotiates one.
    Long,
    /// A client's or server's first packet.
    Initial,
    /// A packet of a connection that is there, with its spin bit.
    Short { spin: bool },
}

impl Header {
    /// The bit that version 1 fixed tells nothing: ends that agree to (RFC 9287) set it at random.
    fn of(payload: &[u8]) -> Option<Self> {
        let first = *payload.first()?;
        if first & 0x80 == 0 {
            return Some(Self::Short { spin: first & 0x20 != 0 });
        }
        let version = u32::from_be_bytes(payload.get(1..5)?.try_into().ok()?);
        let kind = first >> 4 & 3;
        match VERSIONS.iter().position(|known| *known == version) {
            Some(place) if usize::from(kind) == place => Some(Self::Initial),
            Some(_) => Some(Self::Long),
            None => (version == 0).then_some(Self::Long),
        }
    }
}

/// How far the handshake is.
#[derive(Copy, Clone, Debug, Default)]
enum Stage {
    /// Nothing has passed.
    #[default]
    New,
    /// The client's first packets.
    Asked { opened: bool, first: Nanos, repeated: bool },
    /// The server's.
    Answered { opened: bool, first: Nanos, repeated: bool },
    /// Both halves are told.
    Told { opened: bool },
}

impl Stage {
    /// The client is the end that was heard first; `None` before anything passed.
    const fn client(self) -> Option<bool> {
        match self {
            Self::New => None,
            Self::Asked { opened, .. } | Self::Answered { opened, .. } | Self::Told { opened } => {
                Some(opened)
            }
        }
    }
}

/// The last spin bit of each end, client first, and the last edge.
#[derive(Copy, Clone, Debug, Default)]
struct Spin {
    bits: [Option<bool>; 2],
    /// Who made it, and when.
    edge: Option<(bool, Nanos)>,
    in_turn: u8,
}

impl Spin {
    /// A packet of the client or the server; gives how long after the other end's edge this one's is. The server takes
    /// over the client's bit; the client turns the server's.
    fn see(&mut self, by_client: bool, spin: bool, at: Nanos) -> Option<Nanos> {
        let own = usize::from(!by_client);
        let before = self.bits[own].replace(spin);
        if before.is_none_or(|before| before == spin) {
            return None;
        }
        let others = self.bits[1 - own]?;
        let last = self.edge.replace((by_client, at));
        let is_right = (spin == others) != by_client;
        let waited = last.filter(|(by, _)| *by != by_client).map(|(_, edge)| at - edge);
        let Some(waited) = waited.filter(|waited| is_right && *waited >= Nanos::ZERO) else {
            self.in_turn = 0;
            return None;
        };
        self.in_turn = self.in_turn.saturating_add(1);
        (self.in_turn > IN_TURN).then_some(waited)
    }
}

#[derive(Debug, Default)]
pub(super) struct Connection {
    stage: Stage,
    spin: Spin,
}

impl State for Connection {
    // Two tell them.
    const SIGNS: [By; SIGNS] = [By::QuicHandshake, By::SpinBit, By::SpinBit];
}

/// Round-trip times of QUIC connections whose handshake passes.
#[derive(Debug)]
pub struct Quic {
    pub(super) flows: Flows<Connection>,
}

impl Quic {
    /// One that has seen nothing.
    #[must_use]
    pub fn new(limits: FlowLimits) -> Self {
        Self { flows: Flows::new(limits.flows, limits.patience) }
    }

    /// How many flows had to give way to others.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.flows.forgotten()
    }

    /// Shows a datagram of this flow.
    pub fn see(&mut self, flow: FlowHash, datagram: &Datagram<'_>, take: &mut impl FnMut(Sample)) {
        self.see_beside(flow, datagram, &mut |sample, _| take(sample));
    }

    /// The same, with what the interval has of the flow.
    pub(super) fn see_beside(
        &mut self,
        flow: FlowHash,
        datagram: &Datagram<'_>,
        take: &mut impl FnMut(Sample, &mut Beside<'_>),
    ) {
        let Datagram { at, from, to, payload, .. } = *datagram;
        let Some(header) = Header::of(payload) else { return };
        // Of what is no QUIC, most looks like the middle of a connection.
        if header != Header::Initial && !self.flows.has(flow, &from, &to, at) {
            return;
        }
        let Kept { state: connection, is_first, mut beside } = self.flows.of(flow, &from, &to, at);
        let by_client = connection.stage.client().map(|opened| opened == is_first);
        let end = by_client.map(End::of);
        let mut tell = |value, by| take(Sample { at, to: from, end, other: to, value, by }, &mut beside);
        match (header, by_client) {
            (Header::Short { spin }, Some(by_client)) => {
                if let Some(value) = connection.spin.see(by_client, spin, at) {
                    tell(Half::Exact(value), By::SpinBit);
                }
            }
            (Header::Initial, None) => {
                connection.stage = Stage::Asked { opened: is_first, first: at, repeated: false };
            }
            (Header::Initial | Header::Long, Some(by_client)) => {
                if let Some(value) = connection.stage.advance(by_client, at) {
                    tell(value, By::QuicHandshake);
                }
            }
            (Header::Long | Header::Short { .. }, None) => {}
        }
    }
}

impl Stage {
    /// A packet of the handshake; gives the half that it ends. Several before the answer are one message in parts, or a
    /// repetition: the half is at most the time since the first.
    fn advance(&mut self, by_client: bool, at: Nanos) -> Option<Half> {
        let told = |first: Nanos, repeated: bool| match at - first {
            value if value < Nanos::ZERO => None,
            value if repeated => Some(Half::AtMost(value)),
            value => Some(Half::Exact(value)),
        };
        match (*self, by_client) {
            (Self::Asked { opened, first, .. }, true) => {
                *self = Self::Asked { opened, first, repeated: true };
                None
            }
            (Self::Asked { opened, first, repeated }, false) => {
                *self = Self::Answered { opened, first: at, repeated: false };
                told(first, repeated)
            }
            (Self::Answered { opened, first, .. }, false) => {
                *self = Self::Answered { opened, first, repeated: true };
                None
            }
            (Self::Answered { opened, first, repeated }, true) => {
                *self = Self::Told { opened };
                told(first, repeated)
            }
            _ => None,
        }
    }
}
