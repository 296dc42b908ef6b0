//! A probe and a warehouse, each a process, with what can fail between and below them.

use crate::Chance;
use crate::cluster::Cluster;
use crate::judge::judge;
use crate::namespace::Inside;
use crate::probe::NAME;
use crate::sqlite_lock;
use crate::warehouse;
use dwell_net::Identity;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A disk that a second or two of records fill.
const SMALL_DISK: u64 = 1 << 20;

/// Where a process is started.
enum Place {
    Here,
    Inside(Inside),
}

pub(crate) struct World {
    folder: tempfile::TempDir,
    probe_place: Place,
    warehouse_place: Place,
    probe: Option<Child>,
    warehouse: Option<Child>,
    /// Where the warehouse keeps: a folder, or the address of the cluster.
    store: String,
    cluster: Option<Cluster>,
    /// As the warehouse listens, once it did.
    address: String,
    /// Records in whose midst a probe was killed.
    doubtful: BTreeSet<u64>,
}

impl World {
    pub(crate) fn plain() -> Option<Self> {
        Self::new("127.0.0.1:0", None, |_| Some((Place::Here, Place::Here)))
    }

    pub(crate) fn on_clickhouse() -> Option<Self> {
        Self::new("127.0.0.1:0", Some(Cluster::start()?), |_| Some((Place::Here, Place::Here)))
    }

    pub(crate) fn on_small_disk() -> Option<Self> {
        Self::new("127.0.0.1:0", None, |disk| {
            Some((Place::Inside(Inside::new(false, Some((disk, SMALL_DISK)))?), Place::Here))
        })
    }

    pub(crate) fn on_two_hosts() -> Option<Self> {
        Self::new("10.77.0.2:7924", None, |_| two_hosts(None))
    }

    pub(crate) fn on_two_hosts_with_small_disk() -> Option<Self> {
        Self::new("10.77.0.2:7924", None, |disk| two_hosts(Some((disk, SMALL_DISK))))
    }

