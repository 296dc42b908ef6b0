//! Segments out of order, and clocks that run backwards: no half is ever negative.

use super::*;

#[test]
fn only_the_order_is_wrong_where_the_stamps_are_right() {
    // As from a capture with a queue for each direction.
    for order in [[syn_ack(300), syn(0), ack(450)], [syn(0), ack(450), syn_ack(300)]] {
        let told = only(&order);
        assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
        assert_eq!(flags(&told), [Flag::OutOfOrder]);
        assert_eq!((told.isn_client, told.isn_server), (ISN_C, Some(ISN_S)));
    }
}

#[test]
fn an_ack_stamped_before_its_syn_ack_leaves_the_total() {
    let told = only(&[syn(0), ack(450), syn_ack(460)]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, exact(450)));
    assert_eq!(flags(&told), [Flag::OutOfOrder]);
    assert_eq!(told.syn_acks, 1);
}

#[test]
fn a_syn_stamped_after_its_syn_ack_leaves_nothing() {
    let told = only(&[syn_ack(300), syn(310), ack(450)]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, Half::Unknown));
    assert_eq!(flags(&told), [Flag::OutOfOrder]);
}

#[test]
fn an_ack_that_belongs_to_another_syn_ack_is_not_taken() {
    let other = Segment { sequence: ISN_S + 77_777, ..syn_ack(460) };
    let (told, counts) = counted(&[syn(0), ack(450), other]);
    assert_eq!(halves(&told[0]), (Half::Unknown, Half::Unknown, exact(450)));
    assert_eq!(counts.wrong_acknowledgments, 1);
}

#[test]
fn the_ack_may_come_after_what_the_server_sent_next() {
    let reply =
        |at| back(Segment { sequence: ISN_S + 1, acknowledgment: ISN_C + 1, ..with_data(ack(at), 9) });
    let told = only(&[syn(0), syn_ack(300), reply(500), ack(450)]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
    // Stamped later, it was still sent before.
    let late = only(&[syn(0), syn_ack(300), reply(500), ack(510)]);
    assert_eq!(late.client_half, at_most(200));
}

#[test]
fn a_clock_that_runs_backwards_leaves_no_half() {
    let told = only(&[syn(1_000), syn_ack(900), ack(1_450)]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, Half::Unknown));
    assert_eq!(flags(&told), [Flag::ClockStepped]);
    let (told, counts) = counted(&[syn(1_000), syn_ack(1_300), ack(1_200)]);
    assert_eq!(halves(&told[0]), (Half::Unknown, Half::Unknown, Half::Unknown));
    assert_eq!(flags(&told[0]), [Flag::ClockStepped]);
    assert_eq!(counts.established, 1);
}

/// The same of a connection of the same ports whose client begins with another number.
fn another(segments: [Segment; 3]) -> [Segment; 3] {
    let [syn, syn_ack, ack] = segments;
    [
        Segment { sequence: syn.sequence + 7_000_000, ..syn },
        Segment { acknowledgment: syn_ack.acknowledgment + 7_000_000, ..syn_ack },
        Segment { sequence: ack.sequence + 7_000_000, ..ack },
    ]
}

#[test]
fn a_clock_that_was_set_back_by_more_than_patience_begins_anew() {
    let hour = 3_600_000_000;
    for far in [syn_ack(hour), syn(hour)] {
        let next = another([syn(0), syn_ack(300), ack(450)]);
        let (told, counts) = counted(&[&[far][..], &next].concat());
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!((told[0].ending, told[1].ending), (Ending::Unfinished, Ending::Established));
        assert_eq!(halves(&told[1]), (exact(300), exact(150), exact(450)));
        assert_eq!((flags(&told[1]), counts.aged), (vec![], 1));
    }
}

/// However far the clock was set, of two SYNs with one number the second is no first.
#[test]
fn what_began_before_a_clock_was_set_far_is_known_by_its_number() {
    let second = 1_000_000;
    for far in [10, 119, 600, 3_600, -600] {
        let mut tracker = Tracker::new(Limits::default());
        let (mut told, at) = (Vec::new(), |at: i64| at + (4_000 - far) * second);
        tracker.see(&syn(4_000 * second), &mut |handshake| told.push(handshake));
        tracker.clock_stepped();
        for segment in [syn(at(0)), syn_ack(at(200_000)), ack(at(200_150))] {
            tracker.see(&segment, &mut |handshake| told.push(handshake));
        }
        tracker.finish(&mut |handshake| told.push(handshake));
        let exact_halves = told.iter().filter(|told| matches!(told.server_half, Half::Exact(_))).count();
        assert!(exact_halves == 0 && !told.is_empty(), "{far} {told:?}");
    }
}

#[test]
fn a_clock_that_was_set_back_shows_by_what_others_send() {
    // By half a second, after the SYN had passed: 800 ms are 300.
    let other = Segment { from: end(0x0a00_0009, 9), ..syn(700_000) };
    let (told, counts) = counted(&[syn(0), other, syn_ack(300_000), ack(305_000)]);
    let told = told.iter().find(|told| told.client == client()).unwrap();
    assert_eq!(halves(told), (Half::Unknown, Half::Unknown, Half::Unknown));
    assert_eq!((flags(told), counts.clock_stepped), (vec![Flag::ClockStepped], 1));
    // What was over by then, and what begins after it, is told.
    let again = |segment: Segment| Segment { at: segment.at + us(100_000), ..segment };
    let before = [syn(0), syn_ack(300), ack(450)];
    let (told, counts) = counted(&[&before[..], &[other], &before.map(again)].concat());
    let exact = told.iter().filter(|told| halves(told) == (exact(300), exact(150), exact(450)));
    assert_eq!((exact.count(), counts.clock_stepped), (1, 0));
}

