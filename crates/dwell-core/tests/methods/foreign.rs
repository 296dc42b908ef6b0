//! What no path would ever show: no method may panic on it.

use dwell_core::avail::{Abing, Bart, Busy, Cprobe, Igi, Pathchirp, Pathload, Spruce, Topp};
use dwell_core::capacity::{
    Bprobe, Capprobe, EndLink, Nettimer, PacketPair, Pathrate, ShaperProbe, SparedRuns, end_link,
};
use dwell_core::host::{Salehin2015, Salehin2017, salehin2015, salehin2017};
use dwell_core::{
    Arrival, BitRate, Bytes, Direction, Fate, Method, Nanos, Observation, Packet, PathFacts, Stamps, Step,
    Vantage,
};
use proptest::prelude::*;

fn methods(facts: &PathFacts, vantage: Vantage) -> Vec<Box<dyn Method>> {
    vec![
        Box::new(Salehin2015::new(salehin2015::Config { vantage, probes: 20, ..Default::default() }, facts)),
        Box::new(Salehin2017::new(salehin2017::Config { vantage, probes: 20, ..Default::default() }, facts)),
        Box::new(EndLink::new(end_link::Config { vantage: Some(vantage), ..Default::default() }, facts)),
        Box::new(EndLink::new(end_link::Config::default(), facts)),
        Box::new(Busy::new(Default::default(), facts)),
        Box::new(Pathload::new(Default::default(), facts)),
        Box::new(Pathchirp::new(Default::default(), facts)),
        Box::new(Spruce::new(Default::default(), facts)),
        Box::new(Igi::new(Default::default(), facts)),
        Box::new(Abing::new(Default::default(), facts)),
        Box::new(Topp::new(Default::default(), facts)),
        Box::new(Bart::new(Default::default(), facts)),
        Box::new(Cprobe::new(Default::default(), facts)),
        Box::new(PacketPair::new(Default::default(), facts)),
        Box::new(Capprobe::new(Default::default(), facts)),
        Box::new(Bprobe::new(Default::default(), facts)),
        Box::new(Nettimer::new(Default::default(), facts)),
        Box::new(Pathrate::new(Default::default(), facts)),
        Box::new(SparedRuns::new(Default::default(), facts)),
        Box::new(ShaperProbe::new(Default::default(), facts)),
    ]
}

fn nanos() -> impl Strategy<Value = Nanos> {
    prop_oneof![any::<i64>(), -1_000_000..1_000_000i64, Just(i64::MIN), Just(i64::MAX), Just(0)]
        .prop_map(Nanos)
}

fn stamps() -> impl Strategy<Value = Stamps> {
    (nanos(), prop::option::of(nanos())).prop_map(|(application, kernel)| Stamps {
        application,
        kernel,
        hardware: None,
    })
}

/// What the path might say of one packet that was asked for.
fn arrival() -> impl Strategy<Value = Option<Arrival>> {
    prop::option::weighted(
        0.9,
        (stamps(), prop_oneof![0..4u32, any::<u32>()], any::<u32>())
            .prop_map(|(stamps, order, copies)| Arrival { stamps, order, copies }),
    )
}

fn packet() -> impl Strategy<Value = Packet> {
    let size = prop_oneof![any::<u64>(), Just(0), Just(87), Just(112), Just(1526)];
    let hold = prop_oneof![Just(Nanos::ZERO), nanos()];
    (size, hold).prop_map(|(size, hold)| Packet { size: Bytes(size), hold })
}

fn facts() -> impl Strategy<Value = PathFacts> {
    let sizes = prop_oneof![Just((1526, 87)), any::<(u64, u64)>()];
    let end_link = prop::option::of(prop_oneof![any::<u64>(), Just(0), Just(100_000_000)]);
    (sizes, prop_oneof![Just(Nanos(1)), nanos()], end_link).prop_map(|((max, min), resolution, end_link)| {
        PathFacts {
            max_size: Bytes(max),
            min_size: Bytes(min),
            resolution,
            end_link: end_link.map(BitRate),
            narrow_link: None,
            coalescence: None,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_answer_to_what_was_asked_makes_a_method_panic(
        facts in facts(), capture: bool, answers in prop::collection::vec((arrival(), stamps()), 1..40),
    ) {
        let vantage = if capture { Vantage::Capture } else { Vantage::Application };
        for mut method in methods(&facts, vantage) {
            let mut answers = answers.iter().cycle();
            let mut steps = 0;
            while let Step::Send(fleet) = method.next() {
                prop_assert!(!fleet.is_empty());
                for departure in fleet {
                    let fates = departure.train.packets.iter().zip(&mut answers);
                    let fates = fates.map(|(&packet, &(arrival, sent))| Fate { packet, sent, arrival }).collect();
                    method.see(&Observation { direction: departure.train.direction, fates, overflowed: 0 });
                }
                steps += 1;
                prop_assert!(steps < 1000, "does not come to an end");
            }
            let report = method.report();
            prop_assert!(serde_json::to_string(&report).is_ok());
        }
    }

    #[test]
    fn no_foreign_train_makes_a_method_panic(
        facts in facts(), capture: bool,
        trains in prop::collection::vec(prop::collection::vec((packet(), stamps(), arrival()), 0..6), 0..20),
    ) {
        let vantage = if capture { Vantage::Capture } else { Vantage::Application };
        for mut method in methods(&facts, vantage) {
            for train in &trains {
                let fates = train.iter().map(|&(packet, sent, arrival)| Fate { packet, sent, arrival }).collect();
                method.see(&Observation { direction: Direction::Forward, fates, overflowed: 0 });
            }
            let _ = method.report();
        }
    }
}
