//! When watching is over.

use crate::interrupted::interrupted;
use anyhow::{Context, Result};
use dwell_net::interface::Interface;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a run lasts when nobody says so, and nobody watches.
const UNWATCHED: f64 = 10.0;

/// What ends a run.
pub(crate) struct Ends {
    seconds: Option<f64>,
    packets: Option<u64>,
    process: Option<Process>,
    interface: Option<Named>,
}

/// An interface, and whether it was up when it was named: what goes away while a run is made ready is gone as well. One that was
/// down may be put up.
struct Named {
    name: String,
    interface: Interface,
    up: bool,
}

impl Named {
    fn find(name: &str) -> io::Result<Self> {
        let interface = Interface::named(name)?;
        Ok(Self { name: name.to_owned(), up: interface.is_up(), interface })
    }
}

/// A process, held so that its number cannot become another's.
struct Process {
    pid: u32,
    status: File,
}

impl Process {
    fn find(pid: u32) -> Result<Self> {
        let status =
            File::open(format!("/proc/{pid}/stat")).with_context(|| format!("no process {pid} here"))?;
        Ok(Self { pid, status })
    }

    /// Whether it runs still: a file of one that is gone cannot be read, and of a zombie says so.
    fn runs(&self) -> bool {
        let mut text = [0; 256];
        let length = self.status.read_at(&mut text, 0).unwrap_or(0);
        let after_name =
            text[..length].rsplit(|byte| *byte == b')').next().filter(|rest| rest.len() < length);
        after_name.and_then(|rest| rest.get(1)).is_some_and(|state| !b"ZX".contains(state))
    }
}

impl Ends {
    pub(crate) fn new(
        seconds: Option<f64>,
        packets: Option<u64>,
        pid: Option<u32>,
        interface: Option<&str>,
    ) -> Result<Self> {
        let process = pid.map(Process::find).transpose()?;
        let interface = interface.map(Named::find).transpose()?;
        Ok(Self { seconds, packets, process, interface })
    }

    /// Begins the run; one that somebody watches has no end of its own.
    pub(crate) fn begin(&self, watched: bool) -> Result<Run<'_>> {
        let interrupted = interrupted()?;
        let seconds = self.seconds.or((!watched && self.packets.is_none()).then_some(UNWATCHED));
        Ok(Run {
            ends: self,
            span: seconds.map(Duration::from_secs_f64),
            began: Instant::now(),
            up: self.interface.as_ref().is_some_and(|named| named.up),
            interrupted,
        })
    }

    /// Packets after which it is over.
    pub(crate) const fn packets(&self) -> Option<u64> {
        self.packets
    }
}

/// A run under way.
pub(crate) struct Run<'a> {
    ends: &'a Ends,
    span: Option<Duration>,
    began: Instant,
    up: bool,
    interrupted: Arc<AtomicBool>,
}

/// Whether a run is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Not yet: it may go on for so long without another look.
    No(Duration),
    /// As it was asked to be, or as somebody wants.
    Done,
    /// Before it was to be, for this reason.
    Early(String),
}

/// How often it is looked whether what is watched is there still.
const LOOK: Duration = Duration::from_millis(100);

impl Run<'_> {
    /// How long it has been going on.
    pub(crate) fn span(&self) -> Duration {
        self.began.elapsed()
    }

    /// Ends it.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    /// Whether it is over, having seen so many packets.
    pub(crate) fn over(&mut self, packets: u64) -> Over {
        let left = self.span.map_or(LOOK, |span| span.saturating_sub(self.began.elapsed()));
        let enough = self.ends.packets.is_some_and(|most| packets >= most);
        if enough || left.is_zero() || self.interrupted.load(Ordering::Relaxed) {
            return Over::Done;
        }
        if let Some(process) = self.ends.process.as_ref().filter(|process| !process.runs()) {
            return Over::Early(format!("process {} ended", process.pid));
        }
        if let Some(Named { name, interface, .. }) = &self.ends.interface {
            let up = interface.is_up();
            if self.up && !up {
                return Over::Early(format!("interface {name} went down, or is gone"));
            }
            self.up = up;
        }
        Over::No(left.min(LOOK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_that_ends_is_seen_to_be_gone() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::find(child.id()).unwrap();
        assert!(process.runs());
        let ends = Ends::new(Some(60.0), None, Some(child.id()), None).unwrap();
        let mut run = ends.begin(false).unwrap();
        assert!(matches!(run.over(0), Over::No(_)));
        child.kill().unwrap();
        while process.runs() {
            std::thread::yield_now();
        }
        // A zombie, and then nothing at all.
        assert!(matches!(run.over(0), Over::Early(why) if why.contains("ended")));
        child.wait().unwrap();
        assert!(!process.runs());
    }

    #[test]
    fn packets_and_seconds_end_a_run() {
        let ends = Ends::new(None, Some(5), None, Some("lo")).unwrap();
        let mut run = ends.begin(true).unwrap();
        assert!(matches!(run.over(4), Over::No(_)));
        assert_eq!(run.over(5), Over::Done);
        let ends = Ends::new(Some(0.001), None, None, None).unwrap();
        let mut run = ends.begin(true).unwrap();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(run.over(0), Over::Done);
    }
}
