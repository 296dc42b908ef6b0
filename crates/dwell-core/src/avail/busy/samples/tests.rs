use super::*;
use crate::stats::bootstrap::Indices;
use crate::stats::chance::exponential;
use crate::unit::Nanos;

const OWN: f64 = 1e3;

/// A train of 24 packets, `gap` apart, over a link that sends one in 1,000 ns, of which Poisson traffic of such packets takes
/// `load`.
fn train(chance: &mut Indices, load: f64, gap: f64) -> Sample {
    let (packets, warmed) = (24, 300.0 * OWN);
    let (mut at, mut work, mut left) = (0.0, 0.0_f64, Vec::new());
    let mut other = 0.0;
    for packet in 0..packets {
        let due = warmed + f64::from(packet) * gap;
        while other < due {
            work = (work - (other - at)).max(0.0) + OWN;
            at = other;
            other += exponential(chance, Nanos::from_f64(OWN / load)).as_f64();
        }
        work = (work - (due - at)).max(0.0) + OWN;
        at = due;
        left.push(due + work);
    }
    let gaps = f64::from(packets - 1);
    Sample { input: gap, output: (left[23] - left[0]) / gaps, gaps, blur: 0.0, scatter: 0.0 }
}

fn came(input: f64, output: f64, scatter: f64) -> Sample {
    Sample { input, output, gaps: 10.0, blur: 0.0, scatter }
}

/// Bursts of which a third of the gaps are parted, or none.
fn bursts(parted: bool) -> Samples {
    let far = if parted { 3.0 * OWN } else { OWN };
    let gaps: Vec<f64> = (0..30).map(|i| if i % 3 == 0 { far } else { OWN }).collect();
    let burst = came(10.0, gaps.iter().sum::<f64>() / 30.0, 0.0);
    Samples { gaps, bursts: vec![burst; 3], made: vec![10.0; 3], ..Samples::default() }
}

#[test]
fn what_slower_trains_meet_now_and_then_is_not_hidden_by_gaps_of_short_ones() {
    let slower = |first: f64| {
        let met = |load: f64| came(4.0 * OWN, OWN * (1.0 + 4.0 * load), (0.05 * OWN).powi(2));
        vec![[first, 0.9, 0.9, 0.9, 0.9].map(met).to_vec()]
    };
    let full = vec![came(0.85 * OWN, 1.75 * OWN, (0.3 * OWN).powi(2)); 30];
    assert!(Samples { near: slower(0.8), full: full.clone(), ..bursts(false) }.differ());
    assert!(!Samples { near: slower(0.89), full: full.clone(), ..bursts(false) }.differ());
    assert!(!Samples { near: slower(0.8), full, ..bursts(true) }.differ());
}

#[test]
fn a_link_with_little_load_does_not_part_bursts() {
    let full: Vec<Sample> =
        (0..8).map(|i| came(0.85 * OWN, OWN * (1.04 + 0.01 * f64::from(i % 2)), 0.0)).collect();
    let line = line::line(&full, &[], Some((OWN, 1.0))).unwrap();
    assert!(bursts(true).apart(&line) && !bursts(false).apart(&line));
}

#[test]
fn gaps_of_which_hardly_two_are_alike_are_no_single_packet_of_others() {
    // A hundredth of what a packet takes is more than a host delays it.
    let own = 100.0 * OWN;
    let full: Vec<Sample> =
        (0..8).map(|i| came(0.85 * own, own * (1.01 + 0.01 * f64::from(i % 2)), 0.0)).collect();
    let line = line::line(&full, &[], Some((own, 1.0))).unwrap();
    let burst = came(10.0, 1.09 * own, 0.0);
    let told = |gap: fn(u32) -> f64| {
        let gaps = (0..30).map(|place| own * gap(place)).collect();
        Samples { gaps, bursts: vec![burst; 3], made: vec![10.0; 3], ..Samples::default() }.apart(&line)
    };
    assert!(!told(|place| if place % 10 == 0 { 1.9 } else { 1.0 }));
    assert!(told(|place| if place < 8 { 1.0 } else { 1.06 + 0.005 * f64::from(place) }));
}

#[test]
fn bursts_of_a_slow_sender_show_nothing_of_a_faster_link() {
    // Bursts whose packets leave every 12 us and come `apart`.
    let blind = |apart: fn(usize) -> f64| {
        let mut samples = Samples::default();
        for burst in 0..3 {
            let came = |number: usize| (1..=number).map(|packet| apart(10 * burst + packet)).sum();
            let passed = |number: usize| Passed { number, sent: 12.0 * number as f64, came: came(number) };
            samples.see_burst(&(0..11).map(passed).collect::<Vec<_>>(), None);
        }
        samples.are_blind()
    };
    assert!(blind(|_| 12.0));
    // By chance four come 13 us apart behind a link that jostles them.
    assert!(blind(|gap| if gap % 8 == 1 { 13.0 } else { 9.0 + 0.23 * (gap * 11 % 30) as f64 }));
    // L / C shows where the link is the slower one, if only a little; and a sender that is much faster than it sees it.
    assert!(!blind(|_| 13.0));
    assert!(!blind(|gap| 40.0 + 3.0 * (gap * 11 % 30) as f64));
}

