//! A lab: a scenario's path between two namespaces, with an agent at its far end.

use crate::answering::AnsweringLabPath;
use crate::check::{LabCheck, NicCheck, TrainCheck, check};
use crate::error::LabError;
use crate::inner::Inner;
use crate::namespace::Namespace;
use crate::path::LabPath;
use crate::placement::Cores;
use crate::testbed::{Carriage, Testbed};
use crate::wiring::Place;
use dwell_core::host::agentless::Request;
use dwell_core::{Circumstances, Nanos};
use dwell_net::{Agent, AgentConfig, ConnectConfig, Identity, Peers, clock};
use dwell_sim::{HostSpec, Scenario, Times};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// How a lab is run, beside what its scenario says.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LabOptions {
    /// Of cross traffic, jitter and loss.
    pub seed: u64,
    /// Where its threads run; `None`: on the first two cores that this process may use.
    pub cores: Option<Cores>,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
}

/// A scenario's path, up and running. It ends, and leaves nothing, when this value and its paths are dropped, or the
/// process dies.
pub struct Lab {
    pub(crate) inner: Arc<Inner>,
}

impl Lab {
    /// Builds the testbed of `scenario`, and starts an agent at its far end.
    ///
    /// # Errors
    /// One line that says what the system refused, what is missing, or what of the scenario a lab cannot do.
    pub fn up(scenario: &Scenario, options: LabOptions) -> Result<Self, LabError> {
        let before_stamp = fixed_spin(scenario)?;
        let cores = options.cores.unwrap_or_else(Cores::allowed);
        let testbed = Testbed::up(scenario, options.seed, cores)?;
        if options.ipv6 && !testbed.wiring.ipv6 {
            return Err(LabError::NoIpv6);
        }
        let address = if options.ipv6 { Place::DESTINATION.ipv6() } else { Place::DESTINATION.ipv4() };
        let (client, server) = (Identity::generate()?, Identity::generate()?);
        let config = AgentConfig {
            listen: SocketAddr::new(address, dwell_net::protocol::PORT),
            before_stamp,
            core: Some(cores.receiver),
            real_time: true,
            ..AgentConfig::new(server.clone(), Peers::only(client.public_key()))
        };
        let agent = testbed.wiring.destination.within(|| Ok(Agent::bind(config)?))?;
        let (stop, address) = (Arc::new(AtomicBool::new(false)), agent.local_addr());
        let told = Arc::clone(&stop);
        let agent = testbed.wiring.destination.spawn("agent", move || Ok(agent.serve(&told)?))?;
        let inner = Inner {
            scenario: scenario.clone(),
            start: clock::realtime(),
            testbed,
            client,
            server,
            address,
            stop,
            agent: Some(agent),
            checked: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens a session between the two ends. The lab lives on as long as one of its paths does.
    ///
    /// # Errors
    /// When no session comes about over a path that loses too much, or is too slow.
    pub fn connect(&self) -> Result<LabPath, LabError> {
        let inner = &self.inner;
        LabPath::connect(Arc::clone(inner), inner.connect_config())
    }

    /// Asks the far end's kernel, which answers by itself. The lab lives on as long as one of its paths does.
    ///
    /// # Errors
    /// When it does not answer, over a path that loses too much.
    pub fn ask(&self, request: Request) -> Result<AnsweringLabPath, LabError> {
        AnsweringLabPath::connect(Arc::clone(&self.inner), self.inner.address.ip().to_string(), request)
    }

    /// Does some work at its source: sockets that it opens are the source's. It is told how the agent is reached.
    ///
    /// # Errors
    /// When the lab itself fails meanwhile.
    pub fn at_source<T: Send>(&self, work: impl FnOnce(&ConnectConfig) -> T + Send) -> Result<T, LabError> {
        let config = self.inner.connect_config();
        self.at(&self.inner.testbed.wiring.source, || work(&config))
    }

    /// Does some work at its destination, beside the agent.
    ///
    /// # Errors
    /// When the lab itself fails meanwhile.
    pub fn at_destination<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        self.at(&self.inner.testbed.wiring.destination, work)
    }

    fn at<T: Send>(&self, place: &Namespace, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        let done = place.within(|| Ok(work()));
        self.inner.testbed.failure().map_or(done, Err)
    }

    /// What two live hosts told, as this lab's.
    #[must_use]
    pub fn told(&self, live: Circumstances) -> Circumstances {
        let notes = self.inner.notes();
        self.inner.with_nics(Circumstances { world: "lab".to_owned(), notes, ..live })
    }

    /// What carries its packets.
    #[must_use]
    pub fn carriage(&self) -> Carriage {
        self.inner.testbed.carriage
    }

    /// Its source, what joins it and its destination, in this order: the name of each, and the file by which others enter its
    /// namespace while this process lives.
    pub fn namespaces(&self) -> impl Iterator<Item = (&str, String)> {
        self.inner.testbed.wiring.namespaces().map(|namespace| (namespace.name(), namespace.path()))
    }

    /// The address of its agent, inside the lab.
    #[must_use]
    pub fn agent_address(&self) -> IpAddr {
        self.inner.address.ip()
    }

    /// Measures the lab itself; takes some seconds, in which nothing else should use it. From then on its results
    /// carry it in their circumstances.
    ///
    /// # Errors
    /// When the lab does not carry packets at all.
    pub fn check(&self) -> Result<LabCheck, LabError> {
        let checked = check(&self.inner.testbed, &self.inner.scenario);
        if let Some(failure) = self.inner.testbed.failure() {
            return Err(failure);
        }
        let checked = checked?;
        *self.inner.checked.lock().unwrap_or_else(PoisonError::into_inner) = Some(checked.clone());
        Ok(checked)
    }

    /// Sends trains of its own as a method would, for as long as 2,000 packets take; nothing else should use it meanwhile.
    /// `None` where nothing limits them.
    ///
    /// # Errors
    /// When the lab does not carry packets at all.
    pub fn trains(&self) -> Result<Option<TrainCheck>, LabError> {
        let testbed = &self.inner.testbed;
        let trains = TrainCheck::of(testbed, &self.inner.scenario);
        testbed.failure().map_or(trains, Err)
    }

    /// Sends bursts to the destination's NIC; nothing else should use the lab meanwhile. `None` where it has no NIC.
    ///
    /// # Errors
    /// When the lab does not carry packets at all.
    pub fn nic(&self) -> Result<Option<NicCheck>, LabError> {
        let testbed = &self.inner.testbed;
        let nic = NicCheck::of(testbed, &self.inner.scenario);
        testbed.failure().map_or(nic, Err)
    }
}

/// How long the receiver spins before its stamp.
pub(crate) fn fixed_spin(scenario: &Scenario) -> Result<Nanos, LabError> {
    let HostSpec { spin, .. } = &scenario.destination;
    match spin {
        Times::Fixed(spin) => Ok(*spin),
        _ => Err(LabError::Scenario {
            scenario: scenario.name.clone(),
            reason:
                "destination.spin varies, and a lab's receiver spins a fixed time: give one time, or run it \
                     on the simulator"
                    .to_owned(),
        }),
    }
}
