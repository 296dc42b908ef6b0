//! Records a second from a shipper to a warehouse in SQLite, over the loopback, both in this process:
//! `cargo run --release -p dwell-serve --example throughput -- 2000000`.

use dwell_core::Nanos;
use dwell_core::tcp::{Ending, Endpoint, Flags, Half, Handshake};
use dwell_net::{Identity, Peers};
use dwell_serve::{Shipper, ShipperConfig, Warehouse, WarehouseAddress, WarehouseConfig};
use dwell_store::warehouse::Sqlite;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Records in memory at most: the queue must not overflow.
const AHEAD: u64 = 16_384;

fn record(number: u32) -> Handshake {
    let end = |address: u32, port| Endpoint { address: address.to_be_bytes().into(), port };
    let at = Nanos(1_795_000_000_000_000_000 + i64::from(number) * 3_000);
    Handshake {
        client: end(0x0a00_0000 + number / 50_000, 10_000 + (number % 50_000) as u16),
        server: end(0xc000_0200 + number % 200, 443),
        isn_client: number.wrapping_mul(2_654_435_761),
        isn_server: Some(number.wrapping_mul(40_503)),
        first_at: at,
        syn_at: Some(at),
        server_half: Half::Exact(Nanos(10_000_000 + i64::from(number % 1_000_003))),
        client_half: Half::Exact(Nanos(1_000_000 + i64::from(number % 99_991))),
        total: Half::Exact(Nanos(11_000_000)),
        ending: Ending::Established,
        syns: 1,
        syn_acks: 1,
        flags: Flags::default(),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let records: u32 = std::env::args().nth(1).map_or(Ok(2_000_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let (probe, keeper) = (Identity::generate()?, Identity::generate()?);
    let mut peers = Peers::default();
    peers.add(probe.public_key(), "probe=here");
    let expected = Peers::only(keeper.public_key());
    let store = Box::new(Sqlite::create(&folder.path().join("store"))?);
    let warehouse = Warehouse::open(WarehouseConfig::new("127.0.0.1:0".parse()?, keeper, peers), store)?;
    let to = WarehouseAddress { host: "127.0.0.1".to_owned(), port: warehouse.local_addr().port() };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| warehouse.serve(&stop));
        let spool = folder.path().join("spool");
        let shipper = Shipper::start(ShipperConfig::new(to, probe, expected, "here", &spool))?;
        let (start, mut offering) = (Instant::now(), Duration::ZERO);
        for first in (0..records).step_by(1_000) {
            while shipper.report().taken - shipper.report().written > AHEAD {
                thread::sleep(Duration::from_micros(200));
            }
            let began = Instant::now();
            (first..records.min(first + 1_000)).for_each(|number| shipper.offer(record(number)));
            offering += began.elapsed();
        }
        let report = shipper.finish(Duration::from_secs(100));
        let seconds = start.elapsed().as_secs_f64();
        println!("{report:?}");
        println!(
            "{:.0} records/s from the shipper until SQLite has them; {:.0} ns to hand one over",
            report.shipped as f64 / seconds,
            offering.as_nanos() as f64 / f64::from(records)
        );
        stop.store(true, Ordering::Relaxed);
        serving.join().map_err(|_| "the warehouse panicked")??;
        Ok(())
    })
}
