//! TTL-limited probing on the simulator: what the methods' authors saw, with routers that tell, limit, and keep silent.

use dwell_core::hop::{HopFound, HopPath, Joined, Says, Walk, run};
use dwell_core::{Finding, Nanos, Side};
use dwell_sim::{Scenario, SimHops};

/// Looks at a path.
fn walk(scenario: &str, seed: u64) -> Joined {
    let scenario = Scenario::parse("hops.toml", &format!("name = 'hops'\n{scenario}")).unwrap();
    let mut path = SimHops::new(&scenario, seed);
    let mut walk = Walk::new(path.facts(), Walk::PATIENCE);
    run(&mut walk, &mut path, |_| ()).unwrap();
    walk.joined()
}

/// Links of these rates in Mb/s, each with `more`.
fn links(rates: &[u32], more: &str) -> String {
    rates.iter().map(|rate| link(*rate, more)).collect()
}

fn link(rate: u32, more: &str) -> String {
    format!("[[links]]\nrate = '{rate} Mb/s'\npropagation = '50 us'\n{more}\n")
}

fn poisson(load: f64) -> String {
    format!("cross = [{{ load = {load}, kind = 'poisson' }}]")
}

#[track_caller]
fn near(found: &Finding, mbps: f64, share: f64) {
    let value = found.estimate().unwrap_or_else(|| panic!("no value: {found:?}"));
    assert!((value / (mbps * 1e6) - 1.0).abs() < share, "{mbps} Mb/s: {found:?}");
}

fn at(joined: &Joined, hop: u8) -> &HopFound {
    &joined.hops[usize::from(hop) - 1]
}

#[test]
fn idle_links_are_known_one_by_one() {
    let rates = [100, 10, 50, 1000, 100];
    let joined = walk(&links(&rates, ""), 1);
    assert_eq!(joined.hops.len(), rates.len());
    for (hop, rate) in (1..).zip(rates) {
        near(&at(&joined, hop).capacity, rate.into(), 0.02);
    }
    // Dispersion sees the narrowest link so far.
    for (hop, rate) in [(1, 100.0), (2, 10.0), (3, 10.0), (4, 10.0), (5, 10.0)] {
        near(&at(&joined, hop).segment_capacity, rate, 0.02);
    }
    assert_eq!(joined.narrow_hop, Some(2));
    assert_eq!(at(&joined, 5).says, Some(Says::Reached));
    assert!(joined.hops.iter().all(|hop| hop.hidden.is_none()), "{joined:#?}");
    assert_eq!(joined.warnings, [""; 0]);
}

#[test]
fn errors_grow_with_hop_and_load() {
    // Downey 1999, section 5: what a hop's line is wrong by, the next link has too, and a fast link behind slow ones is
    // lost in it.
    let (near_by, far) = ((1..=8).map(|seed| walk(&links(&[100; 6], &poisson(0.5)), seed)))
        .map(|joined| (width(&at(&joined, 1).capacity), width(&at(&joined, 6).capacity)))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    let median = |widths: &[f64]| dwell_core::stats::quantile::median(widths).unwrap();
    assert!(median(&near_by) < 0.02, "{near_by:?}");
    assert!(median(&far) > 5.0 * median(&near_by).max(0.01), "{far:?}");
}

/// Of an interval, as a share of the value; of what is no value beyond all measure.
fn width(finding: &Finding) -> f64 {
    match finding {
        Finding::Value { value, low, high, .. } => (high - low) / value,
        _ => 1e9,
    }
}

#[test]
fn loaded_links_are_known_or_not_told() {
    for (load, seed) in [(0.3, 1), (0.3, 2), (0.6, 3), (0.6, 4)] {
        let joined = walk(&links(&[100, 100, 50, 100], &poisson(load)), seed);
        for (hop, rate) in [(1, 100.0), (2, 100.0)] {
            near(&at(&joined, hop).capacity, rate, 0.05);
        }
        for (hop, rate) in [(1, 100e6), (2, 100e6), (3, 50e6), (4, 50e6)] {
            let found = &at(&joined, hop).segment_capacity;
            let Some(value) = found.estimate() else { continue };
            assert!((value / rate - 1.0).abs() < 0.1, "load {load}, hop {hop}: {found:?}");
        }
        assert!(joined.hops.iter().all(|hop| hop.hidden.is_none()), "load {load}: {:#?}", joined.hops);
    }
}

