//! Sizing against the dispersion model, on any path: what the closed forms promise, (24)-(26) keep.

use dwell_core::host::salehin2015::{GapFigures, solve};
use dwell_core::sizing::{Crossing, Link, clock, disperse, ratio};
use dwell_core::{BitRate, Bytes, Nanos};
use proptest::prelude::*;

/// Less than a thousandth of a nanosecond is rounding.
const NOTHING: f64 = 1e-3;

fn paths() -> impl Strategy<Value = Vec<Link>> {
    let rate = prop_oneof![1_000_000u64..10_000_000_000, Just(10_000_000), Just(100_000_000)];
    (prop::collection::vec(rate, 1..12), any::<bool>()).prop_map(|(rates, ethernet)| {
        let link = |rate| if ethernet { Link::ethernet(BitRate(rate)) } else { Link::bare(BitRate(rate)) };
        rates.into_iter().map(link).collect()
    })
}

fn crossings() -> impl Strategy<Value = Vec<Crossing>> {
    let one = (0u32..4, 0u32..4, 64u64..1526).prop_map(|(ahead, between, size)| Crossing {
        ahead,
        between,
        size: Bytes(size),
    });
    // The end link of the longest path stays quiet: there is nothing to close a gap that opens on it.
    prop::collection::vec(one, 0..8)
}

fn at_the_end(path: &[Link], heading: u64, trailing: u64, crossings: &[Crossing]) -> f64 {
    disperse(path, Bytes(heading), Bytes(trailing), crossings).last().unwrap().dispersion
}

proptest! {
    /// (17) at every node: no dispersion on any link.
    #[test]
    fn the_ratio_of_17_keeps_every_link_free(path in paths(), heading in 200u64..9_000) {
        let gap = path[0].gap.0;
        let alpha = ratio::everywhere(&path);
        let trailing = ((heading + gap) as f64 / alpha).floor() as u64;
        // A padded packet is longer than its size.
        prop_assume!(trailing >= gap + path[0].least.0);
        for hop in disperse(&path, Bytes(heading), Bytes(trailing - gap), &[]) {
            prop_assert!(hop.dispersion.abs() < NOTHING, "{hop:?}");
        }
    }

    /// The largest s_t arrives without dispersion, and a byte more does not; nothing does where there is none.
    #[test]
    fn the_largest_trailing_packet_is_the_largest(
        path in paths(), heading in 200u64..9_000, crossings in crossings(),
    ) {
        match ratio::largest_trailing(&path, Bytes(heading), &crossings) {
            Some(largest) => {
                prop_assert!(largest <= heading as f64);
                let whole = (largest + 1e-6).floor() as u64;
                prop_assert!(at_the_end(&path, heading, whole, &crossings) < NOTHING);
                let above = whole + 1;
                if above <= heading {
                    prop_assert!(at_the_end(&path, heading, above, &crossings) > 0.0);
                }
            }
            None => {
                for trailing in [1, 72, 300] {
                    prop_assert!(at_the_end(&path, heading, trailing, &crossings) > 0.0);
                }
            }
        }
    }

    /// Behind a path whose end link is the narrowest, any s_t will do: what a measured narrow link that is the end link
    /// promises of links nobody knows.
    #[test]
    fn the_narrowest_end_link_asks_for_nothing(mut path in paths(), heading in 200u64..9_000) {
        let narrowest = path.iter().map(|link| link.rate).min().unwrap();
        path.last_mut().unwrap().rate = narrowest;
        prop_assert!(at_the_end(&path, heading, heading, &[]) < NOTHING);
        prop_assert!(ratio::published(&path).is_none_or(|published| published.capped() == 1.0));
    }

    /// The narrowest link right before the end link is the worst case: a size that fits there fits wherever else the
    /// narrowest link is, and whatever the other links are.
    #[test]
    fn two_measured_figures_give_a_safe_size(path in paths(), heading in 200u64..9_000) {
        let narrowest = path.iter().copied().min_by_key(|link| link.rate).unwrap();
        let worst = [narrowest, *path.last().unwrap()];
        if let Some(safe) = ratio::largest_trailing(&worst, Bytes(heading), &[]) {
            let whole = (safe + 1e-6).floor() as u64;
            prop_assert!(at_the_end(&path, heading, whole, &[]) < NOTHING);
        }
    }

    /// The published rule never asks for less than is needed on a path with one place where it opens.
    #[test]
    fn the_published_rule_is_never_smaller_than_the_exact_one(path in paths(), heading in 200u64..9_000) {
        let bare: Vec<Link> = path.iter().map(|link| Link::bare(link.rate)).collect();
        let exact = ratio::largest_trailing(&bare, Bytes(heading), &[]).unwrap();
        let published = ratio::published(&bare).map_or(1.0, |published| published.capped());
        prop_assert!(heading as f64 / published >= exact - 1e-6);
    }

    /// Cross traffic between the two never brings them closer, cross traffic ahead never parts them.
    #[test]
    fn cross_traffic_between_parts_and_ahead_closes(
        path in paths(), trailing in 72u64..1500, at in 0usize..11, count in 1u32..9,
    ) {
        prop_assume!(at > 0 && at < path.len());
        let mut crossings = vec![Crossing::default(); path.len()];
        let gap = |crossings: &[Crossing]| {
            disperse(&path, Bytes(1526), Bytes(trailing), crossings).last().unwrap().gap
        };
        let quiet = gap(&crossings);
        crossings[at] = Crossing { ahead: count, between: 0, size: Bytes(700) };
        prop_assert!(gap(&crossings) <= quiet + NOTHING);
        crossings[at] = Crossing { ahead: 0, between: count, size: Bytes(700) };
        prop_assert!(gap(&crossings) >= quiet - NOTHING);
    }
}

