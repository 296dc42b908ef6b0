//! The simulator as a path that carries trains.

use dwell_core::capacity::EndLink;
use dwell_core::host::{Salehin2015, Salehin2017};
use dwell_core::{
    BitRate, Bytes, Departure, Direction, Finding, Fleet, Method, Nanos, Passage, Path, Step, Train,
    TrainTruth,
};
use dwell_sim::{
    Clock, ClockSpec, ClockStep, CrossKind, CrossSpec, HostSpec, LinkSpec, Offered, Scenario, SimError,
    SimPath, Times,
};

fn fixed(ns: i64) -> Times {
    Times::Fixed(Nanos(ns))
}

fn parse(links: &str) -> Scenario {
    Scenario::parse("test", &format!("name = \"test\"\n{links}")).unwrap()
}

/// Two links of 1 Gb/s and 100 Mb/s; a receiver with K = 2 us, A = 41 us, S = 10.8 us.
fn plain() -> Scenario {
    let mut scenario = parse("[[links]]\nrate = \"1 Gb/s\"\n[[links]]\nrate = \"100 Mb/s\"\n");
    scenario.destination = HostSpec {
        kernel: fixed(2_000),
        wake_up: fixed(30_000),
        read: fixed(1_000),
        spin: fixed(10_000),
        service: fixed(800),
        turn_round: fixed(300),
        ..HostSpec::default()
    };
    scenario.source.send = fixed(5_000);
    scenario
}

fn fleet(trains: impl IntoIterator<Item = Train>) -> Fleet {
    trains.into_iter().map(|train| Departure { pause: Nanos::from_millis(5), train }).collect()
}

fn pair(hold: i64) -> Train {
    Train::pair(Bytes(88), Bytes(88), Nanos(hold))
}

fn carry(scenario: &Scenario, seed: u64, fleet: &Fleet) -> Vec<Passage> {
    SimPath::new(scenario, seed).carry(fleet).unwrap()
}

/// The gap between the two application stamps of a pair.
fn gap(passage: &Passage) -> i64 {
    let stamps: Vec<_> =
        passage.observation.fates.iter().map(|fate| fate.arrival.unwrap().stamps.application.0).collect();
    stamps[1] - stamps[0]
}

fn truth(passage: &Passage) -> &TrainTruth {
    passage.truth.as_ref().unwrap()
}

#[test]
fn a_sweep_of_dispersions_shows_the_knee() {
    let holds: Vec<i64> = (10..80).map(|us| us * 1_000).collect();
    for (hold, passage) in holds.iter().zip(carry(&plain(), 1, &fleet(holds.iter().map(|hold| pair(*hold)))))
    {
        // G = S up to A and the turn-round; then G = x + dPPT, here with dPPT = 0.
        let expected = if *hold <= 41_000 + 300 { 10_800 } else { *hold };
        assert_eq!(gap(&passage), expected, "dispersion {hold}");
    }
}

#[test]
fn back_to_back_means_as_fast_as_the_narrowest_link() {
    let mut scenario = plain();
    scenario.destination.wake_up = fixed(0);
    scenario.destination.spin = fixed(0);
    let passages = carry(&scenario, 1, &fleet([Train::burst(Bytes(1526), 10)]));
    let truth: Vec<_> = truth(&passages[0]).iter().map(|packet| packet.unwrap()).collect();
    for two in truth.windows(2) {
        // 1,526 B and the gap of 12: 12.304 us at 1 Gb/s, 123.04 us at 100 Mb/s.
        assert_eq!(two[1].left_sender - two[0].left_sender, Nanos(12_304));
        assert_eq!(two[1].reached_receiver - two[0].reached_receiver, Nanos(123_040));
        assert_eq!(two[0].handed_over, two[1].handed_over, "one send call");
    }
}

