//! How large the packets of a flow are.

use crate::framing::Framing;
use crate::random::Stream;
use crate::scenario::quantity_text;
use dwell_core::Bytes;
use dwell_core::unit::ETHERNET_OVERHEAD;
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizes of a flow's packets on the wire.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All packets alike.
    One(Bytes),
    /// Each packet drawn from several sizes.
    Mix(Vec<SizeShare>),
    /// Those of its capture.
    Own,
}

/// One size of a mix.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// On the wire.
    #[serde(with = "quantity_text::size")]
    pub size: Bytes,
    /// How many packets have it, against the other weights.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: f64,
}

impl Default for Sizes {
    /// 1500 bytes of IP in an Ethernet frame with its preamble.
    fn default() -> Self {
        Self::One(Bytes(1500) + ETHERNET_OVERHEAD)
    }
}

impl From<Bytes> for Sizes {
    fn from(size: Bytes) -> Self {
        Self::One(size)
    }
}

impl Sizes {
    /// Each size with its weight; empty for those of a capture.
    pub(crate) fn shares(&self) -> Vec<SizeShare> {
        match self {
            Self::One(size) => vec![SizeShare { size: *size, weight: 1.0 }],
            Self::Mix(shares) => shares.clone(),
            Self::Own => Vec::new(),
        }
    }

    /// Bits that a packet takes of a link in the mean, framing counted.
    pub(crate) fn mean_bits(&self, framing: Framing) -> f64 {
        let shares = self.shares();
        let total: f64 = shares.iter().map(|share| share.weight).sum();
        let bits = |share: &SizeShare| framing.occupied(share.size).bits() as f64 * share.weight;
        shares.iter().map(bits).sum::<f64>() / total
    }
}

/// Sizes to draw from.
#[derive(Clone, Debug)]
pub(crate) struct SizeDraw {
    /// Each size with the share of packets that are of it or of one before it.
    upto: Vec<(f64, Bytes)>,
}

impl SizeDraw {
    pub(crate) fn new(sizes: &Sizes) -> Self {
        let mut upto = 0.0;
        let shares = sizes.shares();
        let total: f64 = shares.iter().map(|share| share.weight).sum();
        let one = |share: SizeShare| {
            upto += share.weight / total;
            (upto, share.size)
        };
        Self { upto: shares.into_iter().map(one).collect() }
    }

    /// The size of one packet. A flow with one size draws nothing.
    pub(crate) fn draw(&self, rng: &mut Stream) -> Bytes {
        match self.upto.as_slice() {
            [] => Bytes(0),
            [(_, size)] => *size,
            [.., (_, last)] => {
                let at = rng.random::<f64>();
                self.upto.iter().find(|(upto, _)| at < *upto).map_or(*last, |(_, size)| *size)
            }
        }
    }

    /// The mean of what `of` tells of each size.
    pub(crate) fn mean(&self, of: impl Fn(Bytes) -> f64) -> f64 {
        let mut before = 0.0;
        let part = |(upto, size): &(f64, Bytes)| (upto - std::mem::replace(&mut before, *upto)) * of(*size);
        self.upto.iter().map(part).sum()
    }

    /// The largest size.
    pub(crate) fn largest(&self) -> Bytes {
        self.upto.iter().map(|(_, size)| *size).max().unwrap_or(Bytes(0))
    }
}