#[test]
fn of_what_began_before_a_clock_was_set_no_half_is_told_whichever_way_it_was() {
    // By 10 ms and by 3 s either way, which no packet shows.
    for by in [10_000, -10_000, 3_000_000, -90] {
        for set_after in 0..4 {
            let mut tracker = Tracker::new(Limits::default());
            let (mut told, mut way) = (Vec::new(), 0);
            for (number, segment) in
                [syn(5_000_000), syn_ack(5_000_300), ack(5_000_450)].into_iter().enumerate()
            {
                if number == set_after {
                    tracker.clock_stepped();
                    way = by;
                }
                let segment = Segment { at: segment.at + us(way), ..segment };
                tracker.see(&segment, &mut |handshake| told.push(handshake));
            }
            tracker.finish(&mut |handshake| told.push(handshake));
            let during = [1, 2].contains(&set_after);
            assert_eq!(told.len(), 1);
            match during {
                true => assert_eq!(halves(&told[0]), (Half::Unknown, Half::Unknown, Half::Unknown)),
                false => assert_eq!(halves(&told[0]), (exact(300), exact(150), exact(450))),
            }
            assert_eq!(
                (flags(&told[0]).contains(&Flag::ClockStepped), tracker.counts().clock_stepped),
                (during, during.into())
            );
        }
    }
}

#[test]
fn a_clock_that_was_set_back_makes_nothing_late_but_copies() {
    let hour = 3_600_000_000;
    let again = [syn(0), syn_ack(300), ack(450)];
    let before = [syn(hour), syn_ack(hour + 300), ack(hour + 450)];
    let (told, counts) = counted(&[before, another(again)].concat());
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(halves(&told[1]), (exact(300), exact(150), exact(450)));
    assert_eq!((counts.established, counts.late), (2, 0));
    let (told, counts) = counted(&[before, again].concat());
    assert_eq!((told.len(), counts.late), (1, 2), "{told:?}");
}

/// Its SYN and SYN/ACK were sent again, and pass after the ACK that is stamped after them.
#[test]
fn what_passes_late_of_a_handshake_that_took_long_begins_no_other() {
    let again = 1_002_000;
    for end in [ack(again + 450), with_data(ack(again + 450), 300)] {
        let late = [syn(again), syn_ack(again + 300), with_data(ack(again + 900), 300)];
        let (told, counts) = counted(&[&[syn(0), syn_ack(300), end][..], &late].concat());
        assert_eq!((told.len(), counts.established), (1, 1), "{told:?}");
    }
}

#[test]
fn a_syn_that_passes_late_is_judged_with_the_others() {
    let told = |order: [usize; 3]| {
        let segments = [syn(0), syn_ack(1_000_300), syn(1_000_000)];
        let mut segments = order.map(|number| segments[number]).to_vec();
        segments.push(ack(1_000_450));
        only(&segments)
    };
    assert_eq!(told([0, 1, 2]).server_half, one_of(300, 1_000_300));
    // Late by a second, or the clock was set back by that: the same stamps, and other times.
    for order in [[1, 0, 2], [1, 2, 0]] {
        assert_eq!((told(order).server_half, told(order).total), (Half::Unknown, Half::Unknown));
        assert!(flags(&told(order)).contains(&Flag::ClockStepped));
    }
}

#[test]
fn a_syn_that_passes_after_the_syn_ack_which_names_it_was_heard() {
    let second = 1_000_000;
    let told = only(&[
        stamped(syn(0), 10, 0),
        stamped(syn_ack(second + 300), 7, 1_010),
        stamped(syn(second), 1_010, 0),
        stamped(ack(second + 450), 1_011, 7),
    ]);
    assert_eq!(halves(&told), (exact(300), exact(150), exact(450)));
}

#[test]
fn the_ack_may_come_after_the_data_that_was_sent_after_it() {
    let told = only(&[syn(0), syn_ack(300), with_data(ack(470), 9), ack(450)]);
    assert_eq!((halves(&told), flags(&told)), ((exact(300), exact(150), exact(450)), vec![]));
    // Stamped later, it may be any other.
    let later = only(&[syn(0), syn_ack(300), with_data(ack(470), 9), ack(480)]);
    assert_eq!((later.client_half, flags(&later)), (at_most(170), vec![Flag::AckWithData]));
}

#[test]
fn a_syn_ack_that_passes_after_the_ack_may_be_the_one_answered() {
    // The server answers a repeated SYN, and its timer repeats the SYN/ACK, at nearly the same time.
    let told = only(&[syn(0), syn(1_000_000), syn_ack(1_000_300), ack(1_007_000), syn_ack(1_006_500)]);
    assert_eq!(told.client_half, one_of(500, 6_700));
}

#[test]
fn an_ack_before_a_syn_ack_that_names_a_syn_not_heard_tells_nothing() {
    let early = stamped(ack(80_000), 2_080, 7);
    let told = only(&[stamped(syn(0), 2_000, 0), early, stamped(syn_ack(80_500), 7, 2_000), request()]);
    assert_eq!(told.total, exact(80_000));
    let told = only(&[stamped(syn(0), 2_000, 0), early, stamped(syn_ack(80_500), 7, 1_000), request()]);
    assert_eq!(halves(&told), (Half::Unknown, Half::Unknown, Half::Unknown));
}

/// The client asks.
fn request() -> Segment {
    stamped(with_data(ack(81_000), 320), 2_081, 7)
}