#[test]
fn truth_adds_up_packet_by_packet() {
    let scenario = plain();
    for passage in carry(&scenario, 1, &fleet((0..20).map(|k| pair(k * 5_000)))) {
        for packet in truth(&passage) {
            let packet = packet.unwrap();
            // 88 B: 0.704 us on the first link, 7.04 on the second.
            assert_eq!(packet.reached_receiver - packet.left_sender, Nanos(7_040) + packet.waited);
            assert_eq!(packet.queued - packet.reached_receiver, Nanos(2_000));
            assert!(packet.stamped - packet.queued >= Nanos(800));
        }
        let heading = truth(&passage)[0].unwrap();
        assert_eq!(heading.left_sender - heading.handed_over, Nanos(5_000 + 704));
        assert_eq!(heading.stamped - heading.queued, Nanos(41_000));
        assert_eq!(heading.waited, Nanos::ZERO);
    }
}

#[test]
fn stamps_are_true_times_as_each_host_reads_them() {
    let mut scenario = plain();
    scenario.source.clock =
        ClockSpec { offset: Nanos::from_secs(-2), skew_ppm: 30.0, ..ClockSpec::default() };
    scenario.destination.clock =
        ClockSpec { resolution: Nanos(1_000), offset: Nanos::from_secs(4), skew_ppm: -80.0, step: None };
    scenario.destination.kernel_stamp_at = 0.5;
    let (source, destination) = (Clock::new(scenario.source.clock), Clock::new(scenario.destination.clock));
    for passage in carry(&scenario, 1, &fleet((0..50).map(|k| pair(k * 2_000)))) {
        for (fate, truth) in passage.observation.fates.iter().zip(truth(&passage)) {
            let (truth, arrival) = (truth.unwrap(), fate.arrival.unwrap());
            assert_eq!(fate.sent.application, source.read(truth.handed_over));
            assert_eq!(arrival.stamps.application, destination.read(truth.stamped));
            let halfway = truth.reached_receiver + Nanos(1_000);
            assert_eq!(arrival.stamps.kernel, Some(destination.read(halfway)));
            assert_eq!(arrival.stamps.application.0 % 1_000, 0);
        }
    }
    let told = SimPath::new(&scenario, 1).truth();
    // 6 s apart at the start, and 110 ppm of the 100 ms before the first train.
    assert_eq!(told.offset, Nanos::from_secs(6) - Nanos(11_000));
    assert!((told.skew_ppm + 110.0).abs() < 0.01, "{}", told.skew_ppm);
    assert_eq!(told.end_link, Some(BitRate::from_mbps(100)));
    assert_eq!(told.service_time, Nanos(10_800));
}

#[test]
fn a_step_of_the_clock_shows_in_the_stamps_and_not_in_the_truth() {
    let mut scenario = plain();
    let step = ClockStep { at: Nanos::from_millis(150), by: Nanos::from_secs(-1) };
    scenario.destination.clock.step = Some(step);
    let passages = carry(&scenario, 1, &fleet((0..20).map(|_| pair(100_000))));
    let stamp = |passage: &Passage| passage.observation.fates[0].arrival.unwrap().stamps.application;
    let back = passages.windows(2).filter(|two| stamp(&two[1]) < stamp(&two[0])).count();
    assert_eq!(back, 1);
    assert!(
        passages
            .windows(2)
            .all(|two| truth(&two[0])[0].unwrap().stamped < truth(&two[1])[0].unwrap().stamped)
    );
}

#[test]
fn kernel_stamps_are_there_where_the_scenario_has_them() {
    let mut scenario = plain();
    scenario.destination.kernel_stamps = false;
    let passages = carry(&scenario, 1, &fleet([pair(0), pair(0).reversed()]));
    let [forward, reverse] = passages.as_slice() else { panic!("two trains") };
    assert!(forward.observation.fates.iter().all(|fate| fate.sent.kernel.is_some()));
    assert!(forward.observation.fates.iter().all(|fate| fate.arrival.unwrap().stamps.kernel.is_none()));
    assert!(reverse.observation.fates.iter().all(|fate| fate.sent.kernel.is_none()));
    assert!(reverse.observation.fates.iter().all(|fate| fate.arrival.unwrap().stamps.kernel.is_some()));
}

