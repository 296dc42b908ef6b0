//! Every method of bandwidth on paths that misbehave: what it says is true, or it says that it is not sure.

use dwell_core::avail::{Abing, Bart, Busy, Cprobe, Igi, Pathchirp, Pathload, Spruce, Topp, igi};
use dwell_core::capacity::{
    Bprobe, Capprobe, EndLink, Nettimer, PacketPair, Pathrate, ShaperProbe, SparedRuns,
};
use dwell_core::limit::Limit;
use dwell_core::{
    BitRate, Effort, Finding, Fleet, Method, Nanos, Onlooker, Passage, Path, PathFacts, Quantity, Report,
    Side, run,
};
use dwell_sim::{Scenario, SimError, SimPath};

/// 100 Mb/s between faster links, half of it taken, with `middle` said of it and `rest` of the whole.
fn scenario(middle: &str, rest: &str) -> Scenario {
    let text = format!(
        "name = 'adverse'\n\
         [[links]]\nrate = '1 Gb/s'\npropagation = '10 us'\n\
         [[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n{middle}\n\
         [[links.cross]]\nkind = 'poisson'\nload = '50 %'\nsize = '602 B'\n\
         [[links]]\nrate = '1 Gb/s'\npropagation = '10 us'\n{rest}\n"
    );
    Scenario::parse("adverse.toml", &text).unwrap()
}

/// Nothing but 1 Gb/s with `middle` said of the second of three links.
fn idle(middle: &str) -> Scenario {
    let text = format!(
        "name = 'idle'\n\
         [[links]]\nrate = '1 Gb/s'\npropagation = '10 us'\n\
         [[links]]\nrate = '1 Gb/s'\npropagation = '1 ms'\n{middle}\n\
         [[links]]\nrate = '1 Gb/s'\npropagation = '10 us'\n"
    );
    Scenario::parse("idle.toml", &text).unwrap()
}

/// What a measurement of capacity would have told before.
fn with_capacity(facts: &PathFacts) -> PathFacts {
    PathFacts { narrow_link: Some(BitRate::from_mbps(100)), ..*facts }
}

fn methods(facts: &PathFacts) -> Vec<Box<dyn Method>> {
    let facts = &with_capacity(facts);
    let igi = |answer| Box::new(Igi::new(igi::Config { answer, ..igi::Config::default() }, facts));
    vec![
        Box::new(Busy::new(Default::default(), facts)),
        Box::new(Pathload::new(Default::default(), facts)),
        Box::new(Pathchirp::new(Default::default(), facts)),
        Box::new(Spruce::new(Default::default(), facts)),
        igi(igi::Answer::Igi),
        igi(igi::Answer::Ptr),
        Box::new(Abing::new(Default::default(), facts)),
        Box::new(Topp::new(Default::default(), facts)),
        Box::new(Bart::new(Default::default(), facts)),
        Box::new(Cprobe::new(Default::default(), facts)),
        Box::new(SparedRuns::new(Default::default(), facts)),
        Box::new(EndLink::new(Default::default(), facts)),
        Box::new(PacketPair::new(Default::default(), facts)),
        Box::new(Capprobe::new(Default::default(), facts)),
        Box::new(Bprobe::new(Default::default(), facts)),
        Box::new(Nettimer::new(Default::default(), facts)),
        Box::new(Pathrate::new(Default::default(), facts)),
        Box::new(ShaperProbe::new(Default::default(), facts)),
    ]
}

/// What a method says of a path, and what it cost.
fn report(method: &mut dyn Method, path: &mut impl Path) -> (Report, Effort) {
    let (mut onlooker, facts) = (Onlooker::default(), with_capacity(&path.facts()));
    let effort = run(method, path, None, |passage| onlooker.see(&passage.observation)).unwrap();
    let report = onlooker.judge(method.report(), &facts);
    assert!(report.verdict.is_some(), "every result has a verdict: {report:?}");
    println!("{}: {:?}\n  {:?} {:?}", report.method, report.findings, report.verdict, report.warnings);
    (report, effort)
}

/// What all methods say of a path.
fn reports(path: &Scenario) -> Vec<Report> {
    let facts = SimPath::new(path, 1).facts();
    methods(&facts).iter_mut().map(|method| report(&mut **method, &mut SimPath::new(path, 1)).0).collect()
}

