//! Methods for available bandwidth on paths whose available bandwidth is known.

use dwell_core::avail::{Abing, Bart, Busy, Cprobe, Igi, Pathchirp, Pathload, Spruce, Topp, busy, igi};
use dwell_core::capacity::ShaperProbe;
use dwell_core::limit::Limit;
use dwell_core::stats::quantile::median;
use dwell_core::{BitRate, Effort, Finding, Method, Nanos, Path, PathFacts, Quantity, Report, Side, run};
use dwell_sim::{Scenario, SimPath};

/// One link of 100 Mb/s between faster ones, with cross traffic on it.
fn loaded(kind: &str, percent: u32, size: u32) -> Scenario {
    let text = format!(
        "name = 'one tight link'\n\
         [[links]]\nrate = '1 Gb/s'\npropagation = '10 us'\n\
         [[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n\
         [[links.cross]]\nkind = '{kind}'\nload = '{percent} %'\nsize = '{size} B'\n\
         [[links]]\nrate = '1 Gb/s'\npropagation = '10 us'\n"
    );
    Scenario::parse("avail.toml", &text).unwrap()
}

/// What is known beforehand: the narrow link's capacity.
fn facts(scenario: &Scenario) -> PathFacts {
    PathFacts { narrow_link: Some(BitRate::from_mbps(100)), ..SimPath::new(scenario, 0).facts() }
}

fn measured(method: &mut dyn Method, scenario: &Scenario, seed: u64) -> (Report, Effort) {
    let effort = run(method, &mut SimPath::new(scenario, seed), None, |_| ()).unwrap();
    (method.report(), effort)
}

/// Estimates in Mb/s over several seeds.
fn estimates<M: Method>(scenario: &Scenario, method: impl Fn(&PathFacts) -> M) -> Vec<f64> {
    let facts = facts(scenario);
    let one = |seed| {
        let (report, _) = measured(&mut method(&facts), scenario, seed);
        let finding = report.finding(Quantity::AvailableBandwidth);
        finding.estimate().unwrap_or_else(|| panic!("{report:?}")) / 1e6
    };
    (0..9).map(one).collect()
}

fn centre<M: Method>(scenario: &Scenario, method: impl Fn(&PathFacts) -> M) -> f64 {
    median(&estimates(scenario, method)).unwrap()
}

fn near(found: f64, truth: f64, within: f64) {
    assert!((found - truth).abs() <= within, "{found} Mb/s, where {truth} are free");
}

#[test]
fn pathload_tells_a_range() {
    for load in [20, 50, 80] {
        let truth = f64::from(100 - load);
        // Constant small packets are nearly a fluid: the range is narrow, and right.
        let scenario = loaded("constant", load, 90);
        for seed in 0..5 {
            let (report, _) =
                measured(&mut Pathload::new(Default::default(), &facts(&scenario)), &scenario, seed);
            let Finding::Value { low, high, .. } = report.finding(Quantity::AvailableBandwidth) else {
                panic!()
            };
            assert!(low / 1e6 <= truth + 2.0 && high / 1e6 >= truth - 2.0, "{truth}: {low} {high}");
            assert!(high - low <= 15e6, "{low} {high}");
        }
        // Bursts make streams that are a little too fast pass now and then: it reads high, by up to a tenth.
        let found = centre(&loaded("poisson", load, 1526), |facts| Pathload::new(Default::default(), facts));
        assert!((truth - 3.0..truth + 12.0).contains(&found), "{truth}: {found}");
    }
}

#[test]
fn pathload_claims_no_more_than_the_sender_makes() {
    // The tight link is the sender's own: no stream gets there that is too fast for it.
    let text =
        "name = 'own'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '10 Gb/s'\npropagation = '1 ms'\n";
    let scenario = Scenario::parse("own.toml", text).unwrap();
    let facts = SimPath::new(&scenario, 0).facts();
    let (report, effort) = measured(&mut Pathload::new(Default::default(), &facts), &scenario, 1);
    let finding = report.finding(Quantity::AvailableBandwidth);
    let Finding::Bound { bound, side: Side::Lower, reason, .. } = &finding else { panic!("{finding:?}") };
    assert!((0.8e9..=1.001e9).contains(bound) && reason.contains("sender"), "{bound}: {reason}");
    assert!(effort.packets < 8_000, "{effort:?}");
}

#[test]
fn clocks_that_drift_are_no_queue() {
    let text = "name = 'drift'\n\
         [[links]]\nrate = '1 Gb/s'\n\
         [[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n\
         [[links.cross]]\nkind = 'poisson'\nload = '10 %'\nsize = '1526 B'\n\
         [destination.clock]\nskew_ppm = 20\n";
    let scenario = Scenario::parse("drift.toml", text).unwrap();
    near(centre(&scenario, |facts| Pathload::new(Default::default(), facts)), 90.0, 10.0);
    let straight = Scenario::parse("straight.toml", &text.replace("skew_ppm = 20", "skew_ppm = 0")).unwrap();
    let chirps = |scenario| centre(scenario, |facts| Pathchirp::new(Default::default(), facts));
    near(chirps(&scenario), chirps(&straight), 5.0);
}

