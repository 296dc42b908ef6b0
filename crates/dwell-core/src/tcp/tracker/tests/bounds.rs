//! Bounded in memory and in time, whatever comes.

use super::*;
use proptest::prelude::*;

fn flood(number: u32, at: i64) -> Segment {
    let number = number.wrapping_mul(0x9e37_79b9);
    Segment { from: end(number, (number >> 16) as u16), sequence: number, ..syn(at) }
}

#[test]
fn what_is_unfinished_for_too_long_is_given_up() {
    let mut tracker = Tracker::new(Limits::default());
    let mut told = Vec::new();
    tracker.see(&syn(0), &mut |handshake| told.push(handshake));
    tracker.pass(us(120_000_000), &mut |handshake| told.push(handshake));
    assert!(told.is_empty() && is_pending(&tracker, client(), server()));
    tracker.pass(us(120_000_001), &mut |handshake| told.push(handshake));
    assert_eq!((told.len(), tracker.counts().aged), (1, 1));
    assert!(!is_pending(&tracker, client(), server()));
}

fn is_pending(tracker: &Tracker, from: Endpoint, to: Endpoint) -> bool {
    tracker.pending(tracker.seed().glance(&from, &to))
}

#[test]
fn only_handshakes_in_progress_are_pending() {
    let mut tracker = Tracker::new(Limits::default());
    let ways = |tracker: &Tracker| {
        [(client(), server()), (server(), client())].map(|(from, to)| is_pending(tracker, from, to))
    };
    assert_eq!(ways(&tracker), [false; 2]);
    for segment in [syn(0), syn_ack(300)] {
        tracker.see(&segment, &mut |_| ());
        assert_eq!(ways(&tracker), [true; 2]);
    }
    tracker.see(&ack(450), &mut |_| ());
    assert_eq!(ways(&tracker), [false; 2]);
}

#[test]
fn of_what_waits_for_the_clients_next_segment_the_servers_do_not_matter() {
    let mut tracker = Tracker::new(Limits::default());
    let reply = Segment { sequence: ISN_S + 1, acknowledgment: ISN_C + 1, ..with_data(ack(500), 100) };
    for segment in [syn(0), syn_ack(300), back(reply)] {
        tracker.see(&segment, &mut |_| ());
    }
    assert!(is_pending(&tracker, client(), server()) && !is_pending(&tracker, server(), client()));
}

/// Where the server went on before the client's first segment passed, as if its ACK had been lost, the ACK was there by then.
/// Yet it is held from when it passed, or it would wait behind others that are held for longer.
#[test]
fn what_is_held_waits_from_when_it_passed() {
    let mut tracker = Tracker::new(Limits::default());
    let mut told = Vec::new();
    let reply = Segment { sequence: ISN_S + 1, acknowledgment: ISN_C + 1, ..with_data(ack(1_000), 100) };
    let other = |segment: Segment| {
        let of = |one: Endpoint| if one == client() { end(0x0a00_0009, 9) } else { one };
        Segment { from: of(segment.from), to: of(segment.to), ..segment }
    };
    let of_another = [syn(10), syn_ack(310), with_data(ack(50_000), 100)].map(other);
    let segments = [[syn(0), syn_ack(300), back(reply)], of_another].concat();
    for segment in segments.iter().chain(&[with_data(ack(100_000), 100)]) {
        tracker.see(segment, &mut |handshake| told.push(handshake));
    }
    for (at, so_many) in [(250_000, 0), (250_001, 1), (300_000, 1), (300_001, 2)] {
        tracker.pass(us(at), &mut |handshake| told.push(handshake));
        assert_eq!(told.len(), so_many, "at {at} us");
    }
    assert_eq!(told[1].client_half, Half::AtMost(us(700)));
}

