//! An observer inside the destination of a lab, while something is measured over it.

use crate::error::LabError;
use crate::lab::Lab;
use crate::namespace::Worker;
use crate::testbed::Testbed;
use dwell_core::Nanos;
use dwell_core::inside::{Event, Journey, Losses, Protocol, Way};
use dwell_net::inside::{Observer, Watching};
use dwell_net::{clock, place};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// How often an observer is asked what it saw. Its thread shares the sender's core and gives way to sender and
/// forwarder, so that the host under test has its core to itself.
const PATIENCE: Duration = Duration::from_millis(20);

/// An observer at work.
pub struct HostWatch {
    stop: Arc<AtomicBool>,
    worker: Option<Worker<Watched>>,
}

/// What an observer saw.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The packets watched, in the order in which they were read or left. Of a lab's agent, their times are those of the
    /// truth of its passages; of echoes, CLOCK_REALTIME's.
    pub journeys: Vec<Journey>,
    /// What it missed.
    pub losses: Losses,
}

impl Lab {
    /// Has an observer watch how the destination receives the agent's packets.
    ///
    /// # Errors
    /// When nothing can be observed here; the error says why.
    pub fn watch(&self) -> Result<HostWatch, LabError> {
        let inner = &self.inner;
        let watching =
            Watching { ports: vec![inner.address.port()], ways: vec![Way::Receive], ..Watching::default() };
        HostWatch::start(&inner.testbed, watching, Protocol::Udp, inner.start)
    }
}

impl HostWatch {
    /// Has an observer watch the packets of `protocol` at the testbed's destination. `start`, by CLOCK_REALTIME, is
    /// where the journeys' times begin.
    ///
    /// # Errors
    /// When nothing can be observed here; the error says why.
    pub(crate) fn start(
        testbed: &Testbed,
        watching: Watching,
        protocol: Protocol,
        start: Nanos,
    ) -> Result<Self, LabError> {
        let zero = start - clock::realtime_minus_monotonic();
        let core = testbed.cores.sender;
        let stop = Arc::new(AtomicBool::new(false));
        let (told, (ready, is_ready)) = (Arc::clone(&stop), channel());
        let worker = testbed.wiring.destination.spawn("observer", move || {
            let _ = place::pin_current_thread(core);
            let mut observer = Observer::attach(&watching)?;
            let _ = ready.send(());
            let mut journeys = Vec::new();
            let mut keep = |event| match event {
                Event::Journey(journey) if journey.flow.protocol == protocol => journeys.push(*journey),
                _ => {}
            };
            while !told.load(Ordering::Relaxed) {
                observer.wait(PATIENCE, &mut keep)?;
            }
            observer.wait(Duration::ZERO, &mut keep)?;
            let losses = observer.losses();
            Ok(Watched {
                journeys: journeys.into_iter().map(|journey| journey.since(zero)).collect(),
                losses,
            })
        })?;
        match is_ready.recv() {
            Ok(()) => Ok(Self { stop, worker: Some(worker) }),
            Err(_) => Err(worker.join().err().unwrap_or(LabError::Ended { role: "observer" })),
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// When it failed meanwhile.
    pub fn finish(mut self) -> Result<Watched, LabError> {
        self.stop.store(true, Ordering::Relaxed);
        self.worker.take().map_or(Err(LabError::Ended { role: "observer" }), Worker::join)
    }
}

impl Drop for HostWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Nobody is left to tell.
        let _ = self.worker.take().map(Worker::join);
    }
}
