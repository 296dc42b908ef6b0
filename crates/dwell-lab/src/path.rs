//! A live path through a lab, with the hosts' clocks of the scenario, and the truth.

use crate::error::LabError;
use crate::lab::Inner;
use crate::lane::{Arrival, Carried};
use crate::namespace::Worker;
use crate::nic_stage::{self, has_nic};
use dwell_core::{
    Circumstances, Direction, Fate, Fleet, Nanos, PacketTruth, Passage, Path, PathFacts, Stamps,
};
use dwell_net::{ConnectConfig, LiveError, LivePath};
use dwell_sim::{Clock, HostSpec, Scenario};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

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
    jobs: Sender<Job>,
    facts: PathFacts,
    live: Circumstances,
    inner: Arc<Inner>,
    /// Ends when `jobs` does.
    worker: Option<Worker<()>>,
}

struct Job {
    fleet: Fleet,
    done: Sender<Result<Vec<Passage>, LiveError>>,
}

impl LabPath {
    pub(crate) fn connect(inner: Arc<Inner>, config: ConnectConfig) -> Result<Self, LabError> {
        let (jobs, queue) = channel();
        let (tell, told) = channel();
        // The client may open new sockets at any time, so it lives in the source's namespace.
        let worker = inner.testbed.wiring.source.spawn("client", move || {
            let live = LivePath::connect(config).map_err(|source| LabError::Connect(Box::new(source)))?;
            let _ = tell.send((live.facts(), live.circumstances()));
            serve(live, &queue);
            Ok(())
        })?;
        let Ok((facts, live)) = told.recv() else {
            return Err(worker.join().err().unwrap_or(LabError::Ended { role: "client" }));
        };
        let resolution = inner.scenario.destination.clock.resolution.max(facts.resolution);
        Ok(Self { jobs, facts: PathFacts { resolution, ..facts }, live, inner, worker: Some(worker) })
    }

    /// Both ends of the lab, and what stands between.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let mut told =
            Circumstances { world: "lab".to_owned(), notes: self.inner.notes(), ..self.live.clone() };
        let Scenario { source, destination, .. } = &self.inner.scenario;
        for (facts, host) in [(&mut told.sender, source), (&mut told.receiver, destination)] {
            if has_nic(host) {
                facts.coalescing = nic_stage::settings(host.nic);
            }
        }
        told
    }

    fn put_on_clocks(&self, passage: Passage, carried: &mut Asked) -> Passage {
        let Passage { mut observation, .. } = passage;
        let (source, destination) = (&self.inner.scenario.source, &self.inner.scenario.destination);
        let (from, to) = match observation.direction {
            Direction::Forward => (source, destination),
            Direction::Reverse => (destination, source),
        };
        let start = self.inner.start;
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
        self.facts
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, LabError> {
        self.inner.testbed.write_down(true);
        let (done, answer) = channel();
        let gone = || LabError::Ended { role: "client" };
        self.jobs.send(Job { fleet: fleet.clone(), done }).map_err(|_| gone())?;
        let passages = answer.recv().map_err(|_| gone())?;
        let written = self.inner.testbed.write_down(false);
        if let Some(failure) = self.inner.testbed.failure() {
            return Err(failure);
        }
        let passages = passages.map_err(|source| LabError::Live(Box::new(source)))?;
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

impl Drop for LabPath {
    fn drop(&mut self) {
        // The client ends when nobody can ask it for anything any more.
        self.jobs = channel().0;
        let _ = self.worker.take().map(Worker::join);
    }
}

fn serve(mut live: LivePath, queue: &Receiver<Job>) {
    for Job { fleet, done } in queue {
        let _ = done.send(live.carry(&fleet));
    }
}

/// Stamps as the host would have taken them.
fn seen_by(host: &HostSpec, stamps: Stamps, start: Nanos) -> Stamps {
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
