//! The wire of an emulated path: one thread that carries every frame, both ways, through the simulator's own engine,
//! in real time. Delay, rate, jitter, loss, queues and cross traffic are the engine's; the hosts' kernels are real.
//!
//! A frame enters the engine at the kernel's receive stamp, and is sent so that the kernel of the far end stamps it
//! when the engine says that its last bit is there: sleep, then a short busy wait, begun earlier by what the thread's
//! own send costs (`Lead`, measured at the start). Where the far host has a NIC that holds packets, the engine's instant
//! is when a frame reaches that NIC, and what it hands over together is sent together (`nic_stage`).

use crate::error::LabError;
use crate::lane::{CROSS_PERIOD, Carried, Frame, Lane};
use crate::nic_stage::NicStage;
use crate::pace::{Lead, SpinBudget, oversleep, sleep_on};
use dwell_core::truth::Reading;
use dwell_core::{Bytes, Direction, Nanos};
use dwell_net::PacketSocket;
use dwell_net::clock;
use dwell_sim::LinkSpec;
use dwell_sim::nic::Delivery;
use nix::poll::{PollFd, PollFlags};
use std::fmt;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

/// The bit of a hardware address's first byte that tells a group.
const GROUP: u8 = 1;

/// The longest frame that a lab carries.
const LONGEST_FRAME: usize = 65_536 + 64;

/// Frames that are taken from one side before the other side gets its turn.
const TURN: usize = 64;

/// The last stretch before a departure, in which nothing else is looked at.
const HOT_STRETCH: Nanos = Nanos(5_000);

/// How often an idle forwarder looks whether it shall stop.
const PATIENCE: Nanos = Nanos::from_millis(20);

/// How long the forwarder may take to say what its links carried.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The longest nap after a frame came.
const LONGEST_NAP: Nanos = Nanos(500_000);

/// What the engine and the forwarder's own loop take between a nap and a departure, generously.
const HANDLING: Nanos = Nanos(30_000);

/// A departure that begins this late is counted: it was preempted, or had more to carry than it can.
const LATE: Nanos = Nanos(20_000);

/// What a forwarder did so far.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Frames carried.
    pub(crate) carried: u64,
    /// Frames lost as the engine said.
    pub(crate) lost: u64,
    /// Frames dropped because too many were under way, or the far end did not take them.
    pub(crate) dropped: u64,
    /// Frames whose departure began more than 20 us late.
    pub(crate) late: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { carried, lost, dropped, late } = self;
        write!(
            f,
            "{carried} frames carried, {lost} lost as asked, {dropped} dropped, {late} more than {LATE} late"
        )
    }
}

/// What the forwarder's thread shares with the lab.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) stop: AtomicBool,
    /// Whether each frame is written down.
    pub(crate) record: AtomicBool,
    frames: Mutex<Vec<Carried>>,
    tally: Mutex<Tally>,
    /// Who wants to know what the links carried, and by which largest packet.
    asks: Mutex<Vec<(Direction, Bytes, mpsc::Sender<Reading>)>>,
}

impl Watch {
    /// What the links of one way carried up to now.
    pub(crate) fn reading(&self, way: Direction, largest: Bytes) -> Result<Reading, LabError> {
        let (tell, told) = mpsc::channel();
        self.asks.lock().unwrap_or_else(PoisonError::into_inner).push((way, largest, tell));
        told.recv_timeout(ANSWER_WITHIN).map_err(|_| LabError::Ended { role: "forwarder" })
    }

    pub(crate) fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what became of a frame, if somebody asked for it.
    fn write_down(&self, carried: impl FnOnce() -> Carried) {
        if self.record.load(Ordering::Relaxed) {
            self.frames.lock().unwrap_or_else(PoisonError::into_inner).push(carried());
        }
    }

