//! Ports reused, simultaneous open, nonsense.

use super::*;

fn again(segment: Segment, later: i64, isn_c: u32, isn_s: u32) -> Segment {
    let (from_c, from_s) = (isn_c.wrapping_sub(ISN_C), isn_s.wrapping_sub(ISN_S));
    let (own, others) = if segment.from == client() { (from_c, from_s) } else { (from_s, from_c) };
    Segment {
        at: segment.at + us(later),
        sequence: segment.sequence.wrapping_add(own),
        acknowledgment: segment.acknowledgment.wrapping_add(others),
        ..segment
    }
}

#[test]
fn ports_used_again_make_another_connection() {
    let first = [syn(0), syn_ack(300), ack(450)];
    let second = first.map(|segment| again(segment, 5_000, 7_777, 99));
    let told = told(&[first, second].concat());
    assert_eq!(told.len(), 2);
    assert_eq!(halves(&told[1]), (exact(300), exact(150), exact(450)));
    assert_eq!((told[1].isn_client, told[1].isn_server, told[1].syn_at), (7_777, Some(99), Some(us(5_000))));
}

#[test]
fn ports_used_again_while_in_progress_end_what_was() {
    for before in [vec![syn(0)], vec![syn(0), syn_ack(300)]] {
        let second = [syn(0), syn_ack(300), ack(450)].map(|segment| again(segment, 5_000, 7_777, 99));
        let (told, counts) = counted(&[before, second.to_vec()].concat());
        assert_eq!((told.len(), counts.ports_reused), (2, 1));
        assert_eq!((told[0].ending, flags(&told[0])), (Ending::Unfinished, vec![Flag::PortsReused]));
        assert_eq!(halves(&told[1]), (exact(300), exact(150), exact(450)));
    }
}

#[test]
fn answers_to_what_was_before_are_not_taken() {
    let stale = again(syn_ack(5_100), 0, ISN_C, ISN_S);
    let second = [syn(0), syn_ack(300), ack(450)].map(|segment| again(segment, 5_000, 700_777, 99));
    let told = told(&[syn(0), second[0], stale, second[1], second[2]]);
    assert_eq!(halves(&told[1]), (exact(300), exact(150), exact(450)));
}

#[test]
fn an_answer_that_passes_before_its_syn_was_the_first() {
    // The timer sends the next one, a second later: what it takes is no round trip.
    for before in [vec![syn(0)], vec![syn(0), syn_ack(300)], vec![syn(0), syn_ack(300), ack(450)]] {
        let second = [syn_ack(290), syn(300), syn_ack(1_000_290), ack(1_000_450)];
        let second = second.map(|segment| again(segment, 5_000, 7_777, 99));
        let told = told(&[before, second.to_vec()].concat());
        assert_eq!(told.len(), 2);
        assert_eq!((told[1].server_half, told[1].total), (Half::Unknown, Half::Unknown), "{:?}", told[1]);
    }
}

#[test]
fn a_syn_ack_after_all_is_over_of_a_syn_not_seen_is_another_connection() {
    let mut segments = vec![syn(0), syn_ack(300), ack(450)];
    segments.extend([syn_ack(300), ack(450)].map(|segment| again(segment, 5_000, 7_777, 99)));
    let told = told(&segments);
    assert_eq!(halves(&told[1]), (Half::Unknown, exact(150), Half::Unknown));
    assert_eq!(told[1].isn_client, 7_777);
}

#[test]
fn a_late_answer_to_what_the_ports_had_before_is_none() {
    let second = [syn(0), syn_ack(300), ack(450)].map(|segment| again(segment, 5_000, 700_777, 99));
    let first = [syn(0), syn_ack(300), ack(450)];
    let late = [syn_ack(1_000_300), ack(1_000_450)];
    assert_eq!(told(&[&first[..], &second, &late].concat()).len(), 2);
}

fn others_syn(at: i64) -> Segment {
    back(bare(at, TcpFlags::SYN, ISN_S, 0))
}

#[test]
fn a_late_syn_of_the_connection_before_ends_nothing() {
    let old = |at| Segment { sequence: ISN_C + 5_000, ..syn(at) };
    let answer = |at| Segment { acknowledgment: ISN_C + 5_001, ..syn_ack(at) };
    let second = 1_000_000;
    let (told, counts) = counted(&[
        old(0),
        syn(400_000),
        syn_ack(400_300),
        old(500_000),
        answer(500_300),
        syn(second + 400_000),
        syn_ack(second + 400_300),
        ack(second + 900_000),
    ]);
    assert_eq!((told.len(), counts.ports_reused, counts.late), (2, 1, 2));
    assert_eq!((told[1].syns, told[1].server_half), (2, exact(300)));
    assert_eq!(told[1].client_half, one_of(499_700, second + 499_700));
}

fn own_syn_ack(at: i64) -> Segment {
    bare(at, TcpFlags::SYN.with(TcpFlags::ACK), ISN_C, ISN_S + 1)
}

