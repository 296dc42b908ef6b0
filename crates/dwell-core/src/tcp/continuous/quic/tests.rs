//! What is made of QUIC's handshakes and spin bits.

use super::super::super::{Endpoint, Half};
use super::super::tests::{FLOW, client, server};
use super::super::{By, Datagram, FlowLimits};
use super::Quic;
use crate::unit::Nanos;

/// What the client makes up, and what each end calls itself.
const MADE_UP: &[u8] = &[0xa; 8];
const CLIENT: &[u8] = &[0xc; 3];
const SERVER: &[u8] = &[0xb; 8];

/// First bytes.
const INITIAL: u8 = 0xc0;
const ZERO_RTT: u8 = 0xd0;
const HANDSHAKE: u8 = 0xe0;
const RETRY: u8 = 0xf0;

/// Microseconds, whether by the client, and the datagram.
type Passed = (i64, bool, Vec<u8>);

/// Packets of a datagram, by their first bytes.
fn long(kinds: &[u8], to: &[u8], from: &[u8]) -> Vec<u8> {
    let packet = |kind: &u8| {
        let token: &[u8] = if *kind == INITIAL { &[0] } else { &[] };
        let ids = [&[to.len() as u8], to, &[from.len() as u8], from].concat();
        [&[*kind, 0, 0, 0, 1], &ids[..], token, &[2, 7, 7]].concat()
    };
    kinds.iter().flat_map(packet).collect()
}

/// Of the client, before it has heard the server.
fn asks(at: i64, kinds: &[u8]) -> Passed {
    (at, true, long(kinds, MADE_UP, CLIENT))
}

/// Of the client, once it has.
fn heard(at: i64, kinds: &[u8]) -> Passed {
    (at, true, long(kinds, SERVER, CLIENT))
}

fn answers(at: i64, kinds: &[u8]) -> Passed {
    (at, false, long(kinds, CLIENT, SERVER))
}

/// The server's half is 300 us, the client's 150 us.
fn opening() -> Vec<Passed> {
    vec![asks(0, &[INITIAL]), answers(300, &[INITIAL, HANDSHAKE]), heard(450, &[INITIAL, HANDSHAKE])]
}

/// Of a connection that is there, the `nth`.
fn short(at: i64, by_client: bool, spin: bool, nth: usize) -> Passed {
    let first = if spin { 0x60 } else { 0x40 };
    (at, by_client, [&[first], CLIENT, &nth.to_be_bytes()[..]].concat())
}

fn quic(packets: &[Passed]) -> Vec<(Endpoint, Half, By)> {
    let mut quic = Quic::new(FlowLimits { flows: 64, ..FlowLimits::default() });
    let mut told = Vec::new();
    for (at, by_client, payload) in packets {
        let (from, to) = if *by_client { (client(), server()) } else { (server(), client()) };
        let datagram = Datagram { at: Nanos::from_micros(*at), from, to, payload, length: 1_200 };
        quic.see(FLOW, &datagram, &mut |sample| told.push((sample.to, sample.value, sample.by)));
    }
    told
}

/// The halves that a handshake tells, microseconds.
fn halves(packets: &[Passed]) -> Vec<(&'static str, Half)> {
    let end = |to| if to == server() { "server" } else { "client" };
    quic(packets).into_iter().map(|(to, value, _)| (end(to), value)).collect()
}

fn exact(us: i64) -> Half {
    Half::Exact(Nanos::from_micros(us))
}

fn at_most(us: i64) -> Half {
    Half::AtMost(Nanos::from_micros(us))
}

#[test]
fn a_quic_handshake_gives_both_halves() {
    let told = quic(&opening());
    assert_eq!(told, [(server(), exact(300), By::QuicHandshake), (client(), exact(150), By::QuicHandshake)]);
}

#[test]
fn a_first_message_in_parts_is_a_bound() {
    let told = quic(&[asks(0, &[INITIAL]), asks(20, &[INITIAL]), answers(300, &[INITIAL])]);
    assert_eq!(told, [(server(), at_most(300), By::QuicHandshake)]);
}

