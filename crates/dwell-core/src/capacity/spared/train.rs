//! A train as it came.

use crate::report::Vantage;
use crate::stream::{occupied, shape, vantage};
use crate::train::{Fate, Observation};
use crate::unit::Bytes;

/// A train of which three packets at least came in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) size: Bytes,
    /// When its first packet left, nanoseconds on the sender's clock.
    pub(super) at: f64,
    /// Nanoseconds a packet as they left.
    pub(super) sent: f64,
    /// When each packet came, nanoseconds after `at`, but for the clocks' offset; up to the first that was lost, for what
    /// follows may have moved up.
    pub(super) came: Vec<f64>,
    pub(super) vantage: Vantage,
}

/// The last packet of those that came at once.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) place: usize,
    pub(super) came: f64,
}

impl Seen {
    pub(super) fn of(observation: &Observation) -> Option<Self> {
        let (size, _) = shape(observation)?;
        let vantage = vantage(observation);
        let stamp = |fate: &Fate| {
            let arrival = fate.arrival.as_ref()?;
            Some((fate.sent.nearest_wire(), vantage.read(&arrival.stamps)?, arrival.order))
        };
        let stamps: Vec<_> = observation.fates.iter().map_while(stamp).collect();
        let (first, last) = (stamps.first()?, stamps.last()?);
        let in_order = stamps.windows(2).all(|two| two[0].2 < two[1].2 && two[0].1 <= two[1].1);
        (stamps.len() > 2 && in_order).then(|| Self {
            size,
            at: first.0.as_f64(),
            sent: (last.0 - first.0).as_f64() / (stamps.len() - 1) as f64,
            came: stamps.iter().map(|(_, came, _)| (*came - first.0).as_f64()).collect(),
            vantage,
        })
    }

    /// Bits that a packet takes of a link.
    pub(super) fn bits(&self) -> f64 {
        occupied(self.size)
    }

    /// Nanoseconds a packet, over the whole train.
    pub(super) fn pace(&self) -> f64 {
        let gaps = self.came.len().saturating_sub(1).max(1) as f64;
        self.came.last().zip(self.came.first()).map_or(0.0, |(last, first)| (last - first) / gaps)
    }

    /// By what factor it came slower than it was sent, from the end of its first lump to that of its last but one.
    pub(super) fn strain(&self) -> Option<f64> {
        let points = self.points(self.sent / 2.0);
        let (first, last) = (points.first()?, points.get(points.len().checked_sub(2)?)?);
        let packets = last.place.checked_sub(first.place).filter(|packets| *packets > 0)? as f64;
        let strain = (last.came - first.came) / (packets * self.sent);
        (self.sent > 0.0 && strain.is_finite()).then_some(strain)
    }

    /// The last packets of lumps: those behind which nothing comes for longer than `together`.
    pub(super) fn points(&self, together: f64) -> Vec<Point> {
        let ends =
            |place: &usize| self.came.get(place + 1).is_none_or(|next| next - self.came[*place] > together);
        let point = |place: usize| Point { place, came: self.came[place] };
        (0..self.came.len()).filter(ends).map(point).collect()
    }
}
