//! What held a measurement back: the path, a shaper on it, or one of the hosts.

pub(crate) mod by_size;
pub(crate) mod by_trains;

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the limit is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// A link of the path: the congestion window, the search or the trains found its end.
    Link,
    /// A shaper that lets a burst pass and then no more than its rate.
    TokenBucket,
    /// The sending program, its socket buffer or its host.
    SenderLimited,
    /// A host's cores.
    HostLimited,
    /// The receiving program, or the window that its host offers.
    ReceiverLimited,
    /// None that lasted.
    Unstable,
}

impl Limit {
    /// The name in JSON and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::TokenBucket => "token-bucket",
            Self::SenderLimited => "sender-limited",
            Self::HostLimited => "host-limited",
            Self::ReceiverLimited => "receiver-limited",
            Self::Unstable => "unstable",
        }
    }
}

/// The limit, and what it was seen by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The limit.
    pub limit: Limit,
    /// What it was seen by, with figures.
    pub reason: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.limit.name(), self.reason)
    }
}