#[test]
fn what_repeats_a_syn_that_was_forgotten_is_no_first_one() {
    let second = 1_000_000;
    let few = Limits { handshakes: 8, ..Limits::default() };
    let handshake = |stamps: bool, others: u32| {
        let mut tracker = Tracker::new(few);
        let mut told = Vec::new();
        let of = |segment: Segment, value, echo| if stamps { stamped(segment, value, echo) } else { segment };
        tracker.see(&of(syn(0), 10, 0), &mut |_| ());
        (0..others).for_each(|number| tracker.see(&flood(number, 100), &mut |_| ()));
        for segment in
            [of(syn(second), 1_010, 0), of(syn_ack(second + 300), 7, 1_010), of(ack(second + 450), 1_012, 7)]
        {
            tracker.see(&segment, &mut |handshake| told.push(handshake));
        }
        tracker.finish(&mut |handshake| told.push(handshake));
        told.into_iter().find(|told| told.ending == Ending::Established).expect("one")
    };
    // It is at hand; it is forgotten, and what the server answers is named, or not. What may have been forgotten with it
    // leaves open which SYN/ACK the client answered. (17 are forgotten, one of which may look like the SYN/ACK once in 10^8
    // runs: the keys of the hash are drawn at random. Of 200 it would once in 140.)
    assert_eq!(handshake(false, 0).server_half, one_of(300, second + 300));
    assert_eq!(handshake(false, 20).server_half, one_of(300, second + 300));
    assert_eq!(halves(&handshake(true, 40)), (exact(300), exact(150), exact(450)));
    assert_eq!(halves(&handshake(false, 40)), (Half::Unknown, Half::Unknown, Half::Unknown));
}

#[test]
fn a_handshake_told_early_for_want_of_room_is_not_told_again_nor_sure() {
    let second = 1_000_000;
    let mut tracker = Tracker::new(Limits { handshakes: 8, ..Limits::default() });
    let mut told = Vec::new();
    // The client's ACK was lost: what follows it is held, for a SYN/ACK that was sent again may pass yet.
    let data = Segment { payload: 100, ..ack(450) };
    for segment in [syn(0), syn_ack(300), data] {
        tracker.see(&segment, &mut |handshake| told.push(handshake));
    }
    assert_eq!(told, []);
    // Others that are held take its place.
    for number in 0..8 {
        let opened = flood(number, 500);
        let later = Segment {
            sequence: opened.sequence.wrapping_add(1),
            payload: 100,
            flags: TcpFlags::ACK,
            ..opened
        };
        [opened, later].iter().for_each(|one| tracker.see(one, &mut |handshake| told.push(handshake)));
    }
    tracker.see(&syn_ack(second), &mut |handshake| told.push(handshake));
    tracker.see(&ack(second + 150), &mut |handshake| told.push(handshake));
    tracker.finish(&mut |handshake| told.push(handshake));
    let of_it: Vec<_> = told.iter().filter(|told| told.client == client()).collect();
    assert_eq!(of_it.len(), 1);
    assert_eq!(of_it[0].ending, Ending::Established);
    assert_eq!(halves(of_it[0]), (Half::Unknown, Half::Unknown, Half::Unknown));
}

#[test]
fn ports_used_again_leave_a_syn_that_gave_way_at_hand() {
    let second = 1_000_000;
    let mut tracker = Tracker::new(Limits { handshakes: 8, ..Limits::default() });
    let mut told = Vec::new();
    let of = |segment: Segment, by: u32| Segment { sequence: segment.sequence.wrapping_add(by), ..segment };
    let crowd = |tracker: &mut Tracker, from: u32, at| {
        (from..from + 8).for_each(|number| tracker.see(&flood(number, at), &mut |_| ()));
    };
    tracker.see(&syn(0), &mut |_| ());
    crowd(&mut tracker, 0, 100);
    tracker.see(&of(syn(second), 7_000), &mut |_| ());
    crowd(&mut tracker, 8, second + 100);
    // The first connection's SYN/ACK, late, and the second's SYN again.
    tracker.see(&syn_ack(second + 200), &mut |_| ());
    tracker.see(&of(syn(2 * second), 7_000), &mut |_| ());
    let answer = syn_ack(2 * second + 300);
    let answer = Segment { acknowledgment: answer.acknowledgment.wrapping_add(7_000), ..answer };
    for segment in [answer, of(ack(2 * second + 450), 7_000)] {
        tracker.see(&segment, &mut |handshake| told.push(handshake));
    }
    tracker.finish(&mut |handshake| told.push(handshake));
    let second_one = told.iter().find(|told| told.ending == Ending::Established).expect("one");
    assert_eq!(second_one.server_half, one_of(300, second + 300));
}

