//! Rules that no single key can check for itself.

use super::{ClockSpec, HostSpec, Scenario};
use crate::link::{LinkSpec, Offered, QueueLimit};
use dwell_core::unit::ETHERNET_OVERHEAD;
use dwell_core::{Bytes, Nanos};

/// A key, and what is wrong with it.
type Problem = (String, String);

const MOST_LINKS: usize = 64;
const MTU: std::ops::RangeInclusive<Bytes> = Bytes(68)..=Bytes(65_535);
const CROSS_SIZE: std::ops::RangeInclusive<Bytes> = Bytes(1)..=Bytes(65_561);
const RESOLUTION: std::ops::RangeInclusive<Nanos> = Nanos(1)..=Nanos(1_000_000);

/// The first rule that `scenario` breaks.
pub(super) fn first_problem(scenario: &Scenario) -> Option<Problem> {
    if scenario.name.trim().is_empty() {
        return Some(("name".to_owned(), "is empty; give the scenario a name".to_owned()));
    }
    if !MTU.contains(&scenario.mtu) {
        let problem = format!("{} is out of range: an IP packet of 68 to 65535 B", scenario.mtu);
        return Some(("mtu".to_owned(), problem));
    }
    host("source", &scenario.source)
        .or_else(|| host("destination", &scenario.destination))
        .or_else(|| links("links", &scenario.links, scenario.mtu))
        .or_else(|| scenario.reverse.as_ref().and_then(|reverse| links("reverse", reverse, scenario.mtu)))
}

fn host(at: &str, host: &HostSpec) -> Option<Problem> {
    let later = host.nic_change.map(|change| change.to);
    for (key, nic) in [("nic", Some(host.nic)), ("nic_change.to", later)] {
        if let Some((part, problem)) = nic.and_then(|nic| nic.problem()) {
            return Some((format!("{at}.{key}"), format!("{part}: {problem}")));
        }
    }
    if !(0.0..=1.0).contains(&host.kernel_stamp_at) {
        let problem =
            format!("{} is out of range: 0 (start of the kernel stage) to 1 (end)", host.kernel_stamp_at);
        return Some((format!("{at}.kernel_stamp_at"), problem));
    }
    clock(&format!("{at}.clock"), &host.clock)
}

fn clock(at: &str, clock: &ClockSpec) -> Option<Problem> {
    if !RESOLUTION.contains(&clock.resolution) {
        let problem = format!("{} is out of range: 1 ns to 1 ms", clock.resolution);
        return Some((format!("{at}.resolution"), problem));
    }
    if !(-10_000.0..=10_000.0).contains(&clock.skew_ppm) {
        let problem = format!("{} is out of range: -10000 to 10000 (1 %)", clock.skew_ppm);
        return Some((format!("{at}.skew_ppm"), problem));
    }
    None
}

fn links(at: &str, links: &[LinkSpec], mtu: Bytes) -> Option<Problem> {
    if links.is_empty() || links.len() > MOST_LINKS {
        let problem = format!("has {} links; a path has 1 to {MOST_LINKS}", links.len());
        return Some((at.to_owned(), problem));
    }
    // Share of each link's time that is asked of it.
    let mut load = vec![0.0; links.len()];
    for (index, link) in links.iter().enumerate() {
        let here = format!("{at}[{index}]");
        if link.loss > 1.0 {
            return Some((format!("{here}.loss"), format!("{} is more than 1, which is 100 %", link.loss)));
        }
        if let QueueLimit::Bytes(size) = link.queue
            && size < mtu + ETHERNET_OVERHEAD
        {
            let problem =
                format!("{size} does not hold one packet of the largest size ({})", mtu + ETHERNET_OVERHEAD);
            return Some((format!("{here}.queue"), problem));
        }
        for (number, cross) in link.cross.iter().enumerate() {
            let here = format!("{here}.cross[{number}]");
            let most = links.len() - index;
            if !(1..=most).contains(&cross.hops) {
                let problem = format!("{} is out of range: from this link on, 1 to {most}", cross.hops);
                return Some((format!("{here}.hops"), problem));
            }
            if !CROSS_SIZE.contains(&cross.size) {
                let problem = format!("{} is out of range: 1 to 65561 B", cross.size);
                return Some((format!("{here}.size"), problem));
            }
            let bits = match (cross.offered, link.rate) {
                (Offered::Rate(rate), _) => rate.0 as f64,
                (Offered::Load(_), None) => {
                    let problem =
                        "an unshaped link has no rate to take a share of; give `rate` instead".to_owned();
                    return Some((format!("{here}.load"), problem));
                }
                (Offered::Load(load), Some(rate)) => load * rate.0 as f64,
            };
            for passed in index..index + cross.hops {
                load[passed] += links[passed].rate.map_or(0.0, |rate| bits / rate.0 as f64);
            }
        }
    }
    let overloaded = links.iter().zip(&load).position(|(link, load)| match link.queue {
        QueueLimit::Unlimited => *load >= 1.0,
        _ => *load > 10.0,
    })?;
    let limit = if links[overloaded].queue == QueueLimit::Unlimited {
        "an unlimited queue needs less than 100 %"
    } else {
        "at most 1000 % is allowed"
    };
    let problem = format!("cross traffic asks for {:.0} % of this link; {limit}", load[overloaded] * 100.0);
    Some((format!("{at}[{overloaded}]"), problem))
}