#[test]
fn both_directions_share_one_time() {
    let mut scenario = plain();
    scenario.reverse = Some(vec![LinkSpec::new(Some(BitRate::from_mbps(10)))]);
    let trains = fleet((0..10).map(|k| if k % 2 == 0 { pair(0) } else { pair(0).reversed() }));
    let passages = carry(&scenario, 1, &trains);
    let first = |passage: &Passage| truth(passage)[0].unwrap();
    for (index, two) in passages.windows(2).enumerate() {
        let departed = first(&two[1]).left_sender - first(&two[0]).left_sender;
        // 5 ms of pause, and what the trains and links take: well below 0.2 ms.
        assert!((Nanos(4_900_000)..Nanos(5_200_000)).contains(&departed), "after train {index}: {departed}");
    }
    let reverse = &passages[1];
    assert_eq!(reverse.observation.direction, Direction::Reverse);
    let truth = truth(reverse);
    // 88 B and the gap on 10 Mb/s.
    assert_eq!(truth[1].unwrap().reached_receiver - truth[0].unwrap().reached_receiver, Nanos(80_000));
}

#[test]
fn the_way_back_is_the_way_there_mirrored() {
    let text = "[[links]]\nrate = \"1 Gb/s\"\n[[links.cross]]\nkind = \"poisson\"\nload = 0.1\nhops = 2\n\
                [[links]]\nrate = \"500 Mb/s\"\n[[links]]\nrate = \"100 Mb/s\"\n\
                [[links.cross]]\nkind = \"constant\"\nload = 0.2\n";
    let mirror = parse(text).reverse_links();
    let rates: Vec<_> = mirror.iter().map(|link| link.rate.unwrap()).collect();
    assert_eq!(rates, [BitRate::from_mbps(100), BitRate::from_mbps(500), BitRate::from_mbps(1000)]);
    // What passed links 0 and 1 enters at the mirror's 1, with the same bits per second.
    let through = CrossSpec {
        kind: CrossKind::Poisson,
        offered: Offered::Rate(BitRate::from_mbps(100)),
        sizes: Bytes(1526).into(),
        hops: 2,
        priority: 0,
    };
    assert_eq!(mirror[1].cross, [through]);
    assert_eq!(mirror[0].cross.len(), 1);
    assert_eq!(mirror[0].cross[0].offered, Offered::Load(0.2));
    assert!(mirror[2].cross.is_empty());
}

#[test]
fn the_same_seed_is_the_same_run_and_time_flows_on() {
    let scenario = parse(
        "[[links]]\nrate = \"100 Mb/s\"\nloss = 0.05\n[[links.cross]]\nkind = \"poisson\"\nload = 0.6\n\
         [[links]]\nrate = \"100 Mb/s\"\n",
    );
    let fleets: Vec<_> = (0..5).map(|_| fleet((0..40).map(|k| pair(k * 3_000)))).collect();
    let run = |seed| {
        let mut path = SimPath::new(&scenario, seed);
        let passages: Vec<_> = fleets.iter().flat_map(|fleet| path.carry(fleet).unwrap()).collect();
        (passages, path.now())
    };
    let (passages, end) = run(7);
    assert_eq!(run(7), (passages.clone(), end));
    assert_ne!(run(8).0, passages);
    // 200 trains with 5 ms each before them, after 100 ms of warm-up.
    assert!((Nanos::from_millis(1_100)..Nanos::from_millis(1_200)).contains(&end), "{end}");

    let arrived: Vec<_> = passages.iter().flat_map(|passage| truth(passage).iter().flatten()).collect();
    assert!(arrived.is_sorted_by_key(|packet| packet.stamped));
    let waits: std::collections::HashSet<_> = arrived.iter().map(|packet| packet.waited).collect();
    assert!(waits.len() > 100, "cross traffic goes on between trains: {} different waits", waits.len());
    let lost = 400 - arrived.len();
    assert!((5..=40).contains(&lost), "{lost} of 400 lost at 5 %");
    for passage in &passages {
        let order =
            passage.observation.fates.iter().filter_map(|fate| fate.arrival).map(|arrival| arrival.order);
        assert!(order.eq(0..truth(passage).iter().flatten().count() as u32));
    }
}

