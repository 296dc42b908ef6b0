use super::account::Account;
use super::algorithm::Algorithm;
use super::capacity::{Tested, rate, report};
use super::rates::{Row, row, rows};
use super::search::Search;
use super::*;
use crate::limit::Limit;
use crate::report::{Finding, Quantity};
use crate::train::Direction;
use crate::unit::Nanos;
use proptest::prelude::*;
use std::collections::VecDeque;

#[test]
fn pdus_have_the_layout_of_the_rfc() {
    let setup = Setup { port: 0x1234, ..Setup::request(0xabcd) }.pack();
    assert_eq!(setup.len(), Setup::LENGTH);
    assert_eq!(setup[..15], [0xac, 0xe1, 0, 20, 0, 1, 0xab, 0xcd, 1, 0, 0, 0, 0x12, 0x34, 1]);
    assert!(setup[15..].iter().all(|byte| *byte == 0));

    let null = Null { version: 20, auth: Auth { mode: 1, time: 7, digest: [9; 32], key: 3 } }.pack();
    assert_eq!(null.len(), Null::LENGTH);
    assert_eq!(null[..13], [0xde, 0xad, 0, 20, 1, 0, 0, 1, 0, 0, 0, 7, 9]);
    assert_eq!(null[43..], [9, 3, 0, 0, 0]);

    let activation = Activation::request(Direction::Reverse, Parameters::default()).pack();
    assert_eq!(activation.len(), Activation::LENGTH);
    assert_eq!(
        activation[..28],
        [
            0xac, 0xe2, 0, 20, 2, 0, 0, 30, 0, 90, 0, 50, 0, 10, 0, 0, 0xff, 0xff, 0, 10, 0, 3, 0, 10, 1, 0,
            0, 0
        ]
    );
    // After the sending rate: the sub-interval in milliseconds.
    assert_eq!(activation[56..58], [0x03, 0xe8]);

    let load = Load { sequence: 5, payload: 1222, held: 2, ..Load::default() }.pack();
    assert_eq!(load.len(), Load::LENGTH);
    assert_eq!(load[..10], [0xbe, 0xef, 0, 0, 0, 0, 0, 5, 0x04, 0xc6]);
    assert_eq!(load[28..], [0, 2, 0, 0]);

    let status = Status { sequence: 1, sub_interval: 2, ..Status::default() };
    let last = SubInterval { packets: 3, bytes: 4, micros: 5, until: 6, ..SubInterval::default() };
    let status = Status { last, row: row(1), ..status }.pack();
    assert_eq!(status.len(), Status::LENGTH);
    assert_eq!(status[..8], [0xfe, 0xed, 0, 0, 0, 0, 0, 1]);
    assert_eq!(status[36..40], [0, 0, 0, 2]);
    // No padding before the bytes of 64 bits.
    assert_eq!(status[40..56], [0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5]);
    assert_eq!(status[92..96], [0, 0, 0, 6]);
}

#[test]
fn the_table_rises_by_a_megabit_and_then_by_a_hundred() {
    for index in 1..=rates::FINE {
        assert_eq!(row(index).rate().0, index as u64 * 1_000_000, "row {index}");
    }
    assert_eq!(row(rates::FINE + 1).rate().0, 1_100_000_000);
    assert!(row(0).rate() < row(1).rate());
    assert_eq!(row(rows() + 5), row(rows() - 1));
}

#[test]
fn packets_over_ipv6_are_as_long_as_over_ipv4() {
    // Packets of 1250 bytes, headers and all, and one of 375.
    let of_it = row(253).over_ipv6();
    assert_eq!((of_it.first, of_it.second, of_it.addition), ([100, 1_202, 2], [1_000, 1_202, 5], 327));
    // A random size stays one, and what has no room is left.
    assert_eq!(row(0).over_ipv6().addition, 1_202 | 1 << 31);
    assert_eq!(Row { addition: 51, ..Row::default() }.over_ipv6().addition, 51);
}

#[test]
fn one_way_delay_is_rounded_as_the_other_program_does() {
    let with = |sum, count| {
        let how = Parameters { one_way: true, ..Parameters::default() };
        let mut search = Search::new(how);
        search.see(&Trial { variation: [0, 99, sum, count], ..Trial::default() });
        search.index()
    };
    assert_eq!(with(294, 10), 10, "29.4 ms are 29: under the threshold");
    assert_eq!(with(295, 10), 0, "29.5 ms are 30");
}

fn trial(lost: u32, delay: u32) -> Trial {
    Trial { troubles: [lost, 0, 0], round_trip: [5, delay], ..Trial::default() }
}

