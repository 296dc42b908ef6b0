//! One round-trip time of many.

use super::super::{Endpoint, Half};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// A round-trip time from the probe to one end and back.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When the answer passed, since the epoch of the probe's clock.
    pub at: Nanos,
    /// Whom the probe's packet went to: the end that answered.
    pub to: Endpoint,
    /// Which of the two that is; `None` where the opening was not seen.
    pub end: Option<End>,
    /// The other end of the flow.
    pub other: Endpoint,
    /// From the probe to [`Self::to`] and back, with the time that this end took itself.
    pub value: Half,
    /// What tells it.
    pub by: By,
}

/// A sample of a flow whose ends are kept with it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Trip {
    pub(super) at: Nanos,
    pub(super) value: Half,
    pub(super) by: By,
    /// Whether it is to the end that was heard first.
    pub(super) to_first: bool,
    /// Which end it is to.
    pub(super) end: Option<End>,
}

impl Trip {
    /// Of a flow between these ends, first the one that was heard first.
    pub(super) const fn between(self, [first, second]: [Endpoint; 2]) -> Sample {
        let Self { at, value, by, to_first, end } = self;
        let (to, other) = if to_first { (first, second) } else { (second, first) };
        Sample { at, to, end, other, value, by }
    }
}

/// Which end of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Who opened it.
    Client,
    /// Who answered.
    Server,
}

impl End {
    pub(super) const fn of(opened: bool) -> Self {
        if opened { Self::Client } else { Self::Server }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Its name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// What tells a round-trip time.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The first echo of a time stamp (RFC 7323).
    Timestamps,
    /// The acknowledgment of data that was sent once (Karn's rule).
    Acknowledgment,
    /// The first byte of a reply after the last of a request: with the time that the program took.
    Response,
    /// The first packet of a QUIC server after the client's, or of the client that shows that it heard that.
    QuicHandshake,
    /// QUIC's spin bit (RFC 9000, 17.4): of three in a row the longest.
    SpinBit,
}

impl By {
    /// Its name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timestamps => "timestamps",
            Self::Acknowledgment => "acknowledgment",
            Self::Response => "response",
            Self::QuicHandshake => "quic-handshake",
            Self::SpinBit => "spin-bit",
        }
    }
}
