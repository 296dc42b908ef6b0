//! How an agent is reached.

use crate::identity::{Identity, Peers};
use crate::protocol::PORT;
use std::time::Duration;

/// To which agent, and as whom.
#[derive(Clone, Debug)]
pub struct ConnectConfig {
    /// Name or address of its host.
    pub host: String,
    /// Its port, of control and probes alike.
    pub port: u16,
    /// Who we are.
    pub identity: Identity,
    /// Which keys the agent may have.
    pub expected: Peers,
    /// Core that the probing thread is pinned to.
    pub core: Option<usize>,
    /// Whether the probing thread asks for real-time priority.
    pub real_time: bool,
    /// How long a connection attempt may take.
    pub patience: Duration,
}

impl ConnectConfig {
    /// The usual: the usual port, no pinning.
    #[must_use]
    pub fn new(host: &str, identity: Identity, expected: Peers) -> Self {
        Self {
            host: host.to_owned(),
            port: PORT,
            identity,
            expected,
            core: None,
            real_time: false,
            patience: Duration::from_secs(5),
        }
    }
}