#[test]
fn the_second_part_of_a_first_message_answers_nothing() {
    // The server acknowledges the first part at once, 0.2 ms away; the client is 30 ms away.
    let told = halves(&[
        asks(0, &[INITIAL]),
        answers(200, &[INITIAL]),
        asks(1_000, &[INITIAL]),
        answers(1_300, &[INITIAL]),
        answers(1_310, &[HANDSHAKE]),
        heard(31_300, &[INITIAL]),
        heard(31_400, &[HANDSHAKE]),
    ]);
    // From the first of the server's on: whether it is the one that is answered cannot be known.
    assert_eq!(told, [("server", exact(200)), ("client", at_most(31_100))]);
}

#[test]
fn a_servers_first_message_that_passes_again_makes_the_clients_half_a_bound() {
    // A timer that remembers the path; or the client's, which had the server send it again. The first one was lost behind the probe.
    let [asked, first, _] = <[Passed; 3]>::try_from(opening()).expect("three");
    let repetition = answers(30_500, &[INITIAL, HANDSHAKE]);
    for asked_again in [None, Some((30_200, true, asked.2.clone()))] {
        let next = asked_again.into_iter().chain([repetition.clone(), heard(30_650, &[INITIAL])]);
        let told = halves(&[asked.clone(), first.clone()].into_iter().chain(next).collect::<Vec<_>>());
        assert_eq!(told, [("server", exact(300)), ("client", at_most(30_350))]);
    }
    // A mirror's copy, and the rest of the message.
    for next in [answers(310, &[INITIAL, HANDSHAKE]), answers(30_310, &[HANDSHAKE])] {
        let told = halves(&[asked.clone(), first.clone(), next, heard(30_450, &[INITIAL])]);
        assert_eq!(told, [("server", exact(300)), ("client", exact(30_150))]);
    }
}

#[test]
fn data_of_a_client_that_remembers_answers_nothing() {
    let told = halves(&[
        asks(0, &[INITIAL, ZERO_RTT]),
        asks(10, &[ZERO_RTT]),
        answers(20_000, &[INITIAL, HANDSHAKE]),
        asks(20_100, &[ZERO_RTT]),
        heard(40_000, &[ZERO_RTT]),
        heard(70_000, &[INITIAL]),
    ]);
    assert_eq!(told, [("server", exact(20_000)), ("client", exact(50_000))]);
}

#[test]
fn what_a_timer_may_have_sent_is_a_bound() {
    // The client's repetition crosses the server's first packet.
    let crossing = [
        asks(0, &[INITIAL]),
        answers(999_000, &[INITIAL, HANDSHAKE]),
        asks(1_000_000, &[INITIAL]),
        heard(1_049_000, &[INITIAL]),
    ];
    assert_eq!(halves(&crossing), [("server", at_most(999_000)), ("client", exact(50_000))]);
    // The server's first was lost before it came here, and its repetition passes.
    for first in [200_000, 300_000, 1_050_000] {
        let told = halves(&[asks(0, &[INITIAL]), answers(first, &[INITIAL])]);
        assert_eq!(told, [("server", at_most(first))]);
    }
    // Of its first datagrams the one with the Initial was lost.
    let told = halves(&[asks(0, &[INITIAL]), answers(310, &[HANDSHAKE]), heard(460, &[HANDSHAKE])]);
    assert_eq!(told, [("server", at_most(310)), ("client", at_most(150))]);
}

#[test]
fn a_server_that_keeps_the_id_that_the_client_made_up_tells_its_client_half_by_the_clients_keys() {
    let kept = |at, kinds: &[u8]| (at, false, long(kinds, CLIENT, MADE_UP));
    let begun = [asks(0, &[INITIAL]), kept(300, &[INITIAL, HANDSHAKE])];
    // The first of the client that has them, if nothing is before it.
    let at_once = [&begun[..], &[asks(450, &[INITIAL, HANDSHAKE])]].concat();
    assert_eq!(halves(&at_once)[1..], [("client", exact(150))]);
    let behind = [&begun[..], &[asks(310, &[INITIAL]), asks(460, &[HANDSHAKE])]].concat();
    assert_eq!(halves(&behind)[1..], [("client", at_most(160))]);
}

