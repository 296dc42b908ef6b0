//! What traffic of others is, as scenario files say it.

use crate::scenario::quantity_text::{self, RateText, Share};
use dwell_core::unit::ETHERNET_OVERHEAD;
use dwell_core::{BitRate, Bytes};
use serde::{Deserialize, Serialize};

/// Traffic that is not ours. It enters at its link and leaves after `hops` links.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "CrossText", into = "CrossText")]
pub struct CrossSpec {
    /// How its packets are spaced.
    pub kind: CrossKind,
    /// How much of it there is.
    pub offered: Offered,
    /// Size of each packet on the wire.
    pub size: Bytes,
    /// Links that it passes, the first of them included.
    pub hops: usize,
}

/// How packets of cross traffic are spaced.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CrossKind {
    /// Evenly, from a random phase.
    Constant,
    /// Exponentially, without memory.
    Poisson,
}

/// How much cross traffic is offered.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Offered {
    /// Share of its first link's time that it takes, gaps between frames included.
    Load(f64),
    /// Bits per second, preamble to check sequence and gap included.
    Rate(BitRate),
}

/// Cross traffic as a scenario file writes it.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CrossText {
    kind: CrossKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    load: Option<Share>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<RateText>,
    #[serde(with = "quantity_text::size", default = "full_frame")]
    size: Bytes,
    #[serde(default = "one_hop")]
    hops: usize,
}

impl TryFrom<CrossText> for CrossSpec {
    type Error = &'static str;

    fn try_from(text: CrossText) -> Result<Self, Self::Error> {
        let offered = match (text.load, text.rate) {
            (Some(load), None) => Offered::Load(load.0),
            (None, Some(rate)) => Offered::Rate(rate.0),
            _ => return Err("cross traffic needs either `load` or `rate`, and not both"),
        };
        Ok(Self { kind: text.kind, offered, size: text.size, hops: text.hops })
    }
}

impl From<CrossSpec> for CrossText {
    fn from(spec: CrossSpec) -> Self {
        let (load, rate) = match spec.offered {
            Offered::Load(load) => (Some(Share(load)), None),
            Offered::Rate(rate) => (None, Some(RateText(rate))),
        };
        Self { kind: spec.kind, load, rate, size: spec.size, hops: spec.hops }
    }
}

fn one_hop() -> usize {
    1
}

/// 1500 bytes of IP in an Ethernet frame with its preamble.
fn full_frame() -> Bytes {
    Bytes(1500) + ETHERNET_OVERHEAD
}
