//! What every warehouse must do.

use crate::sample::{NOON, batch, handshake};
use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Ends, Sight};
use dwell_core::tcp::{Flag, Half, Handshake};
use dwell_store::warehouse::{Batch, Day, Minute, SLACK, Span, Store, WarehouseError};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Something that every warehouse must do, in an empty one.
pub(crate) type Case = fn(&mut dyn Store);

/// All of it, by name.
pub(crate) const CASES: [(&str, Case); 20] = [
    ("what was kept comes back joined", joined),
    ("a batch counts once", batch_once),
    ("another batch of the same number is kept beside it", renumbered),
    ("a record counts once", record_once),
    ("of several records of a probe the earliest counts", several),
    ("a connection is told once where clocks are apart", apart),
    ("a connection is told once where clocks are days apart", days_apart),
    ("the same numbers later are another connection", again),
    ("a missing probe is missing", missing),
    ("halves come back as they were", halves),
    ("spans hold what is first seen in them", spans),
    ("at the edges of a span a connection is whole where clocks differ by less than is said", edges),
    ("what comes late is found where it belongs", late),
    ("probes are told that have sent something of a time", senders),
    ("what is left out is counted", left_out),
    ("of each probe the newest record is told", newest),
    ("days can be dropped", days),
    ("what is given up is told", given_up),
    ("what the kernel dropped is told", dropped),
    ("a reader may break off, and ask for some probes", some),
];

const PROBES: [&str; 3] = ["alpha", "beta-1", "gamma.x"];

fn names(probes: &[&str]) -> Vec<String> {
    probes.iter().map(|probe| (*probe).to_owned()).collect()
}

fn read(store: &mut dyn Store, probes: &[&str], span: Span) -> Vec<Connection> {
    read_with(store, probes, span, SLACK)
}

fn read_with(store: &mut dyn Store, probes: &[&str], span: Span, slack: Nanos) -> Vec<Connection> {
    let mut connections = Vec::new();
    store
        .connections(&names(probes), span, slack, &mut |connection| {
            connections.push(connection);
            ControlFlow::Continue(())
        })
        .expect("connections");
    connections.sort_by_key(|connection| connection.ends);
    connections
}

/// What a store must say of these records.
fn expected(records: &[(usize, Handshake)]) -> Vec<Connection> {
    let mut connections: BTreeMap<Ends, Connection> = BTreeMap::new();
    for (probe, record) in records {
        let ends = Ends::of(record).expect("both numbers");
        let new = || Connection { ends, first_at: record.first_at, sights: Vec::new() };
        let connection = connections.entry(ends).or_insert_with(new);
        connection.first_at = connection.first_at.min(record.first_at);
        connection.sights.push(Sight::of(*probe, record));
        connection.sights.sort_by_key(|sight| sight.probe);
    }
    connections.into_values().collect()
}

fn keep_all(store: &mut dyn Store, records: &[(usize, Handshake)]) {
    for (place, probe) in PROBES.iter().enumerate() {
        let own = records.iter().filter(|(of, _)| *of == place).map(|(_, record)| *record).collect();
        store.keep(&batch(probe, 1, own)).expect("kept");
    }
}

fn records_of(store: &mut dyn Store, probe: &str) -> u64 {
    store.records().expect("a count")[probe]
}

fn joined(store: &mut dyn Store) {
    let seen = |probe: usize, n: u32| {
        let far = 1_000_000 * probe as i64;
        (probe, handshake(n, NOON + Nanos(i64::from(n)), 9_000_000 - far, 500 + far))
    };
    let records: Vec<_> = (0..500).flat_map(|n| (0..3).map(move |probe| seen(probe, n))).collect();
    keep_all(store, &records);
    assert_eq!(read(store, &PROBES, Span::ALL), expected(&records));
}

fn batch_once(store: &mut dyn Store) {
    let one = batch("alpha", 7, vec![handshake(1, NOON, 5, 6), handshake(2, NOON, 5, 6)]);
    store.keep(&one).expect("kept");
    store.keep(&one).expect("known");
    // The number of another life of the spool is another one.
    let other = Batch { epoch: 3, records: vec![handshake(3, NOON, 5, 6)], ..one };
    store.keep(&other).expect("kept");
    let account = store.accounts(Span::ALL).expect("accounts").remove("alpha").expect("alpha's");
    assert_eq!((account.batches, records_of(store, "alpha")), (2, 3));
    assert_eq!(read(store, &["alpha"], Span::ALL).len(), 3);
}

