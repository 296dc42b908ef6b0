//! What continuous measurement makes of each behaviour.

use super::super::{Endpoint, Options, Timestamps};
use super::*;
use std::net::{IpAddr, Ipv4Addr};

/// All fall together.
pub(super) const FLOW: FlowHash = FlowHash(7);

fn end(number: u32, port: u16) -> Endpoint {
    Endpoint { address: IpAddr::V4(Ipv4Addr::from_bits(number)), port }
}

pub(super) fn client() -> Endpoint {
    end(1, 40_000)
}

pub(super) fn server() -> Endpoint {
    end(2, 443)
}

fn sent(at: i64, sequence: u32, acknowledgment: u32, payload: u32) -> Segment {
    Segment {
        at: Nanos::from_micros(at),
        from: client(),
        to: server(),
        flags: TcpFlags::ACK,
        sequence,
        acknowledgment,
        payload,
        options: Options::default(),
    }
}

fn back(segment: Segment) -> Segment {
    Segment { from: segment.to, to: segment.from, ..segment }
}

fn stamped(segment: Segment, value: u32, echo: u32) -> Segment {
    let options = Options { timestamps: Some(Timestamps { value, echo }), ..Options::default() };
    Segment { options, ..segment }
}

/// The SYN, or the SYN/ACK, before this first segment of an end, whose other end begins at this number.
fn syn_before(first: &Segment, others: u32) -> Segment {
    let is_answer = first.from == server();
    let flags = if is_answer { TcpFlags::SYN.with(TcpFlags::ACK) } else { TcpFlags::SYN };
    let stamp = first.options.timestamps.map(|stamps| stamps.value.wrapping_sub(1));
    let timestamps = stamp.map(|value| Timestamps { value, echo: 0 });
    let options = Options { timestamps, ..Options::default() };
    Segment {
        flags,
        sequence: first.sequence.wrapping_sub(1),
        acknowledgment: others,
        payload: 0,
        options,
        ..*first
    }
}

/// What is told by `by` of a connection that begins before these: to whom, and microseconds.
fn told(segments: &[Segment], by: By) -> Vec<(Endpoint, i64)> {
    let first = |end| segments.iter().find(|segment| segment.from == end).expect("both ends send");
    let (asks, answers) = (first(client()), first(server()));
    let opening = [syn_before(asks, 0), syn_before(answers, asks.sequence)];
    told_of(&opening.into_iter().chain(segments.iter().copied()).collect::<Vec<_>>(), by)
}

/// The same of these alone.
fn told_of(segments: &[Segment], by: By) -> Vec<(Endpoint, i64)> {
    let mut continuous = Continuous::new(FlowLimits { flows: 64, ..FlowLimits::default() });
    let mut told = Vec::new();
    for segment in segments {
        continuous.see(FLOW, segment, &mut |sample| {
            let value = sample.value.exact().expect("exact").0 / 1_000;
            assert_eq!(sample.at, segment.at);
            if sample.by == by {
                told.push((sample.to, value));
            }
        });
    }
    told
}

#[test]
fn an_acknowledgment_of_new_data_is_a_round_trip_of_either_side() {
    let segments = [
        sent(0, 1, 1, 100),
        back(sent(300, 1, 101, 50)),
        sent(450, 101, 51, 0),
        // Two at once, acknowledged together: the last one is answered.
        sent(1_000, 101, 51, 100),
        sent(1_010, 201, 51, 100),
        back(sent(1_310, 51, 301, 0)),
    ];
    assert_eq!(told(&segments, By::Acknowledgment), [(server(), 300), (client(), 150), (server(), 300)]);
}

#[test]
fn data_sent_twice_gives_nothing() {
    let segments = [
        sent(0, 1, 1, 100),
        sent(10, 101, 1, 100),
        sent(900, 1, 1, 100),
        back(sent(1_200, 1, 201, 0)),
        sent(2_000, 201, 1, 100),
        back(sent(2_300, 1, 301, 0)),
    ];
    assert_eq!(told(&segments, By::Acknowledgment), [(server(), 300)]);
}

