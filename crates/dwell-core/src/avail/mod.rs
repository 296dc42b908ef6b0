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

/// The rate at which a train of equal packets was sent, in bits per second, and by what factor it arrived slower; `None`
/// unless all of it came, in order.
#[must_use]
pub fn offered(observation: &Observation) -> Option<(f64, f64)> {
    let (sent, came) = crate::stream::spacings(observation)?;
    let (size, _) = crate::stream::shape(observation)?;
    let sent = sent.max(1.0);
    Some((crate::stream::rate_at(size, sent), came / sent))
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
    gaps.map(|(sent, came)| (bits / sent, came / sent)).collect()
}