#[test]
fn a_switch_halves_what_pathchar_sees_and_is_named() {
    let switch = link(100, "node = 'switch'");
    for (load, seed) in [("", 1), (&*poisson(0.3), 2)] {
        let text = format!("{}{switch}{}", links(&[100], load), links(&[100, 100], load));
        let joined = walk(&text, seed);
        assert_eq!(joined.hops.len(), 3, "a switch is no hop");
        near(&at(&joined, 2).capacity, 50.0, 0.03);
        near(&at(&joined, 2).segment_capacity, 100.0, 0.03);
        let hidden = at(&joined, 2).hidden.expect("round trips and dispersion contradict each other");
        assert!((hidden.implied / 1e8 - 1.0).abs() < 0.1, "{hidden:?}");
        assert!(at(&joined, 1).hidden.is_none() && at(&joined, 3).hidden.is_none(), "{joined:#?}");
        assert!(joined.warnings.iter().any(|warning| warning.contains("stores and forwards")), "{joined:#?}");
    }
}

#[test]
fn a_switch_behind_a_narrower_link_is_not_made_up_nor_found() {
    let text = format!("{}{}{}", links(&[10], ""), link(100, "node = 'switch'"), links(&[100], ""));
    let joined = walk(&text, 1);
    // Whatever the narrow link has spread, 50 Mb/s and twice 100 carry it alike.
    near(&at(&joined, 2).capacity, 50.0, 0.05);
    near(&at(&joined, 2).segment_capacity, 10.0, 0.02);
    assert!(at(&joined, 2).hidden.is_none());
}

#[test]
fn a_limit_is_found_and_kept_to() {
    let limited = |every: &str| format!("node = {{ router = {{ every = '{every}' }} }}");
    let text = format!("{}{}{}", links(&[100], ""), link(100, &limited("50 ms")), links(&[100], ""));
    let joined = walk(&text, 1);
    let hop = at(&joined, 2);
    let gap = hop.limit.unwrap_or_else(|| panic!("{hop:?}"));
    assert!((Nanos::from_millis(50)..Nanos::from_millis(120)).contains(&gap), "{gap}");
    near(&hop.capacity, 100.0, 0.02);
    near(&at(&joined, 3).capacity, 100.0, 0.02);
    assert!(at(&joined, 1).limit.is_none() && at(&joined, 3).limit.is_none());
    assert!(
        joined.warnings.iter().any(|warning| warning.contains("hop 2 limits its messages")),
        "{joined:#?}"
    );
    // Linux's own: one a second is too few for a line in the time that there is. No figure is made of it.
    let text = format!("{}{}{}", links(&[100], ""), link(100, &limited("1 s")), links(&[100], ""));
    let joined = walk(&text, 1);
    assert!(at(&joined, 2).limit.is_some_and(|gap| gap >= Nanos::from_millis(900)), "{:?}", at(&joined, 2));
    let Finding::Unmeasurable { reason } = &at(&joined, 2).capacity else { panic!("{:?}", at(&joined, 2)) };
    assert!(reason.contains("limits its messages"), "{reason}");
    near(&at(&joined, 1).capacity, 100.0, 0.02);
    // The hop behind it is as far as two links.
    assert_eq!(at(&joined, 3).capacity.holds(100e6), Some(true), "{:?}", at(&joined, 3));
}

#[test]
fn losses_are_no_limit() {
    let joined = walk(&links(&[100, 100], "loss = 0.25"), 1);
    assert!(joined.hops.iter().all(|hop| hop.limit.is_none()), "{:#?}", joined.hops);
    near(&at(&joined, 1).capacity, 100.0, 0.02);
    near(&at(&joined, 2).capacity, 100.0, 0.02);
}

