//! A path between two namespaces, up and running; who talks over it is not its business.

use crate::awake::Awake;
use crate::carrying::Carrying;
use crate::counters::Counters;
use crate::cross;
use crate::error::LabError;
use crate::forwarder::{Tally, Watch};
use crate::lane::Carried;
use crate::namespace::Worker;
use crate::nic_stage::{self, has_nic};
use crate::placement::{Cores, Role, settle};
use crate::shaper;
use crate::tcp_cross;
use crate::way::Way;
use crate::wiring::{DOWN_PORT, HOST_PORT, UP_PORT, Wiring};
use dwell_core::truth::Reading;
use dwell_core::{Direction, Nanos};
use dwell_net::PacketSocket;
use dwell_sim::{Carrier, CrossKind, LinkSpec, Scenario};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What carries packets from one end of a lab to the other.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carriage {
    /// The kernel alone: a bridge between two veth pairs. For paths that shape nothing.
    Bridge,
    /// Dwell's forwarder, through the simulator's engine.
    Emulated,
    /// Bridges, with a token bucket filter on each link.
    Tbf,
    /// Bridges, with a hierarchical token bucket on each link.
    Htb,
}

impl Carriage {
    /// What `scenario` is built with.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let nics = [&scenario.source, &scenario.destination].into_iter().any(has_nic);
        if !nics && scenario.links.iter().chain(&scenario.reverse_links()).all(does_nothing) {
            return Self::Bridge;
        }
        match scenario.lab.carrier {
            Carrier::Emulated => Self::Emulated,
            Carrier::Tbf => Self::Tbf,
            Carrier::Htb => Self::Htb,
        }
    }
}

impl fmt::Display for Carriage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bridge => "the kernel's bridge",
            Self::Emulated => "Dwell's forwarder",
            Self::Tbf => "the kernel's tbf",
            Self::Htb => "the kernel's htb",
        })
    }
}

fn ways<'a>(scenario: &'a Scenario, reverse: &'a [LinkSpec]) -> [Way<'a>; 2] {
    let forward = Way { direction: Direction::Forward, links: &scenario.links };
    [forward, Way { direction: Direction::Reverse, links: reverse }]
}

/// Whether real cross traffic travels this way: on the way back only where the scenario writes that way out, for two
/// generators for each flow are more than a small machine carries.
fn is_loaded(scenario: &Scenario, way: Direction) -> bool {
    way == Direction::Forward || scenario.reverse.is_some()
}

/// Whether packets pass the link untouched. (Cross traffic on a link without rate delays nobody.)
fn does_nothing(link: &LinkSpec) -> bool {
    link.rate.is_none() && link.shaper.is_none() && only_shapes(link)
}

/// Whether some packets come twice.
pub(crate) fn duplicates(link: &LinkSpec) -> bool {
    link.duplication > 0.0 || link.parallel.iter().any(duplicates)
}

/// Whether a token bucket can be the whole link.
fn only_shapes(link: &LinkSpec) -> bool {
    let LinkSpec { rate, queue, framing, cross, shaper, .. } = link.clone();
    *link == LinkSpec { queue, framing, cross, shaper, ..LinkSpec::new(rate) }
}

/// A path between two namespaces.
#[derive(Debug)]
pub(crate) struct Testbed {
    pub(crate) wiring: Wiring,
    pub(crate) carriage: Carriage,
    pub(crate) cores: Cores,
    /// Of the forwarder, where there is one.
    watch: Option<Arc<Watch>>,
    /// What its parts do worse than they could.
    cautions: Vec<String>,
    /// Whether threads get real-time priority here.
    pub(crate) real_time: bool,
    stop: Arc<AtomicBool>,
    workers: Mutex<Vec<Worker<()>>>,
    /// What it takes nobody else wanted.
    _awake: Awake,
    /// Of its interfaces, where the kernel carries.
    counters: Option<Counters>,
    /// Held open for cross traffic.
    _sinks: Vec<UdpSocket>,
}

