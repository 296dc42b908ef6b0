//! What trains show of a load that is not one link's, or not steady.

use super::Samples;
use crate::avail::busy::unparted::{Another, another};
use crate::avail::busy::waiting::HOST;
use crate::stats::NORMAL;
use crate::stream::line::{self, Line};
use crate::stream::sample::{differ, heavier, surplus};

/// By so much of L / C, or what a host delays the last packet of a burst, a link's packets are no further apart, beside what came between
/// them.
const APART: f64 = 0.1;

/// Gaps that are longer by less were not parted.
const NEAR: f64 = 0.05;

impl Samples {
    /// Whether bursts show that another link is loaded than the one whose pace they have, or as well.
    pub(in crate::avail::busy) fn another(&self) -> Option<Another> {
        another(&self.gaps, &self.full_gaps, self.own(), self.made()?, self.burst()?)
    }

    /// Whether bursts come further apart than the load of that line makes them: between two of their packets comes what was sent
    /// meanwhile, give or take what so few packets of others do by chance.
    pub(in crate::avail::busy) fn apart(&self, line: &Line) -> bool {
        let (Some((own, _)), Some(made), Some(burst)) = (self.own(), self.made(), self.burst()) else {
            return false;
        };
        // Within a burst of others there is as much as the link carries.
        let between = if self.bursty() { made } else { line.share.high * made };
        let chance = NORMAL * (between * own / self.gaps.len() as f64).sqrt();
        let unparted = self.gaps.iter().filter(|gap| **gap < own * (1.0 + NEAR)).count();
        let gaps = self.bursts.iter().map(|burst| burst.gaps).fold(1.0, f64::max);
        // One packet of others, which one in a burst may be; where hardly two gaps are alike it is none, but at most a host.
        let one = if unparted * 2 < self.gaps.len() { (own * APART).min(HOST / gaps) } else { own * APART };
        burst > own + one + between + chance
    }

    fn heavier(&self, own: f64) -> bool {
        self.looks().is_some_and(|looks| self.near.iter().any(|near| heavier(near, &looks, own)))
    }

    /// Whether slower trains may have met more load than those at the pace, as they do where the tight link is another than the narrow
    /// one: the line has then another beginning than the narrow link's packets.
    pub(in crate::avail::busy) fn steeper(&self) -> bool {
        self.alone().is_some_and(|own| self.heavier(own))
    }

    /// By how many standard errors all slower trains together met more load than those at the pace.
    pub(in crate::avail::busy) fn surplus(&self) -> Option<f64> {
        surplus(&self.near.concat(), &self.looks()?, self.pace()?)
    }

    /// By how many standard errors the trains of all spacings begin below what a packet of a link that is loaded alone takes. Where packets
    /// came too near to each other for one link it is not known, and they count for one: hosts make them come so as well.
    pub(in crate::avail::busy) fn sooner(&self, line: &Line) -> f64 {
        match (self.alone(), line.begins) {
            (Some(own), Some(begins)) => {
                let wide = (begins.high - begins.low).max(own * line::RESOLUTION);
                (own - begins.value) / wide * 2.0 * NORMAL
            }
            _ if self.another() == Some(Another::Closer) => 1.0,
            _ => 0.0,
        }
    }

    /// Whether trains of one spacing met more and less, on a link that is loaded alone. Those at the pace are short and many: their
    /// gaps would hide what the slower ones show, so either kind is asked for itself.
    pub(in crate::avail::busy) fn differ(&self) -> bool {
        self.alone().is_some() && self.vary()
    }

    /// The same on whatever link: what several steady loads make of trains is in their single gaps as well.
    pub(in crate::avail::busy) fn vary(&self) -> bool {
        self.batch.is_none()
            && (differ(self.near.iter().map(Vec::as_slice)) || differ([self.full.as_slice(), &self.heads]))
    }
}
