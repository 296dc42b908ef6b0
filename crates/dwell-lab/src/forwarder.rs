//! The wire of an emulated path: one thread that carries every frame, both ways, through the simulator's own engine,
//! in real time. Delay, rate, jitter, loss, queues and cross traffic are the engine's; the hosts' kernels are real.
//!
//! A frame enters the engine at the kernel's receive stamp, and is sent so that the kernel of the far end stamps it
//! when the engine says that its last bit is there: sleep, then a short busy wait, begun earlier by what the thread's
//! own send costs (`Lead`, measured at the start).

use crate::error::LabError;
use crate::pace::{Lead, SpinBudget, oversleep, sleep_on};
use dwell_core::{Bytes, Direction, Nanos};
use dwell_net::PacketSocket;
use dwell_net::clock;
use dwell_sim::{LinkSpec, Network, Outcome};
use nix::poll::{PollFd, PollFlags};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a frame is longer on the wire than what a packet socket sees: check sequence 4, preamble and delimiter 8.
const UNSEEN: u64 = 12;

/// The bit of a hardware address's first byte that tells a group.
const GROUP: u8 = 1;

/// The longest frame that a lab carries.
const LONGEST_FRAME: usize = 65_536 + 64;

/// Frames that may be under way in one direction; more are dropped and counted.
const MOST_UNDER_WAY: usize = 100_000;

/// Frames that are taken from one side before the other side gets its turn.
const TURN: usize = 64;

/// The last stretch before a departure, in which nothing else is looked at.
const HOT_STRETCH: Nanos = Nanos(5_000);

/// How often an idle path's cross traffic is worked off, so that it does not pile up until the next frame comes.
const CROSS_PERIOD: Nanos = Nanos::from_millis(2);

/// How often an idle forwarder looks whether it shall stop.
const PATIENCE: Nanos = Nanos::from_millis(20);

/// The longest nap after a frame came.
const LONGEST_NAP: Nanos = Nanos(500_000);

/// What the engine and the forwarder's own loop take between a nap and a departure, generously.
const HANDLING: Nanos = Nanos(30_000);

/// A departure that begins this late is counted: it was preempted, or had more to carry than it can.
const LATE: Nanos = Nanos(20_000);

/// A frame that was carried, or lost, with what the engine asked; instants on CLOCK_REALTIME.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) direction: Direction,
    /// On the wire.
    pub(crate) size: Bytes,
    /// When it came to the first link.
    pub(crate) entered: Nanos,
    /// When its last bit was due at the far end; `None`: the engine lost it.
    pub(crate) due: Option<Nanos>,
    /// What it waited in queues.
    pub(crate) waited: Nanos,
}

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
}

