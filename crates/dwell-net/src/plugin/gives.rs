//! What a tool measures.

use serde::Deserialize;

/// What a tool measures.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gives {
    /// What is free.
    AvailableBandwidth,
    /// What it got through: of TCP, the bulk transfer capacity (RFC 3148).
    Throughput,
    /// Rate of the narrow link.
    Capacity,
    /// Time there and back.
    RoundTrip,
}