/// A host that is set back to where it was, with all that runs on it, goes on with the same epoch and number.
fn renumbered(store: &mut dyn Store) {
    let give = |records, given_up, dropped| Batch { given_up, dropped, ..batch("alpha", 7, records) };
    let gave = |count| BTreeMap::from([("killed".to_owned(), count)]);
    let (none, minute) = (BTreeMap::new(), Minute::of(NOON));
    let one = handshake(1, NOON, 5, 6);
    let all = [
        give(vec![one], gave(1), none.clone()),
        give(vec![handshake(2, NOON, 5, 6)], gave(1), none.clone()),
        give(vec![Handshake { first_at: NOON + Nanos(1), ..one }], gave(1), none.clone()),
        give(vec![one], gave(2), none.clone()),
        give(Vec::new(), gave(4), BTreeMap::from([(minute, 3)])),
    ];
    for batch in all.iter().chain(&all) {
        store.keep(batch).expect("kept");
    }
    store.keep(&batch("beta-1", 7, vec![one])).expect("kept");
    let accounts = store.accounts(Span::ALL).expect("accounts");
    let of = |probe: &str| (accounts[probe].batches, accounts[probe].renumbered);
    assert_eq!((of("alpha"), of("beta-1")), ((5, 4), (1, 0)));
    assert_eq!((&accounts["alpha"].given_up, &accounts["alpha"].dropped[&minute]), (&gave(9), &3));
    assert_eq!(records_of(store, "alpha"), 2);
}

fn record_once(store: &mut dyn Store) {
    let record = handshake(1, NOON, 5, 6);
    for serial in 0..3 {
        store.keep(&batch("alpha", serial, vec![record, record])).expect("kept");
    }
    assert_eq!(read(store, &["alpha"], Span::ALL), expected(&[(0, record)]));
    assert_eq!(records_of(store, "alpha"), 1);
}

/// A capture was begun anew within handshakes: the rest of them is another record of the same probe.
fn several(store: &mut dyn Store) {
    let second = Nanos::from_secs(1);
    let seen = |n: u32| handshake(n, NOON, 20, 30);
    let rest = |n: u32| Handshake { server_half: Half::Unknown, ..handshake(n, NOON + second, 0, 50) };
    let beyond = |n: u32| handshake(n, NOON, 16, 34);
    // In one batch and in two, the earlier one first and last, and again.
    store.keep(&batch("alpha", 1, vec![seen(1), rest(1), rest(2), seen(2), seen(3), rest(4)])).expect("kept");
    store.keep(&batch("alpha", 2, vec![rest(3), seen(4), seen(1), rest(2), seen(5)])).expect("kept");
    store.keep(&batch("gamma.x", 1, (1..=5).map(beyond).collect())).expect("kept");
    let records: Vec<_> = (1..=5).flat_map(|n| [(0, seen(n)), (2, beyond(n))]).collect();
    assert_eq!(read(store, &PROBES, Span::ALL), expected(&records));
    assert_eq!(records_of(store, "alpha"), 5);
}

fn apart(store: &mut dyn Store) {
    let (hour, day) = (Nanos::from_secs(3_600), 86_400_000_000_000);
    let midnight = |n: u32| Day::of(NOON).start() + Nanos(day * i64::from(n));
    let mut records = Vec::new();
    for n in 1..20 {
        let both = [handshake(n, midnight(n) - hour, 9, 1), handshake(n, midnight(n) + hour, 5, 5)];
        for (place, record) in both.into_iter().enumerate() {
            store.keep(&batch(PROBES[place], n.into(), vec![record])).expect("kept");
            records.push((place, record));
        }
    }
    assert_eq!(read(store, &PROBES, Span::ALL), expected(&records));
}

fn days_apart(store: &mut dyn Store) {
    let day = |n: i64| NOON + Nanos(n * 86_400_000_000_000);
    let mut records = Vec::new();
    // On either side of what once were read one after the other.
    for (serial, [first, second]) in [[0, 3], [4, 7], [5, 8]].into_iter().enumerate() {
        for (place, day) in [day(first), day(second)].into_iter().enumerate() {
            let own: Vec<_> =
                (0..40).map(|n| handshake(100 * serial as u32 + n, day, 9 - place as i64, 1)).collect();
            store.keep(&batch(PROBES[place], serial as u64, own.clone())).expect("kept");
            records.extend(own.into_iter().map(|record| (place, record)));
        }
    }
    assert_eq!(read(store, &PROBES, Span::ALL), expected(&records));
}

