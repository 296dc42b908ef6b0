//! What of a scenario the lab carries, and what is for the simulator alone.

use super::checked::{LabCheck, Verdict};
use super::delivered::Delivered;
use crate::testbed::Carriage;
use dwell_core::Nanos;
use dwell_sim::{HostSpec, Scenario};

/// A rate may differ by this share.
const RATE_WITHIN: f64 = 0.02;
/// A median time may differ by this share, or by the time that stands with its name below.
const TIME_WITHIN: f64 = 0.02;

pub(super) fn on(check: &LabCheck, scenario: &Scenario) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut say = |condition: &str, carried: bool, reason: String| {
        verdicts.push(Verdict { condition: condition.to_owned(), carried, reason });
    };
    if let (Some(asked), delivered) = (check.rate_asked, check.rate_delivered) {
        // Cross traffic takes its share of the link: what is left to us is not the link's rate.
        // And what a NIC hands over in batches does not show it either.
        let alone = scenario.links.iter().all(|link| link.cross.is_empty()) && check.nic.is_none();
        if alone {
            let off = delivered.map_or(1.0, |rate| (rate.0 as f64 / asked.0 as f64 - 1.0).abs());
            let told = delivered.map_or("nothing arrived".to_owned(), |rate| format!("{rate} of {asked}"));
            say("rate", off <= RATE_WITHIN, told);
        }
    }
    for (condition, times, floor) in [
        ("dispersion", check.dispersion, Nanos(2_000)),
        ("smallest dispersion", check.smallest_dispersion, Nanos(2_000)),
        ("one-way delay", check.one_way_delay, Nanos(5_000)),
        ("delay by size", check.size_against_delay, Nanos(5_000)),
        ("jitter", check.jitter, Nanos(5_000)),
    ] {
        if let Some((asked, error)) = times.and_then(|times: Delivered| times.asked.zip(times.error)) {
            let allowed = floor.as_f64().max(TIME_WITHIN * asked.median.as_f64());
            let carried = error.median.as_f64().abs() <= allowed;
            say(condition, carried, format!("off by {} at the median of {}", error.median, asked.median));
        }
    }
    if let Some(nic) = &check.nic {
        say("nic", nic.carried(), nic.reason());
    }
    if let Some(trains) = &check.trains {
        say("trains", trains.carried(), trains.reason());
        if let Some(parted) = trains.parted() {
            say("spacing", parted, trains.spacing());
        }
    }
    if check.lost_otherwise > 0 {
        say("loss", false, format!("the lab lost {} of {} packets itself", check.lost_otherwise, check.sent));
    }
    if matches!(check.carriage, Carriage::Tbf | Carriage::Htb) {
        let reverse = scenario.reverse_links();
        if reverse.iter().any(|link| !link.cross.is_empty()) {
            say("cross traffic on the way back", false, "kernel shapers get it forward only".to_owned());
        }
    }
    if scenario.source.spin != HostSpec::default().spin {
        say("source: spin", false, "in a lab only the destination spins".to_owned());
    }
    for (name, host) in [("source", &scenario.source), ("destination", &scenario.destination)] {
        if let Some(what) = simulated(host) {
            let reason = "the lab's hosts are this machine's kernel".to_owned();
            say(&format!("{name}: {what}"), false, reason);
        }
    }
    verdicts
}

/// What of a host's description only the simulator plays.
fn simulated(host: &HostSpec) -> Option<String> {
    let usual = HostSpec::default();
    let parts: Vec<&str> = [
        ("kernel", host.kernel != usual.kernel || host.interrupt_cold.is_some()),
        ("wake_up", host.wake_up != usual.wake_up || host.wake_up_cold.is_some()),
        ("read", host.read != usual.read),
        ("service", host.service != usual.service),
        ("turn_round", host.turn_round != usual.turn_round),
        ("send", host.send != usual.send),
        ("answer", host.answer != usual.answer || host.answer_cold.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
