//! Round trips throughout connections, held against what their path takes at least.

use dwell_core::Nanos;
use dwell_core::tcp::continuous::{By, Continuous, FlowLimits, Sample};
use dwell_core::tcp::{Endpoint, FlowSeed};
use dwell_sim::passing::{Population, Told, Truth};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A tap that shuffles writes down what it hears so much too late at most: of a shorter round trip the answer may come before what it
/// answers.
const SHUFFLED: Nanos = Nanos::from_micros(300);

/// What a path takes to one end and back, whichever of the connections between these ends; `None` where the tap cannot know.
fn least(truths: &[Box<Truth>], to_server: bool) -> Option<Nanos> {
    let half = |truth: &Truth| if to_server { truth.server_half.least } else { truth.client_half.least };
    let least = truths.iter().map(|truth| half(truth)).min()?;
    let has = |label: &str| truths.iter().any(|truth| truth.labels.contains(&label));
    let is_known = !has("tap-deaf") && (!has("shuffled") || least > SHUFFLED);
    is_known.then_some(least)
}

/// How many samples there were by each sign, none shorter than its path, of captures that begin with the first packet or later.
fn hold(seeds: Range<u64>, begins_late: bool) -> BTreeMap<By, u64> {
    let hashes = FlowSeed::random();
    let mut samples = BTreeMap::<By, u64>::new();
    for seed in seeds {
        let population = Population::drawn(seed);
        let mut probes: Vec<_> =
            (0..population.probes).map(|_| Continuous::new(FlowLimits::default())).collect();
        let mut truths = HashMap::<(usize, Endpoint, Endpoint), Vec<Box<Truth>>>::new();
        let (mut passing, missed) = (0, if begins_late { 1_000 + seed * 37 % 3_000 } else { 0 });
        for told in population.passings() {
            let passed = match told {
                Told::Truth(truth) => {
                    truths.entry((truth.probe, truth.client, truth.server)).or_default().push(truth);
                    continue;
                }
                Told::Passed(passed) => passed,
            };
            let Some(segment) = passed.what.segment() else { continue };
            if passing < missed {
                passing += 1;
                continue;
            }
            let flow = hashes.of(&segment.from, &segment.to);
            probes[passed.probe].see(flow, segment, &mut |sample: Sample| {
                let between = |client, server| truths.get(&(passed.probe, client, server));
                let (Sample { to, other, value, by, .. }, least) = (
                    sample,
                    between(sample.other, sample.to)
                        .and_then(|truths| least(truths, true))
                        .or_else(|| least(between(sample.to, sample.other)?, false)),
                );
                let (Some(value), Some(least)) = (value.value(), least) else { return };
                assert!(
                    value >= least,
                    "seed {seed}: {value:?} to {to:?} from {other:?} by {by:?}: {least:?}"
                );
                *samples.entry(by).or_default() += 1;
            });
        }
    }
    samples
}

#[test]
fn no_sample_is_shorter_than_its_path_whatever_is_drawn() {
    let samples = hold(0..40, false);
    assert!([By::Timestamps, By::Acknowledgment, By::Response].iter().all(|by| samples[by] > 1_000));
}

/// Within connections, of which the copies pass after the beginning and what they are copies of did before it.
#[test]
fn no_sample_of_a_capture_that_begins_within_connections_is_shorter_than_its_path() {
    let samples = hold(0..40, true);
    assert!(
        [By::Timestamps, By::Acknowledgment, By::Response].iter().all(|by| samples[by] > 1_000),
        "{samples:?}"
    );
}

/// The figure of the book: `cargo test --release -p dwell-sim --test throughout -- --ignored --nocapture`; the first seed is in `FROM`, how
/// many in `SEEDS`.
#[test]
#[ignore = "takes minutes"]
fn no_sample_is_shorter_than_its_path_whatever_is_drawn_of_many() {
    let asked =
        |name: &str, else_: u64| std::env::var(name).map_or(else_, |value| value.parse().expect(name));
    let from = asked("FROM", 1_000);
    let seeds = from..from + asked("SEEDS", 2_000);
    for begins_late in [false, true] {
        println!("samples, none shorter than its path: {:?}", hold(seeds.clone(), begins_late));
    }
}