impl Watch {
    pub(crate) fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was written down.
    pub(crate) fn take_frames(&self) -> Vec<Carried> {
        std::mem::take(&mut *self.frames.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Frame {
    bytes: Vec<u8>,
    /// By CLOCK_REALTIME.
    stamp: Nanos,
    /// The same instant on the engine's clock.
    entered: Nanos,
}

/// One direction.
struct Lane {
    direction: Direction,
    network: Network,
    has_cross: bool,
    frames: HashMap<u64, Frame>,
    next_key: u64,
    due: BinaryHeap<Reverse<(Nanos, u64)>>,
    advanced: Nanos,
}

impl Lane {
    fn new(direction: Direction, links: &[LinkSpec], seed: u64) -> Self {
        Self {
            direction,
            network: Network::new(links, seed),
            has_cross: links.iter().any(|link| !link.cross.is_empty()),
            frames: HashMap::new(),
            next_key: 0,
            due: BinaryHeap::new(),
            advanced: Nanos::ZERO,
        }
    }
}

/// The thread's state.
pub(crate) struct Forwarder<'w> {
    /// Towards the source, towards the destination: lane `i` takes from port `i` and sends by the other.
    ports: [PacketSocket; 2],
    lanes: [Lane; 2],
    lead: Lead,
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
    outcomes: Vec<Outcome>,
    watch: &'w Watch,
}

impl<'w> Forwarder<'w> {
    /// With the engine's clock starting now.
    pub(crate) fn new(
        ports: [PacketSocket; 2],
        links: [&[LinkSpec]; 2],
        seed: u64,
        lead: Lead,
        watch: &'w Watch,
    ) -> Result<Self, LabError> {
        // Busy at a higher priority than the sender, so as short as sleeps allow: the sender's own waits stand still
        // meanwhile.
        let margin = oversleep().map_err(LabError::system("sleep"))? + Nanos::from_micros(3);
        let margin = margin.min(Nanos::from_micros(150)) + lead.longest();
        let least_delay = links.iter().map(|links| least_delay(links)).min().unwrap_or_default();
        let zero = clock::monotonic();
        Ok(Self {
            ports,
            lanes: [
                Lane::new(Direction::Forward, links[0], seed),
                Lane::new(Direction::Reverse, links[1], seed.wrapping_add(1)),
            ],
            margin,
            nap: (least_delay - margin - HANDLING).min(LONGEST_NAP),
            lead,
            budget: SpinBudget::new(Nanos::ZERO),
            busy_since: None,
            zero,
            last_departure: Nanos::ZERO,
            spare: Vec::new(),
            buffer: vec![0; LONGEST_FRAME],
            outcomes: Vec::new(),
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
            let now = self.now();
            match self.next_departure() {
                Some((at, lane)) if at - now <= HOT_STRETCH => self.depart(at, lane),
                Some((at, _)) => self.wait(now, at)?,
                None => self.wait(now, Nanos::MAX)?,
            }
        }
        Ok(())
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
            if lane.frames.len() >= MOST_UNDER_WAY {
                self.watch.tally.lock().unwrap_or_else(PoisonError::into_inner).dropped += 1;
                continue;
            }
            let key = lane.next_key;
            lane.next_key += 1;
            lane.network.inject(at, key, Bytes(length as u64 + UNSEEN));
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(&self.buffer[..length]);
            lane.frames.insert(key, Frame { bytes, stamp, entered: at });
        }
        Ok(())
    }

    /// Lets a lane's engine decide what can be decided now. It is never taken further than it must: a frame that
    /// the kernel has stamped may still be on its way to us, and the engine would let it enter late.
    fn decide(&mut self, lane: usize) {
        let now = self.now();
        let lane = &mut self.lanes[lane];
        while let Some(at) = lane.network.wake_at().filter(|at| *at <= now) {
            lane.network.advance(at, &mut self.outcomes);
            lane.advanced = at;
        }
        if lane.has_cross && now - lane.advanced > CROSS_PERIOD {
            lane.advanced = now - CROSS_PERIOD / 2;
            lane.network.advance(lane.advanced, &mut self.outcomes);
        }
        for outcome in self.outcomes.drain(..) {
            match outcome {
                Outcome::Leaves { key, at, waited, .. } => {
                    lane.due.push(Reverse((at, key)));
                    if let Some(frame) = lane.frames.get(&key) {
                        write_down(self.watch, lane.direction, frame, Some(at), waited);
                    }
                }
                Outcome::Lost { key, .. } => {
                    self.watch.tally.lock().unwrap_or_else(PoisonError::into_inner).lost += 1;
                    if let Some(frame) = lane.frames.remove(&key) {
                        write_down(self.watch, lane.direction, &frame, None, Nanos::ZERO);
                        self.spare.push(frame.bytes);
                    }
                }
            }
        }
    }

    /// When the next departure must begin, and on which lane.
    fn next_departure(&self) -> Option<(Nanos, usize)> {
        let next = (0..2).filter_map(|lane| {
            let Reverse((at, _)) = self.lanes[lane].due.peek()?;
            Some((*at, lane))
        });
        let (at, lane) = next.min()?;
        Some((at - self.lead.after(at - self.last_departure), lane))
    }

    /// Sends a lane's next frame at `at`.
    fn depart(&mut self, at: Nanos, lane: usize) {
        clock::spin_until(self.zero + at);
        let begun = self.now();
        let Some(Reverse((due, key))) = self.lanes[lane].due.pop() else { return };
        let Some(frame) = self.lanes[lane].frames.remove(&key) else { return };
        let sent = self.ports[1 - lane].send(&frame.bytes).unwrap_or(false);
        self.spare.push(frame.bytes);
        self.last_departure = due.max(begun);
        let mut tally = self.watch.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.carried += u64::from(sent);
        tally.dropped += u64::from(!sent);
        tally.late += u64::from(begun - at > LATE);
    }

    /// Waits for frames, the engine, or the departure at `departure`, but for the last stretch before it.
    fn wait(&mut self, now: Nanos, departure: Nanos) -> io::Result<()> {
        let wake = self.lanes.iter().filter_map(|lane| lane.network.wake_at()).min().unwrap_or(Nanos::MAX);
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
fn least_delay(links: &[LinkSpec]) -> Nanos {
    links
        .iter()
        .map(|link| {
            let smallest = link.framing.padded(Bytes(0));
            link.propagation + link.rate.map_or(Nanos::ZERO, |rate| rate.time_for(smallest))
        })
        .sum()
}

/// Keeps what became of a frame, if somebody asked for it.
fn write_down(watch: &Watch, direction: Direction, frame: &Frame, at: Option<Nanos>, waited: Nanos) {
    if watch.record.load(Ordering::Relaxed) {
        let carried = Carried {
            direction,
            size: Bytes(frame.bytes.len() as u64 + UNSEEN),
            entered: frame.stamp,
            due: at.map(|at| frame.stamp + (at - frame.entered)),
            waited,
        };
        watch.frames.lock().unwrap_or_else(PoisonError::into_inner).push(carried);
    }
}
