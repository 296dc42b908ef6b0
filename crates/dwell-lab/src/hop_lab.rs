//! A path to be looked at hop by hop: a scenario's links, each carried by the emulator, with routers of this machine's
//! kernel between them, which answer what expires there by themselves.

use crate::awake::Awake;
use crate::carrying::Carrying;
use crate::error::LabError;
use crate::forwarder::{Watch, least_delay};
use crate::lab::LabOptions;
use crate::namespace::{Namespace, Worker};
use crate::nic_stage::{NicStage, has_nic};
use crate::placement::{Cores, Role, settle};
use crate::testbed::duplicates;
use crate::wiring::{DOWN_PORT, HOST_PORT, Place, UP_PORT, Wiring};
use dwell_core::hop::{HopFacts, HopPath, Round, Sighting};
use dwell_core::{Circumstances, Nanos};
use dwell_net::PacketSocket;
use dwell_net::hop::LiveHops;
use dwell_sim::{LinkSpec, Node, RouterSpec, Scenario};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The path, up and running. It ends, and leaves nothing, when it is dropped, or the process dies.
pub struct HopLab {
    path: LiveHops,
    wiring: Wiring,
    cores: Cores,
    carriers: Vec<Carrier>,
    name: String,
    _awake: Awake,
}

/// What carries the links between two routers.
struct Carrier {
    watch: Arc<Watch>,
    forwarder: Option<Worker<()>>,
}

impl HopLab {
    /// Builds the path of `scenario`: where a link ends at a router stands one; links that a switch joins are carried as
    /// one wire.
    ///
    /// # Errors
    /// One line that says what the system refused, what is missing, or what of the scenario cannot be done here.
    pub fn up(scenario: &Scenario, options: LabOptions) -> Result<Self, LabError> {
        let reverse = scenario.reverse_links();
        check(scenario, &reverse)?;
        let wires = wires(&scenario.links);
        let mtu = u32::try_from(scenario.mtu.0).unwrap_or(u32::MAX);
        let wiring = Wiring::new(2 * wires.len() - 1, mtu)?;
        if options.ipv6 && !wiring.ipv6 {
            return Err(LabError::NoIpv6);
        }
        wiring.route(&(1..2 * wires.len() - 1).step_by(2).collect::<Vec<_>>())?;
        let cores = options.cores.unwrap_or_else(Cores::allowed);
        let awake = Awake::keep(&wiring.source, cores)?;
        let count = scenario.links.len();
        let mut carriers = Vec::with_capacity(wires.len());
        for (rank, wire) in wires.iter().enumerate() {
            limit(place(&wiring, rank + 1), &scenario.links[wire.end - 1])?;
            let links =
                [&scenario.links[wire.clone()], &reverse[count - wire.end..count - wire.start]].map(in_time);
            carriers.push(carrier(&wiring, rank, links, options.seed.wrapping_add(rank as u64), cores)?);
        }
        let address = if options.ipv6 { Place::DESTINATION.ipv6() } else { Place::DESTINATION.ipv4() };
        let open = || Ok(LiveHops::open(&address.to_string(), Some(cores.sender))?);
        let path = wiring.source.within(open)?;
        Ok(Self { path, wiring, cores, carriers, name: scenario.name.clone(), _awake: awake })
    }

    /// The lab's source, and what stands between.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let mut here = self.path.circumstances();
        "lab".clone_into(&mut here.world);
        here.notes.insert("scenario".to_owned(), self.name.clone());
        here.notes.insert(
            "lab".to_owned(),
            format!(
                "wires by Dwell's forwarder, {LEAST_DELAY} long at least, routers by this kernel; {}",
                self.cores
            ),
        );
        let (carried, late) = self.carried();
        here.notes.insert("frames".to_owned(), format!("{carried} carried, {late} more than 20 us late"));
        here
    }

    /// How many frames were carried so far, and how many of them left more than 20 us late: where those are many, the
    /// links had not the rates that were asked for.
    #[must_use]
    pub fn carried(&self) -> (u64, u64) {
        let tallies = self.carriers.iter().map(|carrier| carrier.watch.tally());
        tallies.fold((0, 0), |(carried, late), tally| (carried + tally.carried, late + tally.late))
    }
}

/// The links between one router and the next, as ranges of those of a path.
fn wires(links: &[LinkSpec]) -> Vec<Range<usize>> {
    let mut from = 0;
    let mut wires = Vec::new();
    for (index, link) in links.iter().enumerate() {
        if link.node != Node::Switch || index + 1 == links.len() {
            wires.push(from..index + 1);
            from = index + 1;
        }
    }
    wires
}

/// What a wire takes at the least, one way. The forwarder takes some 10 to 20 us of its own to look at a frame, and a
/// wire that takes less is as slow as that for every size: a gigabit would look like many.
const LEAST_DELAY: Nanos = Nanos::from_micros(60);