    /// Takes what was written down.
    pub(crate) fn take_frames(&self) -> Vec<Carried> {
        std::mem::take(&mut *self.frames.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is to be sent together.
#[derive(Copy, Clone, Debug)]
struct Departure {
    lane: usize,
    /// When the far host's kernel is to stamp it.
    due: Nanos,
    /// When its sending must begin.
    begin: Nanos,
}

/// The thread's state.
pub(crate) struct Forwarder<'w> {
    /// Towards the source, towards the destination: lane `i` takes from port `i` and sends by the other.
    ports: [PacketSocket; 2],
    lanes: [Lane; 2],
    /// Of each lane.
    leads: [Lead; 2],
    /// How early a sleep must end to be sure.
    margin: Nanos,
    /// How long a frame that came may lie before it must be looked at: on the same core as the forwarder a sender
    /// may be in the middle of a burst, which shall leave as one.
    nap: Nanos,
    budget: SpinBudget,
    /// Since when it has been busy without pause.
    busy_since: Option<Nanos>,
    /// Zero of the engine's clock, on CLOCK_MONOTONIC.
    zero: Nanos,
    last_departure: Nanos,
    spare: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    lost: Vec<Frame>,
    /// Frames that leave together.
    batch: Vec<(Frame, Delivery)>,
    watch: &'w Watch,
}

impl<'w> Forwarder<'w> {
    /// With the engine's clock starting now.
    pub(crate) fn new(
        ports: [PacketSocket; 2],
        links: [&[LinkSpec]; 2],
        nics: [NicStage; 2],
        seed: u64,
        leads: [Lead; 2],
        watch: &'w Watch,
    ) -> Result<Self, LabError> {
        // Busy at a higher priority than the sender, so as short as sleeps allow: the sender's own waits stand still
        // meanwhile.
        let margin = oversleep().map_err(LabError::system("sleep"))? + Nanos::from_micros(3);
        let longest_lead = leads.iter().map(Lead::longest).max().unwrap_or_default();
        let margin = margin.min(Nanos::from_micros(150)) + longest_lead;
        let ways = links.iter().zip(&nics);
        let least_delay = ways.map(|(links, nic)| least_delay(links) + nic.least_hold()).min();
        let zero = clock::monotonic();
        let [forward, reverse] = nics;
        Ok(Self {
            ports,
            lanes: [
                Lane::new(Direction::Forward, links[0], forward, seed),
                Lane::new(Direction::Reverse, links[1], reverse, seed.wrapping_add(1)),
            ],
            margin,
            nap: (least_delay.unwrap_or_default() - margin - HANDLING).min(LONGEST_NAP),
            leads,
            budget: SpinBudget::new(Nanos::ZERO),
            busy_since: None,
            zero,
            last_departure: Nanos::ZERO,
            spare: Vec::new(),
            buffer: vec![0; LONGEST_FRAME],
            lost: Vec::new(),
            batch: Vec::new(),
            watch,
        })
    }

    fn now(&self) -> Nanos {
        clock::monotonic() - self.zero
    }

    /// Carries frames until told to stop.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        while !self.watch.stop.load(Ordering::Relaxed) {
            for lane in 0..2 {
                self.take_arrivals(lane)?;
                self.decide(lane);
            }
            self.tell_readings();
            let now = self.now();
            match self.next_departure() {
                Some(next) if next.begin - now <= HOT_STRETCH => self.depart(next),
                Some(next) => self.wait(now, next.begin)?,
                None => self.wait(now, Nanos::MAX)?,
            }
        }
        Ok(())
    }

    /// Answers those who asked what the links carried.
    fn tell_readings(&mut self) {
        let Ok(mut asks) = self.watch.asks.try_lock() else { return };
        if asks.is_empty() {
            return;
        }
        let now = self.now();
        for (way, largest, tell) in asks.drain(..) {
            let lane = &mut self.lanes[usize::from(way == Direction::Reverse)];
            let _ = tell.send(lane.reading(now, largest));
        }
    }

    /// Brings the frames that came by a lane's port into its engine.
    fn take_arrivals(&mut self, lane: usize) -> io::Result<()> {
        let (port, lane) = (&mut self.ports[lane], &mut self.lanes[lane]);
        for _ in 0..TURN {
            let Some((length, stamp)) = port.recv(&mut self.buffer)? else { break };
            // Group-addressed frames are the hosts' own reports to routers that are not there. Every neighbour is
            // told, so nobody needs them, and they would take chances of loss that are due to packets under test.
            if self.buffer[0] & GROUP == GROUP {
                continue;
            }
            let age = (clock::realtime() - stamp).max(Nanos::ZERO);
            let at = clock::monotonic() - self.zero - age;
            if lane.is_full() {
                self.watch.tally.lock().unwrap_or_else(PoisonError::into_inner).dropped += 1;
                continue;
            }
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(&self.buffer[..length]);
            lane.enter(bytes, stamp, at);
        }
        Ok(())
    }