impl Testbed {
    /// Builds the path of `scenario`.
    pub(crate) fn up(scenario: &Scenario, seed: u64, cores: Cores) -> Result<Self, LabError> {
        let carriage = Carriage::of(scenario);
        let reverse = scenario.reverse_links();
        if scenario.links.iter().chain(&reverse).any(duplicates) {
            return Err(LabError::Scenario {
                scenario: scenario.name.clone(),
                reason: "a link duplicates packets, which the lab's forwarder does not; the simulator does (--on sim)"
                    .to_owned(),
            });
        }
        let mtu = u32::try_from(scenario.mtu.0).unwrap_or(u32::MAX);
        let nodes = match carriage {
            Carriage::Bridge | Carriage::Emulated => 1,
            // One node for each link, and one more in which cross traffic of the last link ends.
            Carriage::Tbf | Carriage::Htb => scenario.links.len().max(reverse.len()) + 1,
        };
        // Of the forwarder's packets each is taken up by the forwarder.
        let shaped = matches!(carriage, Carriage::Tbf | Carriage::Htb);
        let wiring = Wiring::carried_by(nodes, mtu, shaped.then_some(cores.sender))?;
        let awake = Awake::keep(&wiring.nodes[0], cores)?;
        let mut testbed = Self {
            wiring,
            carriage,
            cores,
            watch: None,
            cautions: Vec::new(),
            real_time: real_time_permitted(cores),
            stop: Arc::default(),
            workers: Mutex::default(),
            _awake: awake,
            counters: None,
            _sinks: Vec::new(),
        };
        match carriage {
            Carriage::Bridge => testbed.wiring.bridge(0)?,
            Carriage::Emulated => testbed.emulate(scenario, reverse, seed)?,
            Carriage::Tbf | Carriage::Htb => testbed.shape(scenario, &reverse, mtu, seed)?,
        }
        Ok(testbed)
    }

