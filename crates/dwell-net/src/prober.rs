//! The thread that sends and receives a session's probes, at either end. It alone touches the probe socket, so that
//! nothing wakes it but packets, and it alone is pinned.

use crate::clock;
use crate::pace::{Consignment, Pacer};
use crate::place;
use crate::probe::{Framing, HEADER, HELLO, Seal};
use crate::socket::{Burst, ProbeSocket};
use dwell_core::{Departure, Direction, Nanos, Stamps};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// How one packet of a fleet arrived.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Of the first copy.
    pub stamps: Stamps,
    /// Place in the order of arrival within the fleet.
    pub order: u32,
    /// Copies received.
    pub copies: u32,
}

/// How a fleet arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    /// Packet by packet, in the order of sending; `None`: it did not.
    pub seen: Vec<Option<Seen>>,
    /// Packets that came meanwhile and for which the socket had no room.
    pub overflowed: u32,
}

/// What to expect, and how long.
#[derive(Copy, Clone, Debug)]
pub struct Expectation {
    /// Which way the packets come.
    pub direction: Direction,
    /// Sequence of the fleet's first packet.
    pub first: u32,
    /// Packets of the fleet.
    pub count: usize,
    /// The longest silence in which nothing is wrong.
    pub quiet: Nanos,
}

impl Expectation {
    /// Of a fleet whose packets may be late by `grace`.
    #[must_use]
    pub fn of(fleet: &[Departure], direction: Direction, first: u32, grace: Nanos) -> Self {
        let silence = |departure: &Departure| {
            let holds = departure.train.packets.iter().skip(1).map(|packet| packet.hold);
            holds.fold(departure.pause, Nanos::max)
        };
        let longest = fleet.iter().map(silence).max().unwrap_or_default();
        let count = fleet.iter().map(|departure| departure.train.packets.len()).sum();
        // With loss the receiver looks up after a silence, and goes on if the sender is not done.
        Self { direction, first, count, quiet: longest.min(Nanos::from_secs(1)) + grace }
    }
}

/// When to stop waiting, on CLOCK_MONOTONIC: nobody knows until the sender says that it is done.
pub struct Deadline(AtomicI64);

impl Default for Deadline {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MAX))
    }
}

impl Deadline {
    /// The sender is done: wait no longer than `grace` for what is late.
    pub fn set(&self, grace: Nanos) {
        self.0.store((clock::monotonic() + grace).0, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != i64::MAX
    }

    fn is_over(&self) -> bool {
        self.is_set() && clock::monotonic().0 >= self.0.load(Ordering::Relaxed)
    }
}

/// How the thread is to run.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Core to pin it to.
    pub core: Option<usize>,
    /// Whether to ask for real-time priority.
    pub real_time: bool,
}

/// How the thread does run.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Core that it is pinned to.
    pub core: Option<usize>,
    /// Whether it got real-time priority.
    pub real_time: bool,
}

impl Placement {
    /// Places the calling thread.
    pub fn apply(self) -> Result<Placed, place::PinError> {
        place::sharpen_timers();
        if let Some(core) = self.core {
            place::pin_current_thread(core)?;
        }
        let real_time = self.real_time && place::real_time_priority(1);
        if real_time {
            // Where it is not permitted, a page fault costs what it costs.
            let _ = place::lock_memory();
        }
        Ok(Placed { core: self.core, real_time })
    }
}

/// A probe socket, and what it takes to use it for one session.
pub struct Endpoint {
    /// Connected to the other end.
    pub socket: ProbeSocket,
    /// The session's.
    pub seal: Seal,
    /// Of the session's packets.
    pub framing: Framing,
    /// How long a receiver is busy before it takes its stamp.
    pub before_stamp: Nanos,
    /// Of what is sent here.
    pub pacer: Pacer,
}

impl Endpoint {
    /// Sends a fleet.
    pub fn send(&mut self, fleet: &[Departure], direction: Direction, first: u32) -> io::Result<Vec<Stamps>> {
        let goods = Consignment { seal: &self.seal, framing: self.framing, direction, first, fleet };
        self.pacer.send(&mut self.socket, &goods)
    }

    /// Sends the smallest packet with this sequence.
    fn send_one(&self, sequence: u32, direction: Direction) {
        let mut packet = vec![0; self.framing.payload(self.framing.min_size()).unwrap_or(HEADER)];
        self.seal.write(&mut packet, sequence, direction);
        // A packet that the kernel refuses is one that did not arrive.
        let _ = self.socket.send(&mut Burst::new(&[&packet]));
    }

    /// Sends one hello packet.
    pub fn send_hello(&self) {
        self.send_one(HELLO, Direction::Forward);
    }