#[test]
fn idle_time_before_a_train_decides_over_the_wake_up() {
    let mut scenario = plain();
    scenario.destination.wake_up_cold = Some(fixed(80_000));
    scenario.destination.cold_after = Nanos::from_millis(20);
    let pauses = [50, 5, 10, 30, 5];
    let fleet = pauses.map(|ms| Departure { pause: Nanos::from_millis(ms), train: pair(0) }).to_vec();
    let stages: Vec<_> = carry(&scenario, 1, &fleet)
        .iter()
        .map(|passage| truth(passage)[0].unwrap())
        .map(|packet| (packet.stamped - packet.queued).0)
        .collect();
    assert_eq!(stages, [91_000, 41_000, 41_000, 91_000, 41_000]);
}

#[test]
fn too_large_a_packet_is_lost_and_an_empty_train_is_nothing() {
    let trains = [Train::pair(Bytes(1527), Bytes(1526), Nanos(0)), Train::burst(Bytes(88), 0), pair(0)];
    let passages = carry(&plain(), 1, &fleet(trains));
    let arrived = |index: usize| -> Vec<bool> {
        passages[index].observation.fates.iter().map(|fate| fate.arrival.is_some()).collect()
    };
    assert_eq!(arrived(0), [false, true]);
    assert_eq!(arrived(1), [false; 0]);
    assert_eq!(arrived(2), [true, true]);
}

#[test]
fn time_has_an_end() {
    let mut path = SimPath::new(&plain(), 1);
    let mut long = fleet([pair(0), pair(0)]);
    long[1].pause = Nanos::from_secs(101 * 86_400);
    assert_eq!(path.carry(&long), Err(SimError::EndOfTime));
    assert_eq!(
        path.carry(&fleet([pair(0)])).unwrap(),
        carry(&plain(), 1, &fleet([pair(0)])),
        "it left no trace"
    );
}

/// Three links, the one in the middle with the keys `middle`, and a receiver that is quick.
fn through(middle: &str) -> Scenario {
    let mut scenario =
        parse(&format!("[[links]]\nrate = \"1 Gb/s\"\n[[links]]\n{middle}\n[[links]]\nrate = \"1 Gb/s\"\n"));
    scenario.destination.wake_up = fixed(1_000);
    scenario.destination.spin = fixed(0);
    scenario
}

/// Every other packet goes a way that is 1 ms longer.
const UNEQUAL: &str = "balance = \"packet\"\n\
    parallel = [ { rate = \"1 Gb/s\" }, { rate = \"1 Gb/s\", propagation = \"1 ms\" } ]";

#[test]
fn packets_that_are_overtaken_have_their_place_in_the_order_of_arrival() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let train = Train { direction, ..Train::burst(Bytes(1000), 6) };
        for passage in carry(&through(UNEQUAL), 1, &fleet([train.clone(), train])) {
            let fates = &passage.observation.fates;
            let orders: Vec<_> = fates.iter().map(|fate| fate.arrival.unwrap().order).collect();
            assert_eq!(orders, [0, 3, 1, 4, 2, 5]);
            let mut arrivals: Vec<_> =
                fates.iter().zip(truth(&passage)).map(|(f, t)| (f.arrival.unwrap(), t.unwrap())).collect();
            arrivals.sort_by_key(|(arrival, _)| arrival.order);
            assert!(arrivals.is_sorted_by_key(|(_, truth)| truth.reached_receiver));
            assert!(arrivals.windows(2).all(|two| two[0].1.stamped < two[1].1.stamped));
        }
    }
}

#[test]
fn the_order_counts_what_arrived_and_each_packet_once() {
    let scenario = through(
        "rate = \"1 Gb/s\"\nloss = 0.2\nduplication = 0.3\nreordering = { share = 0.3, by = \"40 us\" }",
    );
    let passages = carry(&scenario, 1, &fleet((0..200).map(|_| Train::burst(Bytes(500), 20))));
    let (mut copies, mut overtaken) = (0, 0);
    for passage in &passages {
        let arrivals: Vec<_> = passage.observation.fates.iter().filter_map(|fate| fate.arrival).collect();
        let mut orders: Vec<_> = arrivals.iter().map(|arrival| arrival.order).collect();
        overtaken += usize::from(!orders.is_sorted());
        orders.sort_unstable();
        assert!(orders.into_iter().eq(0..arrivals.len() as u32));
        copies += arrivals.iter().filter(|arrival| arrival.copies == 2).count();
        assert!(arrivals.iter().all(|arrival| (1..=2).contains(&arrival.copies)));
        assert_eq!(arrivals.len(), truth(passage).iter().flatten().count());
    }
    // 4,000 packets, of which 80 % arrive, 30 % of those twice: 960, with a standard deviation of 27.
    assert!((850..1_070).contains(&copies), "{copies} came twice");
    assert!(overtaken > 150, "{overtaken} of 200 trains out of order");
}