/// Ports come again after a while, and so do the sequence numbers of stacks that always begin with the same.
fn again(store: &mut dyn Store) {
    let later = NOON + Nanos::from_secs(300);
    let others = (1..=9).flat_map(|n| (0..3).map(move |probe| (probe, handshake(n, NOON, 5, 5))));
    let first =
        [(0, handshake(20, NOON, 9, 1)), (0, handshake(21, NOON, 9, 1)), (1, handshake(21, NOON, 8, 2))];
    let second =
        [(1, handshake(20, later, 6, 4)), (2, handshake(20, later, 4, 6)), (1, handshake(21, later, 6, 4))];
    let records: Vec<_> = others.chain(first).chain(second).collect();
    keep_all(store, &records);
    let of = |records: &[(usize, Handshake)]| records.iter().map(|(_, record)| record.first_at).min();
    let mut all = expected(&records[..30]);
    all.extend(expected(&second));
    all.sort_by_key(|one| (one.ends, one.first_at));
    let mut found = read(store, &PROBES, Span::ALL);
    found.sort_by_key(|one| (one.ends, one.first_at));
    assert_eq!(found, all);
    // Also where only the later one is asked for.
    let since = Span { from: of(&second).expect("some"), until: Nanos::MAX };
    assert_eq!(read(store, &PROBES, since), expected(&second));
}

fn missing(store: &mut dyn Store) {
    let records = [
        (0, handshake(1, NOON, 5, 6)),
        (2, handshake(1, NOON, 3, 8)),
        (1, handshake(2, NOON, 0, 0)),
        (2, handshake(4, NOON, 3, 8)),
    ];
    keep_all(store, &records);
    // Nothing joins a record without the server's number.
    let lone = Handshake { isn_server: None, ..handshake(9, NOON, 5, 6) };
    store.keep(&batch("alpha", 2, vec![lone])).expect("kept");
    let found = read(store, &PROBES, Span::ALL);
    assert_eq!(found, expected(&records));
    assert!(found.iter().any(|connection| connection.sights.len() == 2 && connection.by(1).is_none()));
}

fn halves(store: &mut dyn Store) {
    let kinds =
        [Half::Unknown, Half::Exact(Nanos(0)), Half::AtMost(Nanos(77)), Half::OneOf(Nanos(3), Nanos(9))];
    let records: Vec<_> = (0..16)
        .map(|n| {
            let mut record = handshake(n, NOON, 0, 0);
            record.server_half = kinds[n as usize % 4];
            record.client_half = kinds[n as usize / 4];
            record.total = record.server_half.then(record.client_half);
            record.flags.set(Flag::Nat);
            record.flags.set(Flag::SynRepeated);
            (1, record)
        })
        .collect();
    keep_all(store, &records);
    // The total of two unknown ones saturates, and is no less true for that.
    assert_eq!(read(store, &PROBES, Span::ALL), expected(&records));
}

fn spans(store: &mut dyn Store) {
    let midnight = Day::of(NOON).start() + Nanos::from_secs(86_400);
    let second = Nanos::from_secs(1);
    // One clock says that it was before midnight, the other after.
    let records = [
        (0, handshake(1, midnight - second, 9, 1)),
        (1, handshake(1, midnight + second, 5, 5)),
        (0, handshake(2, midnight + second, 9, 1)),
        (1, handshake(2, midnight + second + second, 5, 5)),
    ];
    keep_all(store, &records);
    let all = expected(&records);
    assert_eq!(read(store, &PROBES, Span::ALL), all);
    let of = |from, until| Span { from, until };
    let found = |store: &mut dyn Store, span| -> Vec<u32> {
        let isns: Vec<u32> =
            read(store, &PROBES, span).iter().map(|connection| connection.ends.isn_client).collect();
        isns
    };
    let isn = |n: usize| {
        vec![
            all.iter()
                .find(|one| one.ends.isn_client == records[n].1.isn_client)
                .expect("one")
                .ends
                .isn_client,
        ]
    };
    assert_eq!(found(store, of(midnight - second, midnight)), isn(0));
    assert_eq!(found(store, of(midnight, midnight + second + second)), isn(2));
    assert_eq!(found(store, of(midnight + second + second, Nanos::MAX)), Vec::<u32>::new());
    let before = read(store, &PROBES, of(midnight - second, midnight));
    assert_eq!(before[0].sights.len(), 2, "both sights, though one is of another day");
}

