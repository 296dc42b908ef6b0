//! SYNs and SYN/ACKs sent again: which one was answered.

use super::*;
use crate::tcp::Quality;

const S: i64 = 1_000_000;

#[test]
fn without_time_stamps_nothing_tells_which_syn_was_answered() {
    let told = only(&[syn(0), syn(S), syn_ack(S + 300), ack(S + 450)]);
    assert_eq!(halves(&told), (one_of(300, S + 300), exact(150), one_of(450, S + 450)));
    assert_eq!((told.syns, told.quality()), (2, Quality::Ambiguous));
    assert_eq!(flags(&told), [Flag::SynRepeated]);
}

#[test]
fn the_newest_syn_named_is_exact() {
    // The first was lost behind the probe.
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn(S), 1_010, 0),
        stamped(syn_ack(S + 300), 7, 1_010),
        stamped(ack(S + 450), 1_011, 7),
    ]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    assert_eq!(told.quality(), Quality::Exact);
}

#[test]
fn an_older_syn_named_proves_nothing() {
    // Linux echoes the first SYN's TSval from every SYN/ACK.
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn(S), 1_010, 0),
        stamped(syn_ack(S + 300), 7, 10),
        stamped(ack(S + 450), 1_011, 7),
    ]);
    assert_eq!(halves(&told), (one_of(300, S + 300), exact(150), one_of(450, S + 450)));
}

#[test]
fn of_three_syns_the_middle_one_named_proves_nothing() {
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn(S), 1_010, 0),
        stamped(syn(3 * S), 3_010, 0),
        stamped(syn_ack(3 * S + 300), 7, 1_010),
        stamped(ack(3 * S + 450), 3_011, 7),
    ]);
    assert_eq!(told.server_half, one_of(300, 3 * S + 300));
    assert_eq!(told.syns, 3);
}

#[test]
fn a_syn_between_two_named_and_not_heard_leaves_nothing() {
    // The SYN/ACK is to it, and another, to the first or the second, may have been missed too.
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn(3 * S), 3_010, 0),
        stamped(syn_ack(3 * S + 300), 7, 1_010),
        stamped(ack(3 * S + 450), 3_011, 7),
    ]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, Half::Unknown));
}

#[test]
fn syns_with_one_time_stamp_are_not_told_apart() {
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn(S), 10, 0),
        stamped(syn_ack(S + 300), 7, 10),
        stamped(ack(S + 450), 11, 7),
    ]);
    assert_eq!(told.server_half, one_of(300, S + 300));
}

#[test]
fn a_time_stamp_left_out_of_the_repetition_proves_nothing() {
    let told = only(&[stamped(syn(0), 10, 0), syn(S), stamped(syn_ack(S + 300), 7, 10), ack(S + 450)]);
    assert_eq!(told.server_half, one_of(300, S + 300));
}

#[test]
fn a_syn_lost_before_the_probe_leaves_the_other_exact() {
    let told = only(&[
        stamped(syn(S), 1_010, 0),
        stamped(syn_ack(S + 300), 7, 1_010),
        stamped(ack(S + 450), 1_011, 7),
    ]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    assert_eq!(flags(&told), []);
}

#[test]
fn an_answer_that_names_a_syn_not_seen_here_gives_no_half() {
    // The capture began between the two SYNs, or misses segments: a SYN/ACK like this one maybe too.
    let segments =
        [stamped(syn(S), 1_010, 0), stamped(syn_ack(S + 300), 7, 10), stamped(ack(S + 450), 1_011, 7)];
    let (told, counts) = counted(&segments);
    assert_eq!(halves(&told[0]), (Half::Unknown, Half::Unknown, Half::Unknown));
    assert_eq!(counts.unseen_named, 1);
}

#[test]
fn an_echo_of_zero_names_nothing() {
    let told = only(&[stamped(syn(0), 10, 0), stamped(syn_ack(300), 7, 0), stamped(ack(450), 11, 7)]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
}

#[test]
fn time_stamps_wrap() {
    let told = only(&[
        stamped(syn(0), u32::MAX - 9, 0),
        stamped(syn(S), 990, 0),
        stamped(syn_ack(S + 300), 7, 990),
        stamped(ack(S + 450), 991, 7),
    ]);
    assert_eq!(told.server_half, exact(300));
}

#[test]
fn without_time_stamps_nothing_tells_which_syn_ack_was_answered() {
    let told = only(&[syn(0), syn_ack(300), syn_ack(S + 300), ack(S + 450)]);
    assert_eq!(halves(&told), (exact(300), one_of(150, S + 150), one_of(450, S + 450)));
    assert_eq!((told.syn_acks, told.quality()), (2, Quality::Ambiguous));
    assert_eq!(flags(&told), [Flag::SynAckRepeated]);
}

#[test]
fn what_a_syn_ack_took_stays_known_when_another_number_comes() {
    // A cookie's number changes by the minute.
    let anew = |at| Segment { sequence: syn_ack(at).sequence.wrapping_add(77), ..syn_ack(at) };
    let answered = Segment { acknowledgment: ack(0).acknowledgment.wrapping_add(77), ..ack(S + 450) };
    let told = only(&[syn(0), syn_ack(200), syn(S), anew(S + 300), answered]);
    assert_eq!(halves(&told), (exact(200), exact(150), exact(350)));
    // The newer one counts, where it is known too.
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn_ack(200), 7, 10),
        stamped(syn(S), 1_010, 0),
        stamped(anew(S + 300), 1_007, 1_010),
        stamped(answered, 1_011, 1_007),
    ]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    // What was not known before does not become so.
    let told = only(&[syn(0), syn(S), syn_ack(S + 200), anew(S + 300), answered]);
    assert_eq!(told.server_half, one_of(300, S + 300));
}

