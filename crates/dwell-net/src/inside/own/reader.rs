//! The thread that reads the probes: one that sleeps until a packet comes, as those of most programs do.

use super::core;
use super::probe::PAYLOAD;
use crate::socket::ProbeSocket;
use dwell_core::inside::Process;
use dwell_core::{Nanos, Stamps};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// How often it looks whether it is still wanted.
const LOOK: Nanos = Nanos::from_millis(50);

/// A probe that came.
pub(super) struct Arrival {
    pub(super) number: u32,
    pub(super) core: u32,
    pub(super) stamps: Stamps,
}

/// The thread, which ends when this is dropped.
pub(super) struct Reader {
    process: Process,
    arrivals: Receiver<io::Result<Arrival>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Reads from `socket`, which is connected to the sender.
    pub(super) fn start(mut socket: ProbeSocket) -> io::Result<Self> {
        socket.set_patience(Some(LOOK))?;
        let stop = Arc::new(AtomicBool::new(false));
        let ((tell, arrivals), (introduce, introduced)) = (channel(), channel());
        let told = Arc::clone(&stop);
        let read = move || {
            let _ = introduce.send(here());
            while !told.load(Ordering::Relaxed) && read(&mut socket, &tell) {}
        };
        let thread = Some(Builder::new().name("probe reader".into()).spawn(read)?);
        let process = introduced.recv().map_err(io::Error::other)??;
        Ok(Self { process, arrivals, stop, thread })
    }

    /// Which thread it is.
    pub(super) const fn process(&self) -> &Process {
        &self.process
    }

    /// The next probe that came; `None`: no more so far.
    pub(super) fn arrival(&self) -> Option<io::Result<Arrival>> {
        self.arrivals.try_recv().ok()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads one probe; returns whether to go on.
fn read(socket: &mut ProbeSocket, tell: &Sender<io::Result<Arrival>>) -> bool {
    let mut payload = [0; PAYLOAD];
    let received = match socket.receive(&mut payload, Nanos::ZERO) {
        Ok(Some(received)) => received,
        Ok(None) => return true,
        Err(error) => {
            let _ = tell.send(Err(error));
            return false;
        }
    };
    let core = core();
    let [a, b, c, d, ..] = payload;
    let number = u32::from_be_bytes([a, b, c, d]);
    tell.send(Ok(Arrival { number, core, stamps: received.stamps })).is_ok()
}

/// The calling thread.
pub(super) fn here() -> io::Result<Process> {
    let name = std::fs::read_to_string("/proc/thread-self/comm")?.trim_end().to_owned();
    let tid = nix::unistd::gettid().as_raw() as u32;
    Ok(Process { pid: std::process::id(), tid, outside: false, name })
}
