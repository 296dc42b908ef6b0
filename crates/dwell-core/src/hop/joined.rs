//! What the methods tell together of each hop.

use super::limit::limit;
use super::narrow::{NARROWER, contradicted, narrow};
use super::{Pathchar, Pathneck, Route, Says, Segment, Tight};
use crate::limit::Verdict;
use crate::report::{Finding, Side, Unit};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A layer-2 hop between two routers, which stores and forwards and tells nobody.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HiddenHop {
    /// What pathchar makes of the links on both of its sides together, in bits per second.
    #[serde(rename = "apparent_bps")]
    pub apparent: f64,
    /// What each of them carries at least, by the dispersion of trains that crossed them.
    #[serde(rename = "carried_bps")]
    pub carried: f64,
    /// The rate of the other link, if one of them carries just that.
    #[serde(rename = "implied_bps")]
    pub implied: f64,
}

/// What was found of one hop and of the link that ends there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HopFound {
    /// Its number, from 1.
    pub hop: u8,
    /// Who answers there.
    pub address: Option<IpAddr>,
    /// What is said there.
    pub says: Option<Says>,
    /// The least round trip of the smallest probe.
    pub round_trip: Finding,
    /// The link's capacity by the rise of round trips with the size (`pathchar`).
    pub capacity: Finding,
    /// The capacity of the narrowest link up to here by dispersion (`segment`), in bits that a packet takes of Ethernet.
    pub segment_capacity: Finding,
    /// Where the two contradict each other.
    #[serde(rename = "hidden_hop")]
    pub hidden: Option<HiddenHop>,
    /// Probes of `pathchar`, and answers.
    pub asked: u64,
    /// The latter.
    pub answered: u64,
    /// How far apart its messages are, where it limits them.
    #[serde(rename = "limit_ns")]
    pub limit: Option<Nanos>,
    /// How many addresses answered there in the survey.
    pub addresses: usize,
}

/// What is known of a path hop by hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Joined {
    /// Hop by hop.
    pub hops: Vec<HopFound>,
    /// The first link that is as narrow as the path.
    pub narrow_hop: Option<u8>,
    /// Its capacity.
    pub narrow_link_capacity: Finding,
    /// What limits the path, and what that was seen by.
    pub verdict: Verdict,
    /// The link with the least free.
    #[serde(rename = "tight_link")]
    pub tight: Option<Tight>,
    /// Why that is not known, where it is not.
    #[serde(rename = "no_tight_link")]
    pub no_tight: Option<String>,
    /// Doubts.
    pub warnings: Vec<String>,
}

/// A capacity whose interval is no wider than this share of it tells what a link's traffic takes.
const WELL: f64 = 0.1;

/// Brings together what the methods found on one route.
#[must_use]
pub fn join(route: &Route, pathchar: &Pathchar, segment: &Segment, pathneck: &Pathneck) -> Joined {
    let (mut capacities, mut segments) = (pathchar.capacities(), segment.capacities());
    let none = || Finding::unmeasurable("nobody answers at this hop");
    let first = route.answering().next().and_then(|stop| capacities.get(&stop.hop)).cloned();
    let mut hops: Vec<HopFound> = route
        .stops
        .iter()
        .map(|stop| {
            let capacity = capacities.remove(&stop.hop).unwrap_or_else(none);
            let segment_capacity = confirmed(segments.remove(&stop.hop).unwrap_or_else(none), first.as_ref());
            let [asked, answered] = pathchar.tally(stop.hop);
            let least = pathchar.round_trip(stop.hop).or(stop.round_trip.map(Nanos::as_f64));
            HopFound {
                hop: stop.hop,
                address: stop.address,
                says: stop.says,
                round_trip: least.map_or_else(none, |ns| {
                    Finding::at_most(
                        ns,
                        Unit::Ns,
                        "the least that was seen, the making of the message included",
                    )
                }),
                hidden: None,
                capacity,
                segment_capacity,
                asked,
                answered,
                limit: pathchar.limit(stop.hop),
                addresses: stop.addresses,
            }
        })
        .collect();
    let contradicted = contradicted(&mut hops);
    at_most_so_far(&mut hops);
    for hop in hops.iter_mut().filter(|hop| pathchar.before(hop.hop) + 1 == hop.hop) {
        hop.hidden = hidden(&hop.capacity, &hop.segment_capacity);
    }
    let (narrow_hop, narrow_link_capacity) = narrow(&hops, contradicted);
    let verdict = limit(narrow_hop, &narrow_link_capacity, segment.is_sender_limited());
    let warnings = warnings(route, &hops);
    let no_tight = pathneck.refusal();
    let tight = if no_tight.is_some() {
        None
    } else {
        pathneck.tight(|hop| carries(&hops, hop)).map(|tight| within(tight, &hops))
    };
    Joined { hops, narrow_hop, narrow_link_capacity, verdict, tight, no_tight, warnings }
}