fn edges(store: &mut dyn Store) {
    let second = Nanos::from_secs;
    let (from, until) = (NOON, NOON + second(60));
    let records = [
        (0, handshake(1, from - second(3), 9, 1)),
        (1, handshake(1, from + second(1), 5, 5)),
        (0, handshake(2, from, 9, 1)),
        (1, handshake(2, from, 5, 5)),
        (0, handshake(3, until - second(1), 9, 1)),
        (1, handshake(3, until + second(3), 5, 5)),
        (1, handshake(4, until, 5, 5)),
    ];
    keep_all(store, &records);
    let span = Span { from, until };
    assert_eq!(read_with(store, &PROBES, span, second(5)), expected(&records[2..6]));
    // What lies farther beyond is not there.
    assert_eq!(read_with(store, &PROBES, span, second(2)), expected(&records[1..5]));
    assert_eq!(read_with(store, &PROBES, span, Nanos::ZERO), expected(&records[1..5]));
}

/// Whoever looks again and again, as time goes on, finds what he would who looked at all of it.
fn late(store: &mut dyn Store) {
    let second = Nanos::from_secs(1);
    let mut records: Vec<(usize, Handshake)> = Vec::new();
    let mut serial = 0;
    for look in 0..8 {
        let now = NOON + Nanos(look * 300 * second.0);
        let mut come = |probe: usize, n: u32, at: Nanos| {
            let record = handshake(n, at, 9 - probe as i64, 1);
            records.push((probe, record));
            serial += 1;
            store.keep(&batch(PROBES[probe], serial, vec![record])).expect("kept");
        };
        for place in 0..40 {
            let (n, at) = (look as u32 * 100 + place, now - Nanos(i64::from(place) * second.0));
            come(0, n, at);
            // The other probe tells of a third of them a quarter of an hour later.
            if n % 3 > 0 {
                come(1, n, at + second);
            } else if let Some(before) = n.checked_sub(300) {
                come(1, before, at + second - Nanos(900 * second.0));
            }
        }
        for back in [120, 900, 100_000] {
            let span = Span { from: now - Nanos(back * second.0), until: Nanos::MAX };
            let mut all = expected(&records);
            all.retain(|connection| span.holds(connection.first_at));
            assert_eq!(read(store, &PROBES, span), all, "look {look}, the last {back} s");
        }
    }
    assert_eq!(read(store, &PROBES, Span::ALL), expected(&records));
}

fn senders(store: &mut dyn Store) {
    let told = |store: &mut dyn Store, span| -> Vec<String> {
        store.probes(span).expect("probes").into_iter().collect()
    };
    assert!(told(store, Span::ALL).is_empty());
    let month = Nanos::from_secs(30 * 86_400);
    for serial in 0..3 {
        store.keep(&batch("alpha", serial, vec![handshake(1, NOON, 5, 6)])).expect("kept");
        store.keep(&batch("gamma.x", serial, vec![handshake(1, NOON + month, 5, 6)])).expect("kept");
        store.keep(&batch("beta-1", serial, vec![handshake(1, NOON, 5, 6)])).expect("kept");
    }
    assert_eq!(told(store, Span::ALL), PROBES);
    assert_eq!(told(store, Span { from: NOON, until: NOON + Nanos(1) }), ["alpha", "beta-1"]);
    assert_eq!(told(store, Span { from: NOON + month, until: Nanos::MAX }), ["gamma.x"]);
    let senders = store.senders(Span::ALL).expect("senders").into_iter();
    let of_each: Vec<_> = senders.map(|(day, probes)| (day, Vec::from_iter(probes))).collect();
    let first = (Day::of(NOON), names(&["alpha", "beta-1"]));
    assert_eq!(of_each, [first, (Day::of(NOON + month), names(&["gamma.x"]))]);
}

