//! Shippers and warehouses that meet, and what is said where they may not.

use dwell_core::Nanos;
use dwell_core::tcp::section::Connection;
use dwell_core::tcp::{Ending, Endpoint, Flags, Half, Handshake};
use dwell_net::{Agent, AgentConfig, Identity, Peers};
use dwell_serve::{
    Shipper, ShipperConfig, ShipperError, ShipperEvent, Warehouse, WarehouseAddress, WarehouseConfig,
};
use dwell_store::warehouse::{Account, Batch, Day, Minute, Span, Store, WarehouseError};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What a store was given, each batch once.
#[derive(Default)]
struct Kept {
    batches: BTreeSet<(u64, u64)>,
    records: u64,
    given_up: BTreeMap<String, u64>,
    dropped: BTreeMap<Minute, u64>,
    /// So many batches are not kept before one is.
    refusals: usize,
}

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Kept>>);

impl Store for Memory {
    fn keep(&mut self, batch: &Batch) -> Result<(), WarehouseError> {
        let mut kept = self.0.lock().unwrap();
        if kept.refusals > 0 {
            kept.refusals -= 1;
            return Err(WarehouseError::DiskFull { place: "memory".to_owned() });
        }
        if kept.batches.insert((batch.epoch, batch.serial)) {
            kept.records += batch.records.len() as u64 - batch.absurd().values().sum::<u64>();
            for (reason, count) in &batch.given_up {
                *kept.given_up.entry(reason.clone()).or_default() += count;
            }
            for (minute, packets) in &batch.dropped {
                *kept.dropped.entry(*minute).or_default() += packets;
            }
        }
        Ok(())
    }

    fn connections(
        &mut self,
        _: &[String],
        _: Span,
        _: Nanos,
        _: &mut dyn FnMut(Connection) -> ControlFlow<()>,
    ) -> Result<u64, WarehouseError> {
        Ok(0)
    }

    fn lone(&mut self, _: &[String], _: Span) -> Result<u64, WarehouseError> {
        Ok(0)
    }

    fn senders(&mut self, _: Span) -> Result<BTreeMap<Day, BTreeSet<String>>, WarehouseError> {
        Ok(BTreeMap::new())
    }

    fn newest(&mut self, _: Span) -> Result<BTreeMap<String, Nanos>, WarehouseError> {
        Ok(BTreeMap::new())
    }

    fn accounts(&mut self, _: Span) -> Result<BTreeMap<String, Account>, WarehouseError> {
        Ok(BTreeMap::new())
    }

    fn records(&mut self) -> Result<BTreeMap<String, u64>, WarehouseError> {
        Ok(BTreeMap::new())
    }

    fn days(&mut self) -> Result<Vec<Day>, WarehouseError> {
        Ok(Vec::new())
    }

    fn drop_day(&mut self, _: Day) -> Result<(), WarehouseError> {
        Ok(())
    }
}

/// Something that runs until it is dropped.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn new(address: SocketAddr, run: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        Self { address, stop, thread: Some(thread::spawn(move || run(&stopping))) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A probe's host, a warehouse's, and what was said on each.
struct Bench {
    folder: tempfile::TempDir,
    probe: Identity,
    warehouse: Identity,
    store: Memory,
    said: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    fn new() -> Self {
        let bench = Self {
            folder: tempfile::tempdir().unwrap(),
            probe: Identity::generate().unwrap(),
            warehouse: Identity::generate().unwrap(),
            store: Memory::default(),
            said: Arc::default(),
        };
        bench.know("probe=here");
        bench
    }

    /// The warehouse's file of peers has the probe's key, and this behind it.
    fn know(&self, comment: &str) {
        let line = format!("{} {comment}\n", self.probe.public_key());
        fs::write(self.folder.path().join("peers"), line).unwrap();
    }

    fn open(&self) -> Running {
        let said = Arc::clone(&self.said);
        let config = WarehouseConfig {
            peers_file: Some(self.folder.path().join("peers")),
            on_event: Arc::new(move |event| said.lock().unwrap().push(event.to_string())),
            ..WarehouseConfig::new("127.0.0.1:0".parse().unwrap(), self.warehouse.clone(), Peers::default())
        };
        let warehouse = Warehouse::open(config, Box::new(self.store.clone())).unwrap();
        Running::new(warehouse.local_addr(), move |stop| warehouse.serve(stop).unwrap())
    }