#[test]
fn numbers_wrap() {
    let segments = [sent(0, u32::MAX - 49, 1, 100), back(sent(300, 1, 50, 0))];
    assert_eq!(told(&segments, By::Acknowledgment), [(server(), 300)]);
}

#[test]
fn the_first_echo_of_a_time_stamp_is_a_round_trip_and_no_other() {
    let segments = [
        stamped(sent(0, 1, 1, 100), 10, 5),
        // Within the same tick.
        stamped(sent(40, 101, 1, 100), 10, 5),
        stamped(back(sent(300, 1, 101, 0)), 7, 10),
        stamped(back(sent(340, 1, 201, 0)), 7, 10),
        // Sent again, with a stamp of its own.
        stamped(sent(1_000, 101, 1, 100), 11, 7),
        stamped(back(sent(1_300, 1, 201, 0)), 8, 11),
    ];
    assert_eq!(told(&segments, By::Timestamps), [(server(), 300), (server(), 300)]);
}

#[test]
fn an_end_that_idles_gives_no_time_stamps() {
    // The client's pure ACK is echoed when the server has something to say, whenever that is.
    let segments = [
        stamped(back(sent(0, 1, 1, 100)), 7, 5),
        stamped(sent(150, 1, 101, 0), 10, 7),
        stamped(back(sent(9_000, 101, 1, 100)), 16, 10),
    ];
    assert_eq!(told(&segments, By::Timestamps), [(client(), 150)]);
}

#[test]
fn a_reply_is_timed_from_the_requests_last_byte() {
    let segments = [
        sent(0, 1, 1, 1_000),
        sent(10, 1_001, 1, 500),
        back(sent(310, 1, 1_501, 0)),
        back(sent(5_310, 1, 1_501, 1_000)),
        back(sent(5_320, 1_001, 1_501, 1_000)),
    ];
    assert_eq!(told(&segments, By::Response), [(server(), 5_300)]);
}

#[test]
fn a_request_of_which_something_was_sent_twice_has_no_response_time() {
    let request = [sent(0, 1, 1, 100), sent(200_000, 1, 1, 100), sent(201_000, 101, 1, 50)];
    let next = [back(sent(220_000, 1, 151, 10)), sent(230_000, 151, 11, 7), back(sent(250_000, 11, 158, 3))];
    assert_eq!(
        told(&[&request[..], &next[..]].concat(), By::Response)[..],
        [(client(), 10_000), (server(), 20_000)]
    );
}

/// Of two segments that passed 300 ms before, the repetitions, and the acknowledgments of what was sent at first.
fn gone_back(from: i64) -> [Segment; 4] {
    [
        sent(from, 1_000, 51, 1_000),
        back(sent(from + 1_000, 51, 2_000, 0)),
        sent(from + 2_000, 2_000, 51, 1_000),
        back(sent(from + 3_000, 51, 3_000, 0)),
    ]
}