/// Two places ship under one name; and what comes twice is no other record.
fn left_out(store: &mut dyn Store) {
    let (second, minute) = (Nanos::from_secs(1), Nanos::from_secs(60));
    let later = |n: u32, by: Nanos| handshake(n, NOON + by, 7, 4);
    let both: Vec<_> =
        (0..60).flat_map(|n| [(0, handshake(n, NOON, 9, 2)), (1, handshake(n, NOON, 5, 6))]).collect();
    keep_all(store, &both);
    let again: Vec<_> = (0..20).map(|n| later(n, second)).chain((40..50).map(|n| later(n, second))).collect();
    store.keep(&batch("alpha", 2, again.clone())).expect("kept");
    store.keep(&batch("alpha", 3, again)).expect("kept");
    let lone = |n, at| Handshake { isn_server: None, ..handshake(n, at, 5, 6) };
    let of = |at| (100..107).map(|n| lone(n, at)).collect::<Vec<_>>();
    store.keep(&batch("alpha", 4, of(NOON))).expect("kept");
    store.keep(&batch("alpha", 5, of(NOON))).expect("kept");
    store.keep(&batch("beta-1", 4, of(NOON + minute))).expect("kept");
    let count = |store: &mut dyn Store, probes: &[&str], span| {
        let left_out = store.connections(&names(probes), span, SLACK, &mut |_| ControlFlow::Continue(()));
        (left_out.expect("joined"), store.lone(&names(probes), span).expect("counted"))
    };
    assert_eq!(count(store, &["alpha", "beta-1"], Span::ALL), (30, 14));
    assert_eq!(count(store, &["beta-1"], Span::ALL), (0, 7));
    assert_eq!(count(store, &["alpha", "beta-1"], Span { from: NOON + second, until: Nanos::MAX }), (0, 7));
    assert_eq!(count(store, &["alpha", "beta-1"], Span { from: NOON, until: NOON + minute }), (30, 7));
}

fn newest(store: &mut dyn Store) {
    let (second, month) = (Nanos::from_secs(1), Nanos::from_secs(30 * 86_400));
    assert!(store.newest(Span::ALL).expect("none").is_empty());
    let of = |from: u32, at: Nanos| -> Vec<Handshake> {
        (from..from + 300).map(|n| handshake(n, at + Nanos(second.0 * i64::from(n % 300)), 5, 6)).collect()
    };
    store.keep(&batch("alpha", 1, of(0, NOON))).expect("kept");
    // Hours before what is asked for.
    store.keep(&batch("beta-1", 1, of(0, NOON - Nanos(second.0 * 10_500)))).expect("kept");
    // What came late is not newer.
    store.keep(&batch("alpha", 2, of(300, NOON - Nanos(second.0 * 900)))).expect("kept");
    store.keep(&batch("gamma.x", 1, of(600, NOON - month))).expect("kept");
    let told = |store: &mut dyn Store, span| -> Vec<(String, i64)> {
        let newest = store.newest(span).expect("told").into_iter();
        newest.map(|(probe, at)| (probe, (at - NOON).0 / second.0)).collect()
    };
    let two = [("alpha".to_owned(), 299), ("beta-1".to_owned(), -10_201)];
    assert_eq!(told(store, Span { from: NOON, until: Nanos::MAX }), two);
    assert_eq!(told(store, Span::ALL)[..2], two);
    assert_eq!(told(store, Span::ALL)[2], ("gamma.x".to_owned(), 299 - month.0 / second.0));
}

fn days(store: &mut dyn Store) {
    let day = Nanos::from_secs(86_400);
    for n in 0..12u32 {
        let records = vec![handshake(n, NOON + Nanos(day.0 * i64::from(n)), 5, 6)];
        store.keep(&batch("alpha", n.into(), records)).expect("kept");
    }
    let first = Day::of(NOON);
    let all: Vec<Day> = (0..12).map(|n| Day(first.0 + n)).collect();
    assert_eq!(store.days().expect("days"), all);
    assert_eq!(read(store, &["alpha"], Span::ALL).len(), 12);
    store.drop_day(all[3]).expect("dropped");
    store.drop_day(all[3]).expect("nothing to drop");
    assert_eq!(store.days().expect("days").len(), 11);
    assert_eq!(read(store, &["alpha"], Span::ALL).len(), 11);
    assert_eq!(store.accounts(Span::ALL).expect("accounts")["alpha"].batches, 11);
    // What comes again after that is new.
    store.keep(&batch("alpha", 3, vec![handshake(3, all[3].start(), 5, 6)])).expect("kept");
    assert_eq!(read(store, &["alpha"], Span::ALL).len(), 12);
}

