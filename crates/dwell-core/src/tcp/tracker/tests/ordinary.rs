//! Handshakes as they should be, and what may be on them.

use super::*;
use crate::tcp::Quality;

#[test]
fn three_segments_give_both_halves() {
    let told = only(&[syn(0), syn_ack(300), ack(450)]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    assert_eq!((told.client, told.server), (client(), server()));
    assert_eq!((told.isn_client, told.isn_server), (ISN_C, Some(ISN_S)));
    assert_eq!((told.syns, told.syn_acks, told.ending), (1, 1, Ending::Established));
    assert_eq!((told.first_at, told.syn_at), (us(0), Some(us(0))));
    assert_eq!(told.quality(), Quality::Exact);
    assert!(told.flags.has(Flag::NoTimestamps));
}

#[test]
fn it_is_told_at_once_and_once() {
    let mut tracker = Tracker::new(Limits::default());
    let mut told = 0;
    let rest = [ack(450), with_data(ack(460), 100), ack(470), syn(480), syn_ack(490), ack(500)];
    for segment in [syn(0), syn_ack(300)].iter().chain(&rest) {
        tracker.see(segment, &mut |_| told += 1);
        assert_eq!(told, i32::from(segment.at >= us(450)));
    }
    tracker.finish(&mut |_| told += 1);
    assert_eq!((told, tracker.counts().established, tracker.counts().late), (1, 1, 2));
}

#[test]
fn initial_sequence_numbers_wrap() {
    let wrap = |mut segment: Segment| {
        segment.sequence = segment.sequence.wrapping_sub(ISN_C.wrapping_add(1));
        segment.acknowledgment = segment.acknowledgment.wrapping_sub(ISN_S.wrapping_add(1));
        segment
    };
    let mut answer = syn_ack(300);
    (answer.sequence, answer.acknowledgment) = (u32::MAX, 0);
    let told = only(&[wrap(syn(0)), answer, wrap(ack(450))]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    assert_eq!((told.isn_client, told.isn_server), (u32::MAX, Some(u32::MAX)));
}

#[test]
fn ecn_mptcp_and_cut_options_are_flagged() {
    let mut first = syn(0);
    first.flags = first.flags.with(TcpFlags::ECE).with(TcpFlags::CWR);
    first.options.mptcp = true;
    let mut answer = syn_ack(300);
    answer.flags = answer.flags.with(TcpFlags::ECE);
    answer.options.cut = true;
    let told = only(&[first, answer, ack(450)]);
    assert_eq!(flags(&told), [Flag::Mptcp, Flag::Ecn, Flag::OptionsCut]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
}

#[test]
fn fast_open_data_on_the_syn_may_be_acknowledged_or_not() {
    for taken in [0, 1, 100] {
        let mut answer = syn_ack(300);
        answer.acknowledgment += taken;
        let mut last = ack(450);
        last.sequence += taken;
        let told = only(&[with_data(syn(0), 100), answer, last]);
        assert_eq!(halves(&told), (exact(300), exact(150), exact(450)), "{taken}");
        assert_eq!(flags(&told), [Flag::FastOpen]);
        assert_eq!(told.isn_client, ISN_C);
    }
}

#[test]
fn an_answer_to_more_than_the_syn_is_none() {
    let mut answer = syn_ack(300);
    answer.acknowledgment += 101;
    let (told, counts) = counted(&[with_data(syn(0), 100), answer]);
    assert_eq!(halves(&told[0]), (Half::Unknown, Half::Unknown, Half::Unknown));
    assert_eq!((told[0].ending, counts.wrong_acknowledgments), (Ending::Unfinished, 1));
}

#[test]
fn data_on_the_syn_ack_is_acknowledged_with_it_or_later() {
    for taken in [0, 10] {
        let mut last = ack(450);
        last.acknowledgment += taken;
        let told = only(&[syn(0), with_data(syn_ack(300), 10), last]);
        assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    }
}

#[test]
fn data_instead_of_the_third_ack_is_a_bound() {
    let told = only(&[syn(0), syn_ack(300), with_data(ack(9_000), 77)]);
    assert_eq!(halves(&told), (exact(300), at_most(8_700), at_most(9_000)));
    assert_eq!(flags(&told), [Flag::AckWithData]);
    assert_eq!(told.quality(), Quality::UpperBound);
}

#[test]
fn an_ack_of_more_than_the_syn_ack_is_a_bound() {
    // The third ACK did not pass; the server spoke first, and that is what is acknowledged.
    let mut later = ack(9_000);
    later.acknowledgment += 20;
    let told = only(&[syn(0), syn_ack(300), later]);
    assert_eq!(halves(&told), (exact(300), at_most(8_700), at_most(9_000)));
    assert_eq!(flags(&told), []);
    let fin = Segment { flags: TcpFlags::ACK.with(TcpFlags::FIN), ..ack(9_000) };
    assert_eq!(only(&[syn(0), syn_ack(300), fin]).client_half, at_most(8_700));
}

#[test]
fn segments_far_from_the_handshake_are_not_its_end() {
    let mut keepalive = ack(400);
    keepalive.sequence -= 1;
    let mut far = ack(410);
    far.sequence += 1 << 24;
    let mut other = ack(420);
    other.acknowledgment += 1 << 24;
    let told = only(&[syn(0), syn_ack(300), keepalive, far, other, ack(450)]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
}

#[test]
fn addresses_of_both_families_work() {
    let v6 = |end: Endpoint| Endpoint { address: IpAddr::V6("2001:db8::1".parse().expect("v6")), ..end };
    let swap = |segment: Segment| Segment { from: v6(segment.from), to: v6(segment.to), ..segment };
    let told = only(&[swap(syn(0)), swap(syn_ack(300)), swap(ack(450))]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    assert_eq!((told.client, told.server), (v6(client()), v6(server())));
}
