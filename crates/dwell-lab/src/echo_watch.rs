//! An observer in the destination of an echo lab.

use crate::error::LabError;
use crate::namespace::{Namespace, Worker};
use dwell_core::echo::Asked;
use dwell_core::inside::{Event, Journey, Point, Way};
use dwell_net::clock;
use dwell_net::inside::{Observer, Watching};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// What was seen, or why nothing could be.
type Seen = Result<Vec<Journey>, String>;

/// A thread that watches.
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    worker: Worker<Seen>,
}

const GLANCE: Duration = Duration::from_millis(20);

impl Watch {
    /// Watches from when this returns.
    pub(crate) fn start(inside: &Namespace, asked: Asked) -> Result<Self, LabError> {
        let (ports, ways) = match asked {
            Asked::Icmp => (Vec::new(), vec![Way::Answer]),
            Asked::Udp { port } | Asked::Tcp { port } => (vec![port], vec![Way::Receive, Way::Send]),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (told, (tell, ready)) = (Arc::clone(&stop), mpsc::channel());
        let worker = inside.spawn("observer", move || {
            let attached = Observer::attach(&Watching { ports, ways, ..Watching::default() });
            let _ = tell.send(());
            let mut observer = match attached {
                Ok(observer) => observer,
                Err(error) => return Ok(Err(error.to_string())),
            };
            let mut seen = Vec::new();
            let mut keep = |event| {
                if let Event::Journey(journey) = event {
                    seen.push(*journey);
                }
            };
            while !told.load(Ordering::Relaxed) {
                if let Err(error) = observer.wait(GLANCE, &mut keep) {
                    return Ok(Err(error.to_string()));
                }
            }
            // What was under way when the flag was set.
            let rest = observer.wait(GLANCE, &mut keep).map_err(|error| error.to_string());
            seen.iter_mut().for_each(shift);
            Ok(rest.map(|()| seen))
        })?;
        // One that died tells so when it is joined.
        let _ = ready.recv();
        Ok(Self { stop, worker })
    }

    pub(crate) fn finish(self) -> Result<Seen, LabError> {
        self.stop.store(true, Ordering::Relaxed);
        self.worker.join()
    }
}

/// From CLOCK_MONOTONIC to CLOCK_REALTIME, which the taps stamp by.
fn shift(journey: &mut Journey) {
    let ahead = clock::realtime_minus_monotonic();
    for point in Point::ALL {
        if let Some(time) = journey.times.at(point) {
            journey.times.set(point, time + ahead);
        }
    }
}
