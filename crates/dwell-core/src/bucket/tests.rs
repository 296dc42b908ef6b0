use super::*;
use crate::stats::bootstrap::Indices;
use crate::stats::chance::exponential;
use proptest::prelude::*;

const SIZE: Bytes = Bytes(1_500);

/// Nanoseconds of 1 Gb/s that a packet takes, and packets that the bucket holds.
const GAP: f64 = 12_000.0;
const DEPTH: f64 = 40.0;

/// What comes of a train through a full bucket that gets a token for a packet each `own` nanoseconds, of which others take `share`, evenly.
fn bucket(train: &Train, own: f64, share: f64, drops: bool) -> Vec<Passed> {
    of_depth(DEPTH, train, own, share, drops)
}

/// The same through one that holds so many packets.
fn of_depth(depth: f64, train: &Train, own: f64, share: f64, drops: bool) -> Vec<Passed> {
    let (mut sent, mut last, mut tokens, mut ready) = (0.0, 0.0, depth, 0.0_f64);
    let mut passed = Vec::new();
    for (number, packet) in train.packets.iter().enumerate() {
        sent += if number > 0 { packet.hold.as_f64() } else { 0.0 };
        tokens = f64::min(tokens + (sent - last) * (1.0 - share) / own, depth);
        last = sent;
        if tokens >= 1.0 {
            tokens -= 1.0;
            ready = sent;
        } else if drops {
            continue;
        } else {
            // It waits for its token behind those that wait already, and what others sent meanwhile.
            ready = ready.max(sent) + (own + share * packet.hold.as_f64()).max(packet.hold.as_f64());
            tokens = 0.0;
        }
        passed.push(Passed { number, sent, came: ready });
    }
    passed
}

/// What comes of a train through links that take [`GAP`] for each packet, of which others' packets of that size take `share` by
/// chance: one behind another.
fn loaded(train: &Train, share: f64, links: usize, chance: &mut Indices) -> Vec<Passed> {
    let mut at = 0.0;
    let times = train.packets.iter().enumerate().map(|(number, packet)| {
        at += if number > 0 { packet.hold.as_f64() } else { 0.0 };
        at
    });
    let sent: Vec<f64> = times.collect();
    let mut came = sent.clone();
    for _ in 0..links {
        let mean = Nanos::from_f64(GAP / share);
        let mut next = || exponential(chance, mean).as_f64();
        let (mut free, mut other) = (0.0_f64, next());
        for at in &mut came {
            while other <= *at {
                free = free.max(other) + GAP;
                other += next();
            }
            free = free.max(*at) + GAP;
            *at = free;
        }
    }
    let first = came[0];
    let passed = sent.iter().zip(came).enumerate();
    passed.map(|(number, (sent, came))| Passed { number, sent: *sent, came: came - first }).collect()
}

fn run(packets: usize, path: impl FnMut(&Train) -> Vec<Passed>) -> Bucket {
    run_at(At::Free, packets, path)
}

fn run_at(at: At, packets: usize, path: impl FnMut(&Train) -> Vec<Passed>) -> Bucket {
    probed(Bucket::new(at, GAP, packets), path)
}

fn probed(mut bucket: Bucket, mut path: impl FnMut(&Train) -> Vec<Passed>) -> Bucket {
    while let Some((train, _)) = bucket.next(SIZE) {
        bucket.see(&path(&train));
    }
    bucket
}