    /// Lets a lane's engine decide what can be decided now, and brings to its NIC what is about to reach it.
    fn decide(&mut self, lane: usize) {
        let now = self.now();
        let soonest = now + self.leads[lane].longest();
        let lane = &mut self.lanes[lane];
        lane.decide(now, &mut self.lost);
        lane.reach(now + self.margin, soonest);
        if !self.lost.is_empty() {
            self.watch.tally.lock().unwrap_or_else(PoisonError::into_inner).lost += self.lost.len() as u64;
        }
        for frame in self.lost.drain(..) {
            self.watch.write_down(|| frame.carried(lane.direction, None));
            self.spare.push(frame.bytes);
        }
    }

    /// The next departure.
    fn next_departure(&self) -> Option<Departure> {
        let (due, lane) = (0..2).filter_map(|lane| Some((self.lanes[lane].next_event()?, lane))).min()?;
        let lead = self.leads[lane].of(self.lanes[lane].next_batch(), due - self.last_departure);
        Some(Departure { lane, due, begin: due - lead })
    }

    /// Sends what a lane's NIC hands over next.
    fn depart(&mut self, Departure { lane, due, begin }: Departure) {
        self.lanes[lane].take(due, &mut self.batch);
        let (count, direction) = (self.batch.len(), self.lanes[lane].direction);
        clock::spin_until(self.zero + begin);
        let begun = self.now();
        let late = (begun - begin).max(Nanos::ZERO);
        let port = &self.ports[1 - lane];
        let sent = self.batch.iter().filter(|(frame, _)| port.send(&frame.bytes).unwrap_or(false)).count();
        self.lanes[lane].stage.interrupt(count);
        self.last_departure = due.max(begun);
        for (frame, delivery) in self.batch.drain(..) {
            self.watch.write_down(|| frame.carried(direction, Some((delivery, late))));
            self.spare.push(frame.bytes);
        }
        let mut tally = self.watch.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.carried += sent as u64;
        tally.dropped += (count - sent) as u64;
        if late > LATE {
            tally.late += count as u64;
        }
    }

    /// Waits for frames, the engine, or the departure at `departure`, but for the last stretch before it.
    fn wait(&mut self, now: Nanos, departure: Nanos) -> io::Result<()> {
        let wake = self.lanes.iter().filter_map(|lane| lane.wake_at()).min().unwrap_or(Nanos::MAX);
        let left = departure.min(wake) - now;
        if left <= Nanos::ZERO {
            return Ok(());
        }
        let asleep = if left > self.margin {
            left - self.margin
        } else if self.budget.take(now, now - self.busy_since.unwrap_or(now)) {
            // Busy, through the run's own loop: it looks for arrivals again at once.
            self.busy_since = Some(now);
            return Ok(());
        } else {
            left
        };
        self.busy_since = None;
        let cross = self.lanes.iter().any(|lane| lane.has_cross);
        let asleep = asleep.min(if cross { CROSS_PERIOD } else { PATIENCE });
        let [up, down] = &self.ports;
        let mut watched = [up, down].map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN));
        if sleep_on(&mut watched, asleep)? {
            let nap = self.nap.min(departure - self.now() - self.margin);
            if nap > Nanos::ZERO {
                sleep_on(&mut [], nap)?;
            }
        }
        Ok(())
    }
}

/// The least time that any packet takes.
pub(crate) fn least_delay(links: &[LinkSpec]) -> Nanos {
    links
        .iter()
        .map(|link| {
            let smallest = link.framing.padded(Bytes(0));
            link.propagations().0 + link.rate.map_or(Nanos::ZERO, |rate| rate.time_for(smallest))
        })
        .sum()
}