#[test]
fn what_is_seen_first_of_a_connection_that_was_there_may_be_a_repetition() {
    let next = |from| [sent(from, 3_000, 51, 100), back(sent(from + 300, 51, 3_100, 50))];
    assert_eq!(told_of(&[&gone_back(0)[..], &next(9_000)].concat(), By::Acknowledgment), []);
    // What is under way would have been sent again within ten seconds of the last answer.
    let rested = |rest: i64| {
        let segments = [&gone_back(0)[..], &next(3_000 + rest)].concat();
        (told_of(&segments, By::Acknowledgment), told_of(&segments, By::Response))
    };
    assert_eq!(rested(9_999_999), (vec![], vec![]));
    assert_eq!(rested(10_000_000), (vec![(server(), 300)], vec![(server(), 300)]));
    // Its end is not what was seen of it.
    let beyond = [back(sent(4_000, 51, 4_000, 0)), sent(11_000_000, 4_000, 51, 100)];
    let answer = [back(sent(11_000_300, 51, 4_100, 0))];
    assert_eq!(told_of(&[&gone_back(0)[..], &beyond, &answer].concat(), By::Acknowledgment), []);
    // An echo of a time stamp proves which one is acknowledged, and no more than that one. What bears it must be no copy.
    let proven = |since: i64| {
        let segments = [
            stamped(sent(0, 1, 1, 100), 7, 5),
            stamped(back(sent(300, 1, 101, 0)), 5, 7),
            stamped(sent(since, 101, 1, 100), 8, 5),
            stamped(back(sent(since + 300, 1, 201, 0)), 6, 8),
            stamped(sent(since + 1_000, 201, 1, 100), 9, 6),
            stamped(back(sent(since + 1_001, 1, 301, 0)), 6, 8),
        ];
        [By::Acknowledgment, By::Timestamps].map(|by| told_of(&segments, by))
    };
    assert_eq!(proven(980_000), [[], []]);
    assert_eq!(proven(990_000), [[(server(), 300)]; 2]);
}

/// Three segments in their ticks, the last of which is answered after 1 ms; and what passes before the copies of all of them, which a
/// mirror or the network makes.
fn copied(between: &[Segment]) -> Vec<Segment> {
    let syn = Segment { flags: TcpFlags::SYN, ..sent(0, 0, 0, 0) };
    let answer = Segment { flags: TcpFlags::SYN.with(TcpFlags::ACK), ..back(sent(300, 50, 1, 0)) };
    let opening = [stamped(syn, 480, 0), stamped(answer, 900, 480)];
    let data =
        |at: i64| [0, 1, 2].map(|n| stamped(sent(at + i64::from(n), 1 + n * 100, 51, 100), 498 + n, 900));
    let answered = [stamped(back(sent(21_002, 51, 301, 0)), 920, 500)];
    let next = [
        stamped(sent(2_000_000, 301, 51, 9), 700, 920),
        stamped(back(sent(2_000_700, 51, 310, 0)), 950, 700),
    ];
    [&opening[..], &data(20_000), between, &data(20_900), &answered, &next].concat()
}

#[test]
fn what_no_end_heeds_makes_no_copy_the_first() {
    let syn = |sequence| stamped(Segment { flags: TcpFlags::SYN, ..sent(20_100, sequence, 0, 0) }, 480, 0);
    let reset = Segment { flags: TcpFlags::RST, ..sent(20_100, 99_999_999, 0, 0) };
    let all = [By::Timestamps, By::Acknowledgment];
    // The SYN itself, which the network brings once more: all goes on.
    for between in [vec![], vec![syn(0)]] {
        assert_eq!(told_of(&copied(&between), By::Timestamps), [(server(), 1_000), (server(), 700)]);
    }
    // Another's, or an RST: what passes soon after it may be a copy of what passed before.
    for between in [syn(77), back(syn(77)), reset, back(reset)] {
        let told = all.map(|by| told_of(&copied(&[between]), by));
        assert_eq!(told, [[(server(), 700)]; 2], "{between:?}");
    }
    // A capture that begins between what passed and its copies.
    let midway = copied(&[]).split_off(5);
    assert_eq!(all.map(|by| told_of(&midway, by)), [[(server(), 700)]; 2]);
}

/// As Windows does, half a second later and with the same number.
#[test]
fn a_syn_that_was_refused_may_be_sent_again_and_answered() {
    let syn = |at| Segment { flags: TcpFlags::SYN, ..sent(at, 0, 0, 0) };
    let refusal = Segment { flags: TcpFlags::RST.with(TcpFlags::ACK), ..back(sent(300, 0, 1, 0)) };
    let answer = Segment { flags: TcpFlags::SYN.with(TcpFlags::ACK), ..back(sent(500_300, 50, 1, 0)) };
    let segments =
        [syn(0), refusal, syn(500_000), answer, sent(500_400, 1, 51, 100), back(sent(501_400, 51, 101, 0))];
    assert_eq!(told_of(&segments, By::Acknowledgment), [(server(), 1_000)]);
}