proptest! {
    #[test]
    fn what_a_shaper_leaves_is_told_with_its_rate_and_depth(slower in 2.0..40.0f64, share in 0.0..0.7f64) {
        let own = slower * GAP;
        let told = run(600, |train| bucket(train, own, share, false));
        let line = told.line().unwrap();
        prop_assert!((line.free.value * own / (1.0 - share) - 1.0).abs() < 0.03, "{line:?}");
        prop_assert!((line.own.value / own - 1.0).abs() < 0.03, "{line:?}");
        let depth = told.depth(&line).unwrap();
        prop_assert!(depth.low <= DEPTH && DEPTH <= depth.high && depth.high - depth.low < 12.0, "{depth:?}");
    }

    /// At the pace of its link hardly a packet passes it as it was sent.
    #[test]
    fn a_shallow_bucket_is_told_at_its_links_pace(
        slower in 1.4..40.0f64, share in 0.0..0.5f64, depth in 1.0..12.0f64,
    ) {
        let own = slower * GAP;
        let told = run_at(At::Pace, 410, |train| of_depth(depth, train, own, share, false));
        prop_assert!(told.fallen().is_some() && !told.is_load());
        let line = told.line().unwrap();
        prop_assert!((line.own.value / own - 1.0).abs() < 0.03, "{line:?}");
        let held = told.depth(&line).unwrap();
        prop_assert!(held.low <= depth && depth <= held.high, "{depth} {held:?}");
    }

    /// What others send between its packets holds up such a train too, and is no bucket.
    #[test]
    fn loaded_links_are_no_bucket(share in 0.05..0.95f64, links in 1..3_usize, seed in 0..1_000_usize) {
        let mut chance = Indices::new(seed as u64);
        let told = run_at(At::Pace, 410, |train| loaded(train, share, links, &mut chance));
        prop_assert!(told.line().is_none(), "{:?}", told.line());
    }

    /// The pace that they were sent at is not its own, if others are between all packets.
    #[test]
    fn what_a_faster_link_lets_through_tells_of_it(
        faster in 0.5..0.9f64, same in 0.92..1.0f64, slower in 1.32..1.46f64,
    ) {
        let told = |own: f64| run_at(At::Pace, 410, |train| of_depth(0.0, train, own * GAP, slower - own, false));
        prop_assert!(told(faster).is_load() && told(same).is_load());
        prop_assert!(told(faster).is_of_a_faster_link(), "{:?}", told(faster).own());
        prop_assert!(!told(same).is_of_a_faster_link(), "{:?}", told(same).own());
    }

    #[test]
    fn of_a_policer_the_bound_holds(slower in 2.0..20.0f64) {
        let told = run(600, |train| bucket(train, slower * GAP, 0.0, true));
        prop_assert!(told.fallen().is_some_and(|fall| fall.drops) && told.line().is_none());
        let free = 1.0 / (slower * GAP);
        prop_assert!(told.through() >= free && told.through() < 1.1 * free, "{} {free}", told.through());
    }
}

#[test]
fn a_train_that_comes_as_it_was_sent_is_the_only_one() {
    let told = run(600, |train| bucket(train, 0.9 * GAP, 0.0, false));
    assert_eq!((told.sent, told.fallen(), told.doubt()), (1, None, None));
}

#[test]
fn what_falls_once_is_no_bucket() {
    let told = |second: f64| {
        let mut trains = 0;
        run(600, |train| {
            trains += 1;
            bucket(train, if trains == 1 { 4.0 * GAP } else { second * GAP }, 0.0, false)
        })
    };
    let passed = told(0.9);
    assert_eq!((passed.sent, passed.fallen(), passed.doubt()), (2, None, None));
    assert_eq!(passed.parts().len(), PARTS);
    // The second was held up as well, but otherwise.
    let held = told(1.6);
    assert_eq!((held.sent, held.fallen()), (2, None));
    assert!(held.doubt().unwrap().contains("slower"));
}

#[test]
fn what_lets_slower_trains_pass_is_no_bucket() {
    // Others came with either long train, and with none behind them.
    let mut trains = 0;
    let told = run(600, |train| {
        trains += 1;
        bucket(train, if trains <= ALIKE { 4.0 * GAP } else { 0.9 * GAP }, 0.0, false)
    });
    assert_eq!(told.fallen(), None);
    assert!(told.doubt().unwrap().contains("slower"));
}

