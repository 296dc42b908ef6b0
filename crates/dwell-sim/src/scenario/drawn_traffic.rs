//! Cross traffic of scenarios that are drawn at random.

use super::ranges::{Ranges, even_log};
use crate::link::LinkSpec;
use crate::random::Stream;
use crate::traffic::{CrossKind, CrossSpec, Offered, ParetoSpec, SizeShare, Sizes};
use dwell_core::{BitRate, Bytes, Nanos};
use rand::RngExt;
use std::ops::Range;

/// Sizes of packets on the wire.
const SIZES: [Bytes; 4] = [Bytes(78), Bytes(252), Bytes(602), Bytes(1526)];

/// A flow of less is none.
const LEAST: f64 = 1e3;

/// A flow that is not yet written down at the link where it enters.
struct Drawn {
    /// Links that it passes.
    passes: Range<usize>,
    bits: f64,
    kind: CrossKind,
    sizes: Sizes,
}

/// Adds cross traffic that takes of each link the share drawn for it.
pub(super) fn load(rng: &mut Stream, ranges: &Ranges, links: &mut [LinkSpec]) {
    let rates: Vec<f64> = links.iter().map(|link| link.rate.map_or(0.0, |rate| rate.0 as f64)).collect();
    let least = *ranges.load.start();
    let most = rng.random_range(ranges.load.clone());
    let busiest = rng.random_range(0..links.len());
    // Bits per second that each link still has room for.
    let share = |index| if index == busiest { most } else { rng.random_range(least..=most) };
    let mut room: Vec<f64> =
        (0..links.len()).map(share).zip(&rates).map(|(share, rate)| share * rate).collect();
    let mut flows = Vec::new();
    for index in 0..links.len() {
        // Half of the links have traffic that goes further.
        if rng.random() {
            let passes = index..rng.random_range(index + 1..=links.len());
            let narrowest = room[passes.clone()].iter().copied().fold(f64::INFINITY, f64::min);
            let part = rng.random_range(0.1..=0.7);
            flows.extend(flow(rng, &rates, passes, &mut room, narrowest * part));
        }
    }
    for index in 0..links.len() {
        if rng.random() {
            let part = room[index] * rng.random_range(0.2..=0.8);
            flows.extend(flow(rng, &rates, index..index + 1, &mut room, part));
        }
        let rest = room[index];
        flows.extend(flow(rng, &rates, index..index + 1, &mut room, rest));
    }
    lighten(&mut flows, links, ranges.carried);
    for Drawn { passes, bits, kind, sizes } in flows {
        let (offered, hops) = (Offered::Rate(BitRate(bits as u64)), passes.len());
        links[passes.start].cross.push(CrossSpec { kind, offered, sizes, hops, priority: 0 });
    }
}

/// A flow of `bits` per second, taken out of the room of the links that it passes.
fn flow(rng: &mut Stream, rates: &[f64], passes: Range<usize>, room: &mut [f64], bits: f64) -> Option<Drawn> {
    let bits = bits.floor();
    if bits < LEAST {
        return None;
    }
    room[passes.clone()].iter_mut().for_each(|room| *room -= bits);
    let sizes = if rng.random_bool(0.4) {
        let share = |size| SizeShare { size, weight: (rng.random_range(0.1..=1.0) * 100.0f64).round() };
        Sizes::Mix(SIZES.map(share).to_vec())
    } else {
        SIZES[rng.random_range(0..SIZES.len())].into()
    };
    let kind = match rng.random_range(0..20) {
        0..3 => CrossKind::Constant,
        3..8 => {
            // Bursts at up to the rate of the link where it enters; a flow that is always near it has none.
            let peak = even_log(rng, bits * 1.2, rates[passes.start].max(bits * 1.2)).ceil();
            let packet = sizes.mean_bits(crate::framing::Framing::Ethernet) * 1e9 / peak;
            let on = even_log(rng, 1e6, 1e8).max(10.0 * packet);
            let shape = (rng.random_range(1.2..=1.9) * 100.0f64).round() / 100.0;
            let on = Nanos::from_f64(on);
            CrossKind::Pareto(ParetoSpec { shape, on, off: None, peak: BitRate(peak as u64) })
        }
        _ => CrossKind::Poisson,
    };
    Some(Drawn { passes, bits, kind, sizes })
}