    fn new(
        address: &str,
        cluster: Option<Cluster>,
        places: impl FnOnce(PathBuf) -> Option<(Place, Place)>,
    ) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str| {
            let home = folder.path().join(name);
            (Identity::load_or_create(&home).unwrap().public_key(), home)
        };
        let ((probe, probe_home), (warehouse, warehouse_home)) = (of("probe"), of("warehouse"));
        fs::write(probe_home.join("peers"), format!("{warehouse} the warehouse\n")).unwrap();
        fs::write(warehouse_home.join("peers"), format!("{probe} a probe probe={NAME}\n")).unwrap();
        fs::write(folder.path().join("log"), [0; 16]).unwrap();
        let spool = folder.path().join("spool");
        fs::create_dir(&spool).unwrap();
        let (probe_place, warehouse_place) = places(spool)?;
        let address = address.to_owned();
        let doubtful = BTreeSet::new();
        let beside = folder.path().join("store").to_str().unwrap().to_owned();
        let store = cluster.as_ref().map_or(beside, |cluster| cluster.place("default"));
        let (probe, warehouse) = (None, None);
        let mut world = Self {
            folder,
            probe_place,
            warehouse_place,
            probe,
            warehouse,
            store,
            cluster,
            address,
            doubtful,
        };
        world.start_warehouse();
        world.start_probe();
        Some(world)
    }

    fn command(&self, role: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(role).arg(self.folder.path().join(role)).args(arguments);
        let said =
            fs::OpenOptions::new().append(true).create(true).open(self.folder.path().join("said")).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said);
        command
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn start_warehouse(&mut self) {
        let command = self.command("warehouse", &[&self.store, &self.address]);
        let mut child = start(&self.warehouse_place, command);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        // The same port for all its lives.
        line.trim().clone_into(&mut self.address);
        self.warehouse = Some(child);
        assert!(!self.address.is_empty(), "no warehouse: {}", self.said());
    }

    fn start_probe(&mut self) {
        let to = format!("dwell://{}", self.address);
        let command = self.command("probe", &[&self.path("spool"), &to, &self.path("log")]);
        self.probe = Some(start(&self.probe_place, command));
    }

    fn said(&self) -> String {
        fs::read_to_string(self.path("said")).unwrap_or_default()
    }

    /// How many records were begun, and how many handed over.
    fn log(&self) -> (u64, u64) {
        let bytes = fs::read(self.path("log")).unwrap();
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        (number(0), number(8))
    }

    pub(crate) fn kill_probe(&mut self, _: &mut Chance) {
        kill(self.probe.take());
        let (begun, handed_over) = self.log();
        self.doubtful.extend(handed_over..begun);
        self.start_probe();
    }

    pub(crate) fn kill_warehouse(&mut self, chance: &mut Chance) {
        kill(self.warehouse.take());
        thread::sleep(chance.millis(0..300));
        self.start_warehouse();
    }

    /// One server of two, with what it was about to keep.
    pub(crate) fn kill_clickhouse(&mut self, chance: &mut Chance) {
        let Some(cluster) = &mut self.cluster else { return };
        let which = chance.one_of(2) as usize;
        cluster.kill(which);
        thread::sleep(chance.millis(0..300));
        cluster.start_again(which);
    }

    pub(crate) fn lock_store(&mut self, chance: &mut Chance) {
        sqlite_lock::hold(&self.folder.path().join("store"), chance.millis(50..900));
    }

    /// Without a warehouse, the spool fills its disk.
    pub(crate) fn fill_disk(&mut self, chance: &mut Chance) {
        kill(self.warehouse.take());
        thread::sleep(chance.millis(1_500..2_000));
        self.start_warehouse();
    }

    pub(crate) fn cut_network(&mut self, chance: &mut Chance) {
        let Place::Inside(host) = &self.probe_place else { return };
        host.ip("link set probe0 down");
        thread::sleep(chance.millis(50..700));
        host.ip("link set probe0 up");
    }

    /// Lets everything work again, waits until all that can arrive has, and judges.
    pub(crate) fn end(mut self, name: &str) -> String {
        let mut probe = self.probe.take().unwrap();
        drop(probe.stdin.take());
        let until = Instant::now() + Duration::from_secs(60);
        let status = loop {
            match probe.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > until => {
                    kill(Some(probe));
                    panic!("{name}: the probe does not end: {}", self.said());
                }
                None => thread::sleep(Duration::from_millis(10)),
            }
        };
        assert!(status.success(), "{name}: {status}: {}", self.said());
        kill(self.warehouse.take());
        let (begun, handed_over) = self.log();
        assert_eq!(begun, handed_over);
        let said = self.said();
        let (store, doubtful) = (self.store.clone(), self.doubtful.clone());
        let judged =
            std::panic::catch_unwind(|| judge(&mut *warehouse::open(&store), handed_over, &doubtful));
        judged.unwrap_or_else(|panic| {
            eprintln!("{name}: {said}");
            std::panic::resume_unwind(panic)
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        kill(self.probe.take());
        kill(self.warehouse.take());
    }
}

fn start(place: &Place, mut command: Command) -> Child {
    match place {
        Place::Here => command.spawn().unwrap(),
        Place::Inside(inside) => inside.spawn(command),
    }
}

/// By SIGKILL.
fn kill(child: Option<Child>) {
    if let Some(mut child) = child {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// A probe's host and a warehouse's, with a cable between them.
fn two_hosts(disk: Option<(PathBuf, u64)>) -> Option<(Place, Place)> {
    let (probe, warehouse) = (Inside::new(true, disk)?, Inside::new(true, None)?);
    let far = warehouse.network.display();
    probe.ip(&format!("link add probe0 type veth peer name store0 netns {far}"));
    for (host, name, address) in [(&probe, "probe0", 1), (&warehouse, "store0", 2)] {
        host.ip(&format!("address add 10.77.0.{address}/24 dev {name}"));
        host.ip(&format!("link set {name} up"));
        host.ip("link set lo up");
    }
    Some((Place::Inside(probe), Place::Inside(warehouse)))
}
