//! A case, set up: its hosts, its programs, and a way into the destination.

use super::programs::{compute, send};
use super::{Beside, Case, Make};
use crate::error::LabError;
use crate::namespace::{Worker, own_sysfs};
use crate::placement::{Cores, Role, keep_awake, settle};
use crate::testbed::Testbed;
use crate::wiring::{HOST_PORT, Place};
use dwell_net::place;
use dwell_sim::Scenario;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

/// Where the reader reads: the discard service.
const PORT: u16 = 9;

/// Of another program on the reader's core.
const ABOVE_THE_READER: i32 = 2;

/// A case, set up. It ends, and leaves nothing, when this value is dropped or the process dies.
pub struct Situation {
    stop: Arc<AtomicBool>,
    begin: Option<Sender<()>>,
    programs: Vec<Worker<()>>,
    testbed: Testbed,
}

impl Situation {
    /// The destination's interface.
    pub const INTERFACE: &str = HOST_PORT;

    /// Sets `case` up. No packet is sent before [`Situation::begin`].
    ///
    /// # Errors
    /// What the system refused, or what is missing.
    pub fn up(case: Case) -> Result<Self, LabError> {
        let Make { every, reader, beside, scenario } = case.make();
        let scenario = Scenario::parse(case.name(), scenario).map_err(|error| LabError::Scenario {
            scenario: case.name().to_owned(),
            reason: error.to_string(),
        })?;
        let cores = Cores::allowed();
        let testbed = Testbed::up(&scenario, 1, cores)?;
        let stop = Arc::new(AtomicBool::new(false));
        let wiring = &testbed.wiring;
        let to = SocketAddr::new(Place::DESTINATION.ipv4(), PORT);
        let (begin, begun) = channel();
        let mut programs = Vec::new();

        let socket = wiring.destination.within(|| reader.open(to))?;
        let told = Arc::clone(&stop);
        programs.push(wiring.destination.spawn("reader", move || {
            // Without real-time priority (it takes root) bystanders disturb the case.
            let _ = match beside {
                Beside::Arrivals => settle(Role::Forwarder, cores),
                _ => settle(Role::Receiver, cores),
            };
            reader.read(&socket, &told);
            Ok(())
        })?);
        let told = Arc::clone(&stop);
        match beside {
            Beside::Arrivals | Beside::Nothing => {}
            Beside::Awake => programs.push(wiring.destination.spawn("awake", move || {
                keep_awake(cores.receiver, &told);
                Ok(())
            })?),
            Beside::Other => programs.push(wiring.destination.spawn("compute", move || {
                let _ = place::pin_current_thread(cores.receiver);
                let _ = place::real_time_priority(ABOVE_THE_READER);
                compute(&told);
                Ok(())
            })?),
        }
        let told = Arc::clone(&stop);
        programs.push(wiring.source.spawn("sender", move || {
            settle(Role::Sender, cores);
            let from = SocketAddr::new(Place::SOURCE.ipv4(), 0);
            let socket = UdpSocket::bind(from).map_err(LabError::system("open the sender's socket"))?;
            match begun.recv() {
                Ok(()) => send(&socket, to, every, &told),
                Err(_) => Ok(()),
            }
        })?);
        Ok(Self { stop, begin: Some(begin), programs, testbed })
    }

    /// Lets packets be sent, from now on until this value is dropped.
    pub fn begin(&mut self) {
        let _ = self.begin.take().map(|begin| begin.send(()));
    }

    /// Runs `work` on a thread of the destination, as a program there, and waits for it.
    ///
    /// # Errors
    /// When the system lets no thread be there.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        self.testbed.wiring.destination.within(|| {
            own_sysfs().map_err(LabError::system("show the destination's settings in /sys"))?;
            Ok(work())
        })
    }
}

impl Drop for Situation {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.begin = None;
        for program in std::mem::take(&mut self.programs) {
            // Nobody is left to tell.
            let _ = program.join();
        }
    }
}
