//! Rules for one link, or for several in parallel.

use super::problem::{MTU, Problem};
use crate::link::{Balance, Discipline, LinkSpec, QueueLimit, Shaper};
use dwell_core::Bytes;
use dwell_core::unit::ETHERNET_OVERHEAD;

/// The first rule that the link `link`, written at `here`, breaks; `mtu` is the path's.
pub(super) fn link(here: &str, link: &LinkSpec, mtu: Bytes) -> Option<Problem> {
    if link.parallel.is_empty() {
        let lonely = (link.balance == Balance::Packet).then(|| {
            (format!("{here}.balance"), "there is nothing to balance: give `parallel` links".to_owned())
        });
        return lonely.or_else(|| single(here, link, mtu));
    }
    let bare = LinkSpec::bundle(link.parallel.clone(), link.balance);
    if *link != bare {
        let problem = "has keys besides `parallel` and `balance`; give them to its parallel links";
        return Some((here.to_owned(), problem.to_owned()));
    }
    link.parallel.iter().enumerate().find_map(|(number, member)| {
        let here = format!("{here}.parallel[{number}]");
        if member.parallel.is_empty() {
            self::link(&here, member, mtu)
        } else {
            let problem = "parallel links cannot themselves be of parallel links";
            Some((format!("{here}.parallel"), problem.to_owned()))
        }
    })
}

/// A host hangs on one link at either end.
pub(super) fn ends(at: &str, links: &[LinkSpec]) -> Option<Problem> {
    let last = links.len() - 1;
    let bundled = [0, last].into_iter().find(|end| !links[*end].parallel.is_empty())?;
    let problem = "a host hangs on one link; put a link between it and the parallel ones (`rate = \"unshaped\"` \
                   is one that adds nothing)";
    Some((format!("{at}[{bundled}].parallel"), problem.to_owned()))
}

fn single(here: &str, link: &LinkSpec, mtu: Bytes) -> Option<Problem> {
    let largest = link.mtu.unwrap_or(mtu).min(mtu) + ETHERNET_OVERHEAD;
    let reordered = link.reordering.as_ref().map_or(0.0, |reordering| reordering.share);
    let shares = [("loss", link.loss), ("duplication", link.duplication), ("reordering.share", reordered)];
    if let Some((key, share)) = shares.into_iter().find(|(_, share)| *share > 1.0) {
        return Some((format!("{here}.{key}"), format!("{share} is more than 1, which is 100 %")));
    }
    if let QueueLimit::Bytes(size) = link.queue
        && size < largest
    {
        let problem = format!("{size} does not hold one packet of the largest size ({largest})");
        return Some((format!("{here}.queue"), problem));
    }
    if let Some(mtu) = link.mtu
        && !MTU.contains(&mtu)
    {
        let problem = format!("{mtu} is out of range: an IP packet of 68 to 65535 B");
        return Some((format!("{here}.mtu"), problem));
    }
    if let Some(most) = link.mtu.map(|mtu| mtu + ETHERNET_OVERHEAD) {
        let largest = link.cross.iter().map(|cross| cross.sizes.shares().iter().map(|one| one.size).max());
        if let Some(number) = largest.into_iter().position(|size| size.is_some_and(|size| size > most)) {
            let problem = format!("has packets larger than the {most} on the wire that this link carries");
            return Some((format!("{here}.cross[{number}]"), problem));
        }
    }
    if let Discipline::Priority { probes } = link.discipline
        && let Some(problem) = class(probes)
    {
        return Some((format!("{here}.discipline.priority.probes"), problem));
    }
    let classes = link.cross.iter().map(|cross| class(cross.priority));
    if let Some((number, problem)) = classes.enumerate().find_map(|(number, one)| Some((number, one?))) {
        return Some((format!("{here}.cross[{number}].priority"), problem));
    }
    let shaper = link.shaper.as_ref().and_then(|it| bucket(&format!("{here}.shaper"), it.burst, largest));
    let peak = || link.shaper.as_ref().and_then(|shaper| peak(&format!("{here}.shaper"), shaper));
    let policer =
        || link.policer.as_ref().and_then(|it| bucket(&format!("{here}.policer"), it.burst, largest));
    shaper.or_else(peak).or_else(policer)
}

fn class(class: u8) -> Option<String> {
    let highest = Discipline::HIGHEST;
    (class > highest).then(|| format!("{class} is out of range: 0 to {highest}, which goes first"))
}

fn bucket(here: &str, burst: Bytes, largest: Bytes) -> Option<Problem> {
    let problem = format!("{burst} is less than one packet of the largest size ({largest})");
    (burst < largest).then(|| (format!("{here}.burst"), problem))
}

fn peak(here: &str, shaper: &Shaper) -> Option<Problem> {
    let Shaper { rate, peak, .. } = *shaper;
    let below = peak.filter(|peak| *peak < rate)?;
    Some((format!("{here}.peak"), format!("{below} is below the rate of {rate}")))
}
