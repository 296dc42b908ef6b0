//! What a link does with packets besides sending them in their order: who goes next, how fast at most, who is
//! overtaken.

use crate::scenario::quantity_text;
use crate::times::Times;
use dwell_core::{BitRate, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of the packets that wait goes next. A packet that is being sent is never interrupted.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Discipline {
    /// Who came first.
    #[default]
    Fifo,
    /// Flows in turn, each the same number of bytes (deficit round robin, Shreedhar and Varghese 1996). The probes
    /// are one flow, and each source of cross traffic is another. A full queue drops from the longest flow.
    Fair,
    /// Who is of the highest class, and within a class who came first. The queue's limit holds for each class.
    Priority {
        /// Class of the probes, from 0 to 7, which goes first.
        #[serde(default)]
        #[schemars(range(max = 7))]
        probes: u8,
    },
}

impl Discipline {
    /// The highest class.
    pub const HIGHEST: u8 = 7;

    /// Whether it is plain first come, first served.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        *self == Self::Fifo
    }
}

/// A token bucket in front of a link: tokens come at `rate` up to `burst`, and a packet takes as many as it has
/// bytes on the wire (padded, the gap after it not counted).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// What passes in the long run.
    #[serde(with = "quantity_text::rate")]
    pub rate: BitRate,
    /// What may pass at once after a rest.
    #[serde(with = "quantity_text::size")]
    pub burst: Bytes,
    /// How fast it may pass then; without it, as fast as the link.
    #[serde(with = "quantity_text::some_rate", default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<BitRate>,
}

/// A token bucket that lets nothing wait: a packet that comes when there are fewer tokens than it has bytes on the wire
/// (padded, the gap after it not counted) is lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// What passes in the long run.
    #[serde(with = "quantity_text::rate")]
    pub rate: BitRate,
    /// What may pass at once after a rest.
    #[serde(with = "quantity_text::size")]
    pub burst: Bytes,
}

/// Packets that come out of a link later than they should, so that those behind them come first.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Share of packets that are held back.
    #[serde(with = "quantity_text::share")]
    pub share: f64,
    /// For how long.
    pub by: Times,
}
