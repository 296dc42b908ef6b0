//! A process that runs a warehouse until it is killed or its input ends.

use crate::cluster::Cluster;
use dwell_net::{Identity, Peers};
use dwell_serve::{Warehouse, WarehouseConfig};
use dwell_store::warehouse::{ClickHouse, Sqlite, Store};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A folder, or the address of ClickHouse.
pub(crate) fn open(store: &str) -> Box<dyn Store> {
    if store.contains("://") {
        return Box::new(ClickHouse::create(store.parse().unwrap(), Cluster::credentials()).unwrap());
    }
    Box::new(Sqlite::create(Path::new(store)).unwrap())
}

/// `HOME STORE ADDRESS`.
pub(crate) fn run(arguments: &[String]) {
    let [home, store, address] = arguments else { panic!("{arguments:?}") };
    let home = Path::new(home);
    let identity = Identity::load_or_create(home).unwrap();
    let peers = Peers::load(&home.join("peers")).unwrap();
    let config = WarehouseConfig {
        on_event: Arc::new(|event| eprintln!("warehouse: {event}")),
        ..WarehouseConfig::new(address.parse().unwrap(), identity, peers)
    };
    let warehouse = Warehouse::open(config, open(store)).unwrap();
    println!("{}", warehouse.local_addr());
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        told.store(true, Ordering::Relaxed);
    });
    warehouse.serve(&stop).unwrap();
}
