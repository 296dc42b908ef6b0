//! How much of a path is free: available bandwidth, method by method, each under its authors' name.
//!
//! Available bandwidth is the unused capacity of the tight link, averaged over a stated time (RFC 5136, section
//! 2.3.5; papers/004, section 1). All rates here count what a packet takes of an Ethernet link: the size on the wire and
//! the gap behind it, so that a full link is as much as its nominal rate.

pub mod abing;
pub(crate) mod averaged;
pub mod bart;
pub mod busy;
pub mod cprobe;
mod excursion;
pub mod igi;
mod known_bucket;
mod pace;
pub mod pathchirp;
pub mod pathload;
mod search;
pub mod spruce;
pub mod topp;
mod trend;

use crate::train::Observation;
use crate::unit::Nanos;

pub use abing::Abing;
pub use bart::Bart;
pub use busy::Busy;
pub use cprobe::Cprobe;
pub use igi::Igi;
pub use known_bucket::behind_bucket;
pub use pathchirp::Pathchirp;
pub use pathload::Pathload;
pub use spruce::Spruce;
pub use topp::Topp;

/// The rates at which a train was sent and at which it came, bits per second; `None` unless two packets of it came.
#[must_use]
pub fn offered(observation: &Observation) -> Option<(f64, f64)> {
    let passed = crate::stream::passed(observation);
    let (first, last) = (passed.first()?, passed.last()?);
    if first.number == last.number {
        return None;
    }
    let bits = |number: usize| crate::stream::occupied(observation.fates[number].packet.size) * 1e9;
    let sent: f64 = (first.number + 1..=last.number).map(bits).sum();
    let came: f64 = passed[1..].iter().map(|packet| bits(packet.number)).sum();
    // What no stamp tells apart came in a nanosecond at the most.
    Some((sent / (last.sent - first.sent).max(1.0), came / (last.came - first.came).max(1.0)))
}

/// The same of every gap of a train whose packets come ever closer; nothing of a train that was back to back, or of which a packet
/// is missing.
#[must_use]
pub fn offered_gaps(observation: &Observation) -> Vec<(f64, f64)> {
    let passed = crate::stream::passed(observation);
    if passed.len() != observation.fates.len() || passed.is_empty() {
        return Vec::new();
    }
    let bits = crate::stream::occupied(observation.fates[0].packet.size) * 1e9;
    let held =
        passed.windows(2).zip(&observation.fates[1..]).filter(|(_, fate)| fate.packet.hold > Nanos::ZERO);
    let gaps = held.map(|(two, _)| ((two[1].sent - two[0].sent).max(1.0), two[1].came - two[0].came));
    gaps.map(|(sent, came)| (bits / sent, bits / came.max(1.0))).collect()
}