/// A handshake with a server, begun at `at`, that takes so long on either side.
fn legitimate(number: u32, server: Endpoint, at: i64, half: i64) -> [Segment; 3] {
    let own = |end: Endpoint| match end == client() {
        true => Endpoint { port: number as u16, ..super::end(0x0c00_0000 + number / 60_000, 0) },
        false => server,
    };
    [syn(at), syn_ack(at + half), ack(at + 2 * half)].map(|segment| Segment {
        from: own(segment.from),
        to: own(segment.to),
        ..segment
    })
}

/// Of handshakes among a million SYNs of others to so many servers in two seconds: those finished exactly.
fn finished_in_a_flood(legitimate: Vec<Segment>, servers: u32, is_answered: bool) -> u32 {
    let mut tracker = Tracker::new(Limits::default());
    let room = tracker.table.sizes().1;
    let mut exact = 0;
    let mut take = |told: Handshake| {
        exact += u32::from(told.ending == Ending::Established && told.total.exact().is_some());
    };
    let mut others = legitimate.into_iter().peekable();
    for number in 0..1_000_000 {
        let to = if servers == 1 { server() } else { end(0x0d00_0000 + number % servers, 80) };
        let syn = Segment { to, ..flood(number, i64::from(number) * 2) };
        tracker.see(&syn, &mut take);
        if is_answered {
            let acknowledgment = syn.sequence.wrapping_add(1);
            let answer = Segment { acknowledgment, ..syn_ack(i64::from(number) * 2 + 1) };
            tracker.see(&Segment { from: syn.to, to: syn.from, ..answer }, &mut take);
        }
        while let Some(other) = others.next_if(|other| other.at <= syn.at) {
            tracker.see(&other, &mut take);
        }
    }
    assert_eq!(tracker.table.sizes().1, room, "the table has grown");
    let counts = tracker.counts();
    let evicted = if is_answered { counts.evicted_answered } else { counts.evicted_unanswered };
    assert!(evicted > 500_000, "{counts:?}");
    exact
}

/// A thousand handshakes, and half of them with the server that is flooded.
fn among_a_flood(far: i64) -> Vec<Segment> {
    let mut segments: Vec<Segment> = (0..500)
        .flat_map(|number| {
            let begun = i64::from(number) * 2_000;
            let near = legitimate(number, server(), begun, 40_000);
            let far = legitimate(number, end(0x0b00_0001, 80), begun, far);
            [near, far].concat()
        })
        .collect();
    segments.sort_by_key(|segment| segment.at);
    segments
}

#[test]
fn a_flood_neither_grows_memory_nor_pushes_out_others() {
    assert_eq!(finished_in_a_flood(among_a_flood(400_000), 1, false), 1_000);
}

#[test]
fn a_flood_that_is_answered_pushes_out_no_others_either() {
    assert_eq!(finished_in_a_flood(among_a_flood(400_000), 1, true), 1_000);
}

/// Where nobody is flooded more than others, nothing tells a flood's SYN from any other until it is answered: each keeps its
/// place until so many more have come as there are places, and is known by a few words for longer.
#[test]
fn a_flood_of_all_servers_pushes_out_none_before_its_turn() {
    let until_full = Limits::default().handshakes * 2;
    assert!(until_full < 300_000, "{until_full}");
    assert_eq!(finished_in_a_flood(among_a_flood(300_000), 10_000, false), 1_000);
}