#[test]
fn what_makes_the_last_packets_of_bursty_paths_slower_is_no_bucket() {
    let told = |bursts: bool, depth: f64| {
        let mut lengths = Vec::new();
        let bucket = probed(Bucket::new(At::Free, GAP, 600).among_bursts(bursts), |train| {
            lengths.push(train.packets.len());
            of_depth(depth, train, 4.0 * GAP, 0.0, false)
        });
        (bucket, lengths)
    };
    // The second train is as long as the first, and what empties in its first half is a bucket all the same.
    let ((once, short), (among, long)) = (told(false, 40.0), told(true, 40.0));
    assert!(once.line().is_some() && among.line().is_some());
    assert!(short[1] < 300 && long[1] == 600, "{short:?} {long:?}");
    // Some 470 packets pass a bucket of 350.
    assert!(told(false, 350.0).0.line().is_some());
    let (late, sent) = told(true, 350.0);
    assert!(late.fell() && late.fallen().is_none() && sent.len() == 2, "{sent:?}");
    assert!(late.doubt().unwrap().contains("slower"));
}

#[test]
fn what_drains_while_more_is_sent_is_no_bucket() {
    let fallen = |at: At, nearer: f64| {
        let mut trains = 0;
        let told = run_at(at, 600, |train| {
            trains += 1;
            let mut passed = bucket(train, 4.0 * GAP, 0.0, false);
            if trains == ALIKE + 2 {
                let head = passed[60];
                let drained = passed.iter_mut().skip(60);
                drained.for_each(|packet| packet.came = head.came + nearer * (packet.sent - head.sent));
            }
            passed
        });
        told.fallen().is_some()
    };
    assert!(fallen(At::Free, 1.0) && !fallen(At::Free, 0.7));
    // Trains at a link's pace leave more waiting.
    assert!(fallen(At::Pace, 0.7));
}

#[test]
fn what_loses_packets_by_no_rule_is_in_doubt() {
    let lost = |part: usize| {
        run(600, |train| {
            let passed = bucket(train, 0.9 * GAP, 0.0, false);
            passed.into_iter().filter(|packet| !(packet.number.pow(2) / 7).is_multiple_of(part)).collect()
        })
    };
    assert!(lost(5).doubt().unwrap().contains("lost"));
    assert_eq!(lost(50).doubt(), None);
}

#[test]
fn a_queue_that_is_full_at_the_same_place_is_no_bucket() {
    // Others are between our packets; once fifty wait they find room where ours do not.
    let full = |train: &Train| {
        let held = |packet: &Passed| 0.25 * GAP * packet.number.min(200) as f64;
        let passed = bucket(train, 0.9 * GAP, 0.0, false).into_iter();
        let passed = passed.filter(|packet| packet.number < 200 || packet.number.is_multiple_of(2));
        passed.map(|packet| Passed { came: packet.came + held(&packet), ..packet }).collect()
    };
    for at in [At::Free, At::Pace] {
        let told = run_at(at, 600, full);
        assert!(told.fell() && told.fallen().is_none() && told.line().is_none(), "{told:?}");
        assert!(told.doubt().unwrap().contains("queue"));
    }
}

#[test]
fn a_bucket_has_time_to_fill_and_a_queue_to_drain() {
    let mut told = Bucket::new(At::Free, GAP, 600);
    let (train, pause) = told.next(SIZE).unwrap();
    assert_eq!((train.packets.len(), pause), (600, Nanos::ZERO));
    told.see(&bucket(&train, 10.0 * GAP, 0.5, false));
    let (second, pause) = told.next(SIZE).unwrap();
    assert!(second.packets.len() < 600);
    // What waits of the first, and forty tokens at half of the bucket's rate.
    let waits = (600.0 - DEPTH) * 10.0 * GAP;
    assert!(pause.as_f64() > waits + DEPTH * 20.0 * GAP, "{pause:?}");
}
