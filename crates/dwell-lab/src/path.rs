//! A live path through a lab, with the hosts' clocks of the scenario, and the truth.

use crate::client::Client;
use crate::error::LabError;
use crate::inner::Inner;
use crate::lane::{Arrival, Carried};
use crate::nic_stage::has_nic;
use dwell_core::truth::Reading;
use dwell_core::{
    Circumstances, Direction, Fate, Fleet, Nanos, PacketTruth, Passage, Path, PathFacts, Stamps,
};
use dwell_net::{ConnectConfig, LiveError, LivePath};
use dwell_sim::{Clock, HostSpec};
use std::sync::Arc;

/// Carries trains between the lab's agent and a client in its source namespace: two real hosts' kernels and the
/// real protocol.
///
/// All stamps are taken by this machine's one clock, and only then put on the clocks that the scenario gives its two
/// hosts (true time zero is the lab's start), so the truth is there for every packet: `handed_over` and `stamped` are
/// the programs' stamps, `left_sender` is the sending kernel's. The receiving kernel stamps a packet once, at the
/// beginning of its stage K; that stamp stands for `reached_receiver` and for `queued`, so K counts as none and all
/// of the receiver's time as A. Where the receiver has a NIC that holds packets, `reached_receiver` is when the
/// forwarder's engine brought the packet to that NIC, and `held` is from there to the kernel's stamp. `waited` is the
/// engine's where Dwell's forwarder carries, and zero (not known) elsewhere.
pub struct LabPath {
    client: Client<LiveError>,
}

impl LabPath {
    pub(crate) fn connect(inner: Arc<Inner>, config: ConnectConfig) -> Result<Self, LabError> {
        let open = move || LivePath::connect(config).map_err(|source| LabError::Connect(Box::new(source)));
        Ok(Self { client: Client::start(inner, open, LivePath::circumstances)? })
    }

    /// Both ends of the lab, and what stands between.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let (inner, live) = (&self.client.inner, self.client.circumstances.clone());
        inner.with_nics(Circumstances { world: "lab".to_owned(), notes: inner.notes(), ..live })
    }

    fn put_on_clocks(&self, passage: Passage, carried: &mut Asked) -> Passage {
        let Passage { mut observation, .. } = passage;
        let (source, destination) =
            (&self.client.inner.scenario.source, &self.client.inner.scenario.destination);
        let (from, to) = match observation.direction {
            Direction::Forward => (source, destination),
            Direction::Reverse => (destination, source),
        };
        let start = self.client.inner.start;
        let nic = has_nic(to);
        let truth = observation.fates.iter().map(|fate| truth(fate, start, nic, carried)).collect();
        for fate in &mut observation.fates {
            fate.sent = seen_by(from, fate.sent, start);
            if let Some(arrival) = &mut fate.arrival {
                arrival.stamps = seen_by(to, arrival.stamps, start);
            }
        }
        Passage { observation, truth: Some(truth) }
    }
}

impl Path for LabPath {
    type Error = LabError;

    fn facts(&self) -> PathFacts {
        let resolution = self.client.inner.scenario.destination.clock.resolution;
        PathFacts { resolution: resolution.max(self.client.facts.resolution), ..self.client.facts }
    }

    fn reading(&mut self, way: Direction) -> Result<Option<Reading>, LabError> {
        let inner = &self.client.inner;
        inner.testbed.reading(&inner.scenario, way)
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, LabError> {
        let testbed = &self.client.inner.testbed;
        testbed.write_down(true);
        let passages = self.client.carry(fleet);
        let written = testbed.write_down(false);
        let passages = passages?.map_err(|source| LabError::Live(Box::new(source)))?;
        let mut asked = [Direction::Forward, Direction::Reverse].map(|way| Asked::new(&written, way));
        Ok(passages
            .into_iter()
            .map(|passage| {
                let way = usize::from(passage.observation.direction == Direction::Reverse);
                self.put_on_clocks(passage, &mut asked[way])
            })
            .collect())
    }
}

/// Stamps as the host would have taken them.
pub(crate) fn seen_by(host: &HostSpec, stamps: Stamps, start: Nanos) -> Stamps {
    let clock = Clock::new(host.clock);
    let read = |stamp: Nanos| clock.read(stamp - start);
    Stamps {
        application: read(stamps.application),
        kernel: stamps.kernel.filter(|_| host.kernel_stamps).map(read),
        hardware: stamps.hardware,
    }
}

/// `None`: lost, or the forwarder did not write down when it reached the receiver's `nic`.
fn truth(fate: &Fate, start: Nanos, nic: bool, asked: &mut Asked) -> Option<PacketTruth> {
    let left_sender = fate.sent.nearest_wire();
    let carried = asked.of(fate).and_then(|carried| carried.arrival);
    let stamps = fate.arrival?.stamps;
    let stamped_by_kernel = stamps.nearest_wire();
    let reached = match carried {
        // A frame that was a little early was not held.
        Some(Arrival { reached, .. }) if nic => reached.min(stamped_by_kernel),
        None if nic => return None,
        _ => stamped_by_kernel,
    };
    Some(PacketTruth {
        handed_over: fate.sent.application - start,
        left_sender: left_sender - start,
        reached_receiver: reached - start,
        held: stamped_by_kernel - reached,
        queued: stamped_by_kernel - start,
        stamped: stamps.application - start,
        waited: carried.map_or(Nanos::ZERO, |arrival| arrival.waited),
    })
}

/// What the forwarder wrote down of one direction, in the order in which frames came to it.
struct Asked {
    rest: std::vec::IntoIter<Carried>,
}

impl Asked {
    fn new(written: &[Carried], way: Direction) -> Self {
        let mut of_way: Vec<Carried> =
            written.iter().copied().filter(|frame| frame.direction == way).collect();
        of_way.sort_by_key(|frame| frame.entered);
        Self { rest: of_way.into_iter() }
    }

    /// The frame of this packet: of its size, the first that came after the sending kernel's stamp.
    fn of(&mut self, fate: &Fate) -> Option<Carried> {
        let left = fate.sent.kernel?;
        let next = self.rest.as_slice().iter();
        // Frames of other sizes are the control channel's.
        let ahead = next
            .take_while(|frame| frame.entered < left + Nanos::from_millis(1))
            .position(|frame| frame.size == fate.packet.size && frame.entered >= left)?;
        self.rest.nth(ahead)
    }
}