    /// The sequence of the next genuine packet, if one comes in time.
    pub fn next_sequence(&mut self, direction: Direction, patience: Nanos) -> io::Result<Option<u32>> {
        let until = clock::monotonic() + patience;
        let mut start = [0; HEADER];
        loop {
            let left = until - clock::monotonic();
            if left <= Nanos::ZERO {
                return Ok(None);
            }
            self.socket.set_patience(Some(left))?;
            let Some(packet) = self.socket.receive(&mut start, Nanos::ZERO)? else { continue };
            if let Some(sequence) = self.seal.open(&start, packet.length, direction) {
                return Ok(Some(sequence));
            }
        }
    }

    /// Waits for a hello packet, and answers with one of the same size that has this sequence: no address gets more
    /// than it sent.
    pub fn answer_hello(&mut self, sequence: u32, patience: Nanos) -> io::Result<bool> {
        let heard = self.next_sequence(Direction::Forward, patience)? == Some(HELLO);
        if heard {
            self.send_one(sequence, Direction::Reverse);
            self.forget_departures()?;
        }
        Ok(heard)
    }

    /// Lets no transmit stamp of what was sent so far be taken for one of a fleet.
    pub fn forget_departures(&mut self) -> io::Result<()> {
        self.pacer.forget(&mut self.socket)
    }

    /// Receives a fleet until all of it is there or `deadline` is over. Calls `ready` when it listens.
    pub fn receive(
        &mut self,
        expect: &Expectation,
        deadline: &Deadline,
        ready: impl FnOnce(),
    ) -> io::Result<Arrived> {
        let overflowed = self.socket.overflowed();
        let mut seen = vec![None; expect.count];
        let mut order = 0;
        let mut start = [0; HEADER];
        self.socket.set_patience(Some(expect.quiet))?;
        ready();
        while (order as usize) < expect.count && !deadline.is_over() {
            if let Some(packet) = self.socket.receive(&mut start, self.before_stamp)? {
                let sequence = self.seal.open(&start, packet.length, expect.direction);
                note(&mut seen, &mut order, sequence, expect.first, packet.stamps);
            }
        }
        // Copies that are here already.
        while let Some(packet) = self.socket.receive_now(&mut start, Nanos::ZERO)? {
            let sequence = self.seal.open(&start, packet.length, expect.direction);
            note(&mut seen, &mut order, sequence, expect.first, packet.stamps);
        }
        Ok(Arrived { seen, overflowed: self.socket.overflowed().wrapping_sub(overflowed) })
    }
}

/// Enters a packet, if it is of this fleet.
fn note(seen: &mut [Option<Seen>], order: &mut u32, sequence: Option<u32>, first: u32, stamps: Stamps) {
    let Some(place) = sequence.map(|sequence| sequence.wrapping_sub(first) as usize) else { return };
    match seen.get_mut(place) {
        Some(Some(again)) => again.copies = again.copies.saturating_add(1),
        Some(slot) => {
            *slot = Some(Seen { stamps, order: *order, copies: 1 });
            *order += 1;
        }
        None => {}
    }
}

type Job = Box<dyn FnOnce(&mut Endpoint) + Send>;

/// The thread. It ends when this is dropped and its last job is done.
pub struct Prober {
    jobs: Sender<Job>,
    placed: Placed,
}

/// What a job will have answered.
pub struct Answer<T>(Receiver<T>);

impl<T> Answer<T> {
    /// Waits for it.
    ///
    /// # Errors
    /// When the thread is gone.
    pub fn wait(self) -> io::Result<T> {
        self.0.recv().map_err(|_| io::Error::other("the probing thread ended early"))
    }
}

impl Prober {
    /// Starts the thread, in the calling thread's network namespace.
    ///
    /// # Errors
    /// When it cannot be started, or not be placed as asked.
    pub fn start(mut endpoint: Endpoint, placement: Placement) -> io::Result<Self> {
        let (jobs, queue) = channel::<Job>();
        let (tell, told) = channel();
        std::thread::Builder::new().name("probes".to_owned()).spawn(move || {
            let placed = placement.apply();
            let failed = placed.is_err();
            if tell.send(placed).is_err() || failed {
                return;
            }
            for job in queue {
                job(&mut endpoint);
            }
        })?;
        let placed = told.recv().map_err(io::Error::other)?.map_err(io::Error::other)?;
        Ok(Self { jobs, placed })
    }

    /// How the thread runs.
    #[must_use]
    pub const fn placed(&self) -> Placed {
        self.placed
    }

    /// Gives the thread something to do.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce(&mut Endpoint) -> T + Send + 'static) -> Answer<T> {
        let (tell, told) = channel();
        // Where the thread is gone, so is `tell`, and waiting for the answer says it.
        let _ = self.jobs.send(Box::new(move |endpoint| {
            let _ = tell.send(job(endpoint));
        }));
        Answer(told)
    }
}