#[test]
fn type_b_steps_as_its_flow_chart_says() {
    let mut search = Search::new(Parameters::default());
    for _ in 0..8 {
        search.see(&trial(0, 0));
    }
    assert_eq!(search.index(), 80);
    search.see(&trial(0, 60));
    assert_eq!(search.index(), 80, "between the thresholds nothing changes");
    search.see(&trial(10, 0));
    assert_eq!(search.index(), 90, "a little loss is tolerated");
    search.see(&trial(11, 0));
    search.see(&trial(0, 91));
    assert_eq!(search.index(), 88);
    search.see(&trial(50, 0));
    assert_eq!(search.index(), 58, "the third trouble in a row takes three fast steps back");
    search.see(&trial(0, 0));
    assert_eq!(search.index(), 59, "and from then on steps are slow");
}

#[test]
fn type_c_multiplies_and_tries_again() {
    let mut search = Search::new(Parameters { algorithm: Algorithm::C, ..Parameters::default() });
    let mut seen = Vec::new();
    for _ in 0..9 {
        search.see(&trial(0, 0));
        seen.push(search.index());
    }
    assert_eq!(seen, [1, 2, 2, 4, 4, 8, 8, 16, 16]);
    for _ in 0..3 {
        search.see(&trial(99, 0));
    }
    assert_eq!(search.index(), 0);
    for _ in 0..3 {
        search.see(&trial(0, 0));
    }
    let slow = search.index();
    assert!(slow <= 3, "{slow}");
    for _ in 0..12 {
        search.see(&trial(0, 0));
    }
    assert!(search.index() > 16, "{}", search.index());
}

#[test]
fn a_fixed_row_stays() {
    let mut search = Search::new(Parameters { row: 50, ..Parameters::default() });
    search.see(&trial(99, 999));
    assert_eq!(search.index(), 50);
}

fn load(sequence: u32, sent_ms: i64) -> Load {
    Load { sequence, payload: 1222, sent: Stamp::of(Nanos::from_millis(sent_ms)), ..Load::default() }
}

#[test]
fn loss_reordering_and_doubles_are_told_apart() {
    let mut account = Account::default();
    for (sequence, ms) in [(1, 10), (2, 11), (5, 14), (4, 15), (4, 16), (6, 40)] {
        account.enter(&load(sequence, ms - 10), Nanos::from_millis(ms));
    }
    let (status, over) = account.status(Nanos::from_millis(60), Nanos::from_secs(1), Nanos::from_millis(50));
    assert_eq!(status.trial.troubles, [1, 1, 1], "number 3 is lost, 4 came late, and again");
    assert_eq!((status.trial.packets, status.trial.micros, over), (6, 50_000, None));
}

#[test]
fn a_round_trip_is_taken_once_for_each_status() {
    let mut account = Account::default();
    let status = Stamp::of(Nanos::from_millis(100));
    let answer = |sequence, held| Load { status, held, ..load(sequence, 100) };
    account.enter(&answer(1, 7), Nanos::from_millis(130));
    assert_eq!(account.trial().round_trip, [23, 0]);
    account.enter(&answer(2, 7), Nanos::from_millis(190));
    assert_eq!(account.trial().round_trip, [23, 0]);
}

fn tested(parts: Vec<SubInterval>) -> Tested {
    let (direction, algorithm) = (Direction::Forward, Algorithm::B);
    Tested { direction, algorithm, ipv6: false, table_end: false, garbage: 0, parts }
}

/// A link of `mbps` with a queue, 20 ms away both ways, that the search loads for `seconds`; every trial the receiver tells.
fn searched(mbps: f64, queue_ms: f64, seconds: u32, how: Parameters) -> (Vec<SubInterval>, usize) {
    let (mut search, mut account) = (Search::new(how), Account::default());
    let (mut clear_at, mut sequence, mut now) = (0.0f64, 0u32, 0.0f64);
    let (mut parts, mut answered, mut under_way) = (Vec::new(), Stamp::default(), VecDeque::new());
    let at = |seconds: f64| Nanos::from_f64((seconds + 1e6) * 1e9);
    while now < f64::from(seconds) {
        let row = row(search.index());
        let mut sent: Vec<(f64, u16)> = Vec::new();
        for second in [false, true] {
            let Some((interval, payloads)) = row.burst(second) else { continue };
            let interval = f64::from(interval) / 1e6;
            let bursts = (0.05 / interval).round().max(1.0) as u32;
            for burst in 0..bursts {
                sent.extend(payloads.iter().map(|payload| (now + f64::from(burst) * interval, *payload)));
            }
        }
        sent.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (left, payload) in sent {
            sequence += 1;
            let takes = f64::from(payload + 28) * 8.0 / (mbps * 1e6);
            if clear_at - left > queue_ms / 1e3 {
                continue;
            }
            clear_at = clear_at.max(left) + takes;
            let load = Load {
                sequence,
                payload,
                status: answered,
                sent: Stamp::of(at(left)),
                held: 0,
                ..Load::default()
            };
            under_way.push_back((clear_at + 0.02, load));
        }
        now += 0.05;
        while under_way.front().is_some_and(|(arrives, _): &(f64, Load)| *arrives <= now + 0.02) {
            let Some((arrives, load)) = under_way.pop_front() else { break };
            account.enter(&load, at(arrives));
        }
        let (status, over) = account.status(at(now + 0.02), Nanos::from_secs(1), Nanos::from_millis(50));
        search.see(&status.trial);
        answered = status.sent;
        parts.extend(over);
    }
    (parts, search.index())
}

