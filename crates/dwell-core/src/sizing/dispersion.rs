use super::Link;
use crate::unit::{BitRate, Bytes};

/// Cross traffic that meets a pair in the queue of one link.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Crossing {
    /// u: packets that wait before P_h.
    pub ahead: u32,
    /// v: packets that come between P_h and P_t.
    pub between: u32,
    /// zeta: size of each.
    pub size: Bytes,
}

impl Crossing {
    /// u = v = `count`, as in the paper's evaluation.
    #[must_use]
    pub const fn both(count: u32, size: Bytes) -> Self {
        Self { ahead: count, between: count, size }
    }

    fn queue(&self, count: u32, link: &Link) -> f64 {
        f64::from(count) * link.occupied(self.size)
    }

    /// (27) Qh_i = sum over u of zeta_u / c_(i+1)
    pub(super) fn ahead_on(&self, link: &Link) -> f64 {
        self.queue(self.ahead, link)
    }

    /// (28) Qt_i = sum over v of zeta_v / c_(i+1)
    pub(super) fn between_on(&self, link: &Link) -> f64 {
        self.queue(self.between, link)
    }
}

/// A pair on one link, in nanoseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LinkGap {
    /// delta_i beyond the inter-frame gap: zero for packets that follow each other as close as the link allows.
    pub dispersion: f64,
    /// G_i: from the last bit of P_h to the last bit of P_t.
    pub gap: f64,
}

/// Link by link, what becomes of a pair that the sender hands over back to back. `crossings` meets the pair in the
/// queue before the link of the same place; links beyond its end are quiet.
#[must_use]
pub fn disperse(path: &[Link], heading: Bytes, trailing: Bytes, crossings: &[Crossing]) -> Vec<LinkGap> {
    let mut before: Option<(&Link, f64)> = None;
    let mut gaps = Vec::with_capacity(path.len());
    for (i, link) in path.iter().enumerate() {
        let crossing = crossings.get(i).copied().unwrap_or_default();
        // Nothing of a packet enters the link before the inter-frame gap has passed.
        let queued = crossing.between_on(link) + link.spacing();
        let delta = match before {
            None => queued,
            Some((input, delta)) => {
                // (26) dtr_i = s_h / c_(i+1) + Qh_i - s_t / c_i
                let later = link.time(heading) + crossing.ahead_on(link) - input.time(trailing);
                // (25) delta_(i+1) = delta_i - dtr_i if that is above Qt_i, else Qt_i
                (delta - later).max(queued)
            }
        };
        // (24), (29) G_i = s_t / c_i + delta_i; dPPT of (29) is the host's.
        gaps.push(LinkGap { dispersion: delta - link.spacing(), gap: link.time(trailing) + delta });
        before = Some((link, delta));
    }
    gaps
}

/// The end link's capacity as one pair shows it, s_t / G, every packet with its inter-frame gap: right where the
/// dispersion is zero, too small else (papers/000, section 5.3). `None` for a path without links.
#[must_use]
pub fn estimated_capacity(
    path: &[Link],
    heading: Bytes,
    trailing: Bytes,
    crossings: &[Crossing],
) -> Option<BitRate> {
    let end = path.last()?;
    let gap = disperse(path, heading, trailing, crossings).last()?.gap;
    let bits = (trailing.max(end.least) + end.gap).bits() as f64;
    Some(BitRate((bits * 1e9 / gap).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_by_hand() {
        // 10 to 100 Mb/s, 1500 B before 250 B: P_t comes 200 us after P_h, which is out after 120.
        let path = [10, 100].map(|mbps| Link::bare(BitRate::from_mbps(mbps)));
        let [first, second] = disperse(&path, Bytes(1500), Bytes(250), &[])[..] else { panic!("two links") };
        assert_eq!((first.dispersion, first.gap), (0.0, 200_000.0));
        assert_eq!((second.dispersion, second.gap), (80_000.0, 100_000.0));
        // Two packets of 125 B ahead hold P_h back by 20 us; three between take 30 us, which is less than is left.
        let cross = Crossing { ahead: 2, between: 3, size: Bytes(125) };
        let crossed = disperse(&path, Bytes(1500), Bytes(250), &[Crossing::default(), cross]);
        assert_eq!(crossed[1].dispersion, 60_000.0);
        let cross = Crossing { ahead: 2, between: 7, size: Bytes(125) };
        let crossed = disperse(&path, Bytes(1500), Bytes(250), &[Crossing::default(), cross]);
        assert_eq!(crossed[1].dispersion, 70_000.0);
    }

    #[test]
    fn the_estimate_is_the_capacity_without_dispersion() {
        for link in [Link::bare, Link::ethernet] {
            let path = [link(BitRate::from_mbps(10)), link(BitRate::from_mbps(100))];
            let estimate = |trailing| estimated_capacity(&path, Bytes(1500), Bytes(trailing), &[]);
            assert_eq!(estimate(130), Some(BitRate::from_mbps(100)));
            assert!(estimate(300) < Some(BitRate::from_mbps(50)));
        }
        assert_eq!(estimated_capacity(&[], Bytes(1500), Bytes(100), &[]), None);
    }
}