fn given_up(store: &mut dyn Store) {
    let give = |serial, reason: &str, count| Batch {
        given_up: BTreeMap::from([(reason.to_owned(), count)]),
        ..batch("beta-1", serial, Vec::new())
    };
    store.keep(&give(1, "spool 'full'\n\\", 5)).expect("kept");
    store.keep(&give(2, "spool 'full'\n\\", 7)).expect("kept");
    store.keep(&give(2, "spool 'full'\n\\", 7)).expect("known");
    let mut absurd: Vec<Handshake> = (0..9).map(|n| handshake(n, NOON, 5, 6)).collect();
    absurd[4].first_at = Nanos(i64::MIN);
    absurd[5].server_half = Half::Exact(Nanos(-1));
    absurd[6].total = Half::AtMost(Nanos::MAX);
    store.keep(&batch("beta-1", 3, absurd)).expect("kept");
    let account = store.accounts(Span::ALL).expect("accounts").remove("beta-1").expect("beta's");
    let told: Vec<(&str, u64)> =
        account.given_up.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    assert_eq!(told, [("absurd-round-trip", 2), ("absurd-time", 1), ("spool 'full'\n\\", 12)]);
    assert_eq!((account.batches, records_of(store, "beta-1")), (3, 6));
    let odd = Batch { probe: "it's".to_owned(), ..Batch::default() };
    assert!(matches!(store.keep(&odd), Err(WarehouseError::ProbeName { .. })));
}

fn dropped(store: &mut dyn Store) {
    let minute = |n: i64| Minute::of(NOON + Nanos::from_secs(60 * n));
    let told = |probe: &str, serial, dropped: &[(i64, u64)]| Batch {
        dropped: dropped.iter().map(|(n, packets)| (minute(*n), *packets)).collect(),
        ..batch(probe, serial, Vec::new())
    };
    for one in [
        told("alpha", 1, &[(0, 5), (1, 7)]),
        told("alpha", 2, &[(1, 100)]),
        told("alpha", 2, &[(1, 100)]),
        told("gamma.x", 1, &[(0, u64::MAX), (3, 1)]),
        told("gamma.x", 2, &[(0, 1)]),
        // One that has nothing else to tell of its time.
        told("alpha", 3, &[(4, 0)]),
    ] {
        store.keep(&one).expect("kept");
    }
    let accounts = store.accounts(Span::ALL).expect("accounts");
    let of = |probe: &str| -> Vec<(Minute, u64)> {
        accounts[probe].dropped.iter().map(|(minute, packets)| (*minute, *packets)).collect()
    };
    assert_eq!(of("alpha"), [(minute(0), 5), (minute(1), 107)]);
    assert_eq!(of("gamma.x"), [(minute(0), u64::MAX), (minute(3), 1)]);
    // Of a span those are told that may belong to it.
    let week = Nanos::from_secs(7 * 86_400);
    store.keep(&batch("alpha", 9, vec![handshake(1, NOON + week, 5, 6)])).expect("kept");
    let mut batches = |span| -> Vec<(String, u64)> {
        let accounts = store.accounts(span).expect("accounts").into_iter();
        accounts.map(|(name, account)| (name, account.batches)).collect()
    };
    assert_eq!(batches(Span { from: NOON + week, until: Nanos::MAX }), [("alpha".to_owned(), 1)]);
    assert_eq!(
        batches(Span { from: NOON, until: NOON }),
        [("alpha".to_owned(), 3), ("gamma.x".to_owned(), 2)]
    );
    store.drop_day(Day::of(NOON + week)).expect("dropped");
    // They are forgotten with their day.
    assert_eq!(store.days().expect("days"), [Day::of(NOON)]);
}

fn some(store: &mut dyn Store) {
    let records: Vec<_> = (0..2_000).map(|n| (n as usize % 3, handshake(n, NOON, 5, 6))).collect();
    keep_all(store, &records);
    assert_eq!(read(store, &["gamma.x", "nobody"], Span::ALL).len(), 666);
    let mut count = 0;
    let broken = store.connections(&names(&PROBES), Span::ALL, SLACK, &mut |_| {
        count += 1;
        if count == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    broken.expect("no error");
    assert_eq!(count, 10);
    assert!(
        store
            .connections(&names(&["x' OR 1"]), Span::ALL, SLACK, &mut |_| ControlFlow::Continue(()))
            .is_err()
    );
}
