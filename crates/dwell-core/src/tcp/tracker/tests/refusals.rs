//! RST and ICMP.

use super::*;
use crate::tcp::{Quality, Unreachable};

pub(super) fn rst(at: i64, sequence: u32, acknowledgment: Option<u32>) -> Segment {
    let flags = if acknowledgment.is_some() { TcpFlags::RST.with(TcpFlags::ACK) } else { TcpFlags::RST };
    bare(at, flags, sequence, acknowledgment.unwrap_or(0))
}

fn with_icmp(segments: &[Segment], unreachable: Unreachable) -> (Vec<Handshake>, Counts) {
    let mut tracker = Tracker::new(Limits::default());
    let mut told = Vec::new();
    for segment in segments {
        tracker.see(segment, &mut |handshake| told.push(handshake));
    }
    tracker.refused(&unreachable, &mut |handshake| told.push(handshake));
    tracker.finish(&mut |handshake| told.push(handshake));
    (told, *tracker.counts())
}

#[test]
fn an_rst_in_answer_to_the_syn_is_a_refusal() {
    let told = only(&[syn(0), back(rst(300, 0, Some(ISN_C + 1)))]);
    assert_eq!(halves(&told), (exact(300), Half::Unknown, Half::Unknown));
    assert_eq!((told.ending, told.quality(), told.isn_server), (Ending::Refused, Quality::Refused, None));
}

#[test]
fn an_rst_after_repeated_syns_is_one_of_two() {
    let told = only(&[syn(0), syn(1_000_000), back(rst(1_000_300, 0, Some(ISN_C + 1)))]);
    assert_eq!(told.server_half, one_of(300, 1_000_300));
}

/// A mirror shows each segment twice, and the server sent two equal SYN/ACKs within a microsecond: that shows when their copies come.
#[test]
fn an_rst_ends_nothing_while_copies_are_waited_for() {
    let [first, again] = [(0, 10), (1_003_000, 20)].map(|(at, value)| stamped(syn(at), value, 0));
    let answer = |at| stamped(syn_ack(at), 90, 10);
    let third = stamped(ack(1_063_050), 21, 90);
    let reset = stamped(rst(1_063_051, ISN_C + 1, Some(ISN_S + 1)), 21, 90);
    let later = |segment: Segment, by| Segment { at: segment.at + us(by), ..segment };
    let opening = [first, later(first, 200), again, later(again, 80), answer(1_063_000), answer(1_063_001)];
    let rest = [third, reset, answer(1_063_094), answer(1_063_105), later(reset, 200), later(third, 200)];
    let told = only(&[opening, rest].concat());
    assert_eq!((told.client_half, told.ending), (one_of(49, 50), Ending::Established));
    assert!(flags(&told).contains(&Flag::Reset), "{told:?}");
}

#[test]
fn a_refusal_that_takes_long_may_be_of_a_syn_that_passes_after_it() {
    let refusals = [back(rst(713_766, 0, Some(ISN_C + 1))), back(rst(713_790, 0, Some(ISN_C + 1)))];
    let told = only(&[syn(0), refusals[0], syn(713_730), refusals[1]]);
    assert_eq!((told.server_half, told.ending, told.syns), (one_of(36, 713_766), Ending::Refused, 2));
    // What was sent later is none that it refuses, and may be answered.
    let (told, counts) = counted(&[syn(0), refusals[0], syn(713_900), syn_ack(714_000), ack(714_100)]);
    assert_eq!((told.len(), told[0].server_half), (2, exact(713_766)));
    assert_eq!(halves(&told[1]), (Half::Unknown, exact(100), Half::Unknown));
    assert_eq!((counts.late, counts.refused, counts.established), (1, 1, 1));
    // So with ICMP.
    let quoting = Unreachable { at: us(713_766), from: client(), to: server(), sequence: ISN_C };
    let mut tracker = Tracker::new(Limits::default());
    let mut told = Vec::new();
    tracker.see(&syn(0), &mut |_| panic!("nothing is over"));
    tracker.refused(&quoting, &mut |_| panic!("another SYN may pass"));
    tracker.see(&syn(713_730), &mut |_| panic!("nothing is over"));
    tracker.pass(us(914_000), &mut |handshake| told.push(handshake));
    assert_eq!(
        (told[0].server_half, flags(&told[0])),
        (one_of(36, 713_766), vec![Flag::SynRepeated, Flag::RefusedByIcmp])
    );
}

#[test]
fn a_syn_that_is_sent_again_after_it_was_refused_may_be_answered() {
    let refused = |at| back(rst(at, 0, Some(ISN_C + 1)));
    let second = 500_000;
    let (told, counts) = counted(&[
        syn(0),
        refused(300),
        syn(second),
        refused(second + 300),
        syn(2 * second),
        syn_ack(2 * second + 300),
        ack(2 * second + 450),
    ]);
    assert_eq!((told.len(), told[0].ending, told[0].server_half), (2, Ending::Refused, exact(300)));
    // Nothing tells which of its SYNs was answered.
    assert_eq!(
        (told[1].ending, halves(&told[1])),
        (Ending::Established, (Half::Unknown, exact(150), Half::Unknown))
    );
    assert_eq!((counts.refused, counts.established), (1, 1));
}

#[test]
fn a_client_that_breaks_off_may_do_so_before_a_syn_ack_passes() {
    let breaks_off = |at| rst(at, ISN_C + 1, None);
    // It was late.
    let told = only(&[syn(0), breaks_off(450), syn_ack(300)]);
    assert_eq!(halves(&told), (exact(300), at_most(150), at_most(450)));
    assert_eq!((told.ending, told.syn_acks), (Ending::Refused, 1));
    // It comes later: then it is not the one that was refused.
    let told = only(&[syn(0), breaks_off(450), syn_ack(2_700)]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, Half::Unknown));
    // Of several SYN/ACKs one more is late.
    let opened = [syn(0), syn_ack(300), syn(1_000_000)];
    let told = only(&[&opened[..], &[breaks_off(1_000_450), syn_ack(1_000_400)]].concat());
    assert_eq!((told.server_half, told.syn_acks), (exact(300), 2));
}

