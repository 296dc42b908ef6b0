//! One direction alone, or a part of the segments.

use super::*;
use crate::tcp::Quality;

#[test]
fn the_clients_direction_gives_the_total() {
    let told = only(&[syn(0), ack(450), with_data(ack(500), 10)]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, exact(450)));
    assert_eq!((told.isn_server, told.quality()), (Some(ISN_S), Quality::TotalOnly));
    assert_eq!((told.syns, told.syn_acks, told.ending), (1, 0, Ending::Established));
}

#[test]
fn the_clients_direction_with_a_repeated_syn_is_ambiguous() {
    let told = only(&[syn(0), syn(1_000_000), ack(1_000_450)]);
    assert_eq!(told.total, one_of(450, 1_000_450));
}

#[test]
fn the_clients_direction_with_data_first_is_a_bound() {
    let told = only(&[syn(0), with_data(ack(450), 10)]);
    assert_eq!((told.total, told.isn_server), (at_most(450), None));
}

#[test]
fn of_two_acks_without_a_syn_ack_the_first_counts() {
    for order in [[ack(450), ack(900)], [ack(900), ack(450)]] {
        assert_eq!(only(&[syn(0), order[0], order[1]]).total, exact(450));
    }
}

#[test]
fn where_the_server_is_heard_but_its_syn_ack_is_not_nothing_is_told() {
    // The probe misses segments: the SYN that was answered may be another one of them.
    let reply = back(Segment { sequence: ISN_S + 1, acknowledgment: ISN_C + 1, ..with_data(ack(700), 10) });
    let later = Segment { acknowledgment: ISN_S + 11, ..ack(900) };
    for order in [[reply, later], [later, reply]] {
        let told = only(&[syn(0), order[0], order[1]]);
        assert_eq!((told.total, told.isn_server), (Half::Unknown, None));
    }
    let told = only(&[syn(0), reply, ack(450)]);
    assert_eq!((told.total, told.isn_server), (Half::Unknown, Some(ISN_S)));
    // It was late.
    let told = only(&[syn(0), reply, ack(450), syn_ack(300)]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
}

#[test]
fn the_total_waits_for_a_syn_ack_that_is_late_no_longer_than_that() {
    let mut tracker = Tracker::new(Limits::default());
    let mut told = Vec::new();
    for segment in [syn(0), ack(450)] {
        tracker.see(&segment, &mut |handshake| told.push(handshake));
    }
    tracker.pass(us(200_000), &mut |handshake| told.push(handshake));
    assert_eq!(told.len(), 0);
    tracker.pass(us(200_451), &mut |handshake| told.push(handshake));
    assert_eq!(told[0].total, exact(450));
    tracker.see(&syn_ack(200_500), &mut |handshake| told.push(handshake));
    tracker.finish(&mut |handshake| told.push(handshake));
    assert_eq!(told.len(), 1);
}

#[test]
fn the_servers_direction_gives_the_numbers() {
    let reply = back(Segment { sequence: ISN_S + 1, ..with_data(ack(700), 10) });
    let reply = Segment { acknowledgment: ISN_C + 101, ..reply };
    let told = only(&[syn_ack(300), reply]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, Half::Unknown));
    assert_eq!((told.client, told.server), (client(), server()));
    assert_eq!((told.isn_client, told.isn_server), (ISN_C, Some(ISN_S)));
    assert_eq!((told.quality(), told.ending), (Quality::Unfinished, Ending::Established));
}

#[test]
fn a_syn_ack_and_an_ack_without_the_syn_give_the_clients_half() {
    let (told, counts) = counted(&[syn_ack(300), ack(450)]);
    assert_eq!(halves(&told[0]), (Half::Unknown, exact(150), Half::Unknown));
    assert_eq!((told[0].syn_at, told[0].first_at, counts.stray_syn_acks), (None, us(300), 1));
}

#[test]
fn what_the_server_sends_next_is_a_bound() {
    let reply = back(Segment { sequence: ISN_S + 1, acknowledgment: ISN_C + 1, ..with_data(ack(700), 10) });
    assert_eq!(halves(&only(&[syn(0), syn_ack(300), reply])), (exact(300), at_most(400), at_most(700)));
}

#[test]
fn a_server_that_still_waits_may_acknowledge_the_syn_alone() {
    // In answer to a SYN that overtook another, or to what these ports had before.
    let waits = back(bare(400, TcpFlags::ACK, ISN_S + 1, ISN_C + 1));
    let told = only(&[syn(0), syn_ack(300), waits, ack(900)]);
    assert_eq!(halves(&told), (exact(300), exact(600), exact(900)));
    assert_eq!(halves(&only(&[syn_ack(300), waits, ack(900)])).1, exact(600));
    let told = only(&[syn(0), syn_ack(300), waits]);
    assert_eq!((told.ending, told.client_half), (Ending::Unfinished, Half::Unknown));
    // That of the client's data it sends only afterwards.
    let has_data = Segment { acknowledgment: ISN_C + 11, ..waits };
    assert_eq!(only(&[syn(0), syn_ack(300), has_data]).client_half, at_most(100));
}

#[test]
fn what_follows_a_syn_ack_that_may_be_a_repetition_bounds_nothing() {
    // Of the SYN/ACK before it nothing passed here; the data answer neither.
    let late = |at, value| stamped(with_data(ack(at), 9), 1_100, value);
    let told = only(&[syn(0), syn_ack(1_000_300), with_data(ack(1_000_400), 9)]);
    assert_eq!(halves(&told), (at_most(1_000_300), Half::Unknown, Half::Unknown));
    let answer = stamped(syn_ack(1_000_300), 1_007, 10);
    let named = only(&[stamped(syn(0), 10, 0), answer, late(1_000_400, 1_007)]);
    assert_eq!(named.client_half, at_most(100));
}

#[test]
fn what_the_server_sends_with_fast_open_proves_nothing() {
    let early = back(Segment { sequence: ISN_S + 1, acknowledgment: ISN_C + 101, ..with_data(ack(310), 10) });
    let mut answer = syn_ack(300);
    answer.acknowledgment += 100;
    let last = Segment { sequence: ISN_C + 101, ..ack(450) };
    let told = only(&[with_data(syn(0), 100), answer, early, last]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
}

#[test]
fn unfinished_ones_are_told_at_the_end() {
    let told = told(&[syn(0)]);
    assert_eq!(told[0].ending, Ending::Unfinished);
    assert_eq!(told[0].quality(), Quality::Unfinished);
    let answered = only(&[syn(0), syn_ack(300)]);
    assert_eq!((answered.ending, answered.server_half), (Ending::Unfinished, exact(300)));
}