#[test]
fn both_ends_may_open_at_once() {
    let (syn_acks, flag) = ([own_syn_ack(400), syn_ack(300)], [Flag::SimultaneousOpen]);
    for order in [[0, 1], [1, 0]] {
        let told = only(&[syn(0), others_syn(50), syn_acks[order[0]], syn_acks[order[1]]]);
        assert_eq!(halves(&told), (exact(300), exact(350), exact(650)));
        assert_eq!(flags(&told), flag);
        assert_eq!((told.isn_client, told.isn_server, told.syns, told.syn_acks), (ISN_C, Some(ISN_S), 2, 2));
    }
}

#[test]
fn copies_after_a_simultaneous_open_are_no_other_connection() {
    let copies = [others_syn(420), own_syn_ack(430), syn_ack(440)];
    let opened = [syn(0), others_syn(50), syn_ack(300), own_syn_ack(400)];
    let (told, counts) = counted(&[&opened[..], &copies[..], &[ack(450)]].concat());
    assert_eq!((told.len(), counts.late), (1, 3));
}

#[test]
fn where_one_of_two_syns_is_lost_its_end_answers_the_syn_ack() {
    // Through a NAT that drops what it did not ask for.
    let others_ack = back(bare(700, TcpFlags::ACK, ISN_S + 1, ISN_C + 1));
    let told = only(&[syn(0), others_syn(50), own_syn_ack(400), others_ack]);
    assert_eq!(halves(&told), (exact(300), exact(350), exact(650)));
    let told = only(&[syn(0), others_syn(50), syn_ack(300), ack(450)]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
}

#[test]
fn an_ack_of_a_simultaneous_open_may_be_to_a_repetition_not_seen() {
    let told = only(&[syn(0), others_syn(50), syn_ack(300), ack(1_000_300)]);
    assert_eq!(halves(&told), (exact(300), at_most(1_000_000), at_most(1_000_300)));
}

#[test]
fn a_simultaneous_open_with_repetitions_is_withheld() {
    let withheld = (Half::Unknown, Half::Unknown, Half::Unknown);
    let told = only(&[syn(0), others_syn(50), syn(1_000_000), own_syn_ack(1_000_400), syn_ack(1_000_300)]);
    assert_eq!(halves(&told), withheld);
    let told = only(&[syn(0), others_syn(50), syn(1_000_000), syn_ack(1_000_300), ack(1_000_450)]);
    assert_eq!(told.client_half, Half::Unknown);
}

#[test]
fn two_syn_acks_of_a_simultaneous_open_are_two_however_close() {
    // The one that the ACK answers was not heard at all.
    let told = only(&[others_syn(0), syn(960), syn_ack(2_043), syn_ack(2_046), ack(2_251)]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, Half::Unknown));
    let told =
        only(&[others_syn(0), others_syn(3), syn(960), syn(963), syn_ack(2_043), syn_ack(2_046), ack(2_251)]);
    assert_eq!(told.total, exact(2_251 - 960));
}

#[test]
fn impossible_flags_are_counted_and_passed_over() {
    let (fin, rst) = (TcpFlags::SYN.with(TcpFlags::FIN), TcpFlags::SYN.with(TcpFlags::RST));
    let segments = [bare(0, fin, ISN_C, 0), bare(1, rst, ISN_C, 0), bare(2, TcpFlags(0), ISN_C, 0)];
    let (told, counts) = counted(&segments);
    assert_eq!((told.len(), counts.impossible_flags), (0, 2));
}

#[test]
fn one_address_talks_with_itself() {
    let own = |segment: Segment| Segment {
        from: Endpoint { address: client().address, ..segment.from },
        to: Endpoint { address: client().address, ..segment.to },
        ..segment
    };
    assert_eq!(halves(&only(&[own(syn(0)), own(syn_ack(300)), own(ack(450))])).2, exact(450));
    // The same port as well: nothing tells the directions apart.
    let same = |segment: Segment| Segment { from: client(), to: client(), ..segment };
    for told in told(&[same(syn(0)), same(syn_ack(300)), same(ack(450))]) {
        assert_eq!(told.server_half, Half::Unknown);
    }
}

/// As of a health check that always begins with one number.
#[test]
fn ports_and_number_that_come_again_are_another_connection() {
    let check = |second: i64| {
        let at = second * 1_000_000;
        [
            syn(at),
            Segment { sequence: ISN_S + 77_777 * second as u32, ..syn_ack(at + 300) },
            Segment { acknowledgment: ISN_S + 77_777 * second as u32 + 1, ..ack(at + 450) },
        ]
    };
    let (told, counts) = counted(&[0, 5, 10, 15].map(check).concat());
    assert_eq!((told.len(), counts.established, counts.late), (4, 4, 0));
    assert!(told.iter().all(|told| halves(told) == (exact(300), exact(150), exact(450))), "{told:?}");
}