/// Lets more links rest, until those that never do carry no more than `carried` packets per second.
fn lighten(flows: &mut Vec<Drawn>, links: &[LinkSpec], carried: f64) {
    loop {
        let costs: Vec<f64> = (0..links.len()).map(|index| cost(flows, links, index)).collect();
        let Some(dearest) = (0..links.len()).max_by(|a, b| costs[*a].total_cmp(&costs[*b])) else { return };
        if costs.iter().sum::<f64>() <= carried {
            return;
        }
        let (here, elsewhere) =
            std::mem::take(flows).into_iter().partition(|flow| flow.passes.contains(&dearest));
        *flows = elsewhere;
        for Drawn { passes, bits, kind, sizes } in here {
            // It ends ahead of the link, and begins anew there and behind it.
            for part in [passes.start..dearest, dearest..dearest + 1, dearest + 1..passes.end] {
                let restless = part.start == dearest && matches!(kind, CrossKind::Pareto(_));
                let kind = if restless { CrossKind::Poisson } else { kind.clone() };
                flows.extend((!part.is_empty()).then(|| Drawn {
                    passes: part,
                    bits,
                    kind,
                    sizes: sizes.clone(),
                }));
            }
        }
    }
}

/// Packets per second that link `index` carries one by one; 0 where it may rest.
fn cost(flows: &[Drawn], links: &[LinkSpec], index: usize) -> f64 {
    let rate = links[index].rate.map_or(f64::INFINITY, |rate| rate.0 as f64);
    let here: Vec<_> = flows.iter().filter(|flow| flow.passes.contains(&index)).collect();
    let through = here.iter().any(|flow| flow.passes.len() > 1);
    let fastest = |flow: &&Drawn| match flow.kind {
        CrossKind::Pareto(pareto) => pareto.peak.0 as f64,
        _ => flow.bits,
    };
    if !through && here.iter().map(fastest).sum::<f64>() < 0.95 * rate {
        return 0.0;
    }
    here.iter().map(|flow| flow.bits / flow.sizes.mean_bits(links[index].framing)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// Share of each link that cross traffic takes.
    fn loads(links: &[LinkSpec]) -> Vec<f64> {
        let mut loads = vec![0.0; links.len()];
        for (index, link) in links.iter().enumerate() {
            for cross in &link.cross {
                let bits = link.bits_of(cross).unwrap();
                for passed in index..index + cross.hops {
                    loads[passed] += bits / links[passed].rate.unwrap().0 as f64;
                }
            }
        }
        loads
    }

    #[test]
    fn each_link_is_loaded_within_the_range_and_the_busiest_evenly() {
        let ranges = Ranges { load: 0.2..=0.8, ..Ranges::default() };
        let busiest = |seed| {
            let loads = loads(&Scenario::random(seed, &ranges).links);
            for load in &loads {
                // Rates of flows are whole bits per second, and less than 1 kb/s is none.
                assert!((0.1997..=0.8).contains(load), "seed {seed}: {load}");
            }
            loads.into_iter().fold(0.0, f64::max)
        };
        let mean = (0..400).map(busiest).sum::<f64>() / 400.0;
        assert!((mean - 0.5).abs() < 0.035, "{mean}");
    }

    #[test]
    fn all_kinds_sizes_and_lengths_of_flows_are_drawn() {
        let drawn = (0..300).flat_map(|seed| Scenario::random(seed, &Ranges::default()).links);
        let flows: Vec<_> = drawn.flat_map(|link| link.cross).collect();
        let share = |is: fn(&CrossSpec) -> bool| {
            flows.iter().filter(|flow| is(flow)).count() as f64 / flows.len() as f64
        };
        for (what, got, least) in [
            ("constant", share(|flow| matches!(flow.kind, CrossKind::Constant)), 0.1),
            ("Poisson", share(|flow| matches!(flow.kind, CrossKind::Poisson)), 0.4),
            ("Pareto", share(|flow| matches!(flow.kind, CrossKind::Pareto(_))), 0.05),
            ("mixed", share(|flow| matches!(flow.sizes, Sizes::Mix(_))), 0.3),
            ("through several links", share(|flow| flow.hops > 1), 0.02),
        ] {
            assert!(got > least, "{what}: {got} of {} flows", flows.len());
        }
        let through =
            |path: &Scenario| path.links.iter().flat_map(|link| &link.cross).any(|flow| flow.hops > 1);
        let paths = (0..300).filter(|seed| through(&Scenario::random(*seed, &Ranges::default()))).count();
        assert!(paths > 100, "{paths} of 300 paths have traffic that passes several links");
    }

    #[test]
    fn what_never_rests_carries_no_more_than_it_may() {
        for seed in 0..300 {
            let ranges = Ranges::default();
            let links = Scenario::random(seed, &ranges).links;
            let mut flows = Vec::new();
            for (index, link) in links.iter().enumerate() {
                for cross in &link.cross {
                    flows.push(Drawn {
                        passes: index..index + cross.hops,
                        bits: link.bits_of(cross).unwrap(),
                        kind: cross.kind.clone(),
                        sizes: cross.sizes.clone(),
                    });
                }
            }
            let carried: f64 = (0..links.len()).map(|index| cost(&flows, &links, index)).sum();
            assert!(carried <= ranges.carried, "seed {seed}: {carried} packets per second");
        }
    }
}
