//! What passes shows that the probe missed something, or two equal segments need not be one.

use super::refusals::rst;
use super::*;

const S: i64 = 1_000_000;

/// With a mirror's copy of each.
fn mirrored(segments: &[Segment]) -> Vec<Segment> {
    let copies =
        segments.iter().flat_map(|segment| [*segment, Segment { at: segment.at + us(20), ..*segment }]);
    copies.collect()
}

#[test]
fn of_equal_syn_acks_without_a_syn_nothing_tells_which_was_answered() {
    // The server answers a SYN and its timer repeats the SYN/ACK, in one tick of its clock.
    let answer = |at| stamped(syn_ack(at), 77, 9);
    let told = only(&[answer(0), answer(1_500), stamped(ack(2_700), 10, 77)]);
    assert_eq!((told.client_half, told.syn_acks), (one_of(1_200, 2_700), 2));
}

#[test]
fn a_mirror_that_shows_the_syn_twice_shows_the_syn_ack_twice() {
    let told = only(&mirrored(&[syn(0), syn_ack(300), ack(450)]));
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    // The SYN's copy comes last.
    let told = only(&[syn(0), syn_ack(30), syn_ack(40), syn(50), ack(450)]);
    assert_eq!(halves(&told), (exact(30), exact(420), exact(450)));
    assert_eq!((told.syn_acks, flags(&told)), (1, vec![Flag::Duplicated]));
}

/// As a host's own capture of all its interfaces shows what is forwarded to a container.
#[test]
fn what_is_seen_three_times_and_more_is_seen_once() {
    for times in 2..6 {
        let seen = |at: i64, segment: fn(i64) -> Segment| (0..times).map(move |copy| segment(at + 20 * copy));
        let segments: Vec<Segment> =
            seen(0, syn).chain(seen(3_000, syn_ack)).chain(seen(5_000, ack)).collect();
        let (told, counts) = counted(&segments);
        assert_eq!(
            (told.len(), halves(&told[0])),
            (1, (exact(3_000), exact(2_000), exact(5_000))),
            "{times}"
        );
        assert_eq!(
            (told[0].syns, told[0].syn_acks, counts.duplicates),
            (1, 1, 2 * times as u64 - 2),
            "{times}"
        );
    }
}

#[test]
fn behind_a_mirror_a_repeated_syn_has_one_answer() {
    let told = only(&mirrored(&[
        stamped(syn(0), 10, 0),
        stamped(syn(S), 1_010, 0),
        stamped(syn_ack(S + 300), 7, 10),
        stamped(ack(S + 450), 1_011, 7),
    ]));
    assert_eq!((told.client_half, told.syn_acks), (exact(150), 1));
}

#[test]
fn behind_a_mirror_four_equal_syn_acks_are_two() {
    let [one, other] = [syn_ack(S + 300), syn_ack(S + 310)];
    let told = only(&mirrored(&[syn(0), syn(S), one, other, ack(S + 450)]));
    assert_eq!((told.client_half, told.syn_acks), (one_of(140, 150), 2));
    let copies = [syn_ack(S + 320), syn_ack(S + 330)];
    let told = only(&[syn(0), syn(20), syn(S), syn(S + 20), one, other, copies[0], copies[1], ack(S + 450)]);
    assert_eq!((told.client_half, told.syn_acks), (one_of(130, 150), 2));
}

#[test]
fn behind_a_mirror_copies_that_come_after_the_ack_show_two_syn_acks() {
    let early = [syn(0), syn(20), syn(S), syn(S + 20), syn_ack(S + 108), syn_ack(S + 115), ack(S + 216)];
    let late = [syn_ack(S + 282), syn_ack(S + 342), ack(S + 380)];
    assert_eq!(only(&early).client_half, exact(108));
    assert_eq!(only(&[&early[..], &late[..]].concat()).client_half, one_of(101, 108));
    // One copy only is late.
    let [first, copy] = [syn_ack(S + 108), syn_ack(S + 220)];
    let told = only(&[&early[..4], &[first, ack(S + 216), copy, ack(S + 240)]].concat());
    assert_eq!((told.client_half, told.syn_acks), (exact(108), 1));
}

