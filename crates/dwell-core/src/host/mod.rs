//! How long a host keeps a packet.

pub mod knee;

pub use knee::{Knee, KneeConfig};
