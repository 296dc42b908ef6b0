//! Handshakes of this machine's own TCP, of which each segment is lost once, twice, three times in a row, on either
//! side of a probe: what a probe saw, and what the hosts really answered.
//!
//! Client, section, probe, section and server stand in a namespace each. The sections are ours: they delay, lose and
//! number frames. TCP is the kernel's at both ends, and so are all stamps. What a host answered is told by a tap at its
//! own interface: what left it at once after what it had come.

mod bed;
mod carrier;
mod echoed;
mod hosts;
mod matrix;
mod tap;
mod witness;

pub use echoed::{Echoed, Naming};
pub use tap::Tapped;

use crate::error::LabError;
use bed::{Bed, Load};
use dwell_core::Nanos;
use dwell_sim::passing::Truth;
use std::sync::Arc;
use std::thread;

/// How handshakes are made whose segments are lost.
#[derive(Copy, Clone, Debug)]
pub struct ForcedLosses {
    /// How often each case, over either version of IP.
    pub rounds: u8,
    /// So much longer a frame takes at most in either section, each another time, and overtakes others.
    pub scatter: Nanos,
    /// Of what is scattered.
    pub seed: u64,
}

/// What became of the handshakes between two hosts that are set in one way.
#[derive(Clone, Debug)]
pub struct ForcedHeard {
    /// How they are set.
    pub hosts: &'static str,
    /// What passed the probe, in the order in which it did.
    pub passed: Vec<Tapped>,
    /// What is true of each connection there.
    pub truths: Vec<Truth>,
    /// What the kernels echo.
    pub echoed: Echoed,
    /// Connections that are left out, because the taps do not tell what was answered.
    pub doubtful: usize,
}

/// The first port of the first client.
const FIRST_PORT: u16 = 10_000;

impl ForcedLosses {
    /// Makes every case, with and without time stamps, with and without SYN cookies, all at once.
    ///
    /// # Errors
    /// One line that says what the system refused, or what is missing.
    pub fn run(self) -> Result<Vec<ForcedHeard>, LabError> {
        let cases: Arc<[_]> = matrix::cases().into();
        let mut first_port = FIRST_PORT;
        let loads = Bed::ALL.map(|bed| {
            let load = Load {
                cases: Arc::clone(&cases),
                rounds: self.rounds.into(),
                first_port,
                scatter: self.scatter,
                seed: self.seed,
            };
            // Where it saturates there are not ports enough, which the load says.
            first_port = first_port.saturating_add(u16::try_from(load.connections()).unwrap_or(u16::MAX));
            (bed, load)
        });
        thread::scope(|scope| {
            let running = loads.map(|(bed, load)| {
                scope.spawn(move || {
                    let witness::Judged { passed, truths, echoed, doubtful } =
                        witness::judge(&load, bed::run(bed, &load)?, bed.name())?;
                    Ok(ForcedHeard { hosts: bed.name(), passed, truths, echoed, doubtful })
                })
            });
            let join = |bed: thread::ScopedJoinHandle<'_, Result<ForcedHeard, LabError>>| {
                bed.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            running.into_iter().map(join).collect()
        })
    }
}
