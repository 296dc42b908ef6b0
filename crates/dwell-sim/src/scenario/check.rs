//! Rules that no single key can check for itself.

use super::problem::{MTU, Problem};
use super::{ClockSpec, HostSpec, Scenario, check_link, check_traffic as traffic};
use crate::link::{Balance, Discipline, LinkSpec, QueueLimit};
use dwell_core::{Bytes, Nanos};

const MOST_LINKS: usize = 64;
/// The program shall have its turn now and then.
const MOST_BUSY: f64 = 0.99;
const SLICE: std::ops::RangeInclusive<Nanos> = Nanos(1_000)..=Nanos(1_000_000_000);
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
    if let Some(busy) = host.busy {
        if !(0.0..MOST_BUSY).contains(&busy.share) {
            let problem = format!("{} is out of range: 0 to below {MOST_BUSY}", busy.share);
            return Some((format!("{at}.busy.share"), problem));
        }
        if !SLICE.contains(&busy.slice) {
            return Some((
                format!("{at}.busy.slice"),
                format!("{} is out of range: 1 us to 1 s", busy.slice),
            ));
        }
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
    let each = links.iter().enumerate();
    let broken = each.map(|(index, link)| check_link::link(&format!("{at}[{index}]"), link, mtu));
    broken.flatten().next().or_else(|| check_link::ends(at, links)).or_else(|| loads(at, links))
}

/// What flows ask of a link, in bits per second.
#[derive(Copy, Clone, Default)]
struct Asked {
    all: f64,
    /// The largest of them.
    most: f64,
}

impl Asked {
    fn add(&mut self, bits: f64) {
        self.all += bits;
        self.most = self.most.max(bits);
    }
}

/// The first flow that cannot be, or the first link of which flows ask for more than it has.
fn loads(at: &str, links: &[LinkSpec]) -> Option<Problem> {
    let mut asked = vec![Asked::default(); links.len()];
    // Of each of parallel links, what enters there.
    let mut own: Vec<Vec<Asked>> =
        links.iter().map(|link| vec![Asked::default(); link.parallel.len()]).collect();
    for (index, link) in links.iter().enumerate() {
        let here = format!("{at}[{index}]");
        for (number, cross) in link.cross.iter().enumerate() {
            match traffic::offered(&format!("{here}.cross[{number}]"), cross, &links[index..]) {
                Ok(bits) => asked[index..index + cross.hops].iter_mut().for_each(|asked| asked.add(bits)),
                Err(problem) => return Some(problem),
            }
        }
        for (which, member) in link.parallel.iter().enumerate() {
            for (number, cross) in member.cross.iter().enumerate() {
                let here = format!("{here}.parallel[{which}].cross[{number}]");
                match traffic::offered(&here, cross, std::slice::from_ref(member)) {
                    Ok(bits) => own[index][which].add(bits),
                    Err(problem) => return Some(problem),
                }
            }
        }
    }
    links.iter().enumerate().find_map(|(index, link)| {
        let (here, asked) = (format!("{at}[{index}]"), asked[index]);
        let spread = asked.all / link.parallel.len() as f64;
        let members = link.parallel.iter().zip(&own[index]).enumerate().find_map(|(which, (member, own))| {
            let share = match link.balance {
                Balance::Packet => spread,
                // By chance all may take the same one; who then loses packets is unlucky, who queues without end is not.
                Balance::Flow if needs_room(member) => asked.all,
                Balance::Flow => spread.max(asked.most),
            };
            overload(&format!("{here}.parallel[{which}]"), member, own.all + share)
        });
        members.or_else(|| overload(&here, link, asked.all))
    })
}

/// Whether packets might wait for ever if the link had no time to spare.
fn needs_room(link: &LinkSpec) -> bool {
    link.queue == QueueLimit::Unlimited || matches!(link.discipline, Discipline::Priority { .. })
}

/// What is wrong if flows ask for `bits` per second of `link`.
fn overload(here: &str, link: &LinkSpec, bits: f64) -> Option<Problem> {
    let capacity = link.rate.into_iter().chain(link.tokens()).min()?;
    let load = bits / capacity.0 as f64;
    // A few flows of exact shares may add up to a whole, and a little more in floating point.
    let limit = if link.queue == QueueLimit::Unlimited && load >= 1.0 {
        "an unlimited queue needs less than 100 %"
    } else if needs_room(link) && load >= 1.0 {
        "a queue that serves by priority needs less than 100 %, or the lowest class never has its turn"
    } else if load > 1.0 + 1e-9 {
        "a link carries 100 %"
    } else {
        return None;
    };
    Some((here.to_owned(), format!("cross traffic asks for {:.1} % of this link; {limit}", load * 100.0)))
}