/// A wire's links, the last one longer where the forwarder would not be in time.
fn in_time(links: &[LinkSpec]) -> Vec<LinkSpec> {
    let mut links = links.to_vec();
    let more = (LEAST_DELAY - least_delay(&links)).max(Nanos::ZERO);
    if let Some(last) = links.last_mut() {
        last.lengthen(more);
    }
    links
}

/// The source, a router, or the destination, from 0.
fn place(wiring: &Wiring, rank: usize) -> &Namespace {
    match rank {
        0 => &wiring.source,
        rank if 2 * rank > wiring.nodes.len() => &wiring.destination,
        rank => &wiring.nodes[2 * rank - 1],
    }
}

/// Lets a place make messages as often as the link's end may.
fn limit(place: &Namespace, link: &LinkSpec) -> Result<(), LabError> {
    let Node::Router(RouterSpec { every, .. }) = &link.node else { return Ok(()) };
    let milliseconds = (every.as_secs_f64() * 1e3).round().to_string();
    place.sysctl("ipv4/icmp_ratelimit", &milliseconds)?;
    place.sysctl("ipv6/icmp/ratelimit", &milliseconds)
}

/// Starts what carries the wire of this rank.
fn carrier(
    wiring: &Wiring,
    rank: usize,
    links: [Vec<LinkSpec>; 2],
    seed: u64,
    cores: Cores,
) -> Result<Carrier, LabError> {
    let open = |place: &Namespace, port: &'static str| {
        place.within(|| {
            PacketSocket::open(port).map_err(LabError::system(format!("open a packet socket on {port}")))
        })
    };
    let (node, near, far) = (&wiring.nodes[2 * rank], place(wiring, rank), place(wiring, rank + 1));
    let last = 2 * rank + 1 == wiring.nodes.len();
    let carrying = Carrying {
        ports: [open(node, UP_PORT)?, open(node, DOWN_PORT)?],
        ends: [
            open(near, if rank == 0 { HOST_PORT } else { DOWN_PORT })?,
            open(far, if last { HOST_PORT } else { UP_PORT })?,
        ],
        links,
        nics: [NicStage::default(), NicStage::default()],
        seed,
        cores: Some(cores),
    };
    let (watch, forwarder) = carrying.start(node)?;
    Ok(Carrier { watch, forwarder: Some(forwarder) })
}

fn check(scenario: &Scenario, reverse: &[LinkSpec]) -> Result<(), LabError> {
    let refused =
        |reason: &str| Err(LabError::Scenario { scenario: scenario.name.clone(), reason: reason.to_owned() });
    if reverse.len() != scenario.links.len() {
        return refused(
            "a lab of routers has as many links on the way back; the simulator need not (--on sim)",
        );
    }
    if scenario.links.iter().chain(reverse).any(duplicates) {
        return refused(
            "a link duplicates packets, which the lab's forwarder does not; the simulator does (--on sim)",
        );
    }
    if [&scenario.source, &scenario.destination].into_iter().any(has_nic) {
        return refused("a host has a `nic`, which routers' messages do not meet in this lab: leave it out");
    }
    let unlike = |link: &LinkSpec| {
        let Node::Router(router) = &link.node else { return false };
        *router != RouterSpec { every: router.every, ..RouterSpec::default() }
            || router.every.0 % Nanos::from_millis(1).0 != 0
    };
    if scenario.links.iter().any(unlike) {
        return refused(
            "the lab's routers are this kernel, which is told how often it may answer (`every`, in whole milliseconds) and \
             nothing else; the simulator's are as the file says (--on sim)",
        );
    }
    Ok(())
}

impl HopPath for HopLab {
    type Error = LabError;

    fn facts(&self) -> HopFacts {
        self.path.facts()
    }

    fn fire(&mut self, round: &Round) -> Result<Vec<Sighting>, LabError> {
        let (path, cores) = (&mut self.path, self.cores);
        let seen = self.wiring.source.within(move || {
            settle(Role::Sender, cores);
            Ok(path.fire(round)?)
        })?;
        let mut workers = self.carriers.iter_mut().map(|carrier| &mut carrier.forwarder);
        match workers.find_map(|worker| worker.take_if(|worker| worker.is_finished())) {
            Some(ended) => Err(ended.join().err().unwrap_or(LabError::Ended { role: "forwarder" })),
            None => Ok(seen),
        }
    }
}

impl Drop for HopLab {
    fn drop(&mut self) {
        self.carriers.iter().for_each(|carrier| carrier.watch.stop.store(true, Ordering::Relaxed));
        for carrier in &mut self.carriers {
            // Nobody is left to tell.
            let _ = carrier.forwarder.take().map(Worker::join);
        }
    }
}
