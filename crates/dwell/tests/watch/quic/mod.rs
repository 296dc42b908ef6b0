//! QUIC on an interface: real connections, whose every datagram is known.

mod end;
mod keys;

use crate::running::{apart, end, start, wait_until_it_watches};
use crate::{folder, lines, text};
use end::{End, Sent};
use serde_json::Value;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

const CONNECTIONS: u8 = 4;
const EXCHANGES: usize = 120;
/// So many edges pass before it is believed that both ends spin, at most.
const DOUBTED: usize = 80;
const SERVER_DELAY: Duration = Duration::from_millis(9);
const CLIENT_DELAY: Duration = Duration::from_millis(3);
/// Datagrams of something else.
const OTHERS: usize = 2_000;

/// A connection from its beginning, message for message; its ports, and all that was sent.
fn converse(seed: u8) -> ([u16; 2], Vec<Sent>) {
    let mut server = End::server(keys::server(), SERVER_DELAY, seed);
    let mut client = End::client(keys::client(), server.address(), CLIENT_DELAY, seed);
    let (until, mut log) = (Instant::now() + Duration::from_secs(10), Vec::new());
    while client.heard < EXCHANGES {
        assert!(Instant::now() < until, "{} messages of {EXCHANGES} came back", client.heard);
        client.step(&mut log);
        server.step(&mut log);
        thread::sleep(Duration::from_micros(100));
    }
    ([client.address().port(), server.address().port()], log)
}

/// Between which times a span lies that two datagrams begin and end.
fn between(from: &Sent, until: &Sent) -> [i64; 2] {
    [until.before - from.after, until.after - from.before]
}

/// The half to the server, and to the client, by the handshake's packets.
fn handshake(log: &[Sent]) -> [[i64; 2]; 2] {
    let next = |from: usize, by_client: bool| {
        let found = log[from..].iter().position(|sent| sent.by_client == by_client && sent.is_long());
        from + found.expect("sent")
    };
    let asked = next(0, true);
    let answered = next(asked, false);
    let over = next(answered, true);
    [between(&log[asked], &log[answered]), between(&log[answered], &log[over])]
}

/// From each edge of the spin bit to the other end's that follows: whether the client answered, and how long it took.
fn edges(log: &[Sent]) -> Vec<(bool, [i64; 2])> {
    let short: Vec<&Sent> = log.iter().filter(|sent| !sent.is_long()).collect();
    let turned = |at: usize| {
        let before = short[..at].iter().rev().find(|sent| sent.by_client == short[at].by_client);
        before.is_some_and(|before| before.spin() != short[at].spin())
    };
    let edges: Vec<&Sent> = (0..short.len()).filter(|at| turned(*at)).map(|at| short[at]).collect();
    let pairs = edges.windows(2).filter(|two| two[0].by_client != two[1].by_client);
    pairs.map(|two| (two[1].by_client, between(two[0], two[1]))).collect()
}

fn is_within(value: &Value, [least, most]: [i64; 2]) -> bool {
    value.as_i64().is_some_and(|value| (least..=most).contains(&value))
}

/// Something that is no QUIC, to a port of its own.
fn send_others() {
    let [from, to] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
    for number in 0..OTHERS {
        // The form of a packet in the middle of a connection, and nothing at all.
        let content: &[u8] = if number % 2 == 0 { &[0x40; 600] } else { &[] };
        from.send_to(content, to.local_addr().expect("bound")).expect("sent");
    }
}

#[test]
fn its_halves_are_told_live_and_nothing_else_of_udp_passes() {
    apart(|| {
        let here = folder();
        let child = start(here.path(), &["watch", "lo", "--json", "--continuous", "--every", "0.1"]);
        wait_until_it_watches(&child);
        send_others();
        let connections: Vec<_> = (0..CONNECTIONS).map(converse).collect();
        let output = end(child);
        let (told, account) = (lines(&output), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{account}");
        let mut spun = 0;
        for ([client, server], log) in &connections {
            let of = |by: &str, end: &str| -> Vec<&Value> {
                let to = if end == "server" { server } else { client };
                let is_it = |line: &&Value| line["by"] == by && line["end"] == end && line["to_port"] == *to;
                told.iter().filter(is_it).collect()
            };
            for (end, truth) in ["server", "client"].into_iter().zip(handshake(log)) {
                let lines = of("quic-handshake", end);
                assert_eq!(lines.len(), 1, "{end}: {lines:?}");
                assert!(is_within(&lines[0]["least_ns"], truth), "{end}: {} of {truth:?}", lines[0]);
            }
            let truth = edges(log);
            let mut samples = 0;
            for (end, by_client) in [("server", false), ("client", true)] {
                for line in of("spin-bit", end) {
                    let fits = |(answered, span): &(bool, [i64; 2])| {
                        *answered == by_client && is_within(&line["least_ns"], *span)
                    };
                    assert!(truth.iter().any(fits), "{line} of {truth:?}");
                    samples += line["samples"].as_u64().expect("a count");
                }
            }
            // An end that does not spin has edges by chance, if any.
            if samples > 0 {
                spun += 1;
                let (told, all) = (samples as usize, truth.len());
                assert!((all - DOUBTED..all).contains(&told), "{told} of {truth:?}");
            }
        }
        assert!(spun > 0, "no connection spins: {told:?}");
        let sent: usize = connections.iter().map(|(_, log)| log.len()).sum();
        let passed =
            account.split("passed by, ").nth(1).and_then(|rest| rest.split(" passed the filter").next());
        let passed: usize =
            passed.expect("a count").replace(['\u{202f}', ' '], "").parse().expect("a number");
        assert_eq!(passed, sent, "{account}");
    });
}
