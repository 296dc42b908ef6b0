//! Probes on the path, each what `dwell watch` is on an interface: a ring behind the kernel's filter, and a tracker.

use super::active::PORT;
use crate::error::LabError;
use crate::namespace::{Namespace, Worker};
use crate::wiring::UP_PORT;
use dwell_core::tcp::section::{Connection, Ends, Order, Section, Sight, split};
use dwell_core::tcp::{Handshake, Limits, Observed};
use dwell_net::capture::{Event, Ring, RingConfig, Rings, Stamping, Wanted};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a ring is waited for.
const PATIENCE: Duration = Duration::from_millis(20);

const CONFIG: RingConfig =
    RingConfig { wanted: Wanted::Handshakes, stamping: Stamping::Kernel, promiscuous: false, rings: 1 };

/// They watch until they are to tell.
pub(super) struct Probes {
    stop: Arc<AtomicBool>,
    watching: Vec<Worker<Vec<Handshake>>>,
}

impl Probes {
    /// One in each of `places`, which are in order from client to server.
    pub(super) fn start<'a>(places: impl Iterator<Item = &'a Namespace>) -> Result<Self, LabError> {
        let mut probes = Self { stop: Arc::default(), watching: Vec::new() };
        for place in places {
            let rings = place.within(|| Ok(Rings::open(&[UP_PORT], &CONFIG)?))?;
            let stop = Arc::clone(&probes.stop);
            probes.watching.push(place.spawn("probe", move || {
                let mut handshakes = Vec::new();
                for ring in rings.rings {
                    watch(ring, &stop, &mut handshakes)?;
                }
                Ok(handshakes)
            })?);
        }
        Ok(probes)
    }

    /// What they saw of the one connection to the server, joined section by section.
    pub(super) fn finish(mut self) -> Result<Vec<Section>, LabError> {
        self.stop.store(true, Ordering::Relaxed);
        let mut connection: Option<Connection> = None;
        let count = self.watching.len();
        for (probe, watching) in std::mem::take(&mut self.watching).into_iter().enumerate() {
            let mut seen = watching.join()?;
            seen.retain(|handshake| handshake.server.port == PORT);
            let [handshake] = seen.as_slice() else {
                return Err(LabError::Unseen { probe, handshakes: seen.len() });
            };
            let ends = Ends::of(handshake).ok_or(LabError::Unseen { probe, handshakes: 0 })?;
            let joined = connection.get_or_insert_with(|| Connection {
                ends,
                first_at: handshake.first_at,
                sights: Vec::new(),
            });
            if joined.ends != ends {
                return Err(LabError::Unseen { probe, handshakes: 0 });
            }
            joined.sights.push(Sight::of(probe, handshake));
        }
        Ok(connection.map_or_else(Vec::new, |one| split(&one, &Order::pinned((0..count).collect()))))
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for watching in self.watching.drain(..) {
            // Nobody is left to tell.
            let _ = watching.join();
        }
    }
}

fn watch(mut ring: Ring, stop: &AtomicBool, handshakes: &mut Vec<Handshake>) -> Result<(), LabError> {
    let mut observed = Observed::new(Limits::default());
    let mut last = false;
    while !last {
        last = stop.load(Ordering::Relaxed);
        ring.take(PATIENCE, &mut |event| match event {
            Event::Packet(captured) => observed.see(captured, &mut |handshake| handshakes.push(handshake)),
            Event::ClockStepped => observed.clock_stepped(),
        })?;
    }
    observed.finish(&mut |handshake| handshakes.push(handshake));
    Ok(())
}