/// To which end each round trip is said to go.
fn ends(segments: &[Segment]) -> Vec<(Endpoint, Option<End>)> {
    let mut continuous = Continuous::new(FlowLimits::default());
    let mut told = Vec::new();
    segments
        .iter()
        .for_each(|one| continuous.see(FLOW, one, &mut |sample| told.push((sample.to, sample.end))));
    told.sort_unstable();
    told.dedup();
    told
}

#[test]
fn who_opened_it_is_told_by_what_was_answered() {
    let syn = |at, sequence| Segment { flags: TcpFlags::SYN, ..sent(at, sequence, 0, 0) };
    let both = TcpFlags::SYN.with(TcpFlags::ACK);
    let opening = [syn(0, 0), Segment { flags: both, ..back(sent(300, 50, 1, 0)) }];
    let trip = |at, number: u32| {
        [
            stamped(sent(at, 1 + number, 51 + number, 1), number + 1, number),
            stamped(back(sent(at + 300, 51 + number, 2 + number, 1)), number + 1, number + 1),
            stamped(sent(at + 400, 2 + number, 52 + number, 0), number + 2, number + 1),
        ]
    };
    // Of what is seen first nothing is told.
    let later = [trip(2_000_000, 9), trip(3_000_000, 30)].concat();
    let right = [(client(), Some(End::Client)), (server(), Some(End::Server))];
    assert_eq!(ends(&[&opening[..], &trip(400, 0)].concat()), right);
    // Where nothing answers a SYN of the client's number or another, of either end, who opened it is who did, or not known.
    let after = |between| ends(&[&opening[..], &[between], &later].concat());
    assert_eq!(after(syn(9_000, 0)), right);
    assert_eq!(after(syn(9_000, 777)), right);
    assert_eq!(after(back(syn(9_000, 777))), right.map(|(end, _)| (end, None)));
    // Both open it: who was first, whichever answers first.
    let crossed = [syn(0, 0), back(syn(100, 50))];
    let answers = [
        Segment { flags: both, ..sent(200, 0, 51, 0) },
        Segment { flags: both, ..back(sent(250, 50, 1, 0)) },
    ];
    for answers in [[answers[0], answers[1]], [answers[1], answers[0]]] {
        assert_eq!(ends(&[&crossed[..], &answers, &later].concat()), right);
    }
    // Another connection of the same ports, opened by the other end.
    let next = [back(syn(9_000, 777)), Segment { flags: both, ..sent(9_300, 9, 778, 0) }];
    let turned = [(client(), Some(End::Server)), (server(), Some(End::Client))];
    assert_eq!(ends(&[&opening[..], &next, &later].concat()), turned);
}

