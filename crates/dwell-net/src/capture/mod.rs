//! Packets: from files, whatever these are packed with and wherever they come from, and from live interfaces.

mod bytes;
mod file;
mod guard;
mod mapped;
mod merged;
mod packed;
mod ring;
mod windows;

pub use file::{Account, End, File};
pub use merged::Merged;
pub use ring::{Event, Filtered, Gauge, Ring, RingConfig, RingCounts, RingError, Rings, Stamping, Wanted};