#[test]
fn pathchirp_reads_high_under_load() {
    for (load, over) in [(30, 5.0..25.0), (60, 8.0..35.0)] {
        let truth = f64::from(100 - load);
        let found = centre(&loaded("poisson", load, 1526), |facts| Pathchirp::new(Default::default(), facts));
        assert!(over.contains(&(found - truth)), "{truth}: {found}");
    }
}

#[test]
fn spruce_is_right_in_the_mean_where_it_is_told_the_capacity() {
    for load in [20, 50, 80] {
        near(
            centre(&loaded("poisson", load, 1526), |facts| Spruce::new(Default::default(), facts)),
            f64::from(100 - load),
            10.0,
        );
    }
    let scenario = loaded("poisson", 20, 1526);
    let unknown = SimPath::new(&scenario, 0).facts();
    let (report, _) = measured(&mut Spruce::new(Default::default(), &unknown), &scenario, 1);
    let Finding::Unmeasurable { reason } = report.finding(Quantity::AvailableBandwidth) else { panic!() };
    assert!(reason.contains("capacity"));
}

#[test]
fn igi_and_ptr_stop_at_the_turning_point() {
    let ptr = igi::Config { answer: igi::Answer::Ptr, ..igi::Config::default() };
    for load in [20, 50] {
        let (scenario, truth) = (loaded("poisson", load, 602), f64::from(100 - load));
        near(centre(&scenario, |facts| Igi::new(igi::Config::default(), facts)), truth, 12.0);
        near(centre(&scenario, |facts| Igi::new(ptr, facts)), truth, 12.0);
    }
}

#[test]
fn igi_and_ptr_claim_no_more_than_the_sender_makes() {
    // Bursts leave at 100 Gb/s, but nothing that is held does.
    let text = "name = 'fast'\n[[links]]\nrate = '100 Gb/s'\npropagation = '1 ms'\n";
    let scenario = Scenario::parse("fast.toml", text).unwrap();
    let facts = SimPath::new(&scenario, 0).facts();
    for answer in [igi::Answer::Igi, igi::Answer::Ptr] {
        let config = igi::Config { answer, ..igi::Config::default() };
        let (report, _) = measured(&mut Igi::new(config, &facts), &scenario, 1);
        let finding = report.finding(Quantity::AvailableBandwidth);
        let Finding::Bound { bound, side: Side::Lower, reason, .. } = &finding else { panic!("{finding:?}") };
        assert!((1e10..1e11).contains(bound) && reason.contains("sender"), "{bound}: {reason}");
    }
}

#[test]
fn pathload_says_where_losses_ended_its_fleets() {
    let text = |loss: &str| {
        format!(
            "name = 'lossy'\n[[links]]\nrate = '1 Gb/s'\n\
         [[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n{loss}\n"
        )
    };
    let warned = |loss| {
        let scenario = Scenario::parse("lossy.toml", &text(loss)).unwrap();
        let (report, _) = measured(&mut Pathload::new(Default::default(), &facts(&scenario)), &scenario, 1);
        report.warnings.iter().any(|warning| warning.contains("losses, not delays"))
    };
    assert!(warned("loss = '2 %'") && !warned(""));
}