/// What all methods say of a path on which something happens when half of what they cost where nothing does is over.
/// (Those that send fewer trains than eight have no halves.)
fn halfway<P: Path>(path: &Scenario, change: impl Fn(SimPath, Effort) -> P) -> Vec<Report> {
    let facts = SimPath::new(path, 1).facts();
    let each = methods(&facts).into_iter().zip(methods(&facts)).filter_map(|(mut first, mut again)| {
        let (_, effort) = report(&mut *first, &mut SimPath::new(path, 1));
        let mut changed = change(SimPath::new(path, 1), effort);
        (effort.probes >= 8).then(|| report(&mut *again, &mut changed).0)
    });
    each.collect()
}

/// The figures of a report that its method presents as sure: values and bounds with neither a doubt beside them nor a
/// verdict that they are not the path's.
fn sure(report: &Report) -> Vec<(Quantity, &Finding)> {
    let path = [Limit::Link, Limit::TokenBucket, Limit::SenderLimited];
    let doubted = !report.warnings.is_empty()
        || report.verdict.as_ref().is_some_and(|verdict| !path.contains(&verdict.limit));
    let bandwidth = |quantity: &Quantity| {
        [Quantity::AvailableBandwidth, Quantity::NarrowLinkCapacity, Quantity::TightLinkCapacity]
            .contains(quantity)
    };
    let known = report.findings.iter().filter(|(quantity, finding)| {
        bandwidth(quantity) && !matches!(finding, Finding::Unmeasurable { .. })
    });
    known.filter(|_| !doubted).map(|(quantity, finding)| (*quantity, finding)).collect()
}

/// A path whose route changes after so many trains.
struct Rerouted {
    before: SimPath,
    after: SimPath,
    left: usize,
}

impl Path for Rerouted {
    type Error = SimError;

    fn facts(&self) -> PathFacts {
        self.before.facts()
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, SimError> {
        let (first, rest) = fleet.split_at(self.left.min(fleet.len()));
        self.left -= first.len();
        let mut passages = self.before.carry(&first.to_vec())?;
        passages.extend(self.after.carry(&rest.to_vec())?);
        Ok(passages)
    }
}

/// A path to a host that stands still for 5 ms in one of so many trains, after their second packet: what comes meanwhile is there at once.
struct StandingStill {
    path: SimPath,
    every: usize,
    seen: usize,
}

impl Path for StandingStill {
    type Error = SimError;

