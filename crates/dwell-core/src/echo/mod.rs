//! Echoes: a probe that makes a host answer, the answer, and the times of both on the tap's clock and on the host's.
//!
//! [`Exchanges`] matches requests and replies that one place captured; [`join`] brings the tap's and the host's
//! together. The two clocks may have nothing to do with each other: nothing here compares one with the other.

mod exchanges;
mod heard;
mod inside;
pub mod message;

pub use exchanges::{Exchange, Exchanges, Tally};
pub use heard::{Asked, Key};
pub use inside::Inside;

use crate::unit::{BitRate, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// One echo, with the times of papers/001, Figure 5.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Echo {
    /// t1: the tap saw the request.
    pub t1: Nanos,
    /// t7: the tap saw the reply; on the same clock as t1.
    pub t7: Nanos,
    /// t2 - t1: what the request takes to arrive, where the tap stamps its first bit; zero where the tap sees whole
    /// packets.
    pub receiving: Nanos,
    /// The host's times; `None` where the host told none.
    pub host: Option<HostTimes>,
}

/// The host's own times of an echo, all on its clock.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTimes {
    /// The kernel's stamp of the request's arrival at the host.
    pub arrived: Option<Nanos>,
    /// t3: the request is where it is answered.
    pub t3: Nanos,
    /// t5: the reply is made.
    pub t5: Nanos,
    /// The kernel's stamp of the reply's departure from the host.
    pub departed: Option<Nanos>,
}

/// What the tap's and the host's exchanges have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Echoes that both saw.
    pub echoes: Vec<Echo>,
    /// Echoes that the tap alone saw whole.
    pub tap_only: u64,
    /// Echoes that the host alone saw whole.
    pub host_only: u64,
}

/// Joins them by their keys. With `first_bits`, the rate of a link whose tap stamps first bits.
#[must_use]
pub fn join(tap: &[Exchange], host: &[Exchange], first_bits: Option<BitRate>) -> Joined {
    let mut by_key: HashMap<&Key, &Exchange> =
        host.iter().map(|exchange| (&exchange.key, exchange)).collect();
    let mut joined = Joined::default();
    for seen in tap {
        let Some(inside) = by_key.remove(&seen.key) else {
            joined.tap_only += 1;
            continue;
        };
        let host = HostTimes { arrived: None, t3: inside.request, t5: inside.reply, departed: None };
        joined.echoes.push(Echo { host: Some(host), ..Echo::at_tap(seen, first_bits) });
    }
    joined.host_only = by_key.len() as u64;
    joined
}

impl Echo {
    /// What a tap alone tells; with the host's times where its replies carry them.
    #[must_use]
    pub fn at_tap(seen: &Exchange, first_bits: Option<BitRate>) -> Self {
        let receiving = first_bits.map_or(Nanos::ZERO, |rate| Nanos::from_f64(rate.nanos_for(seen.size)));
        Self { t1: seen.request, t7: seen.reply, receiving, host: seen.host }
    }
}
