//! How an agent is to be run.

use crate::guests::Places;
use crate::identity::{Identity, Peers};
use crate::protocol::{Limits, PORT};
use crate::reception::{ReceptionConfig, ReceptionEvent};
use dwell_core::{Bytes, Nanos};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// How an agent is to be run.
#[derive(Clone)]
pub struct AgentConfig {
    /// Where it listens, for control and probes alike. Port 0: any that is free. `[::]` means all addresses, of
    /// IPv4 too.
    pub listen: SocketAddr,
    /// Who it is.
    pub identity: Identity,
    /// Whom it answers.
    pub peers: Peers,
    /// Where that is kept: read anew for each connection, so that a peer is known as soon as it is in the file. While
    /// the file cannot be read, `peers` are known.
    pub peers_file: Option<PathBuf>,
    /// What it allows.
    pub limits: Limits,
    /// How long the receiving thread is busy between its read and its stamp: a slow application, for testbeds.
    pub before_stamp: Nanos,
    /// What may wait for the receiving thread at most: a host short of memory, for testbeds. `None`: as much as the kernel
    /// grants.
    pub queue: Option<Bytes>,
    /// Core that receiving threads are pinned to.
    pub core: Option<usize>,
    /// Whether receiving threads ask for real-time priority.
    pub real_time: bool,
    /// Is told what happens.
    pub on_event: Arc<dyn Fn(ReceptionEvent) + Send + Sync>,
}

impl AgentConfig {
    /// The usual: all addresses, the usual port, default limits, silent.
    #[must_use]
    pub fn new(identity: Identity, peers: Peers) -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT),
            identity,
            peers,
            peers_file: None,
            limits: Limits::default(),
            before_stamp: Nanos::ZERO,
            queue: None,
            core: None,
            real_time: false,
            on_event: Arc::new(|_| {}),
        }
    }
}

impl AgentConfig {
    pub(super) fn reception(&self) -> ReceptionConfig {
        let Limits { sessions, sessions_per_peer, .. } = self.limits;
        ReceptionConfig {
            identity: self.identity.clone(),
            peers: self.peers.clone(),
            peers_file: self.peers_file.clone(),
            places: Places { sessions, sessions_per_peer },
            on_event: Arc::clone(&self.on_event),
        }
    }
}