#[test]
fn a_copy_is_handled_by_the_host_and_has_no_stamp_of_its_own() {
    let once = carry(&through("rate = \"1 Gb/s\""), 1, &fleet([pair(100_000)]));
    let twice = carry(&through("rate = \"1 Gb/s\"\nduplication = 1"), 1, &fleet([pair(100_000)]));
    assert_eq!(truth(&once[0]), truth(&twice[0]), "the stamps are the first copy's");
    assert!(twice[0].observation.fates.iter().all(|fate| fate.arrival.unwrap().copies == 2));
    // Close together, the second packet finds the host busy with the copy of the first.
    let once = carry(&through("rate = \"1 Gb/s\""), 1, &fleet([pair(0)]));
    let twice = carry(&through("rate = \"1 Gb/s\"\nduplication = 1"), 1, &fleet([pair(0)]));
    assert!(gap(&twice[0]) > gap(&once[0]));
}

#[test]
fn the_way_back_may_be_of_another_kind() {
    let text = "[[links]]\nrate = \"1 Gb/s\"\n\
                [[reverse]]\nrate = \"100 Mb/s\"\nmtu = \"600 B\"\ndiscipline = \"fair\"\n\
                [[reverse.cross]]\nkind = \"poisson\"\nload = 0.5\nsize = \"500 B\"\n\
                [[reverse]]\nbalance = \"flow\"\nparallel = [ { rate = \"1 Gb/s\" }, { rate = \"1 Gb/s\" } ]\n\
                [[reverse]]\nrate = \"1 Gb/s\"\n";
    let trains = [1000, 600].map(|size| Train::burst(Bytes(size), 10));
    let there_and_back = fleet(trains.iter().cloned().chain(trains.iter().cloned().map(Train::reversed)));
    let arrived: Vec<_> = carry(&parse(text), 1, &there_and_back)
        .iter()
        .map(|passage| truth(passage).iter().flatten().count())
        .collect();
    assert_eq!(arrived, [10, 10, 0, 10]);
}

#[test]
fn a_path_believes_in_its_mtu_and_a_smaller_link_swallows_what_is_larger() {
    let scenario = through("rate = \"1 Gb/s\"\nmtu = \"1000 B\"");
    let mut path = SimPath::new(&scenario, 1);
    assert_eq!(path.facts().max_size, Bytes(1526), "nobody told the host");
    let sizes = [1026, 1027, 1526, 1527];
    let passages = path.carry(&fleet(sizes.map(|size| Train::burst(Bytes(size), 3)))).unwrap();
    let arrived =
        |passage: &Passage| passage.observation.fates.iter().filter(|f| f.arrival.is_some()).count();
    assert_eq!(passages.iter().map(arrived).collect::<Vec<_>>(), [3, 0, 0, 0]);
}

#[test]
fn a_session_finds_out_how_large_packets_may_be() {
    let one_way = |reverse: &str| {
        parse(&format!(
            "[[links]]\nrate = \"1 Gb/s\"\nmtu = \"1000 B\"\nloss = \"10 %\"\n[[reverse]]\nrate = \"1 Gb/s\"\n{reverse}"
        ))
    };
    let narrow = |mtu: &str| format!("{{ rate = \"1 Gb/s\", mtu = \"{mtu} B\" }}");
    let both = format!("balance = \"packet\"\nparallel = [ {}, {} ]", narrow("1000"), narrow("1237"));
    for (scenario, mtu) in [
        (through("rate = \"1 Gb/s\"\nmtu = \"1000 B\""), 1_000),
        (one_way(""), 1_000),
        (one_way("mtu = \"700 B\""), 700),
        (one_way("mtu = \"1400 B\""), 1_000),
        (through(&both), 1_237),
    ] {
        let path = SimPath::connected(&scenario, 1).unwrap();
        assert_eq!(path.facts().max_size, Bytes(mtu + 26));
    }
}

