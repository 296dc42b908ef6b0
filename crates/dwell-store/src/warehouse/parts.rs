//! A join in parts, by the key: what is joined at once is small, whatever there is, and is joined while what was before
//! it is handed out.

use super::{Span, WarehouseError};
use dwell_core::tcp::section::{Clocks, Connection, Ends, Seen, TakeOf};
use std::mem;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// What the records under a key are.
pub(super) enum Found {
    /// Without doubt one connection.
    Connection(Connection),
    /// Several records of a probe, or some that begin far from each other.
    Records(Ends, Vec<Seen>),
}

/// So many of them go from thread to thread at once.
const CHUNK: usize = 4_096;

type Chunk = Result<Vec<Found>, WarehouseError>;

/// One worker's end: which part is to be joined, and where its connections go.
pub(super) struct Work<'a> {
    parts: u64,
    next: &'a AtomicU64,
    chunk: Vec<Found>,
    to: SyncSender<Chunk>,
}

impl Work<'_> {
    /// The next part that nobody joins yet; `None` when there is none, or nobody listens any more.
    pub(super) fn next_part(&mut self) -> Option<u64> {
        if self.send().is_break() {
            return None;
        }
        let part = self.next.fetch_add(1, Ordering::Relaxed);
        (part < self.parts).then_some(part)
    }

    /// Hands out what was found, unless nobody listens any more.
    pub(super) fn give(&mut self, found: Found) -> ControlFlow<()> {
        self.chunk.push(found);
        if self.chunk.len() < CHUNK { ControlFlow::Continue(()) } else { self.send() }
    }

    fn send(&mut self) -> ControlFlow<()> {
        let chunk = mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        if self.to.send(Ok(chunk)).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Has `workers` threads do `work`, each with parts of its own, and hands out the connections of so many probes that begin
/// in the span, until `take` breaks off. Counts in `left_out` the records of theirs that it leaves out.
pub(super) fn join(
    parts: u64,
    workers: usize,
    work: impl Fn(&mut Work<'_>) -> Result<(), WarehouseError> + Sync,
    (probes, span): (usize, Span),
    left_out: &mut u64,
    take: &mut dyn FnMut(Connection) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, WarehouseError> {
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(2 * workers);
        let workers: Vec<_> = (0..workers)
            .map(|_| {
                let (to, next, work) = (sender.clone(), &next, &work);
                scope.spawn(move || {
                    let mut own = Work { parts, next, chunk: Vec::new(), to };
                    if let Err(error) = work(&mut own) {
                        // Nobody listens any more: then nobody wants to know.
                        let _ = own.to.send(Err(error));
                    }
                })
            })
            .collect();
        drop(sender);
        let told = hand_out(receiver, Clocks::new(probes), &mut |connection, of_it| {
            if !span.holds(connection.first_at) {
                return ControlFlow::Continue(());
            }
            *left_out += of_it;
            take(connection)
        });
        // The scope waits for what they do, not until they have put their own things away and are gone.
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        told
    })
}

/// Until there is no more, or `take` breaks off: then nobody listens any more.
fn hand_out(
    from: Receiver<Chunk>,
    mut clocks: Clocks,
    take: &mut TakeOf<'_>,
) -> Result<ControlFlow<()>, WarehouseError> {
    for chunk in from {
        for found in chunk? {
            let goes_on = match found {
                Found::Connection(connection) => {
                    clocks.note(&connection);
                    take(connection, 0)
                }
                Found::Records(ends, seen) => clocks.part(ends, seen, take),
            };
            if goes_on.is_break() {
                return Ok(goes_on);
            }
        }
    }
    Ok(clocks.finish(take))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::time::Duration;

    /// What a thread puts away last of all, slowly.
    struct Own(&'static AtomicU64);

    impl Drop for Own {
        fn drop(&mut self) {
            thread::sleep(Duration::from_millis(50));
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    static GONE: AtomicU64 = AtomicU64::new(0);
    thread_local!(static OWN: RefCell<Option<Own>> = const { RefCell::new(None) });

    #[test]
    fn ends_when_its_threads_are_gone() {
        let work = |work: &mut Work<'_>| {
            OWN.set(Some(Own(&GONE)));
            while work.next_part().is_some() {}
            Ok(())
        };
        assert!(join(5, 3, work, (0, Span::ALL), &mut 0, &mut |_| ControlFlow::Continue(())).is_ok());
        assert_eq!(GONE.load(Ordering::SeqCst), 3);
    }
}