#[test]
fn spruce_below_zero_keeps_an_upper_end() {
    // Of a full link pairs come further apart than it sends them.
    for (load, size) in [(98, 1526), (99, 602)] {
        let scenario = loaded("poisson", load, size);
        for seed in 0..12 {
            let (report, _) =
                measured(&mut Spruce::new(Default::default(), &facts(&scenario)), &scenario, seed);
            match report.finding(Quantity::AvailableBandwidth) {
                Finding::Value { low, high, .. } => assert!(high > low, "{low} to {high}"),
                Finding::Bound { bound, side: Side::Upper, .. } => assert!(bound > 0.0),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn spruce_tells_nothing_where_pairs_contradict_its_capacity() {
    // Told of 1 Gb/s, on an idle link of 100 Mb/s: nothing between that and nothing would be a bound.
    let scenario = loaded("poisson", 0, 1526);
    let wrong = PathFacts { narrow_link: Some(BitRate::from_mbps(1_000)), ..facts(&scenario) };
    let (report, _) = measured(&mut Spruce::new(Default::default(), &wrong), &scenario, 1);
    let finding = report.finding(Quantity::AvailableBandwidth);
    assert!(matches!(finding, Finding::Unmeasurable { .. }), "{report:?}");
}

#[test]
fn abing_fails_where_packets_come_faster_than_the_tight_link() {
    // Right where nothing is in the way; and papers/004, section 5: it fails below 60 % free.
    near(centre(&loaded("poisson", 1, 1526), |facts| Abing::new(Default::default(), facts)), 99.0, 3.0);
    let found = centre(&loaded("poisson", 60, 1526), |facts| Abing::new(Default::default(), facts));
    assert!(found > 80.0, "{found} for 40");
}

#[test]
fn topp_and_bart_find_the_line_of_strain() {
    for load in [30, 60] {
        let (scenario, truth) = (loaded("constant", load, 90), f64::from(100 - load));
        near(centre(&scenario, |facts| Topp::new(Default::default(), facts)), truth, 6.0);
        near(centre(&scenario, |facts| Bart::new(Default::default(), facts)), truth, 6.0);
        let (report, _) = measured(&mut Topp::new(Default::default(), &facts(&scenario)), &scenario, 1);
        near(report.finding(Quantity::TightLinkCapacity).estimate().unwrap() / 1e6, 100.0, 8.0);
    }
}

#[test]
fn dispersion_rate_lies_between_free_and_capacity() {
    let config = dwell_core::avail::cprobe::Config { trains: 40, packets: 60, ..Default::default() };
    let scenario = loaded("poisson", 50, 1526);
    let (report, _) = measured(&mut Cprobe::new(config, &facts(&scenario)), &scenario, 1);
    let found = report.finding(Quantity::DispersionRate).estimate().unwrap() / 1e6;
    // Bursts come at 1 Gb/s: C / (1 + lambda / R) = 95.
    near(found, 95.0, 3.0);
    assert_eq!(report.finding(Quantity::AvailableBandwidth).holds(50e6), Some(true));
    assert_eq!(report.finding(Quantity::NarrowLinkCapacity).holds(100e6), Some(true));
}

#[test]
fn a_tight_link_that_is_not_the_narrow_one_is_noticed() {
    // 100 Mb/s with nothing on it, then 1 Gb/s of which 50 Mb/s are free.
    let text = "name = 'tight is not narrow'\n\
         [[links]]\nrate = '1 Gb/s'\n\
         [[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\n\
         [[links]]\nrate = '1 Gb/s'\nqueue = '1 MiB'\n\
         [[links.cross]]\nkind = 'constant'\nload = '95 %'\nsize = '602 B'\n";
    let scenario = Scenario::parse("tight.toml", text).unwrap();
    let facts = SimPath::new(&scenario, 0).facts();
    for seed in 0..6 {
        let config = busy::Config { seed, ..busy::Config::default() };
        let (report, _) = measured(&mut Busy::new(config, &facts), &scenario, seed);
        let finding = report.finding(Quantity::AvailableBandwidth);
        let near = finding.estimate().is_some_and(|bps| (bps - 50e6).abs() < 10e6);
        println!("{finding:?} {:?}", report.warnings);
        assert!(near || !report.warnings.is_empty(), "{report:?}");
    }
}

#[test]
fn a_token_bucket_is_told_from_a_link() {
    let shaped = |shaper: &str| {
        let text = format!(
            "name = 'a shaper'\n\
             [[links]]\nrate = '1 Gb/s'\n\
             [[links]]\nrate = '1 Gb/s'\npropagation = '1 ms'\nqueue = '8 MiB'\n{shaper}\n\
             [[links]]\nrate = '1 Gb/s'\n"
        );
        Scenario::parse("shaper.toml", &text).unwrap()
    };
    for (rate, burst) in [(100.0, 60_000.0), (100.0, 300_000.0), (300.0, 150_000.0)] {
        let scenario = shaped(&format!("shaper = {{ rate = '{rate} Mb/s', burst = '{burst} B' }}"));
        let facts = SimPath::new(&scenario, 0).facts();
        let (report, _) = measured(&mut ShaperProbe::new(Default::default(), &facts), &scenario, 1);
        assert_eq!(report.verdict.as_ref().unwrap().limit, Limit::TokenBucket, "{report:?}");
        // The bucket counts bytes of frames, and rates what they take of a link.
        near(report.finding(Quantity::TokenRate).estimate().unwrap() / 1e6, rate, 0.02 * rate);
        let depth = report.finding(Quantity::BucketDepth).estimate().unwrap();
        assert!((depth / burst - 1.0).abs() < 0.1, "{depth} for {burst}");
    }
    // What is free behind it is bounded by its rate, though short trains pass.
    let scenario = shaped("shaper = { rate = '100 Mb/s', burst = '60 kB' }");
    let facts = SimPath::new(&scenario, 0).facts();
    let (report, _) = measured(&mut Busy::new(busy::Config::default(), &facts), &scenario, 1);
    let finding = report.finding(Quantity::AvailableBandwidth);
    assert_eq!(report.verdict.as_ref().unwrap().limit, Limit::TokenBucket, "{report:?}");
    assert!(
        matches!(finding, Finding::Bound { bound, side: Side::Upper, .. } if (90e6..110e6).contains(&bound)),
        "{finding:?}"
    );
    // And a link is none, whatever the traffic on it.
    let scenario = loaded("poisson", 50, 1526);
    let facts = SimPath::new(&scenario, 0).facts();
    for seed in 0..6 {
        let (report, _) = measured(&mut ShaperProbe::new(Default::default(), &facts), &scenario, seed);
        assert_eq!(report.verdict.as_ref().unwrap().limit, Limit::Link, "{report:?}");
    }
}

/// A link of 100 Gb/s, and the sender's own; trains that are not sent all at once are made at no more than some 65.
fn behind_a_sender_of(rate: &str) -> Report {
    let text = format!(
        "name = 'fast'\n[[links]]\nrate = '{rate}'\n[[links]]\nrate = '100 Gb/s'\npropagation = '1 ms'\n"
    );
    let scenario = Scenario::parse("fast.toml", &text).unwrap();
    let facts = SimPath::new(&scenario, 0).facts();
    measured(&mut Busy::new(busy::Config::default(), &facts), &scenario, 1).0
}

#[test]
fn a_sender_slower_than_the_path_is_the_limit() {
    let report = behind_a_sender_of("100 Gb/s");
    assert_eq!(report.verdict.as_ref().unwrap().limit, Limit::SenderLimited, "{report:?}");
    assert_eq!(report.finding(Quantity::AvailableBandwidth).holds(100e9), Some(true));
}

#[test]
fn gaps_behind_packets_that_are_sent_at_once_tell_though_trains_are_slower_than_the_path() {
    let report = behind_a_sender_of("400 Gb/s");
    assert_eq!(report.verdict.as_ref().unwrap().limit, Limit::Link, "{report:?}");
    let free = report.finding(Quantity::AvailableBandwidth);
    assert_eq!(free.holds(100e9), Some(true), "{free:?}");
    near(free.estimate().unwrap() / 1e6, 1e5, 1e3);
}

/// Nor where the sender's own link is that slow, so that a search answers whatever the line says.
#[test]
fn nor_does_a_slow_sender_s_search() {
    let text = "name = 'own'\n[[links]]\nrate = '1 Mb/s'\n[[links]]\nrate = '10 Mb/s'\nqueue = '4 MiB'\n\
                [[links.cross]]\nkind = 'poisson'\nload = '95 %'\nsize = '1526 B'\n";
    for seed in 1..=3 {
        let mut path = SimPath::new(&Scenario::parse("own.toml", text).unwrap(), seed);
        let mut method = Busy::new(busy::Config { seed, ..Default::default() }, &path.facts());
        let effort = run(&mut method, &mut path, None, |_| ()).unwrap();
        assert!(effort.span < Nanos::from_secs(40), "{}", effort.span);
        let free = method.report().finding(Quantity::AvailableBandwidth);
        assert!(free.holds(0.5e6) != Some(false), "seed {seed}: {free:?}");
    }
}

/// Each train of a search waits until the queue of the last is gone, of which a link that is full to nine tenths sends a tenth in its time.
#[test]
fn on_a_slow_and_busy_link_it_takes_no_minute() {
    let mut cut_short = 0;
    for seed in 1..=4 {
        let text = "name = 'slow'\n[[links]]\nrate = '10 Mb/s'\n[[links.cross]]\nkind = 'poisson'\nload = '90 %'\nsize = '1526 B'\n";
        let mut path = SimPath::new(&Scenario::parse("slow.toml", text).unwrap(), seed);
        let mut method = Busy::new(busy::Config { seed, ..Default::default() }, &path.facts());
        let effort = run(&mut method, &mut path, None, |_| ()).unwrap();
        // A fleet that has begun is sent to its end.
        assert!(effort.span < Nanos::from_secs(40), "{}", effort.span);
        let report = method.report();
        let free = report.finding(Quantity::AvailableBandwidth);
        assert!(free.holds(1e6) != Some(false), "seed {seed}: {free:?}");
        let is_cut_short = effort.span > Nanos::from_secs(15);
        cut_short += usize::from(is_cut_short);
        let says_so = report.warnings.iter().any(|warning| warning.contains("not all was asked"));
        assert_eq!(says_so, is_cut_short, "seed {seed}: {} in {}", report.warnings.len(), effort.span);
    }
    assert!(cut_short >= 2, "{cut_short}");
}
