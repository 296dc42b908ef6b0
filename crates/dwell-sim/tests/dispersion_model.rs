//! The closed forms of `dwell_core::sizing` against the engine: pairs on paths without cross traffic arrive as (24)-(29)
//! say, to the nanosecond to which the engine tells times, and with cross traffic placed by hand too.

use dwell_core::sizing::{Crossing, Link, disperse, ratio};
use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{Framing, LinkSpec, Network, Outcome};
use proptest::prelude::*;

fn modelled(spec: &LinkSpec) -> Link {
    let rate = spec.rate.expect("a shaped link");
    match spec.framing {
        Framing::Ethernet => Link::ethernet(rate),
        Framing::None => Link::bare(rate),
    }
}

fn spec(mbps: u64, framing: Framing) -> LinkSpec {
    LinkSpec { framing, ..LinkSpec::new(Some(BitRate::from_mbps(mbps))) }
}

/// When packets that are handed over at once reach the far end.
fn arrivals(links: &[LinkSpec], sizes: &[u64]) -> Vec<Nanos> {
    let mut network = Network::new(links, 1);
    for (key, size) in sizes.iter().enumerate() {
        network.inject(Nanos::ZERO, key as u64, Bytes(*size));
    }
    let mut outcomes = Vec::new();
    network.finish(&mut outcomes);
    let mut at = vec![Nanos::MAX; sizes.len()];
    for outcome in outcomes {
        let Outcome::Leaves { key, at: then, .. } = outcome else { panic!("nothing is lost here") };
        at[key as usize] = then;
    }
    at
}

/// G at the end of the path.
fn gap(links: &[LinkSpec], heading: u64, trailing: u64) -> f64 {
    let at = arrivals(links, &[heading, trailing]);
    (at[1] - at[0]).as_f64()
}

fn paths() -> impl Strategy<Value = Vec<LinkSpec>> {
    let rate = prop_oneof![Just(10u64), Just(100), Just(155), Just(1_000), Just(10_000), 1u64..40_000];
    let one = (rate, 0i64..5_000_000);
    (prop::collection::vec(one, 1..12), any::<bool>()).prop_map(|(links, ethernet)| {
        let framing = if ethernet { Framing::Ethernet } else { Framing::None };
        let link = |(mbps, propagation)| LinkSpec { propagation: Nanos(propagation), ..spec(mbps, framing) };
        links.into_iter().map(link).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn pairs_arrive_as_the_model_says(links in paths(), heading in 72u64..9_000, trailing in 1u64..9_000) {
        let path: Vec<Link> = links.iter().map(modelled).collect();
        let model = disperse(&path, Bytes(heading), Bytes(trailing), &[]).last().unwrap().gap;
        let engine = gap(&links, heading, trailing);
        // Two arrivals, each rounded to the nanosecond, and a picosecond or so on each link.
        prop_assert!((engine - model).abs() <= 1.1, "engine {engine}, model {model}");
    }

    /// The size that sizing computes arrives back to back: G is P_t with its inter-frame gap on the end link.
    #[test]
    fn the_computed_size_arrives_back_to_back(links in paths(), heading in 100u64..9_000) {
        let path: Vec<Link> = links.iter().map(modelled).collect();
        let largest = ratio::largest_trailing(&path, Bytes(heading), &[]);
        prop_assume!(largest.is_some());
        let size = (largest.unwrap_or_default() + 1e-6).floor() as u64;
        let end = links.last().unwrap();
        let back_to_back = |size| end.rate.unwrap().nanos_for(end.framing.occupied(Bytes(size)));
        let engine = gap(&links, heading, size);
        prop_assert!((engine - back_to_back(size)).abs() <= 1.1, "{engine} against {}", back_to_back(size));
        // And a packet a tenth larger does not, where it would still be no larger than P_h.
        let larger = size + size / 10 + 2;
        if larger <= heading {
            let model = disperse(&path, Bytes(heading), Bytes(larger), &[]).last().unwrap().dispersion;
            let opened = gap(&links, heading, larger) - back_to_back(larger);
            prop_assert!(model > 0.0 && (opened - model).abs() <= 1.1, "{opened} against {model}");
        }
    }
}

/// What the inter-frame gap changes: on C2-100 of papers/000, 150 B keep together without it, and 139 B with it, for
/// s_t + 12 <= (1500 + 12) / 10.
#[test]
fn the_inter_frame_gap_takes_its_share() {
    let opened = |framing, size| {
        let links = [10, 155, 10, 100].map(|mbps| spec(mbps, framing));
        let end = BitRate::from_mbps(100).nanos_for(framing.occupied(Bytes(size)));
        gap(&links, 1500, size) - end
    };
    assert!(opened(Framing::None, 150).abs() < 1.0 && opened(Framing::None, 151) > 100.0);
    assert!(opened(Framing::Ethernet, 139).abs() < 1.0 && opened(Framing::Ethernet, 140) > 100.0);
    // 150 B on Ethernet: (162 B at 10 Mb/s) - (1512 B at 100 Mb/s) = 129.6 - 120.96 us.
    assert!((opened(Framing::Ethernet, 150) - 8_640.0).abs() <= 1.0);
}

/// (27), (28): packets of others that enter right before P_h, and right between the two, on the second link.
#[test]
fn cross_traffic_placed_by_hand_parts_pairs_as_the_model_says() {
    for framing in [Framing::None, Framing::Ethernet] {
        let (first, rest) = (spec(100, framing), [spec(10, framing), spec(100, framing)]);
        for (ahead, between) in [(0, 0), (1, 0), (3, 0), (0, 1), (0, 4), (2, 2), (10, 10)] {
            // Alone on the first link, then with the others in the second link's queue.
            let [heading, trailing] = [1500u64, 700].map(|size| first.rate.unwrap().time_for(Bytes(size)));
            let spacing = first.rate.unwrap().time_for(framing.gap());
            let mut network = Network::new(&rest, 1);
            let mut key = 0;
            let mut inject = |network: &mut Network, at: Nanos, size: u64, count: u32| {
                for _ in 0..count {
                    network.inject(at, key, Bytes(size));
                    key += 1;
                }
                key
            };
            inject(&mut network, heading, 64, ahead);
            let head = inject(&mut network, heading, 1500, 1) - 1;
            inject(&mut network, heading, 64, between);
            let tail = inject(&mut network, heading + spacing + trailing, 700, 1) - 1;
            let mut outcomes = Vec::new();
            network.finish(&mut outcomes);
            let at = |wanted| {
                let found = outcomes.iter().find_map(|outcome| match outcome {
                    // The others leave after the second link in the model, but here they go on to the third.
                    Outcome::Leaves { key, at, .. } if *key == wanted => Some(*at),
                    _ => None,
                });
                found.expect("it arrived")
            };
            let engine = (at(tail) - at(head)).as_f64();
            let path: Vec<Link> = [first.clone()].iter().chain(&rest).map(modelled).collect();
            let crossing = Crossing { ahead, between, size: Bytes(64) };
            let crossings = [Crossing::default(), crossing];
            let model = disperse(&path, Bytes(1500), Bytes(700), &crossings)[2].gap;
            assert!((engine - model).abs() <= 2.0, "u {ahead}, v {between}, {framing:?}: {engine}, {model}");
        }
    }
}
