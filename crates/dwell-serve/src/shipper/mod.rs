//! The probe's side: takes records without ever making their giver wait, and sees to it that the warehouse gets them.
//!
//! Three threads: one gathers records into batches and writes them to the spool, one ships from there, one has the
//! disk keep them through a power cut, once a second.

mod event;
mod gather;
mod send;
mod slots;

pub use event::{ShipError, ShipperError, ShipperEvent};

use crate::upload::{MAX_RECORDS, WarehouseAddress};
use dwell_core::tcp::Handshake;
use dwell_net::{Identity, Origin, Peers};
use dwell_store::spool::{Ledger, Reason, Spool};
use dwell_store::warehouse::Minute;
use slots::ledger;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Records between the one who gives them and the thread that gathers them.
const QUEUE: usize = 32_768;

/// How often the disk is asked to keep what was written.
const SYNC: Duration = Duration::from_secs(1);

/// What is to be shipped, where to, and how.
#[derive(Clone)]
pub struct ShipperConfig {
    /// The warehouse.
    pub to: WarehouseAddress,
    /// Who this host is.
    pub identity: Identity,
    /// Which keys the warehouse may have.
    pub expected: Peers,
    /// Where those are kept: read anew at each attempt, so that a warehouse with a new key is known as soon as that is in the
    /// file. While the file cannot be read, `expected` are known.
    pub expected_file: Option<PathBuf>,
    /// Name of the probe.
    pub probe: String,
    /// Folder of the spool, of this probe alone.
    pub spool: PathBuf,
    /// How large that may be, in bytes.
    pub spool_limit: u64,
    /// Where connections to the warehouse leave this host.
    pub origin: Option<Origin>,
    /// How long a record may wait for others before it is written.
    pub batch_age: Duration,
    /// Records of a batch, [`MAX_RECORDS`] at most.
    pub batch_records: usize,
    /// How long the warehouse may say nothing.
    pub patience: Duration,
    /// The longest pause between two attempts.
    pub longest_pause: Duration,
    /// Is told what happens.
    pub on_event: Arc<dyn Fn(ShipperEvent) + Send + Sync>,
}

impl ShipperConfig {
    /// The usual: a spool of 1 GiB, batches of a second, silent.
    #[must_use]
    pub fn new(to: WarehouseAddress, identity: Identity, expected: Peers, probe: &str, spool: &Path) -> Self {
        Self {
            to,
            identity,
            expected,
            expected_file: None,
            probe: probe.to_owned(),
            spool: spool.to_owned(),
            spool_limit: 1 << 30,
            origin: None,
            batch_age: Duration::from_secs(1),
            batch_records: MAX_RECORDS,
            patience: Duration::from_secs(30),
            longest_pause: Duration::from_secs(30),
            on_event: Arc::new(|_| {}),
        }
    }
}

/// What became of the records of a probe, over all lives of its spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Taken.
    pub taken: u64,
    /// Written to the spool, and not found damaged there.
    pub written: u64,
    /// Of those, acknowledged by the warehouse.
    pub shipped: u64,
    /// Given up, by reason.
    pub given_up: BTreeMap<&'static str, u64>,
    /// Those that the warehouse counted and did not keep, because they cannot be true; of this life.
    pub absurd: u64,
}

/// What the threads share.
struct Shared {
    config: ShipperConfig,
    ledger: Arc<Ledger>,
    spool: Mutex<Spool>,
    /// What the kernel dropped, on its way to the spool: held for no longer than it takes to add a number.
    dropped: Mutex<BTreeMap<Minute, u64>>,
    /// Something was written, or the end is near.
    news: Condvar,
    stage: Mutex<Stage>,
    absurd: Mutex<u64>,
}

/// How far the end is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Records come.
    Open,
    /// None comes any more: what is in the queue is still written.
    Closing,
    /// All is written: what is in the spool may still be shipped until then.
    Ending(Instant),
}

impl Shared {
    fn tell(&self, event: ShipperEvent) {
        (self.config.on_event)(event);
    }

    fn spool(&self) -> MutexGuard<'_, Spool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(&self) -> Stage {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        self.news.notify_all();
    }

    /// Waits for news, but no longer than so, nor beyond the end.
    fn wait(&self, at_most: Duration) {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let at_most = match *stage {
            Stage::Ending(until) => at_most.min(until.saturating_duration_since(Instant::now())),
            _ => at_most,
        };
        drop(self.news.wait_timeout(stage, at_most));
    }
}

/// Ships records to a warehouse.
pub struct Shipper {
    shared: Arc<Shared>,
    queue: SyncSender<Handshake>,
    gatherer: Option<JoinHandle<()>>,
    sender: Option<JoinHandle<()>>,
    syncer: Option<JoinHandle<()>>,
}