/// A host that sends no faster than trains arrive may be slow itself, or hang on the link that is the narrowest: that one is
/// the first, and pathchar knows it: it carries what was seen at least, and no more than pathchar's interval.
fn confirmed(segment: Finding, first: Option<&Finding>) -> Finding {
    match (&segment, first) {
        (Finding::Bound { bound, side: Side::Lower, .. }, Some(Finding::Value { low, high, .. }))
            if (low * (1.0 - NARROWER)..=high * (1.0 + NARROWER)).contains(bound) =>
        {
            Finding::value(*bound, *bound, high.max(*bound), Unit::Bps)
        }
        _ => segment,
    }
}

/// The narrowest link up to a hop carries no more than the narrowest up to a hop before it.
fn at_most_so_far(hops: &mut [HopFound]) {
    let mut least: Option<Finding> = None;
    for hop in hops {
        let Some(found) = hop.segment_capacity.estimate() else { continue };
        match &least {
            Some(so_far) if so_far.estimate().is_some_and(|so_far| found > so_far) => {
                hop.segment_capacity = so_far.clone();
            }
            _ => least = Some(hop.segment_capacity.clone()),
        }
    }
}

/// All links up to a hop carry what its dispersion says. A link that pathchar finds to carry less is therefore no single
/// link: it stores and forwards more than once.
fn hidden(capacity: &Finding, segment: &Finding) -> Option<HiddenHop> {
    let Finding::Value { value: apparent, high, .. } = capacity else { return None };
    let (carried, least) = match segment {
        Finding::Value { value, low, .. } => (*value, *low),
        Finding::Bound { bound, side: Side::Lower, .. } => (*bound, *bound),
        _ => return None,
    };
    (*high < least * (1.0 - NARROWER)).then(|| HiddenHop {
        apparent: *apparent,
        carried,
        implied: 1.0 / (1.0 / apparent - 1.0 / carried),
    })
}

/// What the link that ends at a hop carries, where that is known well: by round trips, or by dispersion where it is narrower than all
/// before it.
fn carries(hops: &[HopFound], hop: u8) -> Option<f64> {
    let place = hops.iter().position(|found| found.hop == hop)?;
    match &hops[place].capacity {
        Finding::Value { value, low, high, .. }
            if high - low <= WELL * value && hops[place].hidden.is_none() =>
        {
            Some(*value)
        }
        _ => {
            let so_far = hops[place].segment_capacity.estimate()?;
            let before =
                hops[..place].iter().filter_map(|hop| hop.segment_capacity.estimate()).reduce(f64::min)?;
            (so_far < before * (1.0 - NARROWER)).then_some(so_far)
        }
    }
}

/// No more is free on a link than it carries, nor than came through all links up to it.
fn within(tight: Tight, hops: &[HopFound]) -> Tight {
    let of = hops.iter().find(|hop| hop.hop == tight.hop);
    let carried = of.into_iter().flat_map(|hop| [&hop.capacity, &hop.segment_capacity]);
    let most = carried.filter_map(|finding| match finding {
        Finding::Value { high, .. } => Some(*high),
        _ => None,
    });
    match (&tight.free, most.reduce(f64::min)) {
        (Finding::Bound { bound, .. }, Some(most)) if most < *bound => {
            let free = Finding::at_most(most, Unit::Bps, "the links up to there carry no more");
            Tight { free, ..tight }
        }
        _ => tight,
    }
}

fn warnings(route: &Route, hops: &[HopFound]) -> Vec<String> {
    let mut warnings = Vec::new();
    let many: Vec<String> =
        hops.iter().filter(|hop| hop.addresses > 1).map(|hop| hop.hop.to_string()).collect();
    if !many.is_empty() {
        warnings.push(format!(
            "several addresses answer at hop {}: the path is spread over several ways, and one hop's probes may have taken \
             another than the next one's",
            many.join(", ")
        ));
    }
    match route.stops.last() {
        None => warnings.push(
            "nobody answers on the way: routers send no time-exceeded messages here, or they are filtered"
                .to_owned(),
        ),
        Some(stop) if stop.says == Some(Says::Refused) => {
            warnings.push(format!(
                "somebody at hop {} does not let probes through (a filter): what lies behind is not seen",
                stop.hop
            ));
        }
        Some(stop) if stop.says != Some(Says::Reached) => warnings.push(format!(
            "the destination does not answer, and nobody behind hop {}: the links behind it are not measured",
            stop.hop
        )),
        Some(_) => {}
    }
    for HopFound { hop, limit, .. } in hops {
        if let Some(gap) = limit {
            warnings.push(format!(
                "hop {hop} limits its messages; it was asked no more often than once in {gap}"
            ));
        }
    }
    for hop in hops {
        if let Some(HiddenHop { apparent, carried, implied }) = hop.hidden {
            let mbps = |bps: f64| format!("{:.4} Mb/s", bps / 1e6);
            warnings.push(format!(
                "between hop {} and hop {} something stores and forwards that no TTL counts (a switch): round trips say {}, but \
                 trains came through at {}; a second link of about {} explains both",
                                hop.hop - 1,
                hop.hop, mbps(apparent), mbps(carried), mbps(implied)
            ));
        }
    }
    warnings
}