#[test]
fn the_newest_syn_ack_named_is_exact() {
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn_ack(300), 7, 10),
        stamped(syn_ack(S + 300), 1_007, 10),
        stamped(ack(S + 450), 1_011, 1_007),
    ]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
}

#[test]
fn an_older_syn_ack_named_proves_nothing() {
    // The ACK was lost before the probe: Linux' client names the first SYN/ACK again when it answers the second.
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn_ack(300), 7, 10),
        stamped(syn_ack(S + 300), 1_007, 10),
        stamped(ack(S + 450), 1_011, 7),
    ]);
    assert_eq!(halves(&told), (exact(300), one_of(150, S + 150), one_of(450, S + 450)));
}

#[test]
fn data_after_a_repeated_syn_ack_is_bounded_by_the_first() {
    let told = only(&[syn(0), syn_ack(300), syn_ack(S + 300), with_data(ack(S + 450), 10)]);
    assert_eq!(told.client_half, at_most(S + 150));
    let named = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn_ack(300), 7, 10),
        stamped(syn_ack(S + 300), 1_007, 10),
        stamped(with_data(ack(S + 450), 10), 1_011, 1_007),
    ]);
    assert_eq!(named.client_half, at_most(150));
}

#[test]
fn an_ack_of_something_newer_than_the_syn_ack_is_a_bound() {
    // The third ACK did not pass, and the first that did echoes what the server sent meanwhile.
    let told =
        only(&[stamped(syn(0), 10, 0), stamped(syn_ack(300), 7, 10), stamped(ack(S + 450), 1_011, 900)]);
    assert_eq!(told.client_half, at_most(S + 150));
}

#[test]
fn a_syn_after_its_syn_ack_changes_no_half() {
    // The SYN/ACK was lost behind the probe, or is slow.
    let told = only(&[syn(0), syn_ack(300), syn(S), syn_ack(S + 300), ack(S + 450)]);
    assert_eq!(halves(&told), (exact(300), one_of(150, S + 150), one_of(450, S + 450)));
    assert_eq!((told.syns, told.syn_acks), (2, 2));
}

#[test]
fn copies_of_a_mirror_are_no_repetitions() {
    let segments: Vec<Segment> = [syn(0), syn_ack(300), ack(450)]
        .into_iter()
        .flat_map(|segment| [segment, Segment { at: segment.at + us(20), ..segment }])
        .collect();
    let (told, counts) = counted(&segments);
    assert_eq!(told.len(), 1);
    assert_eq!(halves(&told[0]), (exact(300), exact(150), exact(450)));
    assert_eq!((told[0].syns, told[0].syn_acks, counts.duplicates), (1, 1, 2));
    assert_eq!(flags(&told[0]), [Flag::Duplicated]);
}

#[test]
fn a_quick_repetition_with_a_newer_time_stamp_is_no_copy() {
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn(5_000), 15, 0),
        stamped(syn_ack(5_300), 7, 10),
        stamped(ack(5_450), 16, 7),
    ]);
    assert_eq!(told.server_half, one_of(300, 5_300));
}

#[test]
fn of_two_syn_acks_with_different_numbers_the_acknowledged_one_counts() {
    // SYN cookies: the server keeps no state, and answers each SYN anew.
    let cookie = Segment { sequence: 77, ..syn_ack(S + 300) };
    let last = Segment { acknowledgment: 78, ..ack(S + 450) };
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn_ack(300), 7, 10),
        stamped(syn(S), 1_010, 0),
        stamped(cookie, 1_007, 1_010),
        stamped(last, 1_011, 1_007),
    ]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    assert_eq!((told.isn_server, told.syns, told.syn_acks), (Some(77), 2, 2));
}

#[test]
fn after_a_repeated_syn_an_equal_syn_ack_may_be_another() {
    // The server answers the repeated SYN, and its own timer repeats the SYN/ACK.
    let told = only(&[syn(0), syn_ack(300), syn(S), syn_ack(S + 300), syn_ack(S + 700), ack(S + 850)]);
    assert_eq!(told.client_half, one_of(150, S + 550));
    assert_eq!(told.syn_acks, 3);
}

#[test]
fn after_a_repeated_syn_two_syn_acks_may_pass_after_the_ack() {
    let answers = [syn_ack(1_000_300), syn_ack(1_000_400)];
    for order in [[ack(1_000_450), answers[0], answers[1]], [answers[0], ack(1_000_450), answers[1]]] {
        let told = only(&[syn(0), syn(1_000_000), order[0], order[1], order[2]]);
        assert_eq!(told.client_half, one_of(50, 150));
    }
}

#[test]
fn a_syn_ack_that_names_a_syn_not_seen_may_be_repeated_at_once() {
    let answer = |at| stamped(syn_ack(at), 77, 9);
    let told = only(&[stamped(syn(0), 1_009, 0), answer(300), answer(500), stamped(ack(700), 1_010, 77)]);
    assert_eq!((told.client_half, told.server_half), (Half::Unknown, Half::Unknown));
}

#[test]
fn of_two_answers_to_one_syn_within_a_time_out_nothing_tells_which_is_its_own() {
    // A SYN that passed elsewhere made a server that keeps no state answer once more, by another number.
    let other = |at: i64| Segment { sequence: syn_ack(at).sequence.wrapping_add(77_777), ..syn_ack(at) };
    let third = Segment { acknowledgment: other(0).sequence.wrapping_add(1), ..ack(410_000) };
    let told = only(&[syn(0), syn_ack(100_000), other(400_000), third]);
    assert_eq!(told.server_half, one_of(100_000, 400_000));
    assert_eq!((told.client_half, told.total.exact()), (exact(10_000), None));
}