#[test]
fn silent_hops_are_passed_over_and_their_links_taken_together() {
    let silent = "node = { router = { silent = true } }";
    let text = format!("{}{}{}", links(&[100], ""), link(100, silent), links(&[100], ""));
    let joined = walk(&text, 1);
    assert_eq!((at(&joined, 2).says, at(&joined, 2).address), (None, None));
    assert!(matches!(at(&joined, 2).capacity, Finding::Unmeasurable { .. }));
    // Two links at once: half the rate of each, and so a bound. That a silent router stands between is no hidden hop.
    let Finding::Bound { bound, side: Side::Lower, .. } = at(&joined, 3).capacity else {
        panic!("{joined:#?}")
    };
    assert!((bound / 50e6 - 1.0).abs() < 0.02, "{bound}");
    assert!(at(&joined, 3).hidden.is_none());
    // Nobody at all.
    let joined = walk(&links(&[100, 100, 100], silent), 1);
    assert!(joined.hops.is_empty() && joined.narrow_hop.is_none(), "{joined:#?}");
    assert!(joined.warnings[0].contains("nobody answers"), "{joined:#?}");
}

#[test]
fn messages_that_grow_with_their_probes_do_not_tilt_the_line() {
    // A quotation up to 576 bytes: sizes begin where messages are full. On the way back a slow link would show otherwise.
    let text =
        format!("{}[[reverse]]\nrate = '5 Mb/s'\n[[reverse]]\nrate = '5 Mb/s'\n", links(&[100, 50], ""));
    let joined = walk(&text, 1);
    near(&at(&joined, 1).capacity, 100.0, 0.02);
    near(&at(&joined, 2).capacity, 50.0, 0.02);
}

#[test]
fn the_tight_link_is_where_trains_grow_last() {
    // Narrow at hop 2, tight at hop 4, where 80 % are taken of a link twice as fast (Hu and others 2004, section 4).
    let text = format!(
        "{}{}{}{}{}",
        links(&[100], ""),
        link(50, ""),
        links(&[100], ""),
        link(100, &poisson(0.8)),
        links(&[100], "")
    );
    let found: Vec<Option<u8>> = (1..=6).map(|seed| walk(&text, seed).tight.map(|tight| tight.hop)).collect();
    let right = found.iter().filter(|hop| **hop == Some(4)).count();
    assert!(right >= 5, "{found:?}");
    let joined = walk(&text, 1);
    assert_eq!(joined.narrow_hop, Some(2));
    let free = joined.tight.map(|tight| tight.free).unwrap();
    assert_eq!(free.holds(20e6), Some(true), "{free:?}");
}

#[test]
fn a_narrower_link_behind_the_tight_one_is_not_taken_for_it() {
    // 46 of 155 Mb/s are free, then 100 of 100: trains grow at both.
    let text = |load: f64| {
        let tight = link(155, &format!("queue = '256 KiB'\n{}", poisson(load)));
        format!("{}{tight}{}", links(&[1_000], ""), links(&[100], ""))
    };
    let places = |load| -> Vec<Option<u8>> {
        (1..=20).map(|seed| walk(&text(load), seed).tight.map(|tight| tight.hop)).collect()
    };
    let found = places(0.7);
    assert!(found.iter().filter(|hop| **hop == Some(2)).count() >= 17, "{found:?}");
    // 140 are free of it: the other is the tight one.
    let found = places(0.1);
    assert!(found.iter().filter(|hop| **hop == Some(3)).count() >= 19, "{found:?}");
}

#[test]
fn trains_with_the_packets_of_others_in_all_of_them_make_no_narrow_link() {
    // A full packet of another's every 24 us on 1 Gb/s, half of the link: none of 16 gets through alone.
    let constant = "cross = [{ load = 0.5, kind = 'constant' }]";
    let text = format!("{}{}{}", links(&[1_000], ""), link(1_000, constant), links(&[1_000], ""));
    for seed in 1..=5 {
        let joined = walk(&text, seed);
        for HopFound { hop, segment_capacity, .. } in &joined.hops {
            assert!(
                segment_capacity.estimate().is_none_or(|told| told > 0.95e9),
                "seed {seed}, hop {hop}: {segment_capacity:?}"
            );
        }
        near(&joined.narrow_link_capacity, 1_000.0, 0.03);
    }
}

#[test]
fn the_same_seed_gives_the_same_look() {
    let text = links(&[100, 50], &poisson(0.4));
    assert_eq!(walk(&text, 7), walk(&text, 7));
}