#[test]
fn what_was_sent_before_a_syn_that_nobody_answers_may_be_sent_again() {
    let syn = |at, sequence| Segment { flags: TcpFlags::SYN, ..sent(at, sequence, 0, 0) };
    let answer = Segment { flags: TcpFlags::SYN.with(TcpFlags::ACK), ..back(sent(300, 50, 1_000, 0)) };
    let before = [syn(0, 999), answer, sent(400, 1_000, 51, 1_000), sent(1_400, 2_000, 51, 1_000)];
    let reset = Segment { flags: TcpFlags::RST, ..back(sent(2_000, 99, 0, 0)) };
    // One of another number, the first one late, an answer of it alone, and an RST that nobody heeds.
    for between in [syn(2_000, 123), syn(2_000, 999), Segment { at: Nanos::from_millis(2), ..answer }, reset]
    {
        let segments = [&before[..], &[between], &gone_back(300_000)].concat();
        assert_eq!(told_of(&segments, By::Acknowledgment), [], "{between:?}");
    }
    // A SYN/ACK once more, whose SYN was not seen: its client has sent since.
    let late = Segment { at: Nanos::from_micros(500), ..answer };
    let [first, acknowledged, second, last] = gone_back(0);
    let segments = [first, late, acknowledged, second, last];
    assert_eq!(told_of(&segments, By::Acknowledgment), []);
    // The SYN once more before anything else, as when its answer is lost, and the answer once more.
    let again = [syn(0, 999), answer, syn(1_000_000, 999), Segment { at: Nanos::from_secs(1), ..answer }];
    let segments = [&again[..], &gone_back(2_000_000)].concat();
    assert_eq!(told_of(&segments, By::Acknowledgment), [(server(), 1_000); 2]);
    // Another connection of the same ports.
    let answer = Segment { acknowledgment: 8_000, sequence: 99, at: Nanos::from_millis(10), ..answer };
    let next = [syn(9_000, 7_999), answer, sent(11_000, 8_000, 100, 10), back(sent(11_200, 100, 8_010, 0))];
    assert_eq!(told_of(&[&before[..], &next].concat(), By::Acknowledgment), [(server(), 200)]);
}

#[test]
fn what_a_syn_brought_may_be_sent_again() {
    let syn = Segment { flags: TcpFlags::SYN, ..sent(0, 0, 0, 100) };
    let answer = Segment { flags: TcpFlags::SYN.with(TcpFlags::ACK), ..back(sent(300, 50, 1, 0)) };
    let segments = [syn, answer, sent(400, 1, 51, 100), back(sent(450, 51, 101, 0))];
    assert_eq!(told_of(&segments, By::Acknowledgment), []);
}

#[test]
fn a_pure_ack_uses_up_its_time_stamp_and_so_does_a_syn() {
    let syn = Segment { flags: TcpFlags::SYN, ..sent(0, 0, 0, 0) };
    let answer = Segment { flags: TcpFlags::SYN.with(TcpFlags::ACK), ..back(sent(5_000, 50, 1, 0)) };
    let opening = [stamped(syn, 100, 0), stamped(answer, 900, 100)];
    // Both ends speak at once; the server's banner answers the ACK, which has the stamp of the client's banner.
    let third = stamped(sent(5_050, 1, 51, 0), 105, 900);
    let both = [
        stamped(sent(5_900, 1, 51, 16), 105, 900),
        stamped(back(sent(5_910, 51, 1, 16)), 901, 105),
        stamped(sent(6_000, 17, 67, 16), 106, 901),
        stamped(back(sent(11_000, 67, 33, 0)), 907, 106),
    ];
    let told = told_of(&[&opening[..], &[third], &both[..]].concat(), By::Timestamps);
    assert_eq!(told, [(client(), 90), (server(), 5_000)]);
    // The server's data in the tick of its SYN/ACK, which the client's ACK echoes.
    let data = stamped(back(sent(5_020, 51, 1, 16)), 900, 100);
    assert_eq!(told_of(&[&opening[..], &[data, third]].concat(), By::Timestamps), []);
}

#[test]
fn what_does_not_acknowledge_the_request_is_no_reply() {
    let segments = [sent(0, 1, 1, 1_000), back(sent(310, 1, 1, 1_000))];
    assert_eq!(told(&segments, By::Response), []);
}

#[test]
fn what_is_sent_again_is_no_reply() {
    // The byte of a keep-alive while the program is at work, as Windows sends it.
    let kept_alive = [
        sent(0, 1, 1, 100),
        back(sent(2_000, 1, 101, 0)),
        back(sent(30_000_000, 0, 101, 1)),
        sent(30_000_010, 101, 1, 0),
        back(sent(90_000_000, 1, 101, 500)),
    ];
    assert_eq!(told(&kept_alive, By::Response), [(server(), 90_000_000)]);
    // The reply before, which was lost behind the probe, when the next request is there.
    let again = [
        sent(0, 1, 1, 100),
        back(sent(2_000, 1, 101, 1_000)),
        sent(20_000, 101, 1, 100),
        back(sent(220_000, 1, 201, 1_000)),
        sent(221_000, 201, 1_001, 0),
        back(sent(800_000, 1_001, 201, 500)),
    ];
    assert_eq!(told(&again, By::Response), [(server(), 2_000), (server(), 780_000)]);
}

