//! Packet-size ratios alpha = s_h / s_t that keep a compound probe together.
//!
//! Three answers to one question:
//!
//! - [`everywhere`]: alpha of (17) at every node. The dispersion gap is zero on every link.
//! - [`published`]: the paper's (20)-(23). The dispersion gap may open after the last narrow link, and closes again on
//!   the way to the end link.
//! - [`largest_trailing`]: the largest s_t that arrives without dispersion, exactly, cross traffic included.
//!
//! # Why the paper's rule needs a third
//!
//! (25) without cross traffic is delta_(i+1) = max(delta_i - dtr_i, 0), whose solution is
//! delta_n = max(0, max over z of the sum from i = z to n-1 of -dtr_i). So the dispersion at the end is zero if and only
//! if the left-hand side of (22) is not negative for *every* z, and the largest s_t is the least of (23) over all z. The
//! paper takes one z: the node of the largest link-capacity ratio after the (last) narrow link. On its four testbed paths
//! that is the least one. It is not where the dispersion closes before the end and opens once more: on 10, 155, 20, 100
//! Mb/s the paper's z is node 1, and s_t = 0.42 s_h; node 3, from 20 to 100 Mb/s, allows 0.2 s_h.

use super::{Crossing, Link};
use crate::unit::Bytes;

/// cr_i = c_(i+1) / c_i, node by node.
#[must_use]
pub fn capacities(path: &[Link]) -> Vec<f64> {
    path.windows(2).map(|node| node[1].rate.0 as f64 / node[0].rate.0 as f64).collect()
}

/// (17) alpha >= c_(i+1) / c_i at every node; at least 1, for P_t is not larger than P_h.
#[must_use]
pub fn everywhere(path: &[Link]) -> f64 {
    capacities(path).into_iter().fold(1.0, f64::max)
}

/// What (20)-(23) say of a path.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Published {
    /// z, counted from 1 as in the paper: the node that decides.
    pub node: usize,
    /// alpha as the equation yields it, below 1 where a P_t larger than P_h would do.
    pub ratio: f64,
}

impl Published {
    /// alpha of a P_t that is no larger than P_h.
    #[must_use]
    pub fn capped(&self) -> f64 {
        self.ratio.max(1.0)
    }
}

/// (20)-(23); `None` for a path without a node.
#[must_use]
pub fn published(path: &[Link]) -> Option<Published> {
    let nodes = path.len().checked_sub(1).filter(|nodes| *nodes > 0)?;
    let narrowest = path.iter().map(|link| link.rate).min()?;
    // Of several narrow links the last one counts: behind an earlier one the probe would meet the later one again.
    let narrow = path.iter().rposition(|link| link.rate == narrowest)?;
    let z = if narrow == nodes {
        // (20) s_h / c_n - s_h / (alpha c_(n-1)) = 0
        nodes - 1
    } else {
        // The largest link-capacity ratio after the narrow link, nearest to the destination.
        let ratios = capacities(path);
        (narrow..nodes).rev().reduce(|best, i| if ratios[i] > ratios[best] { i } else { best })?
    };
    Some(Published { node: z + 1, ratio: 1.0 / share(path, z) })
}

/// (23) s_t / s_h = (sum from j = z+1 to n of 1 / c_j) / (sum from j = z to n-1 of 1 / c_j); `z` counts from 0. With
/// the last node as z it is (21).
fn share(path: &[Link], z: usize) -> f64 {
    let slowness = |links: &[Link]| links.iter().map(|link| 1.0 / link.rate.0 as f64).sum::<f64>();
    slowness(&path[z + 1..]) / slowness(&path[z..path.len() - 1])
}

/// The largest P_t, in bytes and fractions of them, that reaches the end of the path without dispersion behind a P_h of
/// `heading`, though `crossings` meet them (see [`super::disperse`]); no larger than P_h. `None` where no P_t does: cross
/// traffic opens a gap that the links after it do not close.
#[must_use]
pub fn largest_trailing(path: &[Link], heading: Bytes, crossings: &[Crossing]) -> Option<f64> {
    let at = |i: usize| crossings.get(i).copied().unwrap_or_default();
    let mut most = heading.0 as f64;
    // From link z on, where Qt opens the gap, each node takes dtr of it (26), and nothing may be left in the end:
    // Qt_z + sum over the nodes of ((s_t + gap) / c_i - (s_h + gap) / c_(i+1) - Qh_i) <= 0.
    let (mut closing, mut slowness, mut gaps) = (0.0, 0.0, 0.0);
    for z in (0..path.len()).rev() {
        if let Some(next) = path.get(z + 1) {
            closing += next.time(heading) + next.spacing() + at(z + 1).ahead_on(next);
            slowness += 8e9 / path[z].rate.0 as f64;
            gaps += path[z].spacing();
        }
        let left = closing - gaps - at(z).between_on(&path[z]);
        // Less than a millionth of a nanosecond is rounding.
        if left < -1e-6 {
            return None;
        }
        if slowness > 0.0 {
            most = most.min(left / slowness);
        }
    }
    // A padded packet takes the time of the least one, however few bytes are its own.
    let least = path.iter().map(|link| link.least.0).max()?;
    (most >= least as f64 && most > 0.0).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::BitRate;

    fn path(mbps: &[u64]) -> Vec<Link> {
        mbps.iter().map(|mbps| Link::bare(BitRate::from_mbps(*mbps))).collect()
    }

    #[test]
    fn a_path_without_a_node_asks_for_nothing() {
        let one = path(&[100]);
        assert_eq!(everywhere(&one), 1.0);
        assert_eq!(published(&one), None);
        assert_eq!(largest_trailing(&one, Bytes(1500), &[]), Some(1500.0));
        assert_eq!(largest_trailing(&[], Bytes(1500), &[]), None);
    }

    #[test]
    fn the_published_rule_is_too_large_where_the_gap_closes_and_opens_again() {
        let path = path(&[10, 155, 20, 100]);
        let published = published(&path).unwrap();
        assert_eq!(published.node, 1);
        assert!((1.0 / published.ratio - 0.4247).abs() < 1e-4, "{}", 1.0 / published.ratio);
        let exact = largest_trailing(&path, Bytes(1500), &[]).unwrap();
        assert!((exact - 300.0).abs() < 1e-9, "{exact}");
    }

    #[test]
    fn cross_traffic_on_the_end_link_is_beyond_repair() {
        let path = path(&[100, 100]);
        let crossings = [Crossing::default(), Crossing::both(1, Bytes(64))];
        assert_eq!(largest_trailing(&path, Bytes(1500), &crossings), None);
    }
}
