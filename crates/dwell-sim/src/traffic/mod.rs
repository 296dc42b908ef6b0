//! What traffic of others is, as scenario files say it.

mod capture;
mod pareto;
mod sizes;
mod tcp;

pub use capture::CaptureError;
pub(crate) use capture::Read as CapturesRead;
pub use capture::{CaptureSpec, Trace};
pub use pareto::ParetoSpec;
pub(crate) use pareto::Periods;
pub(crate) use sizes::SizeDraw;
pub use sizes::{SizeShare, Sizes};
pub(crate) use tcp::Tcp;
pub use tcp::{Algorithm, TcpSpec};

use crate::scenario::quantity_text;
use dwell_core::{BitRate, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Traffic that is not ours. It enters at its link and leaves after `hops` links.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(try_from = "CrossText", into = "CrossText")]
pub struct CrossSpec {
    /// How its packets are spaced.
    pub kind: CrossKind,
    /// How much of it there is, in the mean.
    pub offered: Offered,
    /// Sizes of its packets on the wire.
    pub sizes: Sizes,
    /// Links that it passes, the first of them included.
    pub hops: usize,
    /// Its class where links serve by priority: from 0 to 7, which goes first.
    pub priority: u8,
}

/// How packets of cross traffic are spaced.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CrossKind {
    /// Evenly, from a random phase.
    Constant,
    /// Exponentially, without memory.
    Poisson,
    /// Evenly at a peak rate for a while, then nothing for a while.
    Pareto(ParetoSpec),
    /// As in a recorded capture, again and again from a random phase.
    Capture(CaptureSpec),
    /// As one TCP connection reacts to the queue and the losses of its link. With `load` or `rate` its program writes no
    /// more than that, without them as much as the connection takes.
    Tcp(TcpSpec),
}

/// How much cross traffic is offered.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Offered {
    /// Share of its first link's time that it takes, gaps between frames included.
    Load(f64),
    /// Bits per second, preamble to check sequence and gap included.
    Rate(BitRate),
    /// What its kind says: a capture as it was recorded, peak, on and off times, what TCP gets. Other kinds then offer
    /// nothing.
    Own,
}

impl CrossSpec {
    /// Its largest packet on the wire.
    #[must_use]
    pub fn largest(&self) -> Bytes {
        let recorded = match &self.kind {
            CrossKind::Capture(capture) => {
                let trace = capture.trace();
                (0..trace.packets()).map(|index| trace.packet(index).1).max()
            }
            _ => None,
        };
        let sizes = self.sizes.shares().into_iter().map(|share| share.size).max();
        recorded.max(sizes).unwrap_or_default()
    }
}

/// Cross traffic as a scenario file writes it.
#[derive(Clone, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct CrossText {
    /// How its packets are spaced.
    kind: CrossKind,
    /// Mean share of its first link's time that it takes, framing counted.
    #[serde(with = "quantity_text::some_share", default, skip_serializing_if = "Option::is_none")]
    load: Option<f64>,
    /// Mean bits per second, framing counted.
    #[serde(with = "quantity_text::some_rate", default, skip_serializing_if = "Option::is_none")]
    rate: Option<BitRate>,
    /// Size of each packet on the wire.
    #[serde(with = "quantity_text::some_size", default, skip_serializing_if = "Option::is_none")]
    size: Option<Bytes>,
    /// Sizes on the wire to draw from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    sizes: Option<Vec<SizeShare>>,
    /// Links that it passes, the first of them included.
    #[serde(default = "one_hop")]
    #[schemars(range(min = 1, max = 64))]
    hops: usize,
    /// Its class where links serve by priority: from 0 to 7, which goes first.
    #[serde(default, skip_serializing_if = "is_lowest")]
    #[schemars(range(max = 7))]
    priority: u8,
}

impl TryFrom<CrossText> for CrossSpec {
    type Error = &'static str;

    fn try_from(text: CrossText) -> Result<Self, Self::Error> {
        let offered = match (text.load, text.rate) {
            (Some(_), Some(_)) => return Err("cross traffic needs either `load` or `rate`, and not both"),
            (Some(load), None) => Offered::Load(load),
            (None, Some(rate)) => Offered::Rate(rate),
            (None, None) => Offered::Own,
        };
        match (&text.kind, offered) {
            (CrossKind::Constant | CrossKind::Poisson, Offered::Own) => {
                return Err("cross traffic needs either `load` or `rate`");
            }
            (CrossKind::Pareto(pareto), offered) if pareto.off.is_some() != (offered == Offered::Own) => {
                return Err("Pareto traffic needs either `off` or one of `load` and `rate`, and not both");
            }
            _ => {}
        }
        let is_capture = matches!(text.kind, CrossKind::Capture(_));
        let sizes = match (text.size, text.sizes) {
            (None, None) if is_capture => Sizes::Own,
            (_, _) if is_capture => {
                return Err("a capture has sizes of its own; `size` and `sizes` cannot be given");
            }
            (Some(_), Some(_)) => return Err("cross traffic has either `size` or `sizes`, and not both"),
            (Some(size), None) => Sizes::One(size),
            (None, Some(mix)) => Sizes::Mix(mix),
            (None, None) => Sizes::default(),
        };
        Ok(Self { kind: text.kind, offered, sizes, hops: text.hops, priority: text.priority })
    }
}

impl From<CrossSpec> for CrossText {
    fn from(spec: CrossSpec) -> Self {
        let (load, rate) = match spec.offered {
            Offered::Load(load) => (Some(load), None),
            Offered::Rate(rate) => (None, Some(rate)),
            Offered::Own => (None, None),
        };
        let (size, sizes) = match spec.sizes {
            Sizes::One(size) => (Some(size), None),
            Sizes::Mix(mix) => (None, Some(mix)),
            Sizes::Own => (None, None),
        };
        let CrossSpec { kind, hops, priority, .. } = spec;
        Self { kind, load, rate, size, sizes, hops, priority }
    }
}

fn one_hop() -> usize {
    1
}

fn is_lowest(priority: &u8) -> bool {
    *priority == 0
}
