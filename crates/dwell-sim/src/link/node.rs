//! What stands at the far end of a link: a router, which tells of packets that expire there, or a switch, which no TTL
//! counts.

use crate::scenario::quantity_text;
use crate::times::Times;
use dwell_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands between a link and the next; at the end of the last the destination, whose messages a router's keys
/// limit likewise.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// Packets expire at it, or pass.
    Router(RouterSpec),
    /// Stores and forwards, and tells nobody.
    Switch,
}

impl Default for Node {
    fn default() -> Self {
        Self::Router(RouterSpec::default())
    }
}

impl Node {
    /// Whether it is a router as most are.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// A router as it tells of packets that expire. How it forwards others is the links' matter.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouterSpec {
    /// What it takes to make a message, one after the other.
    pub answer: Times,
    /// Least time between two messages, but for those saved up; 0: it makes as many as are asked for.
    #[serde(with = "quantity_text::duration")]
    pub every: Nanos,
    /// How many it saves up.
    #[schemars(range(min = 1))]
    pub burst: u32,
    /// Largest IP packet of a message: it quotes as much of what expired as fits.
    #[serde(with = "quantity_text::size")]
    pub message: Bytes,
    /// Whether it tells nobody.
    pub silent: bool,
}

impl Default for RouterSpec {
    /// 20 us (Govindan and Paxson 2002 found medians below 1 ms, and of many routers far below); no limit, a burst as Linux's
    /// if there is one; messages as RFC 1812 asks for.
    fn default() -> Self {
        Self {
            answer: Times::Fixed(Nanos(20_000)),
            every: Nanos::ZERO,
            burst: 6,
            message: Bytes(576),
            silent: false,
        }
    }
}