#[test]
fn what_passes_after_its_answer_gives_nothing() {
    // One direction reaches the probe late, or this is sent again and was missed before: what answers it has passed.
    let begun = [stamped(sent(0, 1, 1, 10), 5, 4), stamped(back(sent(300, 1, 11, 10)), 5, 5)];
    let late = [
        stamped(back(sent(9_950, 11, 111, 1_000)), 20, 10),
        stamped(sent(10_000, 11, 11, 100), 10, 5),
        stamped(back(sent(10_001, 1_011, 111, 1_000)), 20, 10),
        sent(11_000, 111, 2_011, 0),
    ];
    let segments = [&begun[..], &late].concat();
    let before = [(server(), 300), (client(), 9_700)];
    assert_eq!(told(&segments, By::Acknowledgment), [&before[..], &[(client(), 999)]].concat());
    assert_eq!(told(&segments, By::Response), [(server(), 300)]);
    assert_eq!(told(&segments, By::Timestamps), before);
    // After a rest as well, where the beginning was not seen.
    let rested = [
        sent(0, 1, 1, 10),
        back(sent(300, 1, 11, 0)),
        back(sent(20_000_000, 1, 111, 0)),
        sent(20_000_050, 11, 1, 100),
        back(sent(20_000_051, 1, 111, 0)),
    ];
    assert_eq!(told_of(&rested, By::Acknowledgment), []);
}

#[test]
fn a_full_window_is_sampled_and_what_is_lost_blocks_nothing() {
    let mut segments: Vec<Segment> = (0..100).map(|n| sent(i64::from(n), 1 + n * 100, 1, 100)).collect();
    segments.extend((0..100).map(|n| back(sent(300 + i64::from(n), 1, 101 + n * 100, 0))));
    assert_eq!(told(&segments, By::Acknowledgment), [(server(), 300); 4]);
    let mut silent: Vec<Segment> = (0..20).map(|n| sent(i64::from(n), 1 + n * 100, 1, 100)).collect();
    silent.extend([sent(20_000_000, 2_001, 1, 100), back(sent(20_000_300, 1, 2_101, 0))]);
    assert_eq!(told(&silent, By::Acknowledgment), [(server(), 300)]);
}

/// Twice, 200 us apart: a mirror's second copies of SYN and SYN/ACK pass after the first of what follows them.
#[test]
fn what_a_mirror_shows_twice_begins_nothing() {
    let syn = |at| stamped(Segment { flags: TcpFlags::SYN, ..sent(at, 0, 0, 0) }, 7, 0);
    let both = TcpFlags::SYN.with(TcpFlags::ACK);
    let answer = |at| stamped(back(Segment { flags: both, ..sent(at, 50, 1, 0) }), 90, 7);
    let asked = |at| stamped(sent(at, 1, 51, 100), 8, 90);
    let replied = |at| stamped(back(sent(at, 51, 101, 200)), 91, 8);
    let heard = |at| stamped(sent(at, 101, 251, 0), 9, 91);
    let once = [syn(0), answer(100), asked(150), replied(290), heard(340)];
    let twice = [
        syn(0),
        answer(100),
        asked(150),
        syn(200),
        replied(290),
        answer(300),
        heard(340),
        asked(350),
        replied(490),
        heard(540),
    ];
    for segments in [&once[..], &twice] {
        assert_eq!(told_of(segments, By::Acknowledgment), [(server(), 140), (client(), 50)]);
        assert_eq!(told_of(segments, By::Timestamps), [(server(), 140), (client(), 50)]);
        assert_eq!(told_of(segments, By::Response), [(server(), 140)]);
    }
}

