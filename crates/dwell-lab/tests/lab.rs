//! Labs on this machine's kernel. Bounds are those that hold on a loaded machine.

use dwell_core::{Bytes, Departure, Direction, Fleet, Nanos, Passage, Path, Train};
use dwell_lab::{Carriage, Cores, Lab, LabError, LabOptions, LabPath};
use dwell_sim::Scenario;

fn scenario(text: &str) -> Scenario {
    Scenario::parse("test.toml", text).unwrap()
}

/// The lab, or `None` with the reason printed where the system refuses namespaces.
fn up(scenario: &Scenario, options: LabOptions) -> Option<Lab> {
    match Lab::up(scenario, options) {
        Err(error @ LabError::Refused { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

fn carry(path: &mut LabPath, train: &Train, count: usize, pause: Nanos) -> Vec<Passage> {
    let fleet: Fleet = vec![Departure { pause, train: train.clone() }; count];
    path.carry(&fleet).unwrap()
}

fn median(times: impl IntoIterator<Item = Nanos>) -> Nanos {
    let mut sorted: Vec<Nanos> = times.into_iter().collect();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// From the sending kernel to the receiving one, packet by packet.
fn delays(passages: &[Passage]) -> Vec<Nanos> {
    let truths = passages.iter().flat_map(|passage| passage.truth.iter().flatten()).flatten();
    truths.map(|truth| truth.reached_receiver - truth.left_sender).collect()
}

fn gaps(passages: &[Passage]) -> Vec<Nanos> {
    let gap = |passage: &Passage| {
        let truth = passage.truth.as_ref()?;
        Some(truth[1]?.reached_receiver - truth[0]?.reached_receiver)
    };
    passages.iter().filter_map(gap).collect()
}

const LARGE: Bytes = Bytes(1502);

#[test]
fn an_unshaped_path_is_the_kernels_own() {
    let scenario = scenario("name = 'unshaped'\n[[links]]\nrate = 'unshaped'\n");
    let Some(lab) = up(&scenario, LabOptions::default()) else { return };
    assert_eq!(lab.carriage(), Carriage::Bridge);
    let mut path = lab.connect().unwrap();
    let passages =
        carry(&mut path, &Train::pair(LARGE, LARGE, Nanos::from_micros(50)), 30, Nanos::from_millis(2));
    assert_eq!(delays(&passages).len(), 60);
    assert!(median(delays(&passages)) < Nanos::from_millis(1));
    assert_eq!(path.circumstances().world, "lab");
    assert_eq!(path.facts().max_size, Bytes(1526));
}

#[test]
fn an_emulated_link_delays_and_spreads_as_asked() {
    let scenario = scenario("name = 'slow'\n[[links]]\nrate = '10 Mb/s'\npropagation = '5 ms'\n");
    let Some(lab) = up(&scenario, LabOptions::default()) else { return };
    assert_eq!(lab.carriage(), Carriage::Emulated);
    let mut path = lab.connect().unwrap();
    for direction in [Direction::Forward, Direction::Reverse] {
        let train = Train { direction, ..Train::pair(LARGE, LARGE, Nanos::ZERO) };
        let passages = carry(&mut path, &train, 30, Nanos::from_millis(5));
        // 1502 B at 10 Mb/s take 1,201.6 us, and the frame's gap 9.6 us.
        let (gap, delay) = (median(gaps(&passages)), delays(&passages));
        assert!((gap - Nanos(1_211_200)).abs() < Nanos::from_millis(1), "{direction:?}: {gap}");
        let first = median(delay.iter().copied().step_by(2));
        assert!((first - Nanos(6_201_600)).abs() < Nanos::from_millis(1), "{direction:?}: {first}");
        let waited = passages[0].truth.as_ref().unwrap()[1].unwrap().waited;
        assert!((waited - Nanos(1_211_200)).abs() < Nanos::from_millis(1), "{direction:?}: {waited}");
    }
}

#[test]
fn loss_follows_from_the_seed_alone() {
    // The check sends the same packets each time, before the flood, and nobody else uses the path.
    let scenario =
        scenario("name = 'lossy'\n[[links]]\nrate = '1 Gb/s'\npropagation = '1 ms'\nloss = '10 %'\n");
    let Some(lab) = up(&scenario, LabOptions { seed: 7, ..LabOptions::default() }) else { return };
    let check = lab.check().unwrap();
    assert_eq!(check.lost_otherwise, 0, "{check}");
    let Some(again) = up(&scenario, LabOptions { seed: 7, ..LabOptions::default() }) else { return };
    assert_eq!(again.check().unwrap().lost_as_asked, check.lost_as_asked);
    let share = check.lost_as_asked as f64 / check.sent as f64;
    assert!((0.05..0.15).contains(&share), "{share}");
}

#[test]
fn the_scenarios_mtu_is_the_paths() {
    let scenario = scenario("name = 'narrow'\nmtu = '1280 B'\n[[links]]\nrate = '100 Mb/s'\n");
    let Some(lab) = up(&scenario, LabOptions { ipv6: true, ..LabOptions::default() }) else { return };
    let path = lab.connect().unwrap();
    assert_eq!(path.facts().max_size, Bytes(1306));
    assert!(lab.agent_address().is_ipv6());
}

#[test]
fn what_is_said_comes_through_where_large_packets_are_lost() {
    let scenario = scenario(
        "name = 'mismatch'\nmtu = '9000 B'\n[[links]]\nrate = '1 Gb/s'\n\
         [[links]]\nrate = '100 Mb/s'\nmtu = '1500 B'\n",
    );
    let Some(lab) = up(&scenario, LabOptions::default()) else { return };
    let mut path = lab.connect().unwrap();
    assert_eq!(path.facts().max_size, Bytes(1526));
    // What is reported of so many packets fills many segments.
    let passages = carry(&mut path, &Train::burst(LARGE, 40), 5, Nanos::from_millis(3));
    assert_eq!(delays(&passages).len(), 200);
}

#[test]
fn two_labs_run_at_once() {
    let scenario = scenario("name = 'twin'\n[[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\n");
    let Some(first) = up(&scenario, LabOptions::default()) else { return };
    let Some(second) = up(&scenario, LabOptions::default()) else { return };
    let mut paths = [first.connect().unwrap(), second.connect().unwrap()];
    for path in &mut paths {
        let passages = carry(path, &Train::burst(LARGE, 1), 5, Nanos::from_millis(3));
        assert_eq!(delays(&passages).len(), 5);
    }
}

#[test]
fn the_hosts_clocks_are_the_scenarios() {
    let scenario = scenario(
        "name = 'clocks'\n[[links]]\nrate = 'unshaped'\n\
         [source.clock]\noffset = '-3 s'\nskew_ppm = 100.0\n\
         [destination]\nkernel_stamps = false\n[destination.clock]\noffset = '20 s'\nresolution = '1 us'\n",
    );
    let Some(lab) = up(&scenario, LabOptions::default()) else { return };
    let mut path = lab.connect().unwrap();
    assert!(path.facts().resolution >= Nanos(1000));
    let passages = carry(&mut path, &Train::burst(LARGE, 1), 3, Nanos::from_millis(1));
    for passage in passages {
        let (fate, truth) = (passage.observation.fates[0], passage.truth.unwrap()[0].unwrap());
        let gained = Nanos(truth.handed_over.0 / 10_000);
        let wrong = fate.sent.application - (truth.handed_over + gained - Nanos::from_secs(3));
        assert!(wrong.abs() <= Nanos(1), "{wrong}");
        let arrived = fate.arrival.unwrap().stamps;
        assert_eq!(arrived.kernel, None);
        assert_eq!(arrived.application.0 % 1000, 0);
        let apart = arrived.application - (truth.stamped + Nanos::from_secs(20));
        assert!((-1000..=0).contains(&apart.0), "{apart}");
    }
}

#[test]
fn the_receiver_spins_before_it_stamps() {
    let scenario = scenario("name = 'spin'\n[[links]]\nrate = 'unshaped'\n[destination]\nspin = '3 ms'\n");
    let Some(lab) = up(&scenario, LabOptions::default()) else { return };
    let mut path = lab.connect().unwrap();
    let passages = carry(&mut path, &Train::burst(LARGE, 1), 5, Nanos::from_millis(10));
    for truth in passages.iter().flat_map(|passage| passage.truth.iter().flatten()).flatten() {
        assert!(truth.stamped - truth.queued >= Nanos::from_millis(3), "{truth:?}");
    }
}

#[test]
fn kernel_shapers_pass_cross_traffic_and_probes() {
    for carrier in ["tbf", "htb"] {
        let scenario = scenario(&format!(
            "name = '{carrier}'\nlab.carrier = '{carrier}'\n[[links]]\nrate = '20 Mb/s'\n\
             [[links.cross]]\nkind = 'poisson'\nload = '30 %'\nsize = '1000 B'\nhops = 2\n\
             [[links]]\nrate = '10 Mb/s'\n",
        ));
        let Some(lab) = up(&scenario, LabOptions::default()) else { return };
        let mut path = lab.connect().unwrap();
        let passages = carry(&mut path, &Train::burst(LARGE, 20), 3, Nanos::from_millis(100));
        let spans: Vec<Nanos> = passages
            .iter()
            .filter_map(|passage| {
                let truth = passage.truth.as_ref()?;
                Some(truth[19]?.reached_receiver - truth[0]?.reached_receiver)
            })
            .collect();
        // 19 packets of 1514 B at 10 Mb/s, and what the cross traffic takes of it; htb lends a little.
        let span = median(spans);
        assert!((Nanos::from_millis(18)..Nanos::from_millis(120)).contains(&span), "{carrier}: {span}");
    }
}

#[test]
fn what_no_lab_can_do_is_refused_in_one_line() {
    let cases = [
        (
            "name = 'a'\n[[links]]\nrate = '1 Mb/s'\n[destination.spin.uniform]\nlow = '1 us'\nhigh = '2 us'\n",
            "destination.spin",
        ),
        (
            "name = 'b'\nlab.carrier = 'tbf'\n[[links]]\nrate = '1 Mb/s'\n[[links]]\nrate = '1 Mb/s'\npropagation = '1 ms'\n",
            "link 1",
        ),
        (
            "name = 'c'\nlab.carrier = 'htb'\n[[links]]\nrate = '1 Mb/s'\nreroute = { at = '1 s', propagation = '1 ms' }\n",
            "link 0",
        ),
    ];
    for (text, expected) in cases {
        let refused = Lab::up(&scenario(text), LabOptions::default()).err().unwrap();
        if matches!(refused, LabError::Refused { .. }) {
            return eprintln!("skipped: {refused}");
        }
        let error = refused.to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn one_core_is_enough_and_says_what_is_worse() {
    let scenario = scenario("name = 'one core'\n[[links]]\nrate = '10 Mb/s'\npropagation = '2 ms'\n");
    let core = Cores::allowed().sender;
    let options = LabOptions { cores: Some(Cores { sender: core, receiver: core }), ..LabOptions::default() };
    let Some(lab) = up(&scenario, options) else { return };
    let mut path = lab.connect().unwrap();
    let passages = carry(&mut path, &Train::burst(LARGE, 2), 5, Nanos::from_millis(5));
    assert_eq!(delays(&passages).len(), 10);
    let notes = path.circumstances().notes;
    assert!(notes["lab caution"].contains("share one core"), "{notes:?}");
}

#[test]
fn results_carry_the_check_once_it_is_made() {
    let scenario = scenario("name = 'checked'\n[[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\n");
    let Some(lab) = up(&scenario, LabOptions::default()) else { return };
    let path = lab.connect().unwrap();
    assert_eq!(path.circumstances().notes["lab check"], "not made");
    let check = lab.check().unwrap();
    assert!(path.circumstances().notes["lab check"].contains("packets/s"));
    assert!(check.to_string().contains("gap of 2 x 1502 B"), "{check}");
    // Half the asked rate is what even a machine under load delivers; twice is what no link would.
    let rate = check.rate_delivered.unwrap().0;
    assert!((50_000_000..200_000_000).contains(&rate), "{check}");
    assert!(check.verdicts.iter().any(|verdict| verdict.condition == "dispersion"), "{check}");
}
