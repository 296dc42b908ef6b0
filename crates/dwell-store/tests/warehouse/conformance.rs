//! The suite, on each back end.

use crate::cluster::Cluster;
use crate::sample::{NOON, batch, handshake};
use crate::suite::CASES;
use dwell_core::Nanos;
use dwell_core::tcp::section::Connection;
use dwell_store::warehouse::{At, ClickHouse, Credentials, SLACK, Span, Sqlite, Store, WarehouseError};
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
    of_a_span_what_is_near_is_read(&cluster);
    what_is_wrong_is_told(&cluster);
    tables_of_the_version_before_are_made_into_ours(&cluster);
    a_batch_that_met_a_dead_shard_is_not_kept(&mut cluster);
}

fn both_shards_hold_some(cluster: &Cluster) {
    cluster.tell("CREATE DATABASE spread");
    let mut store = ClickHouse::create(at(cluster, "spread"), Cluster::credentials()).expect("a warehouse");
    store.keep(&batch("a", 1, (0..100).map(|n| handshake(n, NOON, 5, 6)).collect())).expect("kept");
    // Each shard alone, by its own table.
    cluster.tell("SELECT throwIf(count() < 20 OR count() > 80) FROM spread.dwell_handshakes_shard");
}

/// Also within a day: half of these records are an hour older than what is asked for.
fn of_a_span_what_is_near_is_read(cluster: &Cluster) {
    cluster.tell("CREATE DATABASE near");
    let mut store = ClickHouse::create(at(cluster, "near"), Cluster::credentials()).expect("a warehouse");
    cluster.tell("SYSTEM STOP MERGES");
    for (serial, at) in [NOON, NOON + Nanos::from_secs(3_600)].into_iter().enumerate() {
        let records = (0..10_000).map(|n| handshake(n, at, 5, 6)).collect();
        store.keep(&batch("a", serial as u64, records)).expect("kept");
    }
    let from = (NOON + Nanos::from_secs(1_800)).0;
    let near =
        format!("SELECT throwIf(count() < 4000) FROM near.dwell_handshakes_shard WHERE first_at >= {from}");
    cluster.tell(&format!("{near} SETTINGS max_rows_to_read = 7000"));
    cluster.tell("SYSTEM START MERGES");
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

fn tables_of_the_version_before_are_made_into_ours(cluster: &Cluster) {
    cluster.tell("CREATE DATABASE before");
    let of = |cluster: &Cluster| ClickHouse::create(at(cluster, "before"), Cluster::credentials());
    of(cluster).expect("a warehouse");
    let columns = "day Int32, probe String, epoch UInt64, serial UInt64, given_up String, dropped String";
    for statement in [
        "DROP TABLE before.dwell_format",
        "CREATE TABLE before.dwell_format (format Int64) ENGINE = TinyLog",
        "INSERT INTO before.dwell_format VALUES (2)",
        "DROP TABLE before.dwell_batches",
        "DROP TABLE before.dwell_batches_shard",
        &format!(
            "CREATE TABLE before.dwell_batches_shard ({columns}) ENGINE = ReplacingMergeTree PARTITION BY day \
             ORDER BY (probe, epoch, serial) SETTINGS index_granularity = 1024"
        ),
        &format!(
            "CREATE TABLE before.dwell_batches ({columns}) \
             ENGINE = Distributed('two', 'before', 'dwell_batches_shard', epoch)"
        ),
    ] {
        cluster.tell(statement);
    }
    cluster.tell("INSERT INTO before.dwell_batches_shard VALUES (20778, 'a', 1, 1, '{\"killed\":3}', '{}')");
    let mut store = of(cluster).expect("renewed");
    for isn in [1, 2, 2] {
        store.keep(&batch("a", 5, vec![handshake(isn, NOON, 5, 6)])).expect("kept");
    }
    let mut store = of(cluster).expect("as it is");
    store.keep(&batch("a", 6, vec![handshake(3, NOON, 5, 6)])).expect("kept");
    let account = store.accounts(Span::ALL).expect("accounts").remove("a").expect("a's");
    // One of each server, and three of ours.
    assert_eq!((account.batches, account.renumbered, account.given_up["killed"]), (5, 1, 6));
    assert_eq!(store.records().expect("a count")["a"], 3);
}

fn a_batch_that_met_a_dead_shard_is_not_kept(cluster: &mut Cluster) {
    cluster.tell("CREATE DATABASE half");
    let mut store = ClickHouse::create(at(cluster, "half"), Cluster::credentials()).expect("a warehouse");
    cluster.kill(1);
    let one = batch("a", 1, (0..100).map(|n| handshake(n, NOON, 5, 6)).collect());
    let error = store.keep(&one).expect_err("a shard is missing");
    assert!(matches!(error, WarehouseError::Failed { .. }), "{error}");
    let mut none = |_: Connection| ControlFlow::Continue(());
    store.connections(&["a".to_owned()], Span::ALL, SLACK, &mut none).expect_err("not all can be read");
    // What had reached the other shard counts once.
    cluster.start_again(1);
    store.keep(&one).expect("kept now");
    assert_eq!(store.records().expect("a count")["a"], 100);
}
