//! One-way delay between hosts whose clocks do not agree.

pub mod one_way;

pub use one_way::{Correction, OneWayDelay, OneWayDelayConfig};