#[test]
fn more_syn_acks_than_the_syn_can_have_caused_leave_both_halves_open() {
    // A SYN was missed, and one of these is the timer's. It may have come before the one that was heard, and the ACK be
    // to its answer: the sum of both halves is not bounded by what followed the one that was heard.
    let told = only(&[syn(0), syn_ack(4_500), syn_ack(6_600), ack(11_400)]);
    assert_eq!(halves(&told), (one_of(4_500, 6_600), one_of(4_800, 6_900), Half::Unknown));
    // That the SYN which was heard is repeated later changes nothing.
    let told = only(&[syn(0), syn_ack(4_500), syn_ack(6_600), syn(S), ack(S + 200)]);
    assert_eq!((told.server_half, told.total), (one_of(4_500, 6_600), Half::Unknown));
    let told = only(&[syn(0), syn_ack(4_500), syn_ack(36_600), ack(41_400)]);
    assert_eq!((told.server_half, told.client_half), (one_of(4_500, 36_600), one_of(4_800, 36_900)));
}

#[test]
fn another_syn_ack_after_the_data_shows_that_a_syn_was_missed() {
    let asks = with_data(ack(4_800), 10);
    let told = only(&[syn(0), syn_ack(4_500), asks, syn_ack(6_600)]);
    assert_eq!(halves(&told), (one_of(4_500, 6_600), Half::Unknown, Half::Unknown));
    // One that comes after a time-out is the timer's.
    let told = only(&[syn(0), syn_ack(850_000), with_data(ack(900_000), 10), syn_ack(1_000_000)]);
    assert_eq!(halves(&told), (exact(850_000), at_most(50_000), at_most(900_000)));
}

#[test]
fn of_two_syn_acks_with_one_time_stamp_neither_is_named_by_an_older() {
    let answer = |at| stamped(syn_ack(at), 1_007, 10);
    let named = |echo| {
        only(&[stamped(syn(0), 10, 0), answer(S), answer(S + 2_000), stamped(ack(S + 9_000), 99, echo)])
    };
    assert_eq!(named(1_007).client_half, one_of(7_000, 9_000));
    assert_eq!(named(7).client_half, Half::Unknown);
}

#[test]
fn more_acks_than_the_syn_ack_can_have_caused_leave_the_clients_half_open() {
    let segments = [
        stamped(syn(0), 10, 0),
        stamped(syn_ack(300), 7, 10),
        stamped(syn(S), 1_010, 0),
        stamped(syn_ack(S + 300), 1_007, 10),
        stamped(ack(S + 350), 1_011, 1_007),
        stamped(ack(S + 800), 1_011, 1_007),
    ];
    assert_eq!(only(&segments).client_half, Half::Unknown);
    assert_eq!(only(&segments[..5]).client_half, exact(50));
    // A SYN/ACK between them is the cause of the second.
    let cause = stamped(syn_ack(S + 400), 1_008, 10);
    let told = only(&[&segments[..5], &[cause], &segments[5..]].concat());
    assert_eq!(told.client_half, exact(50));
}

#[test]
fn what_shows_that_a_syn_ack_was_not_heard_leaves_both_halves_open() {
    let open = (Half::Unknown, Half::Unknown, Half::Unknown);
    // The client names an older SYN/ACK than the one that was heard: the SYN may have been answered by that.
    let opened = [stamped(syn(0), 10, 0), stamped(syn_ack(902_000), 1_007, 10)];
    let named = |segment, echo| only(&[&opened[..], &[stamped(segment, 1_030, echo)]].concat());
    for segment in [ack(930_000), with_data(ack(930_000), 320), rst(930_000, ISN_C + 1, Some(ISN_S + 1))] {
        assert_eq!(halves(&named(segment, 7)), open, "{segment:?}");
        assert_eq!(named(segment, 1_007).server_half, exact(902_000));
    }
    // Two pure ACKs, and one SYN/ACK, which may repeat one. Not even a bound is left.
    let told = only(&[syn(0), syn_ack(S + 300), ack(S + 400), ack(S + 900)]);
    assert_eq!(halves(&told), open);
    assert_eq!(only(&[syn(0), syn_ack(S + 300), ack(S + 400)]).server_half, at_most(S + 300));
}

