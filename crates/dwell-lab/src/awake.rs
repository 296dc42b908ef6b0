//! The sender's core, kept awake while a lab runs.

use crate::error::LabError;
use crate::namespace::{Namespace, Worker};
use crate::placement::{Cores, keep_awake};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps it awake until dropped; what that takes nobody else wanted.
#[derive(Debug)]
pub(crate) struct Awake {
    stop: Arc<AtomicBool>,
    worker: Option<Worker<()>>,
}

impl Awake {
    /// From now on, by a thread in `node`; not where sender and receiver share their core.
    pub(crate) fn keep(node: &Namespace, cores: Cores) -> Result<Self, LabError> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let spin = move || {
            keep_awake(cores.sender, &told);
            Ok(())
        };
        let worker = cores.apart().then(|| node.spawn("keep-awake", spin)).transpose()?;
        Ok(Self { stop, worker })
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Nobody is left to tell.
        let _ = self.worker.take().map(Worker::join);
    }
}
