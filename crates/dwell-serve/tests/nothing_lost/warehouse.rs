//! A process that runs a warehouse until it is killed or its input ends.

use dwell_net::{Identity, Peers};
use dwell_serve::{Warehouse, WarehouseConfig};
use dwell_store::warehouse::Sqlite;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

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
    let store = Box::new(Sqlite::create(Path::new(store)).unwrap());
    let warehouse = Warehouse::open(config, store).unwrap();
    println!("{}", warehouse.local_addr());
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        told.store(true, Ordering::Relaxed);
    });
    warehouse.serve(&stop).unwrap();
}