#[test]
fn an_rst_that_does_not_acknowledge_the_syn_refuses_nothing() {
    for wrong in [back(rst(100, 0, Some(ISN_C))), back(rst(100, 0, Some(7))), back(rst(100, ISN_S, None))] {
        let (told, counts) = counted(&[syn(0), wrong, syn_ack(300), ack(450)]);
        assert_eq!(halves(&told[0]), (exact(300), exact(150), exact(450)));
        assert_eq!(counts.stray_refusals, 1);
    }
}

#[test]
fn a_challenge_ack_and_its_rst_are_passed_over() {
    // RFC 5961: a SYN on a connection that the server has still is answered by an ACK, that by an RST; then the SYN
    // comes again.
    let challenge = back(bare(300, TcpFlags::ACK, 999_000, 555_000));
    let told = only(&[
        stamped(syn(0), 10, 0),
        challenge,
        rst(450, 555_000, None),
        stamped(syn(1_000_000), 1_010, 0),
        stamped(syn_ack(1_000_300), 7, 1_010),
        stamped(ack(1_000_450), 1_011, 7),
    ]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
}

#[test]
fn a_client_that_breaks_off_bounds_its_half() {
    // A half-open scan, of which the client's kernel knows nothing; a program; or a firewall in its name.
    for acknowledgment in [None, Some(ISN_S + 1)] {
        let told = only(&[syn(0), syn_ack(300), rst(450, ISN_C + 1, acknowledgment)]);
        assert_eq!(halves(&told), (exact(300), at_most(150), at_most(450)));
        assert_eq!((told.ending, flags(&told)), (Ending::Refused, vec![Flag::Reset]));
    }
    let one_way = only(&[syn(0), rst(450, ISN_C + 1, None)]);
    assert_eq!((one_way.total, one_way.ending), (at_most(450), Ending::Refused));
}

#[test]
fn a_client_that_breaks_off_after_what_may_be_a_repetition_bounds_nothing() {
    // It may break off what an earlier SYN/ACK began, which did not pass here.
    let told = only(&[syn(0), syn_ack(1_000_300), rst(1_000_450, ISN_C + 1, None)]);
    assert_eq!((told.ending, told.client_half), (Ending::Refused, Half::Unknown));
}

#[test]
fn a_server_that_breaks_off_leaves_its_half() {
    let told = only(&[syn(0), syn_ack(300), back(rst(450, ISN_S + 1, None))]);
    assert_eq!(halves(&told), (exact(300), Half::Unknown, Half::Unknown));
    assert_eq!((told.ending, flags(&told)), (Ending::Refused, vec![Flag::Reset]));
}

#[test]
fn an_icmp_message_refuses_what_it_quotes() {
    let quoting = Unreachable { at: us(200), from: client(), to: server(), sequence: ISN_C };
    let (told, counts) = with_icmp(&[syn(0)], quoting);
    assert_eq!(halves(&told[0]), (exact(200), Half::Unknown, Half::Unknown));
    assert_eq!((told[0].ending, flags(&told[0])), (Ending::Refused, vec![Flag::RefusedByIcmp]));
    assert_eq!((told.len(), counts.refused), (1, 1));

    let other = Unreachable { sequence: ISN_C + 5, ..quoting };
    let (told, counts) = with_icmp(&[syn(0)], other);
    assert_eq!((told[0].ending, counts.stray_refusals), (Ending::Unfinished, 1));

    let of_answer = Unreachable { at: us(450), from: server(), to: client(), sequence: ISN_S };
    let (told, _) = with_icmp(&[syn(0), syn_ack(300)], of_answer);
    assert_eq!(halves(&told[0]), (exact(300), exact(150), exact(450)));
    assert_eq!(told[0].ending, Ending::Refused);
}

/// Set back by a quarter of a second, which others show.
#[test]
fn an_icmp_message_after_the_clock_was_set_tells_no_half() {
    let quoting = Unreachable { at: us(60_000), from: client(), to: server(), sequence: ISN_C };
    let others = |at| Segment { from: end(0x0a00_0009, 9), ..ack(at) };
    let (told, counts) = with_icmp(&[syn(0), others(300_000), others(50_000)], quoting);
    assert_eq!(halves(&told[0]), (Half::Unknown, Half::Unknown, Half::Unknown));
    assert_eq!(flags(&told[0]), [Flag::RefusedByIcmp, Flag::ClockStepped]);
    assert_eq!((told[0].ending, counts.clock_stepped), (Ending::Refused, 1));
}

#[test]
fn an_icmp_message_brings_back_a_syn_that_gave_way() {
    let mut tracker = Tracker::new(Limits { handshakes: 8, ..Limits::default() });
    let mut told = Vec::new();
    let from = |number: u32| end(0x0b00_0000 + number, 40_000);
    for number in 0..12 {
        tracker.see(&Segment { from: from(number), ..syn(i64::from(number)) }, &mut |one| told.push(one));
    }
    told.clear();
    let quoting = Unreachable { at: us(200), from: from(0), to: server(), sequence: ISN_C };
    tracker.refused(&quoting, &mut |one| told.push(one));
    let refused = told.iter().find(|told| told.client == from(0)).expect("told again");
    assert_eq!((refused.ending, refused.server_half), (Ending::Refused, exact(200)));
    assert_eq!(tracker.counts().stray_refusals, 0);
}
