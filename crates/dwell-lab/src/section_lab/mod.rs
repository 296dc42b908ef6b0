//! The testbed of paper 003, link for link: client, probes and server in a row, an emulated link between each and the
//! next.

mod active;
mod probe;
mod truth;

use crate::awake::Awake;
use crate::carrying::Carrying;
use crate::error::LabError;
use crate::forwarder::Watch;
use crate::lab::LabOptions;
use crate::namespace::{Namespace, Worker};
use crate::nic_stage::NicStage;
use crate::placement::Cores;
use crate::testbed::duplicates;
use crate::wiring::{DOWN_PORT, HOST_PORT, Place, UP_PORT, Wiring};
use dwell_core::Nanos;
use dwell_core::tcp::section::Section;
use dwell_net::wire;
use dwell_net::{PacketSocket, have_packets_stamped};
use dwell_sim::{HostSpec, LinkSpec, Scenario};
use probe::Probes;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What a probe's ring may keep to itself before it hands a packet over.
const RING_LAG: Duration = Duration::from_millis(100);

/// A path of sections, each a link of a scenario; where two links meet stands a router of this machine's kernel with a
/// probe on its port towards the client, and behind the last link a server of HTTP.
pub struct SectionLab {
    wiring: Wiring,
    links: Vec<Link>,
    address: IpAddr,
    stop: Arc<AtomicBool>,
    server: Option<Worker<()>>,
    _stamps: OwnedFd,
    _awake: Option<Awake>,
}

/// What carries a section.
struct Link {
    watch: Arc<Watch>,
    forwarder: Option<Worker<()>>,
}

/// How a run goes: pings over each section, all sections at once, and then one transfer by HTTP from end to end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SectionAsking {
    /// Over each section.
    pub pings: u32,
    /// From one to the next.
    pub interval: Nanos,
}

/// What was heard of one section.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SectionHeard {
    /// What the probes say of it, by the transfer's handshake.
    pub section: Section,
    /// The mean of its pings.
    pub ping: Nanos,
    /// What its link added to the segments of that handshake, as round trips: what it was told to, and what it was late
    /// by its own stamps. Of an inner section the mean of the two that its two estimates are of, or that of the only
    /// estimate there is. `None` where the link lost one.
    pub truth: Option<Nanos>,
}

impl SectionLab {
    /// Builds the path of `scenario`, and starts what carries and serves. Where it is not `alone`, and others of its kind
    /// run at the same time, links are some tens of microseconds late.
    ///
    /// # Errors
    /// One line that says what the system refused, what is missing, or what of the scenario cannot be done here.
    pub fn up(scenario: &Scenario, options: LabOptions, alone: bool) -> Result<Self, LabError> {
        let reverse = scenario.reverse_links();
        check(scenario, &reverse)?;
        let sections = scenario.links.len();
        let mtu = u32::try_from(scenario.mtu.0).unwrap_or(u32::MAX);
        let wiring = Wiring::new(2 * sections - 1, mtu)?;
        if options.ipv6 && !wiring.ipv6 {
            return Err(LabError::NoIpv6);
        }
        wiring.route(&(1..2 * sections - 1).step_by(2).collect::<Vec<_>>())?;
        for end in [&wiring.source, &wiring.destination] {
            // Where this kernel refuses, segments that enter a link are stamped microseconds later.
            let _ = end.within(|| {
                wire::forget_departure_times(HOST_PORT)
                    .map_err(LabError::system("make a wire of packets alone"))
            });
        }
        let cores = alone.then(|| options.cores.unwrap_or_else(Cores::allowed));
        let awake = cores.map(|cores| Awake::keep(&wiring.nodes[0], cores)).transpose()?;
        let mut lab = Self {
            address: if options.ipv6 { Place::DESTINATION.ipv6() } else { Place::DESTINATION.ipv4() },
            links: Vec::new(),
            stop: Arc::new(AtomicBool::new(false)),
            server: None,
            _stamps: have_packets_stamped().map_err(LabError::system("have the kernel stamp packets"))?,
            _awake: awake,
            wiring,
        };
        for (index, (forth, back)) in scenario.links.iter().zip(reverse.iter().rev()).enumerate() {
            let seed = options.seed.wrapping_add(index as u64);
            let link = lab.link(index, [vec![forth.clone()], vec![back.clone()]], seed, cores)?;
            lab.links.push(link);
        }
        let listener = lab.wiring.destination.within(|| active::listen(lab.address))?;
        let stop = Arc::clone(&lab.stop);
        lab.server = Some(lab.wiring.destination.spawn("server", move || active::serve(&listener, &stop))?);
        Ok(lab)
    }