/// What is told of these segments where the first SYN has to give way to others before the second segment passes.
fn told_after_giving_way(segments: &[Segment]) -> Vec<Handshake> {
    let mut tracker = Tracker::new(Limits { handshakes: 8, ..Limits::default() });
    let mut told = Vec::new();
    tracker.see(&segments[0], &mut |handshake| told.push(handshake));
    (0..8).for_each(|number| tracker.see(&flood(number, 10), &mut |handshake| told.push(handshake)));
    assert_eq!((told.len(), told[0].ending), (1, Ending::Unfinished), "{told:?}");
    segments[1..].iter().for_each(|segment| tracker.see(segment, &mut |handshake| told.push(handshake)));
    tracker.finish(&mut |handshake| told.push(handshake));
    told.retain(|handshake| handshake.client == client() && handshake.ending != Ending::Unfinished);
    told
}

#[test]
fn a_syn_that_had_to_give_way_is_known_by_its_answer() {
    for dress in [
        |segment| segment,
        |segment| stamped(segment, 7, 7),
        |segment: Segment| Segment {
            options: Options { mptcp: true, cut: true, ..segment.options },
            ..segment
        },
    ] {
        let segments = [syn(0), syn_ack(300), ack(450)].map(dress);
        assert_eq!(told_after_giving_way(&segments), told(&segments));
    }
    let refused = [syn(0), Segment { flags: TcpFlags::RST.with(TcpFlags::ACK), ..syn_ack(300) }];
    assert_eq!(told_after_giving_way(&refused), told(&refused));
    let [answer, third] = [syn_ack(300), ack(450)];
    let answer = Segment { acknowledgment: ISN_C + 101, ..answer };
    let fast = [with_data(syn(0), 100), answer, Segment { sequence: ISN_C + 101, ..third }];
    assert_eq!(told_after_giving_way(&fast), told(&fast));
}

#[test]
fn a_syn_that_had_to_give_way_and_is_sent_again_leaves_open_which_was_answered() {
    let segments = [syn(0), syn(1_000_000), syn_ack(1_000_300), ack(1_000_450)];
    assert_eq!(told_after_giving_way(&segments), told(&segments));
    // Of another connection between the same ports, it says nothing.
    let another = [syn(0), Segment { sequence: 77, ..syn(1_000_000) }];
    let answer =
        [Segment { acknowledgment: 78, ..syn_ack(1_000_300) }, Segment { sequence: 78, ..ack(1_000_450) }];
    let told = told_after_giving_way(&[another, answer].concat());
    assert_eq!(halves(&told[0]), (exact(300), exact(150), exact(450)));
}

#[test]
fn memory_is_what_the_limits_say() {
    let (_, places) = Tracker::new(Limits::default()).table.sizes();
    assert_eq!(places, Limits::default().handshakes);
    assert_eq!(crate::tcp::tracker::table::PLACE_BYTES, 256);
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let numbers = || prop_oneof![Just(0_u32), Just(1), Just(2), Just(u32::MAX), 0..5_u32];
    let stamps =
        proptest::option::of((0..4_u32, 0..4_u32).prop_map(|(value, echo)| Timestamps { value, echo }));
    let ends = (0..3_u32, 0..3_u32, 0..2_u16);
    (any::<i64>(), 0..400_i64, 0..8_u32, ends, 0..0x20_u16, (numbers(), numbers(), numbers()), stamps)
        .prop_map(
            |(
                wild,
                at,
                wildly,
                (one, other, port),
                flags,
                (sequence, acknowledgment, payload),
                timestamps,
            )| Segment {
                at: if wildly == 0 { Nanos(wild) } else { Nanos::from_millis(at) },
                from: end(one, port),
                to: end(other, 0),
                flags: TcpFlags(flags),
                sequence,
                acknowledgment,
                payload,
                options: Options { timestamps, ..Options::default() },
            },
        )
}