impl Shipper {
    /// Opens the spool, and begins to ship what an earlier process left there. The warehouse need not be there yet.
    ///
    /// # Errors
    /// When the spool cannot be used.
    pub fn start(mut config: ShipperConfig) -> Result<Self, ShipperError> {
        config.batch_records = config.batch_records.clamp(1, MAX_RECORDS);
        let folder = &config.spool;
        let failed = |source| ShipperError::Spool { folder: folder.clone(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let ledger = Arc::new(ledger(folder)?);
        let epoch = random().map_err(failed)?;
        let spool = Spool::open(folder, &config.probe, epoch, config.spool_limit, Arc::clone(&ledger))?;
        let (queue, records) = sync_channel(QUEUE);
        let shared = Arc::new(Shared {
            config,
            ledger,
            spool: Mutex::new(spool),
            dropped: Mutex::default(),
            news: Condvar::new(),
            stage: Mutex::new(Stage::Open),
            absurd: Mutex::new(0),
        });
        let start = |name: &str, work: Box<dyn FnOnce(&Shared) + Send>| {
            let shared = Arc::clone(&shared);
            let started = thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared));
            started.map(Some).map_err(ShipperError::Thread)
        };
        let gatherer = start("ship-gather", Box::new(move |shared| gather::run(shared, &records)))?;
        let sender = start("ship-send", Box::new(send::run))?;
        let syncer = start("ship-sync", Box::new(sync))?;
        Ok(Self { shared, queue, gatherer, sender, syncer })
    }

    /// Takes a record. Never waits and makes no system call: where records come faster than they can be written, this one is given up, and counted.
    pub fn offer(&self, record: Handshake) {
        self.shared.ledger.take();
        if self.queue.try_send(record).is_err() {
            self.shared.ledger.give_up(Reason::QueueFull, 1);
        }
    }

    /// Takes a record of one who can wait: of captures, say, that come faster than they can be written.
    pub fn hand_over(&self, record: Handshake) {
        self.shared.ledger.take();
        if self.queue.send(record).is_err() {
            self.shared.ledger.give_up(Reason::QueueFull, 1);
        }
    }

    /// The kernel dropped packets in a minute, which no record tells of. Never waits for a disk.
    pub fn dropped(&self, minute: Minute, packets: u64) {
        let mut dropped = self.shared.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        *dropped.entry(minute).or_default() += packets;
    }

    /// What became of all records until now.
    #[must_use]
    pub fn report(&self) -> Report {
        let ledger = &self.shared.ledger;
        let given_up = ledger.given_up();
        // With what was written after them, the damaged ones count as acknowledged there.
        let damaged = given_up.get(Reason::Damaged.name()).copied().unwrap_or_default();
        Report {
            taken: ledger.taken(),
            written: ledger.written().saturating_sub(damaged),
            shipped: ledger.released().saturating_sub(damaged),
            given_up,
            absurd: *self.shared.absurd.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Writes what was taken, ships for no longer than `patience`, and ends. What is not shipped by then stays in the
    /// spool for the next start.
    #[must_use]
    pub fn finish(mut self, patience: Duration) -> Report {
        self.end(patience);
        self.report()
    }

    fn end(&mut self, patience: Duration) {
        self.shared.enter(Stage::Closing);
        let gathered = self.gatherer.take().map(JoinHandle::join);
        self.shared.enter(Stage::Ending(Instant::now() + patience));
        let ended = [self.sender.take(), self.syncer.take()].map(|thread| thread.map(JoinHandle::join));
        if [gathered].iter().chain(&ended).any(|joined| matches!(joined, Some(Err(_)))) {
            self.shared.tell(ShipperEvent::Defect);
        }
    }
}

impl Drop for Shipper {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Has the disk keep what was written, through a power cut too.
fn sync(shared: &Shared) {
    let mut next = Instant::now() + SYNC;
    loop {
        let ending = matches!(shared.stage(), Stage::Ending(_));
        if ending || Instant::now() >= next {
            next = Instant::now() + SYNC;
            let files = shared.spool().unsynced();
            for file in files {
                if let Err(error) = file.sync_data() {
                    shared.tell(ShipperEvent::Unsynced { why: error.to_string() });
                }
            }
        }
        if ending {
            return;
        }
        shared.wait(next.saturating_duration_since(Instant::now()));
    }
}

/// A number that no other life of the spool has.
fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    // Databases like to count with a sign.
    Ok(u64::from_ne_bytes(bytes) >> 1)
}
