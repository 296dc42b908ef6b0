//! Which trains are sent.

use super::{Coalescence, REPLIES_TAKE, SPACING};
use crate::nic::Kind;
use crate::train::{Departure, Direction, Packet, Train};
use crate::unit::Nanos;

/// Short trains of each round, of which there are [`ROUNDS`].
pub(super) const ROUND: usize = 36;
pub(super) const ROUNDS: usize = 4;
/// Packets of a long train. A host that does not know of being measured is asked for less at once.
pub(super) const LONG: usize = 320;
pub(super) const LONG_OF_REPLIES: usize = 160;

impl Coalescence {
    pub(super) fn short(&self, dispersion: f64) -> Departure {
        let packet = |hold| Packet { size: self.size, hold };
        let packets =
            vec![packet(Nanos::ZERO), packet(Nanos::from_f64(dispersion).max(Nanos(1))), packet(Nanos::ZERO)];
        Departure { pause: self.pause, train: Train { direction: Direction::Forward, packets } }
    }

    pub(super) fn long(&self) -> Departure {
        let apart = (1.1 * self.floor.as_f64()).max(self.spacing() / REPLIES_TAKE);
        let hold = SPACING.max(Nanos::from_f64(apart));
        let packet = |place| Packet { size: self.size, hold: if place == 0 { Nanos::ZERO } else { hold } };
        let packets = (0..if self.config.replies { LONG_OF_REPLIES } else { LONG }).map(packet).collect();
        Departure { pause: self.pause, train: Train { direction: Direction::Forward, packets } }
    }

    /// Dispersions of the next round: the first goes over all, the later ones to where the fit leaves most open, and
    /// some over all again, so that a change of the settings shows.
    pub(super) fn dispersions(&self) -> Vec<f64> {
        let (least, most) = (self.least(), self.reach.as_f64().max(4.0 * self.least()));
        // The golden ratio spreads places evenly and mixes their order, so that a drift hits all alike.
        let place = |i: usize| (((self.sent + i) as f64) * 0.618_033_988_75).fract();
        let over = |i: usize, from: f64, to: f64| (from.ln() + (to / from).ln() * place(i)).exp();
        let fit = self.fit().filter(|_| self.rounds > 0);
        (0..ROUND)
            .map(|i| match fit.as_ref().map(|fit| (fit.behaviour, fit.period)) {
                Some((behaviour, Some(period))) if i % 3 != 0 => {
                    let period = period.value;
                    let close = if self.rounds == 1 { 0.2 } else { 0.06 };
                    match (behaviour.kind(), i % 3) {
                        (Kind::Hold, _) => over(i, (1.0 - close) * period, (1.0 + close) * period),
                        // Between one period and some: does it go on polling?
                        (_, 1) => over(i, 1.05 * period, 4.0 * period),
                        _ => over(i, least.min(0.5 * period), 0.9 * period),
                    }
                }
                // Short periods are the hard ones to see.
                Some((_, None)) if i % 3 != 0 => over(i, least, 20.0 * least),
                _ => over(i, least, most),
            })
            .collect()
    }
}