    fn config(&self, to: SocketAddr) -> ShipperConfig {
        let said = Arc::clone(&self.said);
        let to = WarehouseAddress { host: to.ip().to_string(), port: to.port() };
        let expected = Peers::only(self.warehouse.public_key());
        let spool = self.folder.path().join("spool");
        ShipperConfig {
            batch_age: Duration::from_millis(20),
            longest_pause: Duration::from_millis(200),
            on_event: Arc::new(move |event: ShipperEvent| said.lock().unwrap().push(event.to_string())),
            ..ShipperConfig::new(to, self.probe.clone(), expected, "here", &spool)
        }
    }

    fn ship(&self, to: SocketAddr) -> Shipper {
        Shipper::start(self.config(to)).unwrap()
    }

    /// Waits until something was said.
    fn hear(&self, words: &str) {
        let until = Instant::now() + Duration::from_secs(20);
        let said = || self.said.lock().unwrap().iter().any(|line| line.contains(words));
        while !said() {
            assert!(Instant::now() < until, "nobody said {words:?}: {:?}", self.said.lock().unwrap());
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn kept(&self) -> (u64, BTreeMap<String, u64>) {
        let kept = self.store.0.lock().unwrap();
        (kept.records, kept.given_up.clone())
    }
}

const PATIENCE: Duration = Duration::from_secs(20);

fn record(number: u32) -> Handshake {
    let end = |port| Endpoint { address: [10, 0, 0, 1].into(), port };
    Handshake {
        client: end(40_000),
        server: end(443),
        isn_client: number,
        isn_server: Some(7),
        first_at: Nanos(1_795_000_000_000_000_000 + i64::from(number)),
        syn_at: None,
        server_half: Half::Exact(Nanos(1_000)),
        client_half: Half::Exact(Nanos(2_000)),
        total: Half::Exact(Nanos(3_000)),
        ending: Ending::Established,
        syns: 1,
        syn_acks: 1,
        flags: Flags::default(),
    }
}

fn offer(shipper: &Shipper, numbers: std::ops::Range<u32>) {
    numbers.for_each(|number| shipper.offer(record(number)));
}

#[test]
fn what_is_offered_arrives_and_what_cannot_be_true_is_counted_on_both_sides() {
    let bench = Bench::new();
    let warehouse = bench.open();
    let shipper = bench.ship(warehouse.address);
    offer(&shipper, 0..1000);
    let wrong = [
        Handshake { server_half: Half::Exact(Nanos(-1)), ..record(1000) },
        Handshake { total: Half::AtMost(Nanos::from_secs(3_601)), ..record(1001) },
        Handshake { first_at: Nanos(0), ..record(1002) },
        Handshake { first_at: Nanos::MAX, ..record(1003) },
    ];
    wrong.into_iter().for_each(|wrong| shipper.offer(wrong));
    let start = Instant::now();
    let report = shipper.finish(PATIENCE);
    assert!(start.elapsed() < PATIENCE / 2, "it ends when all is said");
    assert_eq!((report.taken, report.shipped, report.absurd), (1004, 1004, 4), "{report:?}");
    assert_eq!(bench.kept(), (1000, BTreeMap::new()));
    bench.hear("the warehouse did not keep");
    bench.hear("probe here: records that cannot be true, not kept:");
}

#[test]
fn a_capture_of_several_days_arrives() {
    let bench = Bench::new();
    let warehouse = bench.open();
    let shipper = bench.ship(warehouse.address);
    let later = |number: u32| {
        let first_at = record(number).first_at + Nanos::from_secs(86_400 * i64::from(number / 100));
        Handshake { first_at, ..record(number) }
    };
    (0..1000).for_each(|number| shipper.hand_over(later(number)));
    let report = shipper.finish(PATIENCE);
    assert_eq!((report.shipped, report.absurd, bench.kept().0), (1000, 0, 1000), "{report:?}");
}

#[test]
fn what_the_kernel_dropped_arrives_also_where_there_is_no_record() {
    let bench = Bench::new();
    let warehouse = bench.open();
    let shipper = bench.ship(warehouse.address);
    let [one, two] = [29_916_666, 29_916_667].map(Minute);
    shipper.dropped(one, 3);
    shipper.dropped(two, 4);
    shipper.dropped(one, 5);
    let report = shipper.finish(PATIENCE);
    assert_eq!((report.taken, report.written), (0, 0), "they are no records");
    assert_eq!(bench.store.0.lock().unwrap().dropped, BTreeMap::from([(one, 8), (two, 4)]));
}

#[test]
fn a_probe_whose_clock_is_set_to_no_year_of_ours_keeps_nothing() {
    let bench = Bench::new();
    let warehouse = bench.open();
    let shipper = bench.ship(warehouse.address);
    (0..10)
        .for_each(|number| shipper.offer(Handshake { first_at: Nanos(i64::from(number)), ..record(number) }));
    assert_eq!(shipper.finish(PATIENCE).absurd, 10);
    assert_eq!(bench.kept().0, 0);
}

#[test]
fn what_a_store_cannot_keep_now_comes_again() {
    let bench = Bench::new();
    bench.store.0.lock().unwrap().refusals = 3;
    let warehouse = bench.open();
    let shipper = bench.ship(warehouse.address);
    offer(&shipper, 0..5000);
    let report = shipper.finish(PATIENCE);
    assert_eq!((report.shipped, bench.kept().0), (5000, 5000), "{report:?}");
    bench.hear("could not keep a batch: memory: the disk is full");
    bench.hear("a batch is not kept, it will come again: memory: the disk is full");
    // Nor does the probe say before that that it is.
    let said = bench.said.lock().unwrap();
    let of = |part: &str| said.iter().position(|said| said.contains(part)).unwrap();
    assert!(of("could not keep a batch") < of("takes batches"), "{said:?}");
}

#[test]
fn records_wait_in_the_spool_for_a_warehouse_and_for_its_word() {
    let bench = Bench::new();
    bench.know("an agent, and no probe");
    let absent = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let shipper = bench.ship(absent);
    offer(&shipper, 0..100);
    bench.hear("does `dwell serve` run there");
    let report = shipper.finish(Duration::ZERO);
    assert_eq!((report.written, report.shipped), (100, 0));

    let warehouse = bench.open();
    let shipper = bench.ship(warehouse.address);
    let line = format!("file of peers be: {} probe=here", bench.probe.public_key());
    bench.hear(&line);
    assert_eq!(bench.kept().0, 0);
    // The line was put there.
    bench.know("probe=elsewhere,here");
    let report = shipper.finish(PATIENCE);
    assert_eq!((report.shipped, bench.kept().0), (100, 100));
}

#[test]
fn a_probe_that_is_taken_out_of_the_file_ships_no_more() {
    let bench = Bench::new();
    let warehouse = bench.open();
    let shipper = bench.ship(warehouse.address);
    let until_kept = |records| {
        let until = Instant::now() + PATIENCE;
        while bench.kept().0 < records && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        bench.kept().0
    };
    offer(&shipper, 0..100);
    assert_eq!(until_kept(100), 100);
    bench.know("probe=elsewhere");
    offer(&shipper, 100..200);
    bench.hear("refuses: the probe 'here' is not this key's to ship for");
    bench.hear(": refused: the probe 'here' is not this key's to ship for");
    assert_eq!(bench.kept().0, 100);
    bench.know("probe=elsewhere,here");
    assert_eq!(until_kept(200), 200);
    // While the file cannot be read, nobody is locked out who was known when the session began.
    fs::remove_file(bench.folder.path().join("peers")).unwrap();
    offer(&shipper, 200..300);
    assert_eq!(until_kept(300), 300);
    let report = shipper.finish(PATIENCE);
    assert_eq!((report.shipped, bench.kept().0), (300, 300), "nothing was lost");
}

#[test]
fn what_was_damaged_in_the_spool_is_not_told_as_shipped() {
    let bench = Bench::new();
    let absent = "127.0.0.1:1".parse().unwrap();
    let shipper = Shipper::start(ShipperConfig { batch_records: 100, ..bench.config(absent) }).unwrap();
    offer(&shipper, 0..300);
    assert_eq!(shipper.finish(Duration::ZERO).written, 300);
    let file = bench.folder.path().join("spool/0000000000000000.batches");
    let mut bytes = fs::read(&file).unwrap();
    bytes[60] ^= 1;
    fs::write(&file, bytes).unwrap();
    let warehouse = bench.open();
    let report = bench.ship(warehouse.address).finish(PATIENCE);
    assert_eq!((report.taken, report.written, report.shipped), (300, 200, 200), "{report:?}");
    assert_eq!(bench.kept(), (200, BTreeMap::from([("damaged".to_owned(), 100)])));
}

#[test]
fn strangers_are_told_the_line_that_is_missing() {
    let bench = Bench::new();
    fs::write(bench.folder.path().join("peers"), "").unwrap();
    let warehouse = bench.open();
    let shipper = bench.ship(warehouse.address);
    offer(&shipper, 0..1);
    bench.hear(&format!("put this line into its file of peers: {} probe=here", bench.probe.public_key()));
    drop(shipper);
    let other = Identity::generate().unwrap().public_key();
    let shipper =
        Shipper::start(ShipperConfig { expected: Peers::only(other), ..bench.config(warehouse.address) })
            .unwrap();
    bench.hear(&format!("if it is the right one, put it there: {}", bench.warehouse.public_key()));
    drop(shipper);
}

#[test]
fn a_warehouse_with_a_new_key_is_known_once_that_is_in_the_file() {
    let bench = Bench::new();
    let warehouse = bench.open();
    let known = bench.folder.path().join("known");
    fs::write(&known, format!("{}\n", bench.probe.public_key())).unwrap();
    let config = ShipperConfig { expected_file: Some(known.clone()), ..bench.config(warehouse.address) };
    let shipper = Shipper::start(ShipperConfig { expected: Peers::default(), ..config }).unwrap();
    offer(&shipper, 0..10);
    bench.hear("a key that is not in this host's file of peers");
    fs::write(&known, format!("{}\n", bench.warehouse.public_key())).unwrap();
    let report = shipper.finish(PATIENCE);
    assert_eq!((report.shipped, bench.kept().0), (10, 10));
}

#[test]
fn an_agent_is_no_warehouse() {
    let bench = Bench::new();
    let mut config = AgentConfig::new(bench.warehouse.clone(), Peers::only(bench.probe.public_key()));
    config.listen = "127.0.0.1:0".parse().unwrap();
    let agent = Agent::bind(config).unwrap();
    let agent = Running::new(agent.local_addr(), move |stop| agent.serve(stop).unwrap());
    let shipper = bench.ship(agent.address);
    offer(&shipper, 0..1);
    bench.hear("no warehouse (an agent?)");
    drop(shipper);
}

#[test]
fn a_spool_has_one_process_and_one_probe() {
    let bench = Bench::new();
    let absent = "127.0.0.1:9".parse().unwrap();
    let shipper = bench.ship(absent);
    offer(&shipper, 0..1);
    let again = Shipper::start(bench.config(absent)).map(|_| ()).unwrap_err();
    assert!(matches!(again, ShipperError::InUse { .. }), "{again}");
    drop(shipper);
    let other = ShipperConfig { probe: "there".to_owned(), ..bench.config(absent) };
    let other = Shipper::start(other).map(|_| ()).unwrap_err().to_string();
    assert!(other.contains("holds batches of the probe 'here'"), "{other}");
}

#[test]
fn records_that_come_too_fast_are_counted() {
    let bench = Bench::new();
    let warehouse = bench.open();
    let shipper = bench.ship(warehouse.address);
    let start = Instant::now();
    offer(&shipper, 0..400_000);
    let each = start.elapsed() / 400_000;
    assert!(each < Duration::from_micros(50), "the giver waited: {each:?} for each record");
    let report = shipper.finish(PATIENCE);
    let given_up: u64 = report.given_up.values().sum();
    assert_eq!((report.taken, report.shipped + given_up), (400_000, 400_000), "{report:?}");
    let (kept, told) = bench.kept();
    assert_eq!((kept, told.values().sum::<u64>()), (report.shipped, given_up));
    assert!(told.keys().all(|reason| reason == "queue-full"), "{told:?}");
}
