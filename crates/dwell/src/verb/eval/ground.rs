//! The facts of a scenario that decide which quantities can be identified.

use super::grid::EvalWorld;
use dwell_core::coalescence::{REPLIES_TAKE, SPACING};
use dwell_core::stats::quantile::quantile;
use dwell_core::truth::{Adapting, Crossed, Ground};
use dwell_core::unit::{ETHERNET_MIN, INTER_FRAME_GAP};
use dwell_core::{Bytes, Nanos, Passage};
use dwell_sim::nic::NicSpec;
use dwell_sim::{LinkSpec, Scenario, Times};

/// What a kernel takes from one answer to the next in the lab: `kernel_service_time` of a host there was 4.3 to 4.7 us.
const LAB_ANSWER: Nanos = Nanos::from_micros(5);

/// The smallest dispersion that was sent, but for one train in fifty.
pub(super) fn least_sent<'a>(passages: impl Iterator<Item = &'a Passage>) -> Nanos {
    let sent = passages.filter_map(|passage| match passage.observation.fates.as_slice() {
        [first, second, _] if second.packet.hold > Nanos::ZERO => {
            Some((second.sent.nearest_wire() - first.sent.nearest_wire()).as_f64())
        }
        _ => None,
    });
    Nanos::from_f64(quantile(&sent.collect::<Vec<_>>(), 0.02).unwrap_or(0.0))
}

/// Of `scenario`; stage and span are those of a run. In the lab the host is a real one, whose service time only its
/// runs show.
pub(super) fn of(scenario: &Scenario, world: EvalWorld) -> Ground {
    let host = &scenario.destination;
    let links = crossed(&scenario.links);
    let narrow = links.iter().filter_map(|link| link.rate).min();
    // Without any limit, packets come as fast as anybody could send them.
    let fastest = narrow.map_or(f64::INFINITY, |rate| 1e9 / rate.nanos_for(ETHERNET_MIN + INTER_FRAME_GAP));
    Ground {
        min_size: ETHERNET_MIN,
        max_size: scenario.max_size(),
        links,
        resolution: host.clock.resolution,
        kernel_stamps: host.kernel_stamps,
        stage: None,
        service: (world == EvalWorld::Sim).then(|| (host.service.median() + host.spin.median()).as_f64()),
        kind: host.nic.kind(),
        period: host.nic.period(),
        polls: if let NicSpec::Deferred { polls, .. } = host.nic { polls } else { 1 },
        adapting: adapting(&host.nic, fastest),
        span: Nanos::ZERO,
        spacing: Nanos::ZERO,
        rest: Nanos::ZERO,
        least_sent: Nanos::ZERO,
    }
}

/// The same where the destination's kernel answers, and the source's stamps the replies, which cross the links of both
/// ways.
pub(super) fn answering(scenario: &Scenario, world: EvalWorld) -> Ground {
    let (near, far) = (&scenario.source, &scenario.destination);
    let forth = of(scenario, world);
    let links = [forth.links.clone(), crossed(&scenario.reverse_links())].concat();
    let spacing = if world == EvalWorld::Sim { far.answer.median() } else { LAB_ANSWER };
    let cold = far.answer_cold.as_ref().unwrap_or(&far.answer);
    let woken = far.interrupt_cold.as_ref().map_or(Nanos::ZERO, Times::median);
    let ground = Ground {
        links,
        resolution: near.clock.resolution,
        kernel_stamps: near.kernel_stamps,
        spacing,
        rest: woken + (cold.median() - far.answer.median()).max(Nanos::ZERO),
        ..forth
    };
    let between = ground.smallest_dispersion() / REPLIES_TAKE;
    Ground { adapting: adapting(&far.nic, 1e9 / between.max(SPACING.as_f64())), ..ground }
}

/// The period at low rates and at `fastest` packets per second, by the rule of [`NicSpec::Adaptive`].
fn adapting(nic: &NicSpec, fastest: f64) -> Option<Adapting> {
    let NicSpec::Adaptive { least, most, slow, fast, .. } = *nic else { return None };
    let place = ((fastest / slow).ln() / (fast / slow).ln()).clamp(0.0, 1.0);
    Some(Adapting { least, reached: least + Nanos::from_f64((most - least).as_f64() * place) })
}

/// What others take of each link.
fn crossed(links: &[LinkSpec]) -> Vec<Crossed> {
    let mut crossed: Vec<Crossed> =
        links.iter().map(|link| Crossed { rate: link.rate, load: 0.0, largest: Bytes(0) }).collect();
    for (index, link) in links.iter().enumerate() {
        for cross in &link.cross {
            let bits = link.bits_of(cross).unwrap_or(0.0);
            for passed in crossed.iter_mut().skip(index).take(cross.hops) {
                let share = passed.rate.map_or(0.0, |rate| bits / rate.0 as f64);
                // A link cannot be busier than always.
                passed.load = (passed.load + share).min(1.0);
                if share > 0.0 {
                    passed.largest = passed.largest.max(cross.largest());
                }
            }
        }
    }
    crossed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_all_flows_add_up() {
        let text = "name = 'x'\n[[links]]\nrate = '100 Mb/s'\n\
                    [[links.cross]]\nkind = 'poisson'\nload = 0.3\nsize = '252 B'\nhops = 2\n\
                    [[links]]\nrate = '50 Mb/s'\n[[links.cross]]\nkind = 'constant'\nrate = '5 Mb/s'\n";
        let ground = of(&Scenario::parse("x", text).unwrap(), EvalWorld::Sim);
        assert!((ground.links[0].load - 0.3).abs() < 1e-9);
        assert!((ground.links[1].load - 0.7).abs() < 1e-9);
        assert_eq!((ground.links[0].largest, ground.links[1].largest), (Bytes(252), Bytes(1526)));
    }

    #[test]
    fn an_adaptive_period_is_the_one_that_the_path_reaches() {
        let text = |rate: &str| {
            format!(
                "name = 'x'\n[[links]]\nrate = '{rate}'\n[destination]\n\
                 nic = {{ adaptive = {{ least = '20 us', most = '200 us' }} }}\n"
            )
        };
        let reached = |rate: &str| {
            let scenario = Scenario::parse("x", &text(rate)).unwrap();
            of(&scenario, EvalWorld::Sim).adapting.map(|adapting| adapting.reached.0 / 1_000)
        };
        assert_eq!(reached("1 Gb/s"), Some(200));
        // 84 B take 672 us: 1,488 packets per second, fewer than the 2,000 that count as few.
        assert_eq!(reached("1 Mb/s"), Some(20));
        assert_eq!(reached("unshaped"), Some(200));
    }
}