    /// Starts the forwarder between the two ends, and waits until it carries.
    fn emulate(&mut self, scenario: &Scenario, reverse: Vec<LinkSpec>, seed: u64) -> Result<(), LabError> {
        let open = |port: &'static str| {
            PacketSocket::open(port).map_err(LabError::system(format!("open a packet socket on {port}")))
        };
        let mut ports = self.wiring.nodes[0].within(|| Ok([open(UP_PORT)?, open(DOWN_PORT)?]))?;
        let nics = nic_stage::build(&self.wiring, scenario, &mut ports, self.cores)?;
        self.cautions = nics.iter().filter_map(|nic| nic.caution.clone()).collect();
        let far = self.wiring.destination.within(|| open(HOST_PORT))?;
        let near = self.wiring.source.within(|| open(HOST_PORT))?;
        let links = [scenario.links.clone(), reverse];
        let carrying = Carrying { ports, ends: [near, far], links, nics, seed, cores: Some(self.cores) };
        let (watch, worker) = carrying.start(&self.wiring.nodes[0])?;
        self.workers().push(worker);
        self.watch = Some(watch);
        Ok(())
    }

    /// Bridges and token buckets, with real cross traffic.
    fn shape(
        &mut self,
        scenario: &Scenario,
        reverse: &[LinkSpec],
        mtu: u32,
        seed: u64,
    ) -> Result<(), LabError> {
        let carrier = scenario.lab.carrier;
        let given = |link: &LinkSpec| only_shapes(link) && (link.shaper.is_none() || carrier == Carrier::Tbf);
        if let Some(index) = scenario.links.iter().chain(reverse).position(|link| !given(link)) {
            return Err(LabError::Scenario {
                scenario: scenario.name.clone(),
                reason: format!(
                    "link {} has more than a rate and a queue (and, of tbf, a shaper), which the kernel's token buckets do \
                     not give: set lab.carrier to \"emulated\"",
                    index % scenario.links.len()
                ),
            });
        }
        if [&scenario.source, &scenario.destination].into_iter().any(has_nic) {
            return Err(LabError::Scenario {
                scenario: scenario.name.clone(),
                reason:
                    "a host has a `nic`, which takes Dwell's forwarder in front of it: set lab.carrier to \
                         \"emulated\""
                        .to_owned(),
            });
        }
        for index in 0..self.wiring.nodes.len() {
            self.wiring.bridge(index)?;
        }
        let ways = ways(scenario, reverse);
        for way in &ways {
            for (index, link) in way.links.iter().enumerate() {
                let [node, _] = way.ends(index, 1);
                shaper::shape(&self.wiring.nodes[node], way.port(), link, carrier, mtu)?;
            }
        }
        self._sinks = cross::sinks(&self.wiring)?;
        self.counters = Some(Counters::open(&self.wiring)?);
        let mut has_sources = false;
        for (way, part) in ways.into_iter().zip([0, 1 << 63]) {
            if !is_loaded(scenario, way.direction) {
                continue;
            }
            for (index, link) in way.links.iter().enumerate() {
                for (number, spec) in link.cross.iter().enumerate() {
                    let seed = seed ^ (part | (index as u64) << 32 | number as u64);
                    if let CrossKind::Tcp(tcp) = &spec.kind {
                        let started = tcp_cross::start(&self.wiring, way, index, spec, tcp, &self.stop)?;
                        self.workers().extend(started);
                        continue;
                    }
                    has_sources = true;
                    let started = cross::start(&self.wiring, way, index, spec, seed, self.cores, &self.stop)?;
                    self.workers().extend(started);
                }
            }
        }
        if has_sources {
            self.cautions.extend(cross::caution());
        }
        Ok(())
    }

    /// What the links of one way of `scenario` carried up to now; `None`: nothing here is limited.
    pub(crate) fn reading(
        &self,
        scenario: &Scenario,
        direction: Direction,
    ) -> Result<Option<Reading>, LabError> {
        if let Some(watch) = &self.watch {
            return watch.reading(direction, scenario.max_size()).map(Some);
        }
        let Some(counters) = &self.counters else { return Ok(None) };
        let reverse = scenario.reverse_links();
        let [forward, reverse] = ways(scenario, &reverse);
        let [way, other] =
            if direction == Direction::Forward { [forward, reverse] } else { [reverse, forward] };
        let alone = !(other.has_cross() && is_loaded(scenario, other.direction));
        counters.reading(way, alone).map(Some)
    }

    /// What is worse here than it could be, and why.
    pub(crate) fn cautions(&self) -> Vec<String> {
        let mut cautions = self.cautions.clone();
        if !self.cores.apart() {
            let what = "sender, forwarder and receiver share one core: the receiver waits for the others, so what \
                        it adds to a packet is not its own alone";
            cautions.push(what.to_owned());
        }
        if !self.real_time {
            let what = "no real-time priority (it takes root, or a limit on real-time priority above zero): when \
                        the machine is busy, packets leave and are stamped late";
            cautions.push(what.to_owned());
        }
        cautions
    }

    fn workers(&self) -> MutexGuard<'_, Vec<Worker<()>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the forwarder write down each frame, or stop it. Returns what it wrote down since the last call.
    pub(crate) fn write_down(&self, on: bool) -> Vec<Carried> {
        self.watch.as_ref().map_or_else(Vec::new, |watch| {
            watch.record.store(on, Ordering::Relaxed);
            watch.take_frames()
        })
    }

    /// What the forwarder did so far, where there is one.
    pub(crate) fn tally(&self) -> Option<Tally> {
        self.watch.as_ref().map(|watch| watch.tally())
    }

    /// Time that the testbed's own threads had a processor so far.
    pub(crate) fn processor_time(&self) -> Nanos {
        self.workers().iter().filter_map(Worker::processor_time).sum()
    }

    /// Threads of the testbed itself that ended before they were told to, with why.
    pub(crate) fn failure(&self) -> Option<LabError> {
        let mut workers = self.workers();
        let ended = workers.iter().position(Worker::is_finished)?;
        workers.swap_remove(ended).join().err()
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(watch) = &self.watch {
            watch.stop.store(true, Ordering::Relaxed);
        }
        let workers = std::mem::take(&mut *self.workers());
        for worker in workers {
            // Nobody is left to tell.
            let _ = worker.join();
        }
    }
}

/// Whether a thread of this process gets real-time priority, as one tries it.
fn real_time_permitted(cores: Cores) -> bool {
    let tried = std::thread::scope(|scope| scope.spawn(|| settle(Role::Sender, cores)).join());
    tried.unwrap_or(false)
}