#[test]
fn the_search_finds_the_capacity_of_a_link() {
    use Algorithm::{B, C};
    // Type B climbs 200 Mb/s a second. Type C falls from its first leap to the bottom of the table, and at low rates does so
    // again at each of its leaps: its best second is short of a slow link.
    let cases = [
        (B, 10.0, 0.97),
        (B, 100.0, 0.97),
        (B, 700.0, 0.97),
        (C, 10.0, 0.8),
        (C, 100.0, 0.97),
        (C, 700.0, 0.97),
    ];
    for (algorithm, mbps, least) in cases {
        let seconds = 12;
        let how = Parameters { algorithm, one_way: true, ..Parameters::default() };
        let (parts, _) = searched(mbps, 100.0, seconds, how);
        let told = report(&tested(parts.clone()));
        let Finding::Value { value, .. } = told.finding(Quantity::IpCapacity) else { panic!("{told:?}") };
        let ratio = value / (mbps * 1e6);
        assert!((least..=1.01).contains(&ratio), "{algorithm:?} at {mbps} Mb/s: {ratio}, {parts:?}");
        let verdict = told.verdict.expect("a verdict");
        assert_eq!(verdict.limit, Limit::Link, "{}", verdict.reason);
    }
}

#[test]
fn a_rate_counts_headers() {
    let part = SubInterval { packets: 1_000, bytes: 1_222_000, micros: 1_000_000, ..SubInterval::default() };
    assert_eq!(rate(&part, false).0, 10_000_000);
    assert_eq!(rate(&part, true).0, 10_160_000);
    let told = report(&tested(Vec::new()));
    assert!(matches!(told.finding(Quantity::IpCapacity), Finding::Unmeasurable { .. }));
}

#[test]
fn a_digest_has_its_place() {
    let mut pdu = Setup::request(1).pack();
    set_digest(&mut pdu, &[7; 32]);
    assert_eq!(Setup::parse(&pdu).unwrap().auth.digest, [7; 32]);
    assert_eq!(sealed_part(&pdu).unwrap(), Setup::request(1).pack());
    assert_eq!(sealed_part(&[1, 2, 3]), None);
}

proptest! {
    #[test]
    fn never_panics_on_any_bytes(bytes: Vec<u8>, now: i64) {
        let _ = (Setup::parse(&bytes), Null::parse(&bytes), Activation::parse(&bytes), sealed_part(&bytes));
        let mut account = Account::default();
        if let Ok(load) = Load::parse(&bytes) {
            account.enter(&load, Nanos(now));
        }
        if let Ok(status) = Status::parse(&bytes) {
            let _ = (status.row.burst(false), status.row.burst(true), status.row.rate());
            let _ = report(&tested(vec![status.last]));
        }
    }

    #[test]
    fn never_panics_on_any_figures(fields: [u32; 7], loads: Vec<(u32, u16, u32, u32)>, times: Vec<i64>) {
        let row = Row {
            first: [fields[0], fields[1], fields[2]],
            second: [fields[3], fields[4], fields[5]],
            addition: fields[6],
        };
        let mut bursts = [false, true].into_iter().filter_map(|second| row.burst(second));
        let bounded = |(interval, payloads): (u32, Vec<u16>)| interval >= 100 && payloads.len() <= 101;
        prop_assert!(bursts.all(bounded));
        let (mut account, mut search) = (Account::default(), Search::new(Parameters::default()));
        for ((sequence, payload, seconds, nanos), at) in loads.into_iter().zip(times) {
            let sent = Stamp { seconds, nanos };
            account.enter(&Load { sequence, payload, sent, status: sent, ..Load::default() }, Nanos(at));
            let (status, over) = account.status(Nanos(at), Nanos::from_secs(1), Nanos::from_millis(50));
            search.see(&status.trial);
            let _ = report(&tested(over.into_iter().collect()));
        }
    }

    #[test]
    fn pdus_survive_their_bytes(sequence: u32, figures: [u32; 4], bytes: u64, clock: i32) {
        let last = SubInterval { variation: figures, bytes, ..SubInterval::default() };
        let trial = Trial { clock, variation: figures, ..Trial::default() };
        let status = Status { sequence, last, trial, row: row(sequence as usize % 1200), ..Status::default() };
        prop_assert_eq!(Status::parse(&status.pack()), Ok(status));
        let activation = Activation::request(Direction::Forward, Parameters { starts: true, ..Parameters::default() });
        prop_assert_eq!(Activation::parse(&activation.pack()), Ok(activation));
        let load = Load { sequence, action: Action::Stop, ..Load::default() };
        prop_assert_eq!(Load::parse(&load.pack()), Ok(load));
    }
}
