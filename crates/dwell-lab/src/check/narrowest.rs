//! Which of a scenario's links sets the pace.

use dwell_core::BitRate;
use dwell_sim::LinkSpec;

/// The narrowest of the links, and its place among them. Of parallel links the slowest counts, and as often as there are of them where
/// packets take them in turn.
pub(crate) fn narrowest(links: &[LinkSpec]) -> Option<(usize, LinkSpec)> {
    let as_one = |link: &LinkSpec| {
        let slowest = link.parallel.iter().min_by_key(|member| member.rate).unwrap_or(link);
        let times = if link.balance.is_flow() { 1 } else { link.parallel.len().max(1) as u64 };
        Some(LinkSpec { rate: Some(BitRate(slowest.rate?.0.saturating_mul(times))), ..slowest.clone() })
    };
    let limited = links.iter().enumerate().filter_map(|(place, link)| Some((place, as_one(link)?)));
    limited.min_by_key(|(_, link)| link.rate)
}