#[test]
fn a_retry_is_answered_and_asks_again() {
    let retry: &[u8] = &[0xd; 12];
    let again = |at| (at, true, long(&[INITIAL], retry, CLIENT));
    let told = halves(&[
        asks(0, &[INITIAL]),
        (300, false, long(&[RETRY], CLIENT, retry)),
        // Sent before the Retry was heard.
        asks(310, &[INITIAL]),
        again(450),
        (760, false, long(&[INITIAL, HANDSHAKE], CLIENT, SERVER)),
        heard(920, &[INITIAL]),
    ]);
    let first = [("server", exact(300)), ("client", exact(150))];
    assert_eq!(told, [first, [("server", exact(310)), ("client", exact(160))]].concat());
    // The server may keep the ID that its Retry gave; and a mirror shows that once more.
    let kept = halves(&[
        asks(0, &[INITIAL]),
        (300, false, long(&[RETRY], CLIENT, retry)),
        again(450),
        (460, false, long(&[RETRY], CLIENT, retry)),
        (760, false, long(&[INITIAL, HANDSHAKE], CLIENT, retry)),
        (920, true, long(&[HANDSHAKE], retry, CLIENT)),
    ]);
    assert_eq!(kept, told);
}

#[test]
fn a_version_that_is_negotiated_ends_the_servers_half_alone() {
    let mut none = long(&[RETRY], CLIENT, MADE_UP);
    none[1..5].fill(0);
    let told =
        halves(&[asks(0, &[INITIAL]), (300, false, none), asks(310, &[INITIAL]), heard(450, &[INITIAL])]);
    assert_eq!(told, [("server", exact(300))]);
}

#[test]
fn a_second_connection_of_the_same_ports_has_its_own_handshake() {
    let (asked, other): (&[u8], &[u8]) = (&[0x1a; 8], &[0x1b; 8]);
    let next = [
        (10_000_000, true, long(&[INITIAL], asked, CLIENT)),
        // Of the connection before.
        answers(10_000_100, &[INITIAL, HANDSHAKE]),
        (10_000_400, false, long(&[INITIAL, HANDSHAKE], CLIENT, other)),
        (10_000_600, true, long(&[INITIAL, HANDSHAKE], other, CLIENT)),
    ];
    let told = halves(&[&opening()[..], &next].concat());
    assert_eq!(told[2..], [("server", exact(400)), ("client", exact(200))]);
    // One that begins before anything of the server passed: which of them it answers is not known.
    let crossing = [asks(0, &[INITIAL]), next[0].clone(), next[2].clone(), next[3].clone()];
    assert_eq!(halves(&crossing)[0], ("server", at_most(10_000_400)));
}

#[test]
fn two_servers_that_answer_one_client_tell_nothing_more() {
    let other: &[u8] = &[0x1b; 8];
    let told = halves(&[
        asks(0, &[INITIAL]),
        answers(300, &[INITIAL, HANDSHAKE]),
        (310, false, long(&[INITIAL, HANDSHAKE], CLIENT, other)),
        (450, true, long(&[INITIAL], other, CLIENT)),
        (460, false, long(&[HANDSHAKE], CLIENT, other)),
    ]);
    assert_eq!(told, [("server", exact(300))]);
}

#[test]
fn the_middle_of_a_handshake_is_no_beginning() {
    let later = [asks(450, &[INITIAL, HANDSHAKE]), answers(460, &[HANDSHAKE])];
    assert_eq!(halves(&later), []);
    assert_eq!(halves(&[answers(0, &[INITIAL]), heard(300, &[INITIAL])][1..]), []);
    // A server's first packet goes to the ID that the client gave itself, most often a short one.
    assert_eq!(halves(&[answers(0, &[INITIAL]), heard(150, &[INITIAL, HANDSHAKE])]), []);
}

