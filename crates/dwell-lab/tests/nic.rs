//! NICs that hold packets, in labs on this machine's kernel. Bounds are those that hold on a loaded machine: medians,
//! and a run that the machine disturbed is repeated, for a forwarder that lost its core for a millisecond holds
//! packets that much longer.

use dwell_core::nic::Kind;
use dwell_core::{Bytes, Departure, Direction, Nanos, PacketTruth, Path as _, Train};
use dwell_lab::{Carriage, Lab, LabError, LabOptions, LabPath};
use dwell_sim::Scenario;

/// How often a disturbed run is repeated.
const TRIES: usize = 5;
const PAIRS: usize = 30;
const PERIOD: Nanos = Nanos(125_000);

fn scenario(text: &str) -> Scenario {
    Scenario::parse("test.toml", text).unwrap()
}

/// A link that a train has left before its first packet is due at the far end, and this NIC behind it.
fn behind_a_link(nic: &str) -> Scenario {
    scenario(&format!(
        "name = 'nic'\n[[links]]\nrate = '100 Mb/s'\npropagation = '300 us'\n[destination]\nnic = {nic}\n"
    ))
}

/// The lab, or `None` with the reason printed where the system refuses namespaces.
fn up(scenario: &Scenario) -> Option<Lab> {
    match Lab::up(scenario, LabOptions::default()) {
        Err(error @ LabError::Refused { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

/// What is true of `PAIRS` pairs of packets, 20 us apart.
fn pairs(path: &mut LabPath, direction: Direction) -> Vec<[PacketTruth; 2]> {
    let pair = Train { direction, ..Train::pair(Bytes(100), Bytes(100), Nanos::from_micros(20)) };
    let fleet = vec![Departure { pause: Nanos::from_millis(2), train: pair }; PAIRS];
    let passages = path.carry(&fleet).unwrap();
    let truths = passages.into_iter().map(|passage| passage.truth.unwrap());
    truths.map(|truth| [truth[0].unwrap(), truth[1].unwrap()]).collect()
}

fn median(of: &[[PacketTruth; 2]], time: impl Fn(&[PacketTruth; 2]) -> Nanos) -> Nanos {
    let mut times: Vec<Nanos> = of.iter().map(time).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn apart(of: &[[PacketTruth; 2]]) -> Nanos {
    median(of, |[first, second]| second.queued - first.queued)
}

/// As the pairs came: on a busy machine they leave further apart than they were asked to.
fn on_wire(of: &[[PacketTruth; 2]]) -> Nanos {
    median(of, |[first, second]| second.reached_receiver - first.reached_receiver)
}

fn held(of: &[[PacketTruth; 2]], packet: usize) -> Nanos {
    median(of, |pair| pair[packet].held)
}

/// Sends pairs until a run is as it should be, and fails with the last run's figures.
fn until(path: &mut LabPath, direction: Direction, fine: impl Fn(&[[PacketTruth; 2]]) -> bool) {
    let mut told = String::new();
    for _ in 0..TRIES {
        let seen = pairs(path, direction);
        if fine(&seen) {
            return;
        }
        told = format!(
            "{} apart on the wire, held {} and {}, then {} apart",
            on_wire(&seen),
            held(&seen, 0),
            held(&seen, 1),
            apart(&seen)
        );
        eprintln!("repeated: {told}");
    }
    panic!("{told}");
}

fn near(time: Nanos, expected: Nanos) -> bool {
    (time - expected).abs() < Nanos::from_micros(15)
}

#[test]
fn a_hold_hands_a_pair_over_together() {
    let Some(lab) = up(&behind_a_link("{ hold = { period = '125 us' } }")) else { return };
    let mut path = lab.connect().unwrap();
    until(&mut path, Direction::Forward, |seen| {
        apart(seen) < Nanos::from_micros(15)
            && near(held(seen, 0), PERIOD)
            && near(held(seen, 1), PERIOD - on_wire(seen))
    });
    // The source has no NIC that holds anything.
    for [first, second] in pairs(&mut path, Direction::Reverse) {
        assert_eq!((first.held, second.held), (Nanos::ZERO, Nanos::ZERO));
    }
    let told = path.circumstances();
    assert_eq!(told.receiver.coalescing["rx-usecs"], 125);
    assert!(told.sender.coalescing.is_empty());
    assert!(told.notes["lab destination nic"].contains("emulated"), "{:?}", told.notes);
}

#[test]
fn a_throttle_hands_the_first_over_at_once() {
    let Some(lab) = up(&behind_a_link("{ throttle = { period = '125 us' } }")) else { return };
    let mut path = lab.connect().unwrap();
    until(&mut path, Direction::Forward, |seen| {
        near(held(seen, 0), Nanos::ZERO) && near(apart(seen), PERIOD)
    });
}

#[test]
fn an_unshaped_path_has_its_nic_too_on_either_side() {
    let scenario = scenario(
        "name = 'both'\n[[links]]\nrate = 'unshaped'\n[destination]\nnic = { hold = { period = '250 us' } }\n\
         [source]\nnic = { hold = { period = '125 us' } }\n",
    );
    let Some(lab) = up(&scenario) else { return };
    assert_eq!(lab.carriage(), Carriage::Emulated);
    let mut path = lab.connect().unwrap();
    for (direction, period) in [(Direction::Forward, PERIOD * 2), (Direction::Reverse, PERIOD)] {
        until(&mut path, direction, |seen| {
            apart(seen) < Nanos::from_micros(15) && near(held(seen, 0), period)
        });
    }
}

#[test]
fn the_kernels_own_deferral_is_the_scenarios() {
    let scenario = scenario(
        "name = 'kernel'\nlab.nic = 'kernel'\n[[links]]\nrate = '100 Mb/s'\npropagation = '300 us'\n\
         [destination]\nnic = { deferred = { period = '1 ms', polls = 2 } }\n",
    );
    // A kernel before 5.8 has no such settings, and not everybody may set them.
    let lab = match Lab::up(&scenario, LabOptions::default()) {
        Err(error @ (LabError::Refused { .. } | LabError::Scenario { .. })) => {
            assert!(
                !matches!(error, LabError::Scenario { .. }) || !nix::unistd::geteuid().is_root(),
                "{error}"
            );
            return eprintln!("skipped: {error}");
        }
        other => other.unwrap(),
    };
    let mut path = lab.connect().unwrap();
    // The fleet's pauses are longer than the kernel goes on polling: the first comes at once, the second a period
    // after it, later by what the first took and by how late the timer was.
    let train = Train::pair(Bytes(100), Bytes(100), Nanos::from_micros(20));
    let mut told = Vec::new();
    for _ in 0..TRIES {
        let fleet = vec![Departure { pause: Nanos::from_millis(6), train: train.clone() }; PAIRS];
        let passages = path.carry(&fleet).unwrap();
        let truths = passages.into_iter().map(|passage| passage.truth.unwrap());
        let seen: Vec<[PacketTruth; 2]> =
            truths.map(|truth| [truth[0].unwrap(), truth[1].unwrap()]).collect();
        let (gap, first) = (apart(&seen), held(&seen, 0));
        if first < Nanos::from_micros(100) && (Nanos(900_000)..Nanos(1_500_000)).contains(&gap) {
            return;
        }
        told.push((first, gap));
    }
    panic!("{told:?}");
}

#[test]
fn the_check_tells_of_the_nic() {
    let Some(lab) = up(&behind_a_link("{ hold = { period = '125 us', frames = 8 } }")) else { return };
    let check = lab.check().unwrap();
    let nic = check.nic.as_ref().unwrap();
    assert_eq!((nic.kind, nic.period), (Kind::Hold, Some(PERIOD)));
    // Thirty packets of 72 B back to back take 200 us, so the eighth interrupts before the timer does; on a busy machine
    // bursts come apart, and fewer batches fill up. No batch is larger, and nothing is to be held for longer.
    assert!(nic.batches > 0 && nic.largest_batch <= 8, "{nic:?}");
    assert!(nic.held.asked.unwrap().p75 <= PERIOD, "{nic:?}");
    assert!(check.verdicts.iter().any(|verdict| verdict.condition == "nic"), "{check}");
    assert!(check.to_string().contains("held by the NIC"), "{check}");
    // Asked alone, before a run, it tells of the same.
    let alone = lab.nic().unwrap().unwrap();
    assert_eq!((alone.kind, alone.period), (nic.kind, nic.period));
    assert!(alone.batches > 0 && alone.largest_batch <= 8, "{alone:?}");
}

#[test]
fn a_lab_without_nics_tells_of_none() {
    let plain = scenario("name = 'plain'\n[[links]]\nrate = '100 Mb/s'\npropagation = '300 us'\n");
    let Some(lab) = up(&plain) else { return };
    let mut path = lab.connect().unwrap();
    for [first, second] in pairs(&mut path, Direction::Forward) {
        assert_eq!((first.held, second.held), (Nanos::ZERO, Nanos::ZERO));
        assert_eq!(first.reached_receiver, first.queued);
    }
    assert!(!path.circumstances().notes.keys().any(|name| name.contains("nic")));
    assert_eq!(lab.check().unwrap().nic, None);
    assert_eq!(lab.nic().unwrap(), None);
}

#[test]
fn what_no_lab_can_do_with_a_nic_is_refused_in_one_line() {
    let cases = [
        (
            "name = 'a'\nlab.carrier = 'tbf'\n[[links]]\nrate = '1 Mb/s'\n[destination]\nnic = { hold = { period = '1 ms' } }\n",
            "lab.carrier",
        ),
        (
            "name = 'b'\nlab.nic = 'kernel'\n[[links]]\nrate = '1 Mb/s'\n[destination]\nnic = { hold = { period = '1 ms' } }\n",
            "leave lab.nic out",
        ),
        (
            "name = 'c'\nlab.nic = 'kernel'\n[[links]]\nrate = '1 Mb/s'\n[source]\nnic_change = { at = '1 s', to = { deferred = { period = '1 ms', polls = 1 } } }\n",
            "source.nic",
        ),
    ];
    for (text, expected) in cases {
        let error = match Lab::up(&scenario(text), LabOptions::default()) {
            Err(error @ LabError::Refused { .. }) => return eprintln!("skipped: {error}"),
            other => other.err().unwrap().to_string(),
        };
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
}
