//! How much a link can carry.
//!
//! All but [`end_link`] speak of the narrowest link of the path, whichever that is. Rates count what a packet takes of an
//! Ethernet link: the size on the wire and the gap behind it, so that a full link is as much as its nominal rate.

pub mod bprobe;
pub mod capprobe;
pub mod end_link;
pub mod modes;
pub mod nettimer;
pub mod packet_pair;
mod pair;
pub mod pathrate;
pub mod shaper_probe;
pub mod spared;

pub use bprobe::Bprobe;
pub use capprobe::Capprobe;
pub use end_link::EndLink;
pub use nettimer::Nettimer;
pub use packet_pair::PacketPair;
pub use pathrate::Pathrate;
pub use shaper_probe::ShaperProbe;
pub use spared::SparedRuns;

use crate::clock::CLOCK_RATE_DOUBT;
use crate::gap;
use crate::report::{Finding, Unit};
use crate::stream::{occupied, rate_at, shape, vantage};
use crate::train::{Observation, PathFacts};
use crate::unit::{BitRate, Bytes, ETHERNET_OVERHEAD};

/// A rate that pairs of full packets told, with what the receiver's clock leaves open: its tick, and its own rate.
fn by_a_clock(value: f64, low: f64, high: f64, facts: &PathFacts) -> Finding {
    let tick = facts.resolution.as_f64().max(0.0) * value / 1e9 / occupied(facts.max_size);
    let open = CLOCK_RATE_DOUBT + tick;
    Finding::value(value, low * (1.0 - open), high * (1.0 + open), Unit::Bps)
}

/// The rate at which each packet of a train of equal packets, sent back to back or equally far apart, came behind the one before
/// it, in bits per second; without those that came at once.
#[must_use]
pub fn rates(observation: &Observation) -> Vec<f64> {
    let Some((size, _)) = shape(observation) else { return Vec::new() };
    let read = vantage(observation);
    let gaps = observation.fates.windows(2).filter_map(|two| gap::between(&two[0], &two[1], read));
    gaps.filter(|gap| *gap > 0.0).map(|gap| rate_at(size, gap)).collect()
}

/// What packets of `size` on the wire get of a link's rate at the IP layer, in bits of IP packets (RFC 5136, section 2.3.1).
#[must_use]
pub fn at_ip_layer(rate: BitRate, size: Bytes) -> BitRate {
    let packet = Bytes(size.0.saturating_sub(ETHERNET_OVERHEAD.0)).bits();
    BitRate((rate.0 as f64 * packet as f64 / occupied(size)) as u64)
}
