//! A process that hands records to a shipper, one after another, until it is killed or its input ends.

use dwell_core::Nanos;
use dwell_core::tcp::{Ending, Endpoint, Flags, Half, Handshake};
use dwell_net::{Identity, Peers};
use dwell_serve::{Shipper, ShipperConfig};
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Its name.
pub(crate) const NAME: &str = "here";

/// Records each millisecond.
const BURST: u64 = 20;

/// The `number`th record. All are of different connections.
pub(crate) fn record(number: u64) -> Handshake {
    let end = |host: u8, port: u16| Endpoint { address: [10, 0, 0, host].into(), port };
    let at = Nanos(1_795_000_000_000_000_000 + number as i64 * 1_000);
    Handshake {
        client: end(1, 10_000 + (number % 50_000) as u16),
        server: end(2, 443),
        isn_client: number as u32,
        isn_server: Some(7),
        first_at: at,
        syn_at: Some(at),
        server_half: Half::Exact(Nanos(1_000_000)),
        client_half: Half::Exact(Nanos(2_000_000)),
        total: Half::Exact(Nanos(3_000_000)),
        ending: Ending::Established,
        syns: 1,
        syn_acks: 1,
        flags: Flags::default(),
    }
}

/// `HOME SPOOL ADDRESS LOG`: the log holds how many records were begun, and how many were handed over, as two numbers
/// of eight bytes; it outlives a kill.
pub(crate) fn run(arguments: &[String]) {
    let [home, spool, address, log] = arguments else { panic!("{arguments:?}") };
    let home = Path::new(home);
    let identity = Identity::load_or_create(home).unwrap();
    let expected = Peers::load(&home.join("peers")).unwrap();
    let shipper = Shipper::start(ShipperConfig {
        spool_limit: 64 << 20,
        batch_age: Duration::from_millis(20),
        batch_records: 512,
        patience: Duration::from_secs(2),
        longest_pause: Duration::from_millis(200),
        on_event: Arc::new(|event| eprintln!("probe: {event}")),
        ..ShipperConfig::new(address.parse().unwrap(), identity, expected, NAME, Path::new(spool))
    });
    let shipper = shipper.unwrap_or_else(|error| {
        eprintln!("probe: {error}");
        std::process::exit(1)
    });
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        told.store(true, Ordering::Relaxed);
    });
    let log = OpenOptions::new().read(true).write(true).open(log).unwrap();
    let mut begun = [0; 8];
    log.read_exact_at(&mut begun, 0).unwrap();
    let mut number = u64::from_le_bytes(begun);
    while !over.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            let next = (number + 1).to_le_bytes();
            log.write_all_at(&next, 0).unwrap();
            shipper.offer(record(number));
            log.write_all_at(&next, 8).unwrap();
            number += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let report = shipper.finish(Duration::from_secs(40));
    eprintln!("probe: {report:?}");
    std::process::exit(i32::from(report.shipped < report.written));
}