#[test]
fn where_links_carry_what_hosts_believe_nothing_is_asked() {
    let (asked, not_asked) = (SimPath::connected(&plain(), 7).unwrap(), SimPath::new(&plain(), 7));
    assert_eq!((asked.facts(), asked.now()), (not_asked.facts(), not_asked.now()));
    let lost = through("rate = \"1 Gb/s\"\nmtu = \"1000 B\"\nloss = \"100 %\"");
    assert_eq!(SimPath::connected(&lost, 1).unwrap_err(), SimError::NothingArrives);
}

#[test]
fn methods_say_what_a_black_hole_leaves_of_them() {
    let scenario = through("rate = \"100 Mb/s\"\nmtu = \"1000 B\"");
    let facts = SimPath::new(&scenario, 1).facts();
    let mut methods: [Box<dyn Method>; 3] = [
        Box::new(Salehin2015::new(Default::default(), &facts)),
        Box::new(Salehin2017::new(Default::default(), &facts)),
        Box::new(EndLink::new(Default::default(), &facts)),
    ];
    for method in &mut methods {
        dwell_core::run(method.as_mut(), &mut SimPath::new(&scenario, 1), None, drop).unwrap();
        assert_eq!(method.next(), Step::Done);
        let report = method.report();
        assert!(!report.findings.is_empty());
        for (quantity, finding) in &report.findings {
            // Their large probes are all lost, so there is no figure, and the reason is told.
            let Finding::Unmeasurable { reason } = finding else {
                panic!("{}: {quantity:?} is {finding:?}", report.method)
            };
            assert!(reason.contains("lost") || reason.contains("arrived"), "{}: {reason}", report.method);
        }
    }
}

#[test]
fn the_narrowest_link_is_the_one_that_spaces_probes() {
    let narrow = |middle: &str| SimPath::new(&through(middle), 1).truth().narrow_link;
    let mbps = |rate| Some(BitRate::from_mbps(rate));
    assert_eq!(narrow("rate = \"100 Mb/s\""), mbps(100));
    let shaper = "rate = \"900 Mb/s\"\nshaper = { rate = \"50 Mb/s\", burst = \"9 kB\"";
    assert_eq!(narrow(&format!("{shaper} }}")), mbps(900), "a pair finds the bucket full");
    assert_eq!(narrow(&format!("{shaper}, peak = \"80 Mb/s\" }}")), mbps(80));
    let slow = UNEQUAL.replace("1 Gb/s", "300 Mb/s");
    assert_eq!(narrow(&slow), mbps(1_000), "two packets may come out of two links at once");
    assert_eq!(narrow(&slow.replace("packet", "flow")), mbps(300));
}

#[test]
fn stamps_may_be_late_each_by_itself() {
    let links = "name = 'x'\n[[links]]\nrate = '1 Gb/s'\n";
    let text =
        format!("{links}[destination]\nstamp_error = {{ uniform = {{ low = '1 us', high = '3 us' }} }}\n");
    let fleet = vec![Departure { pause: Nanos::from_millis(1), train: Train::burst(Bytes(88), 1) }; 200];
    let carried = |text: &str| {
        let mut path = SimPath::new(&Scenario::parse("x", text).unwrap(), 1);
        path.carry(&fleet).unwrap()
    };
    let (exact, late) = (carried(links), carried(&text));
    let errors: Vec<Nanos> = exact
        .iter()
        .zip(&late)
        .map(|(exact, late)| {
            let stamp =
                |passage: &Passage| passage.observation.fates[0].arrival.unwrap().stamps.kernel.unwrap();
            // The truth is the same: only what is told of it differs.
            assert_eq!(exact.truth, late.truth);
            stamp(late) - stamp(exact)
        })
        .collect();
    assert!(errors.iter().all(|error| (Nanos(1_000)..=Nanos(3_000)).contains(error)), "{errors:?}");
    assert!(errors.iter().any(|error| *error != errors[0]), "each by itself");
}
