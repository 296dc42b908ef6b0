//! Echoes in a lab: probes from the source, a tap on the last link, and who answers at the destination.

use crate::error::LabError;
use crate::lab::{LabOptions, fixed_spin};
use crate::namespace::Worker;
use crate::placement::{Cores, Role, settle};
use crate::testbed::{Carriage, Testbed};
use crate::watch::HostWatch;
use crate::wiring::{DOWN_PORT, HOST_PORT, Place};
use dwell_core::Nanos;
use dwell_core::echo::{Asked, Exchange, Tally};
use dwell_core::inside::{Protocol, Way};
use dwell_net::echo::{Asking, EchoProber, EchoTap, Responder, ResponderConfig, Transport, ask};
use dwell_net::inside::Watching;
use dwell_net::wire;
use dwell_sim::Scenario;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A scenario's path with a responder at its far end, which spins for the scenario's `destination.spin` before it
/// stamps; ICMP is answered by the kernel.
pub struct EchoLab {
    testbed: Testbed,
    asked: Asked,
    address: IpAddr,
    stop: Arc<AtomicBool>,
    responder: Option<Worker<()>>,
    caution: Option<String>,
}

/// What was heard of a round of probes.
#[derive(Clone, Debug)]
pub struct EchoHeard {
    /// On the last link.
    pub tap: (Vec<Exchange>, Tally),
    /// At the destination's own interface.
    pub host: (Vec<Exchange>, Tally),
}

impl EchoLab {
    /// Builds the testbed, and starts who answers.
    ///
    /// # Errors
    /// One line that says what the system refused, what is missing, or what of the scenario cannot be done here.
    pub fn up(scenario: &Scenario, options: LabOptions, asked: Asked) -> Result<Self, LabError> {
        let before_stamp = fixed_spin(scenario)?;
        if asked == Asked::Icmp && before_stamp > Nanos::ZERO {
            let reason =
                "the kernel answers ICMP, and does not spin: set no destination.spin, or probe by udp or tcp";
            return Err(LabError::Scenario { scenario: scenario.name.clone(), reason: reason.to_owned() });
        }
        if Carriage::of(scenario) == Carriage::Emulated {
            let reason = "the lab's forwarder puts frames on the last link where no tap hears them: make the links \
                          unshaped, or set lab.carrier to tbf";
            return Err(LabError::Scenario { scenario: scenario.name.clone(), reason: reason.to_owned() });
        }
        let cores = options.cores.unwrap_or_else(Cores::allowed);
        let testbed = Testbed::up(scenario, options.seed, cores)?;
        if options.ipv6 && !testbed.wiring.ipv6 {
            return Err(LabError::NoIpv6);
        }
        let address = if options.ipv6 { Place::DESTINATION.ipv6() } else { Place::DESTINATION.ipv4() };
        let over = match asked {
            Asked::Icmp => None,
            Asked::Udp { port } => Some((Transport::Udp, port)),
            Asked::Tcp { port } => Some((Transport::Tcp, port)),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let mut lab = Self { testbed, asked, address, stop, responder: None, caution: None };
        if matches!(asked, Asked::Tcp { .. }) {
            lab.caution = lab.forget_departure_times().err().map(|error| {
                format!("TCP packets are stamped microseconds after they arrive, for between namespaces they bring a time along that this kernel does not let them forget ({error})")
            });
        }
        if let Some((transport, port)) = over {
            let config = ResponderConfig {
                before_stamp,
                core: Some(cores.receiver),
                real_time: true,
                ..ResponderConfig::new(transport, SocketAddr::new(address, port))
            };
            let destination = &lab.testbed.wiring.destination;
            let bind = || Responder::bind(config).map_err(LabError::system("open the responder's port"));
            let responder = destination.within(bind)?;
            let told = Arc::clone(&lab.stop);
            lab.responder =
                Some(destination.spawn("responder", move || {
                    responder.serve(&told).map_err(LabError::system("answer"))
                })?);
        }
        Ok(lab)
    }

    fn forget_departure_times(&self) -> Result<(), LabError> {
        let wiring = &self.testbed.wiring;
        [&wiring.source, &wiring.destination].into_iter().try_for_each(|host| {
            host.within(|| {
                wire::forget_departure_times(HOST_PORT)
                    .map_err(LabError::system("make a wire that carries packets alone"))
            })
        })
    }

    /// What is worse here than it could be, and why.
    #[must_use]
    pub fn caution(&self) -> Option<&str> {
        self.caution.as_deref()
    }

    /// Asks, and tells what was heard.
    ///
    /// # Errors
    /// When nobody can be asked, or a part of the lab failed.
    pub fn run(&self, asking: Asking, told: &mut (dyn FnMut(u32) + Send)) -> Result<EchoHeard, LabError> {
        let wiring = &self.testbed.wiring;
        let open = |port: &'static str| {
            let asked = self.asked;
            move || EchoTap::open(port, asked).map_err(LabError::system(format!("open a tap on {port}")))
        };
        let last = wiring.nodes.last().unwrap_or(&wiring.source);
        let mut taps = [last.within(open(DOWN_PORT))?, wiring.destination.within(open(HOST_PORT))?];
        let cores = self.testbed.cores;
        wiring.source.within(|| {
            settle(Role::Sender, cores);
            let mut prober =
                EchoProber::open(self.address, self.asked).map_err(LabError::system("open the prober"))?;
            ask(Some(&mut prober), &mut taps, asking, told).map_err(LabError::system("ask"))
        })?;
        if let Some(failure) = self.testbed.failure() {
            return Err(failure);
        }
        let [tap, host] = taps.map(EchoTap::finish);
        Ok(EchoHeard { tap, host })
    }

    /// Has an observer watch how the destination receives and answers.
    ///
    /// # Errors
    /// When nothing can be observed here; the error says why.
    pub fn watch(&self) -> Result<HostWatch, LabError> {
        let programs = vec![Way::Receive, Way::Send];
        let (protocol, ports, ways) = match self.asked {
            Asked::Icmp => (Protocol::Icmp, Vec::new(), vec![Way::Answer]),
            Asked::Udp { port } => (Protocol::Udp, vec![port], programs),
            Asked::Tcp { port } => (Protocol::Tcp, vec![port], programs),
        };
        let watching = Watching { addresses: vec![self.address], ports, ways, ..Watching::default() };
        HostWatch::start(&self.testbed, watching, protocol, Nanos::ZERO)
    }

    /// The destination's address, inside the lab.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// What carries its packets.
    #[must_use]
    pub fn carriage(&self) -> Carriage {
        self.testbed.carriage
    }
}

impl Drop for EchoLab {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Nobody is left to tell.
        let _ = self.responder.take().map(Worker::join);
    }
}