/// A clock of resolution `tick` reads two stamps `gap` apart, the first `phase` after a tick.
fn read(gap: f64, phase: f64, tick: f64) -> f64 {
    ((phase + gap) / tick).floor() * tick - (phase / tick).floor() * tick
}

/// PPT_t, PPT_h, PPT_avg, dPPT and the slope from average gaps of 87 and 112 B at 100 Mb/s.
fn solved(gaps: [f64; 2]) -> [f64; 5] {
    let figures = |size, avg| GapFigures { size: Bytes(size), low: avg - 10.0, high: avg + 10.0, avg };
    let found = solve(&figures(87, gaps[0]), &figures(112, gaps[1]), Some(960.0));
    [found.trailing, found.heading, found.average, found.differential, found.m_avg]
}

fn errors(tick: i64, n: usize) -> [clock::Error; 5] {
    let of = clock::salehin2015(Nanos(tick), [Bytes(87), Bytes(112)], 2_000.0, n);
    // The slope's error is a share of 0.08 us a byte.
    let slope = clock::Error { most: of.slope.most * 80.0, even: of.slope.even * 80.0 };
    [of.trailing, of.heading, of.average, of.differential, slope]
}

proptest! {
    /// However the gaps lie between ticks, no figure is off by more than its bound.
    #[test]
    fn no_clock_moves_an_estimate_beyond_its_bound(
        tick in 1i64..20_000,
        phases in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64), 1..30),
        true_gaps in (1_000.0..100_000.0f64, 1_000.0..100_000.0f64),
    ) {
        let t = tick as f64;
        let average = |gap: f64, phase: &dyn Fn(&(f64, f64)) -> f64| {
            phases.iter().map(|at| read(gap, phase(at) * t, t)).sum::<f64>() / phases.len() as f64
        };
        let seen = [average(true_gaps.0, &|at| at.0), average(true_gaps.1, &|at| at.1)];
        let (true_figures, found) = (solved([true_gaps.0, true_gaps.1]), solved(seen));
        for ((truth, found), error) in true_figures.into_iter().zip(found).zip(errors(tick, phases.len())) {
            prop_assert!((found - truth).abs() <= error.most + 1e-6, "{found} for {truth}, {error:?}");
        }
    }
}

/// With phases spread evenly, at least 95 of 100 runs stay within the smaller bound. Half a tick is the worst gap: it is
/// read a whole tick too long or too short with even chances.
#[test]
fn evenly_spread_gaps_average_the_clock_away() {
    let (tick, n, runs) = (1_000.0, 50, 2_000);
    let true_gaps = [7_500.0, 9_500.0];
    // A linear congruence: the same every time.
    let mut state = 0u64;
    let mut phase = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 * tick
    };
    let mut held = [0; 5];
    for _ in 0..runs {
        let seen = true_gaps.map(|gap| (0..n).map(|_| read(gap, phase(), tick)).sum::<f64>() / n as f64);
        let (truth, found) = (solved(true_gaps), solved(seen));
        for (i, error) in errors(1_000, n).into_iter().enumerate() {
            held[i] += usize::from((found[i] - truth[i]).abs() <= error.even + 1e-9);
        }
    }
    // 95 % less three deviations of 2,000 draws.
    assert!(held.iter().all(|held| *held as f64 >= 0.935 * runs as f64), "{held:?} of {runs}");
    // Nor is it idle: nearly all would be within 'at most'.
    assert!(held.iter().all(|held| (*held as f64) < 0.99 * runs as f64), "{held:?} of {runs}");
}