/// A tap that writes down what passed in another order, with the times at which it did.
#[test]
fn the_first_with_a_time_stamp_may_pass_late() {
    let segments = |late: Segment| {
        let first = stamped(sent(0, 1, 1, 100), 7, 0);
        let second = stamped(sent(5_000, 201, 1, 100), 8, 0);
        let echo = stamped(back(sent(5_300, 1, 301, 0)), 90, 8);
        [first, stamped(back(sent(300, 1, 101, 0)), 89, 7), second, late, echo]
    };
    let with = |late| told(&segments(late), By::Timestamps);
    let [data, bare] = [sent(4_950, 101, 1, 100), sent(4_950, 101, 1, 0)].map(|late| stamped(late, 8, 0));
    assert_eq!(with(data), [(server(), 300), (server(), 350)]);
    // What asks for nothing may be answered at any time.
    assert_eq!(with(bare), [(server(), 300)]);
    // Others may have passed in between, with newer stamps.
    let [second, third] =
        [(5_000, 201, 8), (5_100, 301, 9)].map(|(at, from, value)| stamped(sent(at, from, 1, 100), value, 0));
    let echoes = [(5_300, 8), (5_400, 9)].map(|(at, echo)| stamped(back(sent(at, 1, 1, 0)), 90, echo));
    let all = [
        stamped(sent(0, 1, 1, 100), 7, 0),
        second,
        third,
        stamped(sent(4_950, 101, 1, 100), 8, 0),
        echoes[0],
        echoes[1],
    ];
    assert_eq!(told(&all, By::Timestamps), [(server(), 350), (server(), 300)]);
}

/// The SYN/ACK after what the server sent behind it: that was the first with its stamp.
#[test]
fn a_syn_ack_that_passes_late_makes_nothing_new() {
    let syn = stamped(Segment { flags: TcpFlags::SYN, ..sent(0, 0, 0, 0) }, 7, 0);
    let both = TcpFlags::SYN.with(TcpFlags::ACK);
    let answer = stamped(back(Segment { flags: both, ..sent(100, 50, 1, 0) }), 90, 7);
    let first = stamped(back(sent(150, 51, 1, 100)), 91, 7);
    let second = stamped(back(sent(3_000, 151, 1, 100)), 91, 7);
    let heard = stamped(sent(3_200, 1, 151, 0), 8, 91);
    assert_eq!(told_of(&[syn, first, answer, second, heard], By::Timestamps), []);
    assert_eq!(told_of(&[syn, answer, first, second, heard], By::Timestamps), [(client(), 3_050)]);
}

#[test]
fn a_handshake_gives_nothing_here() {
    let syn = |at| Segment { flags: TcpFlags::SYN, ..sent(at, 0, 0, 0) };
    let answer = Segment { flags: TcpFlags::SYN.with(TcpFlags::ACK), ..back(sent(1_000_300, 50, 1, 0)) };
    let segments = [syn(0), syn(1_000_000), answer, sent(1_000_450, 1, 51, 0)].map(|s| stamped(s, 7, 7));
    for by in [By::Acknowledgment, By::Timestamps, By::Response] {
        assert_eq!(told(&segments, by), []);
    }
}

#[test]
fn memory_is_what_the_limits_say() {
    let (tcp, quic) = (Flows::<Connection>::FLOW_BYTES, Flows::<quic::Connection>::FLOW_BYTES);
    assert!(tcp < 512 && quic < 512, "{tcp} {quic}");
}

#[test]
fn what_is_withheld_is_counted() {
    let mut continuous = Continuous::new(FlowLimits::default());
    gone_back(0).iter().for_each(|segment| continuous.see(FLOW, segment, &mut |sample| panic!("{sample:?}")));
    assert_eq!(continuous.unproven(), 2);
}