#[test]
fn a_pure_ack_that_names_a_newer_syn_ack_shows_another_within_the_time() {
    let opened = [stamped(syn(0), 10, 0), stamped(syn_ack(300), 7, 10)];
    let named = |segment| only(&[opened[0], opened[1], stamped(segment, 30, 19)]);
    assert_eq!(halves(&named(ack(20_000))), (one_of(300, 20_000), at_most(19_700), Half::Unknown));
    // After a time-out it is the timer's. Data may name what the server said since.
    assert_eq!(named(ack(S + 20_000)).server_half, exact(300));
    assert_eq!(named(with_data(ack(20_000), 320)).server_half, exact(300));
}

#[test]
fn two_syn_acks_of_one_syn_may_have_been_preceded_by_the_one_that_is_acknowledged() {
    let told = only(&[syn(0), syn_ack(21_000), syn_ack(38_000), ack(S + 400_000)]);
    assert_eq!(halves(&told), (one_of(21_000, 38_000), Half::Unknown, Half::Unknown));
}

#[test]
fn the_client_names_what_it_heard_after_the_server_has_gone_on() {
    let speaks = stamped(with_data(back(bare(361_000, TcpFlags::ACK, ISN_S + 1, ISN_C + 1)), 90), 370, 371);
    let told = |echo| {
        let opened = [stamped(syn(0), 10, 0), stamped(syn_ack(50), 107, 10)];
        only(&[opened[0], opened[1], speaks, stamped(ack(S + 340_000), 1_350, echo)])
    };
    assert_eq!(halves(&told(107)), (exact(50), at_most(360_950), at_most(361_000)));
    assert_eq!(halves(&told(7)), (Half::Unknown, Half::Unknown, Half::Unknown));
}

#[test]
fn a_client_that_begins_beyond_a_syn_without_data_may_have_had_another_answered() {
    // A Fast Open's SYN, with 300 bytes, was not heard, and is sent again without.
    let third = Segment { sequence: ISN_C + 301, ..ack(8_480) };
    assert_eq!(only(&[syn(0), third, with_data(third, 320)]).total, Half::Unknown);
    let far = Segment { sequence: ISN_C + 5_000, ..ack(8_480) };
    assert_eq!(only(&[syn(0), far]).total, at_most(8_480));
}

#[test]
fn a_syn_ack_that_names_a_syn_not_heard_leaves_the_clients_half_open() {
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn_ack(300), 7, 10),
        stamped(syn_ack(S + 300), 1_007, 1_010),
        stamped(with_data(ack(S + 400), 320), 1_011, 1_007),
    ]);
    assert_eq!((told.server_half, told.client_half), (exact(300), Half::Unknown));
    // Of several SYNs: a probe that heard others may tell the time of another.
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn_ack(300), 7, 10),
        stamped(syn_ack(S + 300), 1_007, 1_010),
        stamped(syn(3 * S), 3_010, 0),
        stamped(syn_ack(5 * S), 5_007, 5_010),
        stamped(ack(5 * S + 100), 5_011, 5_007),
    ]);
    assert_eq!((told.server_half, told.client_half), (Half::Unknown, Half::Unknown));
    // With another number: where that SYN was heard, what this one took is told, and not the first.
    let anew = Segment { sequence: 77, ..syn_ack(S + 300) };
    let told = only(&[stamped(syn(0), 10, 0), stamped(syn_ack(300), 7, 10), stamped(anew, 1_007, 1_010)]);
    assert_eq!((told.isn_server, told.server_half), (Some(77), Half::Unknown));
}

