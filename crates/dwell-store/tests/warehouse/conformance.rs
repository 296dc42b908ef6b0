//! The suite, on each back end.

use crate::cluster::Cluster;
use crate::sample::{NOON, batch, handshake};
use crate::suite::CASES;
use dwell_core::tcp::section::Connection;
use dwell_store::warehouse::{At, ClickHouse, Credentials, Span, Sqlite, Store, WarehouseError};
use std::ops::ControlFlow;

#[test]
fn sqlite() {
    for (name, case) in CASES {
        eprintln!("{name}");
        let folder = tempfile::tempdir().expect("a folder");
        case(&mut Sqlite::create(&folder.path().join("new/one")).expect("a warehouse"));
    }
}

fn at(cluster: &Cluster, database: &str) -> At {
    cluster.place(database).parse().expect("a place")
}

#[test]
fn clickhouse() {
    let Some(mut cluster) = Cluster::start() else { return };
    for (number, (name, case)) in CASES.into_iter().enumerate() {
        eprintln!("{name}, two shards");
        let database = format!("shards{number}");
        cluster.tell(&format!("CREATE DATABASE {database}"));
        case(&mut ClickHouse::create(at(&cluster, &database), Cluster::credentials()).expect("a warehouse"));
        eprintln!("{name}, one server");
        let database = format!("alone{number}");
        cluster.tell(&format!("CREATE DATABASE {database}"));
        let alone = format!("http://127.0.0.1:{}/{database}", cluster.ports[0]).parse().expect("a place");
        case(&mut ClickHouse::create(alone, Cluster::credentials()).expect("a warehouse"));
    }
    both_shards_hold_some(&cluster);
    what_is_wrong_is_told(&cluster);
    a_batch_that_met_a_dead_shard_is_not_kept(&mut cluster);
}

fn both_shards_hold_some(cluster: &Cluster) {
    cluster.tell("CREATE DATABASE spread");
    let mut store = ClickHouse::create(at(cluster, "spread"), Cluster::credentials()).expect("a warehouse");
    store.keep(&batch("a", 1, (0..100).map(|n| handshake(n, NOON, 5, 6)).collect())).expect("kept");
    // Each shard alone, by its own table.
    cluster.tell("SELECT throwIf(count() < 20 OR count() > 80) FROM spread.dwell_handshakes_shard");
}

fn what_is_wrong_is_told(cluster: &Cluster) {
    let told = |database: &str, credentials: Credentials| {
        ClickHouse::open(at(cluster, database), credentials).expect_err("wrong")
    };
    assert!(matches!(told("default", Cluster::credentials()), WarehouseError::Absent { .. }));
    let stranger = Credentials { user: "dwell".to_owned(), password: "guessed".to_owned() };
    let text = told("spread", stranger).to_string();
    assert!(text.contains("look for our tables") && text.contains("password"), "{text}");
    cluster.tell("CREATE DATABASE later");
    ClickHouse::create(at(cluster, "later"), Cluster::credentials()).expect("a warehouse");
    cluster.tell("INSERT INTO later.dwell_format VALUES (9)");
    let later = told("later", Cluster::credentials());
    assert!(matches!(later, WarehouseError::Version { found: 9, .. }), "{later}");
    // The warehouse of an earlier version is left as it is.
    cluster.tell("CREATE DATABASE earlier");
    cluster.tell("CREATE TABLE earlier.dwell_format (format Int64) ENGINE = TinyLog");
    cluster.tell("INSERT INTO earlier.dwell_format VALUES (1)");
    let earlier =
        ClickHouse::create(at(cluster, "earlier"), Cluster::credentials()).expect_err("another version");
    assert!(matches!(earlier, WarehouseError::Version { found: 1, .. }), "{earlier}");
    cluster.tell("SELECT throwIf(count() > 1) FROM system.tables WHERE database = 'earlier'");
}

fn a_batch_that_met_a_dead_shard_is_not_kept(cluster: &mut Cluster) {
    cluster.tell("CREATE DATABASE half");
    let mut store = ClickHouse::create(at(cluster, "half"), Cluster::credentials()).expect("a warehouse");
    cluster.kill(1);
    let one = batch("a", 1, (0..100).map(|n| handshake(n, NOON, 5, 6)).collect());
    let error = store.keep(&one).expect_err("a shard is missing");
    assert!(matches!(error, WarehouseError::Failed { .. }), "{error}");
    let mut none = |_: Connection| ControlFlow::Continue(());
    store.connections(&["a".to_owned()], Span::ALL, &mut none).expect_err("not all can be read");
    // What had reached the other shard counts once.
    cluster.start_again(1);
    store.keep(&one).expect("kept now");
    assert_eq!(store.records().expect("a count")["a"], 100);
}