#[test]
fn no_train_is_faster_than_bursts_come() {
    let parted = bursts(true);
    assert_eq!((parted.pace(), parted.fastest()), (Some(OWN), parted.burst()));
    assert_eq!(bursts(false).fastest(), Some(OWN));
    assert_eq!(Samples::default().fastest(), None);
}

#[test]
fn trains_that_meet_more_when_slower_begin_sooner() {
    let full: Vec<Sample> =
        (0..8).map(|i| came(0.85 * OWN, OWN * (1.20 + 0.1 * f64::from(i % 2)), 0.0)).collect();
    let met = |load: f64| {
        (0..7)
            .map(|i| came(1.3 * OWN, OWN * (1.0 + 1.3 * load + 0.1 * f64::from(i % 2)), 0.0))
            .collect::<Vec<_>>()
    };
    let told = |near: Vec<Sample>| {
        let line = line::line(&full, &near, Some((OWN, 1.0))).unwrap();
        Samples { full: full.clone(), near: vec![near], ..bursts(false) }.sooner(&line)
    };
    let (same, more) = (told(met(0.24)), told(met(0.32)));
    assert!(same < 0.5 && more > 1.0, "{same} {more}");
}

#[test]
fn a_link_is_idle_until_something_is_met() {
    let idle = vec![came(0.85 * OWN, OWN, 0.0); 8];
    assert!(Samples { full: idle.clone(), ..bursts(false) }.idle());
    let heads = vec![came(0.85 * OWN, 1.5 * OWN, 0.0)];
    let whole_looks = [idle.clone(), heads.clone()].concat();
    let met = Samples { full: idle, heads, whole_looks, bursts_seen: true, ..bursts(false) };
    assert!(!met.idle());
}

#[test]
fn ten_trains_that_pass_by_chance_bound_no_more_than_is_free() {
    let (load, mut chance) = (0.6, Indices::new(7));
    let free = (1.0 - load) / OWN;
    // A little faster than what is free, which ten trains cannot tell.
    let gap = 1.0 / (free * 1.03);
    let burst = Sample { input: 1.0, output: OWN, gaps: 10.0, blur: 0.0, scatter: 0.0 };
    let (mut passed, mut wrong) = (0, 0);
    for _ in 0..400 {
        let full: Vec<Sample> = (0..10).map(|_| train(&mut chance, load, gap)).collect();
        if strain::verdict(&full, 0.0) != Verdict::Below {
            continue;
        }
        let samples = Samples { sent: full, bursts: vec![burst], ..Samples::default() };
        passed += 1;
        wrong += usize::from(samples.at_least().unwrap() > free);
    }
    assert!(passed > 50, "{passed}");
    assert!(wrong * 20 <= passed, "{wrong} of {passed}");
}

#[test]
fn a_look_between_bursts_counts_as_much_as_one_in_a_burst_however_late_the_sender() {
    // Six packets, of which others bring `load` of the link's work between any two; what leaves late between bursts finds it idle.
    let look = |load: f64, late: f64| -> Vec<Passed> {
        let (mut sent, mut free) = (0.0, 0.0_f64);
        let mut packet = |number: usize| {
            let gap = [0.0, 0.0, 0.85, 0.85 + late, 0.85, 0.85][number] * OWN;
            (sent, free) = (sent + gap, free.max(sent + gap) + OWN + load * gap);
            Passed { number, sent, came: free - OWN }
        };
        (0..6).map(&mut packet).collect()
    };
    let holds = [0.0, 0.0, 0.85, 0.85, 0.85, 0.85].map(|hold| hold * OWN);
    let load = |looks: [Vec<Passed>; 2]| {
        let mut samples = Samples { bursts_seen: true, ..bursts(false) };
        for passed in [&looks[0], &looks[1]].into_iter().cycle().take(20) {
            samples.see_full(passed, None, &samples.timely(passed, &holds));
        }
        assert!(samples.bursty());
        samples.line().unwrap().share.value
    };
    for late in [0.0, 1.0, 2.0] {
        let share = load([look(0.9, 0.0), look(0.0, late)]);
        assert!((share - 0.45).abs() < 0.01, "{share} where those between bursts are {late} packets late");
    }
}
