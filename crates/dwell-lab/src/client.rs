//! A path that lives in the source's namespace, for it may open new sockets at any time, and who asks it from outside.

use crate::error::LabError;
use crate::inner::Inner;
use crate::namespace::Worker;
use dwell_core::{Circumstances, Fleet, Passage, Path, PathFacts};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Carries fleets by a path with errors of this kind.
pub(crate) struct Client<E> {
    jobs: Sender<Job<E>>,
    /// As the path told at its start.
    pub(crate) facts: PathFacts,
    /// The same of its ends.
    pub(crate) circumstances: Circumstances,
    pub(crate) inner: Arc<Inner>,
    /// Ends when `jobs` does.
    worker: Option<Worker<()>>,
}

struct Job<E> {
    fleet: Fleet,
    done: Sender<Result<Vec<Passage>, E>>,
}

impl<E: Send + 'static> Client<E> {
    /// Opens a path in the source's namespace.
    pub(crate) fn start<P: Path<Error = E> + 'static>(
        inner: Arc<Inner>,
        open: impl FnOnce() -> Result<P, LabError> + Send + 'static,
        told_of: fn(&P) -> Circumstances,
    ) -> Result<Self, LabError> {
        let (jobs, queue) = channel();
        let (tell, told) = channel();
        let worker = inner.testbed.wiring.source.spawn("client", move || {
            let path = open()?;
            let _ = tell.send((path.facts(), told_of(&path)));
            serve(path, &queue);
            Ok(())
        })?;
        let Ok((facts, circumstances)) = told.recv() else {
            return Err(worker.join().err().unwrap_or(LabError::Ended { role: "client" }));
        };
        Ok(Self { jobs, facts, circumstances, inner, worker: Some(worker) })
    }

    /// Has a fleet carried. A failure of the testbed itself comes first.
    pub(crate) fn carry(&self, fleet: &Fleet) -> Result<Result<Vec<Passage>, E>, LabError> {
        let (done, answer) = channel();
        let gone = || LabError::Ended { role: "client" };
        self.jobs.send(Job { fleet: fleet.clone(), done }).map_err(|_| gone())?;
        let passages = answer.recv().map_err(|_| gone())?;
        self.inner.testbed.failure().map_or(Ok(passages), Err)
    }
}

impl<E> Drop for Client<E> {
    fn drop(&mut self) {
        // The path ends when nobody can ask it for anything any more.
        self.jobs = channel().0;
        let _ = self.worker.take().map(Worker::join);
    }
}

fn serve<P: Path>(mut path: P, queue: &Receiver<Job<P::Error>>) {
    for Job { fleet, done } in queue {
        let _ = done.send(path.carry(&fleet));
    }
}