    /// Starts what carries the section of this index.
    fn link(
        &self,
        index: usize,
        links: [Vec<LinkSpec>; 2],
        seed: u64,
        cores: Option<Cores>,
    ) -> Result<Link, LabError> {
        let open = |place: &Namespace, port: &'static str| {
            place.within(|| {
                PacketSocket::open(port).map_err(LabError::system(format!("open a packet socket on {port}")))
            })
        };
        let node = &self.wiring.nodes[2 * index];
        let near = self.place(index);
        let far = self.place(index + 1);
        let carrying = Carrying {
            ports: [open(node, UP_PORT)?, open(node, DOWN_PORT)?],
            ends: [
                open(near, if index == 0 { HOST_PORT } else { DOWN_PORT })?,
                open(far, if index + 1 == self.sections() { HOST_PORT } else { UP_PORT })?,
            ],
            links,
            nics: [NicStage::default(), NicStage::default()],
            seed,
            cores,
        };
        let (watch, forwarder) = carrying.start(node)?;
        Ok(Link { watch, forwarder: Some(forwarder) })
    }

    fn sections(&self) -> usize {
        self.wiring.nodes.len().div_ceil(2)
    }

    /// The client, a router, or the server, from 0.
    fn place(&self, rank: usize) -> &Namespace {
        match rank {
            0 => &self.wiring.source,
            rank if rank == self.sections() => &self.wiring.destination,
            rank => &self.wiring.nodes[2 * rank - 1],
        }
    }

    fn address_of(&self, rank: usize) -> Result<IpAddr, LabError> {
        if rank == self.sections() {
            return Ok(self.address);
        }
        let place = Place::node(2 * rank - 1)?;
        Ok(if self.address.is_ipv4() { place.ipv4() } else { place.ipv6() })
    }

    /// Pings every section, transfers, and tells what was heard, section by section from client to server.
    ///
    /// # Errors
    /// When a ping or the transfer comes to nothing, a probe saw no handshake or several, or a part of the lab failed.
    pub fn run(&self, asking: SectionAsking) -> Result<Vec<SectionHeard>, LabError> {
        let probes = Probes::start((1..self.sections()).map(|rank| self.place(rank)))?;
        let pings = self.ping(asking)?;
        self.links.iter().for_each(|link| link.watch.record.store(true, Ordering::Relaxed));
        self.place(0).within(|| active::transfer(self.address))?;
        thread::sleep(RING_LAG);
        let sections = probes.finish()?;
        let mut heard = Vec::new();
        for (link, (section, ping)) in self.links.iter().zip(sections.into_iter().zip(pings)) {
            link.watch.record.store(false, Ordering::Relaxed);
            let passed = truth::Passed::of(&link.watch.take_frames());
            // Of what the estimate is of.
            let truth = match (section.server_side.exact(), section.client_side.exact()) {
                (Some(_), None) => passed.server_side(),
                (None, Some(_)) => passed.client_side(),
                (Some(_), Some(_)) | (None, None) => passed.both(),
            };
            heard.push(SectionHeard { section, ping, truth });
        }
        self.failure().map_or(Ok(heard), Err)
    }

    /// The mean of each section's pings.
    fn ping(&self, asking: SectionAsking) -> Result<Vec<Nanos>, LabError> {
        thread::scope(|scope| {
            let pings: Vec<_> = (0..self.sections())
                .map(|index| {
                    scope.spawn(move || {
                        let to = self.address_of(index + 1)?;
                        self.place(index).within(|| active::ping(to, asking))
                    })
                })
                .collect();
            pings
                .into_iter()
                .map(|ping| ping.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    /// Why a forwarder or the server ended before it was told to, if one did.
    fn failure(&self) -> Option<LabError> {
        let forwarders = self.links.iter().filter_map(|link| link.forwarder.as_ref());
        let ended = forwarders.chain(&self.server).any(Worker::is_finished);
        ended.then_some(LabError::Ended { role: "forwarder or server" })
    }
}

impl Drop for SectionLab {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.links.iter().for_each(|link| link.watch.stop.store(true, Ordering::Relaxed));
        let forwarders = self.links.iter_mut().filter_map(|link| link.forwarder.take());
        for worker in forwarders.chain(self.server.take()) {
            // Nobody is left to tell.
            let _ = worker.join();
        }
    }
}

/// What a path of sections can be made of.
fn check(scenario: &Scenario, reverse: &[LinkSpec]) -> Result<(), LabError> {
    let links = || scenario.links.iter().chain(reverse);
    let reason = if scenario.links.len() < 2 {
        "sections need two links at least: a probe stands where two meet"
    } else if reverse.len() != scenario.links.len() {
        "a section is a link there and a link back: give `reverse` as many links, or none"
    } else if links().any(duplicates) {
        "a link duplicates packets, which the lab's forwarder does not"
    } else if links().any(|link| link.cross.iter().any(|cross| cross.hops > 1)) {
        "cross traffic of a section ends where the section does: set hops = 1"
    } else if [&scenario.source, &scenario.destination].iter().any(|host| **host != HostSpec::default()) {
        "client and server of a path of sections are this machine's kernel as it is: set nothing of source or \
         destination"
    } else {
        return Ok(());
    };
    Err(LabError::Scenario { scenario: scenario.name.clone(), reason: reason.to_owned() })
}
