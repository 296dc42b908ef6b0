//! Handshakes of this machine's own TCP, of which each segment is lost once, twice, three times in a row, on either
//! side of a probe: what a probe saw, and what the hosts really answered.
//!
//! Client, section, probe, section and server stand in a namespace each. The sections are ours: they delay, lose and
//! number frames. TCP is the kernel's at both ends, and so are all stamps. What a host answered is told by a tap at its
//! own interface: what left it at once after what it had come.

mod at_host;
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
use dwell_core::capture::{Captured, LinkType};
use dwell_core::tcp::{Limits, Observed};
use dwell_sim::passing::{Judge, Truth};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
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

/// What became of them.
#[derive(Clone, Debug)]
pub struct ForcedHeard {
    /// What passed the probe, in the order of the stamps.
    pub passed: Vec<Tapped>,
    /// What is true of each connection there.
    pub truths: Vec<Truth>,
    /// What the kernels echo, by how the hosts are set.
    pub echoed: Vec<(&'static str, Echoed)>,
    /// Connections that are left out, because the taps do not tell what was answered.
    pub doubtful: usize,
}

/// The first port of the first client.
const FIRST_PORT: u16 = 10_000;

impl ForcedLosses {
    /// The most rounds that there are ports for.
    pub const MOST_ROUNDS: u8 = 20;

    /// Makes every case, with and without time stamps, with and without SYN cookies, all at once.
    ///
    /// # Errors
    /// One line that says what the system refused, or what is missing.
    pub fn run(self) -> Result<ForcedHeard, LabError> {
        // Each connection has two sockets open, and most systems give a process 1,024 until it asks for more.
        let (_, most) =
            getrlimit(Resource::RLIMIT_NOFILE).map_err(LabError::system("see how many files may be open"))?;
        setrlimit(Resource::RLIMIT_NOFILE, most, most)
            .map_err(LabError::system("have as many files open as may be"))?;
        let cases: Arc<[_]> = matrix::cases().into();
        let mut next_port = FIRST_PORT;
        let loads = Bed::ALL.map(|bed| {
            let load = Load {
                cases: Arc::clone(&cases),
                rounds: self.rounds.min(Self::MOST_ROUNDS).into(),
                first_port: next_port,
                scatter: self.scatter,
                seed: self.seed,
            };
            next_port += load.connections();
            (bed, load)
        });
        let judged = thread::scope(|scope| {
            let running = loads.map(|(bed, load)| {
                scope.spawn(move || {
                    let seen = bed::run(bed, &load)?;
                    Ok::<_, LabError>((bed.name(), witness::judge(&load, seen, bed.name())?))
                })
            });
            running.map(|bed| bed.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let mut heard =
            ForcedHeard { passed: Vec::new(), truths: Vec::new(), echoed: Vec::new(), doubtful: 0 };
        for one in judged {
            let (hosts, judged) = one?;
            heard.passed.extend(judged.passed);
            heard.truths.extend(judged.truths);
            heard.echoed.push((hosts, judged.echoed));
            heard.doubtful += judged.doubtful;
        }
        heard.passed.sort_by_key(|tapped| tapped.at);
        Ok(heard)
    }
}

impl ForcedHeard {
    /// What the tracker says of what passed, held against the truth.
    #[must_use]
    pub fn judged(&self) -> Judge {
        let mut judge = Judge::default();
        self.truths.iter().for_each(|truth| judge.expect(truth.clone()));
        let mut observed = Observed::new(Limits::default());
        let mut hear = |said| judge.hear(&said);
        for tapped in &self.passed {
            let (at, bytes) = (tapped.at.0.into(), tapped.bytes.as_slice());
            let length = bytes.len() as u32;
            observed.see(&Captured { at, link: LinkType::ETHERNET, bytes, length }, &mut hear);
        }
        observed.finish(&mut hear);
        judge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_ports_for_the_most_rounds() {
        let connections = matrix::cases().len() * 2 * usize::from(ForcedLosses::MOST_ROUNDS) * Bed::ALL.len();
        assert!(usize::from(FIRST_PORT) + connections <= usize::from(u16::MAX), "{connections}");
    }
}