/// A connection's SYN, or none, and whatever may follow it, milliseconds apart.
fn any_connection() -> impl Strategy<Value = Vec<Segment>> {
    let reply = Segment { sequence: ISN_S + 1, acknowledgment: ISN_C + 1, ..back(with_data(ack(0), 100)) };
    let reset = Segment { flags: TcpFlags::RST.with(TcpFlags::ACK), ..syn_ack(0) };
    let data = with_data(ack(0), 100);
    let of_one = vec![syn_ack(0), syn_ack(0), reply, reply, data, data, ack(0), syn(0), reset];
    let steps = proptest::collection::vec((prop::sample::select(of_one), 0..120_i64), 1..8);
    (any::<bool>(), 0..100_i64, any::<u16>(), steps).prop_map(|(has_syn, begun, port, steps)| {
        let of = |one: Endpoint| if one == client() { Endpoint { port, ..one } } else { one };
        let times = steps.iter().scan(begun, |at, (_, gap)| {
            *at += gap;
            Some(*at)
        });
        let steps = steps.iter().zip(times).map(|((segment, _), at)| (*segment, at));
        has_syn
            .then_some((syn(0), begun))
            .into_iter()
            .chain(steps)
            .map(|(segment, at)| Segment {
                at: Nanos::from_millis(at),
                from: of(segment.from),
                to: of(segment.to),
                ..segment
            })
            .collect()
    })
}

fn is_sound(half: Half) -> bool {
    match half {
        Half::Unknown => true,
        Half::Exact(value) | Half::AtMost(value) => value >= Nanos::ZERO,
        Half::OneOf(one, other) => Nanos::ZERO <= one && one <= other,
    }
}

proptest! {
    /// Whatever comes: no panic, nothing negative, no more places than allowed.
    #[test]
    fn any_segments_are_borne(segments in proptest::collection::vec(any_segment(), 0..400), handshakes in 8..12_usize) {
        let mut tracker = Tracker::new(Limits { handshakes, ..Limits::default() });
        let mut told = Vec::new();
        for segment in &segments {
            tracker.see(segment, &mut |handshake| told.push(handshake));
            prop_assert!(tracker.table.sizes().0 <= handshakes);
        }
        tracker.finish(&mut |handshake| told.push(handshake));
        for handshake in &told {
            prop_assert!([handshake.server_half, handshake.client_half, handshake.total].into_iter().all(is_sound), "{handshake:?}");
        }
        let counts = tracker.counts();
        let unfinished = counts.aged + counts.ports_reused + counts.cut_off
            + counts.evicted_unanswered + counts.evicted_answered + counts.evicted_stray;
        prop_assert!(told.len() as u64 <= counts.established + counts.refused + unfinished);
    }

    /// What `pending` denies changes nothing, of whatever comes on a clock that runs on. (On one that is set back what is too
    /// far from a handshake ends it, if it is looked at.)
    #[test]
    fn what_is_passed_over_does_not_matter(
        mut segments in prop_oneof![
            proptest::collection::vec(any_segment(), 0..400),
            proptest::collection::vec(any_connection(), 0..12).prop_map(|of_each| of_each.concat()),
        ],
        handshakes in 8..40_usize,
    ) {
        segments.retain(|segment| (Nanos::ZERO..Nanos::from_secs(1)).contains(&segment.at));
        segments.sort_by_key(|segment| segment.at);
        let mut all = Tracker::new(Limits { handshakes, ..Limits::default() });
        // With the same keys: which flows' hashes fall together, and so share what was forgotten, is another matter.
        let mut passing = all.clone();
        let (mut told, mut passed) = (Vec::new(), Vec::new());
        for segment in &segments {
            all.pass(segment.at, &mut |handshake| told.push(handshake));
            let flow = all.seed().of(&segment.from, &segment.to);
            all.look_at(flow, segment, &mut |handshake| told.push(handshake));
            passing.see(segment, &mut |handshake| passed.push(handshake));
        }
        all.finish(&mut |handshake| told.push(handshake));
        passing.finish(&mut |handshake| passed.push(handshake));
        prop_assert_eq!(&told, &passed);
    }
}
