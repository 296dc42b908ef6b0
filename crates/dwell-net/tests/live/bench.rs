//! An agent that runs in a thread, and paths to it.

use dwell_core::{Bytes, Departure, Nanos, Train};
use dwell_net::{Agent, AgentConfig, ConnectConfig, ConnectError, Identity, LivePath, Peers};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A running agent and a client that it knows.
pub(crate) struct Bench {
    pub(crate) agent_identity: Identity,
    pub(crate) client: Identity,
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bench {
    /// With the usual limits.
    pub(crate) fn listening(address: &str) -> Self {
        Self::with(address, |_| {})
    }

    /// With a configuration that `change` made.
    pub(crate) fn with(address: &str, change: impl FnOnce(&mut AgentConfig)) -> Self {
        Self::of(Identity::generate().unwrap(), Identity::generate().unwrap(), address, change)
    }

    /// With these identities.
    pub(crate) fn of(
        agent_identity: Identity,
        client: Identity,
        address: &str,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Self {
        let mut config = AgentConfig::new(agent_identity.clone(), Peers::only(client.public_key()));
        config.listen = address.parse().unwrap();
        change(&mut config);
        let agent = Agent::bind(config).unwrap();
        let address = agent.local_addr();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let thread = std::thread::spawn(move || agent.serve(&stopping).unwrap());
        Self { agent_identity, client, address, stop, thread: Some(thread) }
    }

    /// How the client connects.
    pub(crate) fn config(&self) -> ConnectConfig {
        let expected = Peers::only(self.agent_identity.public_key());
        let mut config = ConnectConfig::new(&self.address.ip().to_string(), self.client.clone(), expected);
        config.port = self.address.port();
        config
    }

    pub(crate) fn connect(&self) -> LivePath {
        self.try_connect().unwrap()
    }

    pub(crate) fn try_connect(&self) -> Result<LivePath, ConnectError> {
        LivePath::connect(self.config())
    }

    /// A path that keeps its agent alive.
    pub(crate) fn connect_owned(self) -> (Self, LivePath) {
        let path = self.connect();
        (self, path)
    }

    /// Stops the agent and waits for its end.
    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Pairs of 200 bytes, one millisecond apart.
pub(crate) fn pairs(count: usize, hold: Nanos) -> Vec<Departure> {
    let pair =
        || Departure { pause: Nanos::from_millis(1), train: Train::pair(Bytes(200), Bytes(200), hold) };
    std::iter::repeat_with(pair).take(count).collect()
}