    fn facts(&self) -> PathFacts {
        self.path.facts()
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, SimError> {
        let mut passages = self.path.carry(fleet)?;
        for passage in &mut passages {
            self.seen += 1;
            let mut arrivals = passage.observation.fates.iter_mut().filter_map(|fate| fate.arrival.as_mut());
            if !self.seen.is_multiple_of(self.every) {
                continue;
            }
            let Some(from) = arrivals.nth(1).and_then(|arrival| arrival.stamps.kernel) else { continue };
            let mut awake = from + Nanos::from_millis(5);
            for stamp in arrivals.filter_map(|arrival| arrival.stamps.kernel.as_mut()) {
                *stamp = awake.max(*stamp);
                awake += Nanos::from_micros(3);
            }
        }
        Ok(passages)
    }
}

#[test]
fn a_receiver_that_stands_still_now_and_then_is_no_load_and_is_told() {
    for seed in 1..9 {
        let path = SimPath::new(&scenario("", ""), seed);
        let mut busy = Busy::new(Default::default(), &path.facts());
        let (told, _) = report(&mut busy, &mut StandingStill { path, every: 12, seen: 0 });
        let free = told.finding(Quantity::AvailableBandwidth).estimate().expect("a value");
        assert!((free - 50e6).abs() < 12e6, "seed {seed}: {free}");
        assert!(told.warnings.iter().any(|warning| warning.contains("stood still")), "{:?}", told.warnings);
    }
}

#[test]
fn half_of_all_packets_lost() {
    for report in reports(&scenario("loss = '50 %'", "")) {
        assert_eq!(sure(&report), [], "{report:?}");
        assert!(report.warnings.iter().any(|warning| warning.contains("lost")), "{report:?}");
    }
}

#[test]
fn packets_that_overtake_others() {
    let middle = "reordering = { share = '30 %', by = '2 ms' }";
    for report in reports(&scenario(middle, "")) {
        assert_eq!(sure(&report), [], "{report:?}");
    }
}

#[test]
fn a_receiver_s_clock_that_is_stepped() {
    for by in ["1 s", "-1 s", "20 ms", "-20 ms"] {
        let stepped = |_, effort: Effort| {
            let at = effort.span.0 / 2_000;
            let clock = format!("[destination.clock]\nstep = {{ at = '{at} us', by = '{by}' }}");
            SimPath::new(&scenario("", &clock), 1)
        };
        for report in halfway(&scenario("", ""), stepped) {
            let told = report.warnings.iter().any(|warning| warning.contains("clock"));
            assert!(told, "{by}: {report:?}");
            assert_eq!(report.verdict.as_ref().map(|verdict| verdict.limit), Some(Limit::Unstable));
        }
    }
}

#[test]
fn a_route_that_changes_in_the_middle() {
    // To a path 4 ms longer, of 40 Mb/s.
    let other = "name = 'other'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '40 Mb/s'\npropagation = '5 ms'\nqueue = '1 MiB'\n";
    let other = Scenario::parse("other.toml", other).unwrap();
    let rerouted = |before, effort: Effort| Rerouted {
        before,
        after: SimPath::new(&other, 2),
        left: effort.probes as usize / 2,
    };
    for report in halfway(&scenario("", ""), rerouted) {
        assert!(report.warnings.iter().any(|warning| warning.contains("the route changed")), "{report:?}");
    }
}

#[test]
fn a_policer_that_lets_no_two_packets_pass_together() {
    let policer = "policer = { rate = '50 Mb/s', burst = '1526 B' }";
    for report in reports(&idle(policer)) {
        let limit = report.verdict.as_ref().map(|verdict| verdict.limit);
        if ["busy-trains", "shaper-probe"].contains(&report.method.as_str()) {
            assert_eq!(limit, Some(Limit::TokenBucket), "{report:?}");
        }
        for (quantity, finding) in sure(&report) {
            assert_ne!(finding.holds(50e6), Some(false), "{quantity:?} {finding:?} of {report:?}");
        }
    }
}

#[test]
fn a_policer_is_told_with_rate_and_depth() {
    for (rate, burst) in [(100.0, 60_000.0), (100.0, 300_000.0), (300.0, 150_000.0), (50.0, 1_526.0)] {
        let path = idle(&format!("policer = {{ rate = '{rate} Mb/s', burst = '{burst} B' }}"));
        let facts = SimPath::new(&path, 1).facts();
        let mut probe = ShaperProbe::new(Default::default(), &facts);
        run(&mut probe, &mut SimPath::new(&path, 1), None, drop).unwrap();
        let report = probe.report();
        let verdict = report.verdict.as_ref().unwrap();
        assert_eq!(verdict.limit, Limit::TokenBucket, "{report:?}");
        assert!(verdict.reason.contains("policer"), "{report:?}");
        let token = report.finding(Quantity::TokenRate).estimate().unwrap() / 1e6;
        assert!((token / rate - 1.0).abs() < 0.03, "{token} for {rate}: {report:?}");
        let depth = report.finding(Quantity::BucketDepth).estimate().unwrap();
        // To a packet.
        assert!((depth - burst).abs() < 0.03 * burst + 1_526.0, "{depth} for {burst}");
    }
    // What is free behind a shallow one is bounded by its rate, also where so little passes that a train has to be slower.
    for (rate, burst) in [(100.0, 60_000), (20.0, 30_000), (5.0, 15_000)] {
        let path = idle(&format!("policer = {{ rate = '{rate} Mb/s', burst = '{burst} B' }}"));
        let mut busy = Busy::new(Default::default(), &SimPath::new(&path, 1).facts());
        run(&mut busy, &mut SimPath::new(&path, 1), None, drop).unwrap();
        let finding = busy.report().finding(Quantity::AvailableBandwidth);
        let Finding::Bound { bound, side: Side::Upper, .. } = finding else { panic!("{:?}", busy.report()) };
        assert!((bound / (rate * 1e6) - 1.0).abs() < 0.1, "{bound} for {rate}: {:?}", busy.report());
    }
    // And a link with a short queue is none.
    let mut short = idle("");
    short.links[1].rate = Some(BitRate::from_mbps(100));
    short.links[1].queue = dwell_sim::QueueLimit::Packets(5);
    let mut probe = ShaperProbe::new(Default::default(), &SimPath::new(&short, 1).facts());
    run(&mut probe, &mut SimPath::new(&short, 1), None, drop).unwrap();
    assert_eq!(probe.report().verdict.unwrap().limit, Limit::Link);
}

/// 100 Gb/s behind a sender of 400, whose trains are made at some 65 and so lose packets now and then, or of 100.
#[test]
fn a_policer_near_to_what_the_sender_makes_is_told_with_its_rate() {
    for (sender, rate, burst) in [
        (400, 72.0, 15_000),
        (400, 76.0, 15_000),
        (400, 80.0, 15_000),
        (400, 40.0, 15_000),
        (100, 72.0, 15_000),
        (100, 80.0, 15_000),
        (100, 90.0, 60_000),
    ] {
        let text = format!(
            "name = 'near'\n[[links]]\nrate = '{sender} Gb/s'\n\
             [[links]]\nrate = '100 Gb/s'\npropagation = '1 ms'\npolicer = {{ rate = '{rate} Gb/s', burst = '{burst} B' }}\n"
        );
        let path = Scenario::parse("near.toml", &text).unwrap();
        let mut busy = Busy::new(Default::default(), &SimPath::new(&path, 1).facts());
        run(&mut busy, &mut SimPath::new(&path, 1), None, drop).unwrap();
        let report = busy.report();
        assert_eq!(report.verdict.as_ref().unwrap().limit, Limit::TokenBucket, "{sender} {rate}: {report:?}");
        let finding = report.finding(Quantity::AvailableBandwidth);
        let Finding::Bound { bound, side: Side::Upper, .. } = finding else { panic!("{report:?}") };
        assert!((bound / (rate * 1e9) - 1.0).abs() < 0.02, "{bound} for {rate}: {report:?}");
    }
}

/// Where no burst shows the bucket, what came through whole is no value: no queue dropped the rest.
#[test]
fn where_a_quarter_of_the_trains_lose_packets_on_an_idle_link_there_is_no_value() {
    let text = "name = 'lossy'\n[[links]]\nrate = '400 Gb/s'\n\
         [[links]]\nrate = '100 Gb/s'\npropagation = '1 ms'\npolicer = { rate = '90 Gb/s', burst = '15 kB' }\n";
    let path = Scenario::parse("lossy.toml", text).unwrap();
    let mut busy = Busy::new(Default::default(), &SimPath::new(&path, 1).facts());
    run(&mut busy, &mut SimPath::new(&path, 1), None, drop).unwrap();
    let report = busy.report();
    assert_eq!(report.verdict.as_ref().unwrap().limit, Limit::Unstable, "{report:?}");
    let finding = report.finding(Quantity::AvailableBandwidth);
    assert_eq!((finding.estimate(), finding.holds(90e9)), (None, Some(true)), "{report:?}");
}

#[test]
fn a_slow_program_changes_nothing_where_the_kernel_stamps() {
    let slow = "[destination]\nkernel_stamps = true\nspin = '300 us'\nservice = '300 us'\n";
    let path = scenario("", slow);
    let facts = SimPath::new(&path, 1).facts();
    let mut busy = Busy::new(Default::default(), &facts);
    run(&mut busy, &mut SimPath::new(&path, 1), None, drop).unwrap();
    let free = busy.report().finding(Quantity::AvailableBandwidth);
    assert_eq!(free.holds(50e6), Some(true), "{free:?}");
}

#[test]
fn a_path_that_behaves_raises_no_doubt() {
    let loaded = |percent: u32, seed: u64| {
        let text = format!(
            "name = 'honest'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n\
             [[links.cross]]\nkind = 'poisson'\nload = '{percent} %'\nsize = '602 B'\n[[links]]\nrate = '1 Gb/s'\n\
             [destination.clock]\nskew_ppm = 50.0\n"
        );
        SimPath::new(&Scenario::parse("honest.toml", &text).unwrap(), seed)
    };
    let (mut runs, mut doubted) = (0, 0);
    let mut limits = std::collections::BTreeMap::<_, usize>::new();
    for (percent, seed) in [(0, 1), (30, 1), (60, 1), (80, 1), (30, 2), (60, 2), (80, 2), (80, 3), (80, 4)] {
        for mut method in methods(&loaded(percent, seed).facts()) {
            let (told, _) = report(&mut *method, &mut loaded(percent, seed));
            runs += 1;
            doubted += usize::from(told.warnings.iter().any(|warning| warning.contains("route changed")));
            let limit = told.verdict.as_ref().map(|verdict| verdict.limit);
            let is_wide = matches!(told.finding(Quantity::AvailableBandwidth), Finding::Value { value, low, high, .. } if high - low > value);
            let is_told = told.findings.values().any(|finding| finding.estimate().is_some());
            match limit {
                Some(Limit::Unstable) => assert!(is_wide || !is_told, "{told:?}"),
                limit => assert_eq!(limit, Some(Limit::Link), "{told:?}"),
            }
            *limits.entry(limit.map(Limit::name)).or_insert(0) += 1;
        }
    }
    println!("{doubted} of {runs} runs are doubted; {limits:#?}");
    assert!(doubted * 50 <= runs, "{doubted} of {runs}");
}

/// 200 Mb/s, of which no more than 50 pass for long.
#[test]
fn methods_whose_trains_empty_a_bucket_tell_of_it() {
    let mut bucket = idle("shaper = { rate = '50 Mb/s', burst = '20 kB' }");
    bucket.links[1].rate = Some(BitRate::from_mbps(200));
    for report in reports(&bucket) {
        let verdict = || report.verdict.as_ref().unwrap_or_else(|| panic!("{report:?}"));
        match report.method.as_str() {
            "igi" | "ptr" | "pathrate" => {
                assert_eq!(verdict().limit, Limit::TokenBucket, "{report:?}");
                let told = verdict().reason.split("a token bucket of ").nth(1).unwrap();
                let rate: f64 = told.split(' ').next().unwrap().parse().unwrap();
                assert!((rate / 50.0 - 1.0).abs() < 0.03, "{report:?}");
                assert!(report.warnings.iter().any(|warning| warning.contains("allow for it")), "{report:?}");
            }
            // Pairs and short trains say how large a bucket they would not see.
            "abing" | "cprobe" | "packet-pair" | "capprobe" | "bprobe" | "nettimer" => {
                assert_eq!(verdict().limit, Limit::Link, "{report:?}");
                assert!(verdict().reason.contains("would not show"), "{report:?}");
            }
            _ => {}
        }
    }
}

/// 1 Gb/s before a NIC that gathers packets for 250 us: what streams and trains of gaps say there is of the NIC, unless they are read by batches.
#[test]
fn packets_that_a_nic_gathers_are_no_link_s() {
    let text = "name = 'gathered'\n[[links]]\nrate = '10 Gb/s'\n[[links]]\nrate = '1 Gb/s'\npropagation = '1 ms'\nqueue = '1 MiB'\n\
                [[links.cross]]\nkind = 'poisson'\nload = '30 %'\nsize = '1526 B'\n[[links]]\nrate = '10 Gb/s'\n\
                [destination.nic]\nhold = { period = '250 us' }\n";
    let path = Scenario::parse("gathered.toml", text).unwrap();
    for told in reports(&path) {
        let verdict = told.verdict.as_ref();
        let is_of_host = verdict.is_some_and(|verdict| verdict.limit == Limit::HostLimited);
        match told.method.as_str() {
            "pathload" | "igi" | "ptr" => {
                assert!(is_of_host && verdict.unwrap().reason.contains("in batches of"), "{told:?}");
                assert!(told.warnings.iter().any(|warning| warning.contains("in batches")), "{told:?}");
            }
            // Pairs come at one time.
            "spruce" | "abing" => {
                assert!(is_of_host && verdict.unwrap().reason.contains("at one time"), "{told:?}");
            }
            "busy-trains" => {
                assert!(!is_of_host, "{told:?}");
                assert!(
                    told.warnings
                        .iter()
                        .all(|warning| warning.contains("hides whether several links are loaded")),
                    "{told:?}"
                );
            }
            "spared-runs" => {
                assert!(
                    !is_of_host && !told.warnings.iter().any(|warning| warning.contains("in batches")),
                    "{told:?}"
                );
            }
            _ => {}
        }
    }
}

/// A program that takes longer for a packet than any link, and no kernel's stamps to tell.
#[test]
fn hosts_that_set_the_pace_are_told_from_a_link() {
    let text = "name = 'slow'\n[destination]\nkernel_stamps = false\nservice = '200 us'\n\
                [[links]]\nrate = '10 Gb/s'\npropagation = '1 ms'\n";
    let path = Scenario::parse("slow.toml", text).unwrap();
    let mut end_link = EndLink::new(Default::default(), &SimPath::new(&path, 1).facts());
    let (told, _) = report(&mut end_link, &mut SimPath::new(&path, 1));
    let finding = told.finding(Quantity::EndLinkCapacity);
    assert!(matches!(finding, Finding::Bound { side: Side::Lower, .. }), "{told:?}");
    assert_eq!(told.verdict.map(|verdict| verdict.limit), Some(Limit::HostLimited));
}

/// The same of what is free: a program that is busy for longer with each packet than the link takes for one.
#[test]
fn a_slow_program_is_not_taken_for_the_tight_link() {
    for spin in [150, 200, 300] {
        let text = format!(
            "name = 'slow'\n[destination]\nkernel_stamps = false\nspin = '{spin} us'\nservice = '1 us'\n\
             [[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '100 Mb/s'\n[[links]]\nrate = '1 Gb/s'\n"
        );
        let path = Scenario::parse("slow.toml", &text).unwrap();
        let mut busy = Busy::new(Default::default(), &SimPath::new(&path, 1).facts());
        let (told, _) = report(&mut busy, &mut SimPath::new(&path, 1));
        assert_eq!(told.finding(Quantity::AvailableBandwidth).estimate(), None, "{spin} us: {told:?}");
        assert_eq!(told.verdict.map(|verdict| verdict.limit), Some(Limit::HostLimited), "{spin} us");
    }
}

/// A program that is quick to read what waits is no slow one, though a NIC's batches come at its pace, whatever their packets' size.
#[test]
fn a_quick_program_behind_a_nic_still_tells_of_the_link() {
    for (rate, nic) in [("100 Mb/s", "{ hold = { period = '250 us' } }"), ("1 Gb/s", "'none'")] {
        for seed in 1..4 {
            let text = format!(
                "name = 'quick'\n[destination]\nkernel_stamps = false\nnic = {nic}\n[[links]]\nrate = '10 Gb/s'\n\
                 [[links]]\nrate = '{rate}'\n[[links.cross]]\nkind = 'poisson'\nload = 0.5\n"
            );
            let path = Scenario::parse("quick.toml", &text).unwrap();
            let mut busy = Busy::new(Default::default(), &SimPath::new(&path, seed).facts());
            let (told, _) = report(&mut busy, &mut SimPath::new(&path, seed));
            assert_ne!(
                told.verdict.map(|verdict| verdict.limit),
                Some(Limit::HostLimited),
                "{rate} {nic}, {seed}"
            );
        }
    }
}

/// Whether a slower link stands before the policer or behind it, what it held lies within what is told.
#[test]
fn a_policers_depth_holds_wherever_the_slower_link_stands() {
    let policer = "policer = { rate = '20 Mb/s', burst = '60 kB' }";
    for (first, second) in [(policer, ""), ("", policer)] {
        let text = format!(
            "name = 'policed'\n[[links]]\nrate = '1 Gb/s'\n{first}\n[[links]]\nrate = '50 Mb/s'\n{second}\n"
        );
        let path = Scenario::parse("policed.toml", &text).unwrap();
        let mut method = ShaperProbe::new(Default::default(), &SimPath::new(&path, 1).facts());
        let (told, _) = report(&mut method, &mut SimPath::new(&path, 1));
        let depth = told.finding(Quantity::BucketDepth);
        assert_eq!(depth.holds(60e3), Some(true), "{told:?}");
    }
}