/// Edges that follow each other, 300 us after the client's and 150 us after the server's, with a packet in between.
fn spun(turns: usize) -> Vec<Passed> {
    let turn = |turn: usize| {
        let (at, spin) = (950 + turn as i64 * 450, turn.is_multiple_of(2));
        let packet = |after, by_client, nth| short(at + after, by_client, spin, 3 * turn + nth);
        [packet(0, true, 0), packet(10, true, 1), packet(300, false, 2)]
    };
    (0..turns).flat_map(turn).collect()
}

fn by_spin_bit(packets: &[Passed]) -> Vec<(Endpoint, Half)> {
    let told = quic(packets).into_iter().filter(|(.., by)| *by == By::SpinBit);
    told.map(|(to, value, _)| (to, value)).collect()
}

#[test]
fn the_spin_bit_gives_both_halves_once_both_ends_have_followed() {
    let told = by_spin_bit(&[opening(), spun(60)].concat());
    assert!((40..60).contains(&told.len()), "{told:?}");
    for (to, value) in told {
        assert_eq!(value, if to == server() { exact(300) } else { exact(150) });
    }
    assert_eq!(by_spin_bit(&[opening(), spun(20)].concat()), []);
    // Without a handshake nothing tells that it is QUIC, nor who is the client.
    assert_eq!(by_spin_bit(&spun(60)), []);
}

#[test]
fn a_fixed_bit_that_is_not_fixed_changes_nothing() {
    let packets = [opening(), spun(60)].concat();
    let greased = |at: usize| {
        let (when, by_client, mut bytes) = packets[at].clone();
        bytes[0] &= if at % 3 == 1 { !0x40 } else { !0 };
        (when, by_client, bytes)
    };
    let greased: Vec<_> = (0..packets.len()).map(greased).collect();
    let told = quic(&packets);
    assert!(told.len() > 20, "{told:?}");
    assert_eq!(quic(&greased), told);
}

#[test]
fn another_connections_bits_must_be_shown_to_spin_again() {
    let (asked, other): (&[u8], &[u8]) = (&[0x1a; 8], &[0x1b; 8]);
    let next = vec![
        (20_000, true, long(&[INITIAL], asked, CLIENT)),
        (20_400, false, long(&[INITIAL, HANDSHAKE], CLIENT, other)),
    ];
    let later: Vec<_> =
        spun(20).into_iter().map(|(at, by, bytes)| (at + 40_000, by, [&bytes[..], &[9]].concat())).collect();
    let before = [opening(), spun(40)].concat();
    assert_eq!(by_spin_bit(&[before.clone(), next, later].concat()), by_spin_bit(&before));
}

#[test]
fn what_is_no_quic_takes_no_place() {
    let mut quic = Quic::new(FlowLimits { flows: 4, ..FlowLimits::default() });
    let (_, _, payload) = short(0, true, false, 0);
    for port in 0..1_000 {
        let from = Endpoint { port, ..client() };
        let datagram = Datagram { at: Nanos(0), from, to: server(), payload: &payload, length: 5 };
        quic.see(FLOW, &datagram, &mut |sample| panic!("{sample:?}"));
    }
    assert_eq!(quic.forgotten(), 0);
}

#[test]
fn a_bit_that_does_not_spin_gives_nothing() {
    let random = |n: i64| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 & 1 == 1;
    let packets = (0..400).map(|n| short(1_000 + n * 10, n % 3 != 0, random(n * n), n as usize));
    let told = quic(&opening().into_iter().chain(packets).collect::<Vec<_>>());
    assert!(told.iter().all(|(.., by)| *by == By::QuicHandshake), "{told:?}");
    // And what is no QUIC is none.
    let bits = [short(0, true, true, 0), short(300, false, true, 1), short(450, true, false, 2)];
    assert!(quic(&bits).is_empty());
}
