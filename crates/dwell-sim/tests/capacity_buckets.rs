//! Token buckets in `dwell capacity`: told with their rate and depth, or what the answer is worth.

use dwell_core::capacity::{SparedRuns, spared};
use dwell_core::limit::Limit;
use dwell_core::stats::quantile::{median, quantile};
use dwell_core::{Finding, Method, Path, Quantity, run};
use dwell_sim::{Scenario, SimPath};

/// A bucket on a link, both in Mb/s, with others' share of the bucket's rate.
#[derive(Copy, Clone, Debug)]
struct Case {
    kind: &'static str,
    mbps: f64,
    rate: f64,
    depth: u64,
    load: f64,
    /// Bytes that may wait.
    queue: u64,
}

/// Room for all that waits.
const ROOMY: u64 = 8 << 20;

impl Case {
    /// Packets of the long train: so many in 50 ms.
    fn longest(&self) -> f64 {
        (50e-3 * self.mbps * 1e6 / 12_304.0).clamp(128.0, 2_048.0)
    }

    fn scenario(&self) -> Scenario {
        let Self { kind, mbps, rate, depth, load, queue } = *self;
        let cross = match load {
            0.0 => String::new(),
            _ => format!(
                "[[links.cross]]\nkind = 'poisson'\nrate = '{} kb/s'\nsize = '1526 B'\n",
                rate * load * 1e3
            ),
        };
        let text = format!(
            "name = 'bucket'\n[[links]]\nrate = '40 Gb/s'\n\
             [[links]]\nrate = '{} kb/s'\npropagation = '1 ms'\nqueue = '{queue} B'\n\
             {kind} = {{ rate = '{} kb/s', burst = '{depth} B' }}\n{cross}\
             [[links]]\nrate = '40 Gb/s'\n",
            mbps * 1e3,
            rate * 1e3
        );
        Scenario::parse("bucket.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }
}

/// What became of the runs of some cases.
#[derive(Default)]
struct Judged {
    runs: usize,
    /// That have a bucket which the long train empties, and told as one.
    buckets: usize,
    told: usize,
    /// Of these, told as policers.
    dropping: usize,
    /// Of the others: those whose narrow link is the bucket's rate within a twentieth, or by its range; and those that say it is another without
    /// a warning.
    right: usize,
    wrong: usize,
    /// Errors of the rate, and of the depth in full packets.
    rates: Vec<f64>,
    depths: Vec<f64>,
    /// Bounds of the rate; intervals and bounds of it, and of the depth, that hold.
    bounds: usize,
    held: usize,
    deep: usize,
    seconds: Vec<f64>,
}

impl Judged {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.buckets += other.buckets;
        self.told += other.told;
        self.dropping += other.dropping;
        self.right += other.right;
        self.wrong += other.wrong;
        self.bounds += other.bounds;
        self.held += other.held;
        self.deep += other.deep;
        self.rates.extend(other.rates);
        self.depths.extend(other.depths);
        self.seconds.extend(other.seconds);
    }
}

/// What a bucket that counts frames gives packets of 1,526 bytes, the gaps of 12 between them counted as well.
const GAPS: f64 = 1_538.0 / 1_526.0;

fn judge(case: &Case, seed: u64, judged: &mut Judged) {
    let mut path = SimPath::new(&case.scenario(), seed);
    let config = spared::Config { seed, ..Default::default() };
    let mut method = SparedRuns::new(config, &path.facts());
    let effort = run(&mut method, &mut path, None, |_| ()).unwrap();
    let report = method.report();
    judged.runs += 1;
    judged.seconds.push(effort.span.as_secs_f64());
    let truth = case.rate * 1e6 * GAPS;
    let is_emptied = case.depth as f64 / 1_526.0 * 1.1 < case.longest() * (1.0 - case.rate / case.mbps);
    judged.buckets += usize::from(is_emptied);
    if report.verdict.as_ref().is_none_or(|verdict| verdict.limit != Limit::TokenBucket) {
        let found = report.finding(Quantity::NarrowLinkCapacity);
        let narrow = found.estimate();
        let is_near = narrow.is_some_and(|rate| (rate / truth - 1.0).abs() < 0.05);
        let is_right =
            is_near || narrow.is_some_and(|rate| rate < truth * 1.5) && found.holds(truth) == Some(true);
        judged.right += usize::from(is_right);
        let is_link = report.verdict.is_some_and(|verdict| verdict.limit == Limit::Link);
        judged.wrong +=
            usize::from(!is_right && narrow.is_some() && is_link && is_emptied && report.warnings.is_empty());
        return;
    }
    judged.told += 1;
    judged.dropping +=
        usize::from(report.verdict.as_ref().is_some_and(|verdict| verdict.reason.contains("(a policer)")));
    let rate = report.finding(Quantity::TokenRate);
    // Values are rounded to whole bits.
    judged.held += usize::from(
        rate.holds(truth) == Some(true)
            || matches!(rate, Finding::Value { value, .. } if (value / truth - 1.0).abs() < 1e-4),
    );
    judged.bounds += usize::from(matches!(rate, Finding::Bound { .. }));
    judged.rates.extend(rate.estimate().map(|rate| (rate / truth - 1.0).abs()));
    let depth = report.finding(Quantity::BucketDepth);
    judged.deep += usize::from(depth.holds(case.depth as f64) != Some(false));
    judged.depths.extend(depth.estimate().map(|depth| (depth - case.depth as f64).abs() / 1_526.0));
}

fn told(name: &str, judged: &Judged) {
    let at = |of: &[f64], share| quantile(of, share).unwrap_or(f64::NAN);
    println!(
        "{name}: {} of {} of {} runs told ({} as policers), else {} right and {} surely wrong; rate: {} values, {} bounds, error median {:.1} %, p95 {:.1} %, worst {:.1} %, {} hold; depth: error median {:.1} packets, p95 {:.1}, {} hold; {:.1} s (most {:.1})",
        judged.told,
        judged.buckets,
        judged.runs,
        judged.dropping,
        judged.right,
        judged.wrong,
        judged.rates.len(),
        judged.bounds,
        at(&judged.rates, 0.5) * 100.0,
        at(&judged.rates, 0.95) * 100.0,
        at(&judged.rates, 1.0) * 100.0,
        judged.held,
        at(&judged.depths, 0.5),
        at(&judged.depths, 0.95),
        judged.deep,
        at(&judged.seconds, 0.5),
        at(&judged.seconds, 1.0),
    );
}

/// Links from 10 Mb/s to 10 Gb/s; depths that one train of 50 ms can empty.
const LINKS: [(f64, u64); 8] = [
    (10.0, 32_000),
    (50.0, 65_536),
    (100.0, 4_000),
    (100.0, 65_536),
    (100.0, 262_144),
    (1_000.0, 4_000),
    (1_000.0, 262_144),
    (10_000.0, 1_000_000),
];

fn judge_all(kind: &'static str, load: f64, parts: &[f64], seeds: std::ops::Range<u64>) -> Judged {
    let mut all = Judged::default();
    for (mbps, depth) in LINKS {
        for part in parts {
            let case = Case { kind, mbps, rate: mbps / part, depth, load, queue: ROOMY };
            let mut here = Judged::default();
            for seed in seeds.clone() {
                judge(&case, seed, &mut here);
            }
            told(&format!("{case:?}"), &here);
            all.add(here);
        }
    }
    told(&format!("{kind} with {:.0} % of others", load * 100.0), &all);
    all
}

#[test]
fn a_bucket_nobody_else_uses_is_told_with_rate_and_depth() {
    let judged = judge_all("shaper", 0.0, &[1.5, 2.0, 5.0], 0..2);
    assert!(
        judged.told * 20 >= judged.buckets * 19 && judged.wrong == 0,
        "{} of {}",
        judged.told,
        judged.buckets
    );
    assert!(quantile(&judged.rates, 0.9).unwrap() < 0.01, "{:?}", judged.rates);
    assert!(median(&judged.depths).unwrap() < 2.0, "{:?}", judged.depths);
}

#[test]
fn of_a_policer_a_bound_is_told() {
    let judged = judge_all("policer", 0.0, &[2.0, 5.0], 0..1);
    assert!(
        judged.told * 4 >= judged.buckets * 3 && judged.wrong == 0,
        "{} of {}",
        judged.told,
        judged.buckets
    );
    assert!(judged.bounds > 8 && judged.held == judged.bounds, "{} of {}", judged.held, judged.bounds);
    // What passes comes nearer together where a queue drains.
    let judged = judge_all("policer", 0.2, &[1.5, 2.0], 0..1);
    assert!(judged.bounds > 6 && judged.held == judged.bounds, "{} of {}", judged.held, judged.bounds);
}

/// Shapers that have room for a few packets and drop the rest: what passes has waited there.
fn judge_short(load: f64, seeds: std::ops::Range<u64>) -> Judged {
    let mut all = Judged::default();
    for (mbps, depth) in [(100.0, 65_536), (1_000.0, 262_144)] {
        for part in [1.5, 2.0, 3.0, 5.0, 10.0] {
            for room in [2, 3, 5, 10, 20] {
                let case = Case { kind: "shaper", mbps, rate: mbps / part, depth, load, queue: room * 1_526 };
                let mut here = Judged::default();
                for seed in seeds.clone() {
                    judge(&case, seed, &mut here);
                }
                told(&format!("{case:?}"), &here);
                all.add(here);
            }
        }
    }
    told(&format!("shapers with room for few, {:.0} % of others", load * 100.0), &all);
    all
}

#[test]
fn a_shaper_with_room_for_few_packets_is_no_policer() {
    let judged = judge_short(0.0, 0..1);
    assert_eq!((judged.dropping, judged.wrong), (0, 0));
}

/// What spared-runs says of a shaper on 1 Gb/s: the narrow link's rate, and the limit.
fn found(shaper: &str) -> (Finding, Option<Limit>) {
    let text = format!(
        "name = 'shaper'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '1 Gb/s'\nqueue = '2 MiB'\n{shaper}\n"
    );
    let scenario = Scenario::parse("shaper.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut path = SimPath::new(&scenario, 1);
    let mut method = SparedRuns::new(spared::Config::default(), &path.facts());
    run(&mut method, &mut path, None, |_| ()).unwrap();
    let report = method.report();
    (report.finding(Quantity::NarrowLinkCapacity), report.verdict.map(|verdict| verdict.limit))
}

#[test]
fn a_bucket_of_one_packet_is_a_link() {
    // Smaller packets come at up to 1 Gb/s, several at a time.
    let (narrow, limit) = found("shaper = { rate = '50 Mb/s', burst = '1600 B' }");
    let rate = narrow.estimate().unwrap_or_else(|| panic!("{narrow:?}"));
    assert!((rate / (50e6 * GAPS) - 1.0).abs() < 0.001, "{rate}");
    assert_eq!(limit, Some(Limit::Link));
}

#[test]
fn what_small_packets_pass_at_bounds_no_link() {
    // Gaps between frames are not counted: the smallest come a tenth faster than the peak gives full ones.
    let others = "[[links.cross]]\nkind = 'poisson'\nrate = '10 Mb/s'";
    let shaper = "shaper = { rate = '50 Mb/s', burst = '64 KiB', peak = '200 Mb/s' }";
    let (narrow, limit) = found(&format!("{shaper}\n{others}"));
    assert_eq!(narrow.holds(200e6 * GAPS * 1.001), Some(true), "{narrow:?}");
    assert_eq!(limit, Some(Limit::TokenBucket));
}

#[test]
fn a_train_half_of_which_is_lost_tells_of_no_link() {
    // Others behind the policer make what passes it come at no steady rate.
    let text = "name = 'behind'\n[[links]]\nrate = '2.5 Gb/s'\npolicer = { rate = '125 Mb/s', burst = '64 kB' }\n\
         [[links]]\nrate = '2.5 Gb/s'\npropagation = '1 ms'\n[[links.cross]]\nkind = 'poisson'\nload = '60 %'\n";
    let scenario = Scenario::parse("behind.toml", text).unwrap();
    for seed in 3..6 {
        let mut path = SimPath::new(&scenario, seed);
        let mut method = SparedRuns::new(spared::Config { seed, ..Default::default() }, &path.facts());
        run(&mut method, &mut path, None, |_| ()).unwrap();
        let verdict = method.report().verdict.expect("one");
        assert_eq!(verdict.limit, Limit::Unstable, "{verdict:?}");
        assert!(verdict.reason.contains("were lost"), "{verdict:?}");
    }
}

#[test]
fn a_slow_link_is_not_filled_for_long() {
    for (rate, sent) in [("1 Mb/s", true), ("100 kb/s", false)] {
        let text = format!("name = 'slow'\n[[links]]\nrate = '100 Mb/s'\n[[links]]\nrate = '{rate}'\n");
        let mut path = SimPath::new(&Scenario::parse("slow.toml", &text).unwrap(), 1);
        let mut method = SparedRuns::new(spared::Config::default(), &path.facts());
        let mut longest = 0;
        run(&mut method, &mut path, None, |one| longest = longest.max(one.observation.fates.len())).unwrap();
        assert_eq!(longest >= 40, sent, "{rate}: {longest} packets");
        assert!(longest <= 41, "half a second of the link: {longest} packets");
        let verdict = method.report().verdict.expect("one");
        assert_eq!((verdict.limit, verdict.reason.contains("too long")), (Limit::Link, !sent), "{verdict:?}");
    }
}

#[test]
fn others_in_it_leave_a_bucket_its_rate() {
    let judged = judge_all("shaper", 0.2, &[2.0, 5.0], 0..1);
    assert!(judged.told * 10 >= judged.buckets * 9, "{} of {}", judged.told, judged.buckets);
    assert!(median(&judged.rates).unwrap() < 0.02, "{:?}", judged.rates);
    assert!(judged.held * 10 >= judged.told * 8, "{} of {}", judged.held, judged.told);
}

fn from() -> u64 {
    std::env::var("FROM").ok().and_then(|from| from.parse().ok()).unwrap_or(0)
}

#[test]
#[ignore = "minutes"]
fn all_shapers_with_room_for_few_packets() {
    let from = from();
    for load in [0.0, 0.2, 0.6] {
        judge_short(load, from..from + 4);
    }
}

/// The figures of the book: `cargo test -p dwell-sim --test capacity_buckets -- --ignored --nocapture`; the first seed is in `FROM`.
#[test]
#[ignore = "minutes"]
fn all_buckets() {
    let from = from();
    for kind in ["shaper", "policer"] {
        for load in [0.0, 0.2, 0.6] {
            judge_all(kind, load, &[1.5, 2.0, 5.0, 10.0], from..from + 10);
        }
    }
}