#[test]
fn a_fast_opens_syn_repeated_without_its_data_is_of_the_same_connection() {
    let answer = |at| Segment { acknowledgment: ISN_C + 301, ..syn_ack(at) };
    let third = Segment { sequence: ISN_C + 301, ..ack(13_684) };
    let (told, counts) = counted(&[answer(-916), syn(0), third]);
    assert_eq!((told.len(), told[0].isn_client, told[0].total), (1, ISN_C, Half::Unknown));
    assert_eq!((told[0].client_half, counts.repeated_syns), (exact(14_600), 1));
    // And when all is over.
    let (told, counts) = counted(&[answer(-916), third, with_data(third, 10), syn(S), answer(S + 900)]);
    assert_eq!((told.len(), counts.late), (1, 2));
}

#[test]
fn a_fast_open_of_which_the_repeated_syn_alone_passes_is_told_once_and_not_trusted() {
    let answer = |at| Segment { acknowledgment: ISN_C + 301, ..syn_ack(at) };
    let third = |at| Segment { sequence: ISN_C + 301, ..ack(at) };
    let told = only(&[syn(0), answer(50), third(200), answer(S), third(S + 130)]);
    assert_eq!((told.isn_client, told.total), (ISN_C, Half::Unknown));
}

#[test]
fn a_syn_that_passes_after_its_handshake_belongs_to_it() {
    let answer = Segment { acknowledgment: ISN_C + 301, ..syn_ack(83) };
    let [third, data] = [112, 269].map(|at| Segment { sequence: ISN_C + 301, ..ack(at) });
    let told = told(&[answer, third, with_data(data, 320), with_data(syn(0), 300)]);
    assert_eq!((told.len(), told[0].client_half), (1, exact(29)));
}

#[test]
fn a_late_syn_ack_of_the_connection_before_is_no_new_one() {
    // Its SYN had data, which is acknowledged.
    let old = [
        with_data(syn(0), 300),
        Segment { acknowledgment: ISN_C + 301, ..syn_ack(400) },
        Segment { sequence: ISN_C + 301, ..ack(900) },
    ];
    let new = [
        Segment { sequence: 7_000_000, ..syn(S) },
        Segment { sequence: 90_000, acknowledgment: 7_000_001, ..syn_ack(S + 300) },
        Segment { sequence: 7_000_001, acknowledgment: 90_001, ..ack(S + 500) },
    ];
    let again = [
        Segment { acknowledgment: ISN_C + 301, ..syn_ack(S + 700) },
        Segment { sequence: ISN_C + 301, ..ack(S + 900) },
    ];
    let told = told(&[&old[..], &new[..], &again[..]].concat());
    assert_eq!(told.iter().map(|told| told.isn_client).collect::<Vec<_>>(), [ISN_C, 7_000_000]);
}

#[test]
fn a_syn_ack_of_the_one_that_sent_the_syn_leaves_all_open() {
    // It answers a SYN of the other end, which did not pass.
    let crossing =
        Segment { flags: TcpFlags::SYN.with(TcpFlags::ACK), acknowledgment: ISN_S + 1, ..syn(500) };
    let told = only(&[
        syn(0),
        syn_ack(300),
        crossing,
        back(Segment { sequence: ISN_S + 1, ..syn_ack(900) }),
        ack(S),
    ]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, Half::Unknown));
}

#[test]
fn a_syn_ack_that_names_a_syn_between_the_last_two_shows_a_deaf_probe() {
    // The timer's SYN/ACK names the newest SYN that the server had; the answer to the last, in the same tick, is missed.
    let told = only(&[
        stamped(syn(0), 1_000, 0),
        stamped(syn(2 * S), 3_000, 0),
        stamped(syn(3 * S), 4_000, 0),
        stamped(syn(6 * S), 7_000, 0),
        stamped(syn_ack(6 * S + 19_000), 77, 5_000),
        stamped(ack(6 * S + 20_800), 7_021, 77),
    ]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, Half::Unknown));
}
