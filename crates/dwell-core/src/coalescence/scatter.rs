//! How likely a gap is that is not quite, or not at all, as a behaviour predicts it.

use super::Behaviour;

/// How likely the impossible is: a stamp that is wrong, a packet that overtook.
const IMPOSSIBLE: f64 = 0.01;

/// A gap, and by how much it misses what was predicted.
#[derive(Copy, Clone, Debug)]
pub(super) struct Deviation {
    pub(super) gap: f64,
    pub(super) size: f64,
    /// Of the gap behind a train's first packet: the least that is possible without coalescence.
    pub(super) least: Option<f64>,
    /// By how much that packet itself was late, so that the gap behind it may be too short.
    pub(super) late: f64,
}

/// The gaps of one explanation.
#[derive(Copy, Clone, Debug)]
pub(super) struct Scatter {
    pub(super) behaviour: Behaviour,
    /// Scale of the clean gaps.
    pub(super) blur: f64,
    /// Gap of packets that were handed on together.
    pub(super) together: f64,
    /// Gap of packets that left as one burst.
    pub(super) burst: f64,
    /// The largest gap of all.
    pub(super) longest: f64,
    /// Of replies, by how much they are late at the mean.
    pub(super) noise: Option<f64>,
}

fn laplace(deviation: f64, scale: f64) -> f64 {
    (-deviation.abs() / scale).exp() / (2.0 * scale)
}

impl Scatter {
    /// Density of a clean gap.
    pub(super) fn near(&self, deviation: f64) -> f64 {
        laplace(deviation, self.blur)
    }

    /// Density of a gap that others changed.
    pub(super) fn wild(&self, deviation: &Deviation) -> f64 {
        match self.noise {
            Some(noise) => self.late(deviation, noise.max(2.0 * self.blur)),
            None => self.scattered(deviation.gap, deviation.least.unwrap_or(0.0)),
        }
    }

    /// Of replies: what happened to them on their way back the NIC does not put right. But others only make later, so
    /// the gap behind the first of a train is too short by no more than that one was late.
    fn late(&self, &Deviation { gap, size, least, late }: &Deviation, noise: f64) -> f64 {
        let impossible = least.is_some() && size < -(late + 3.0 * self.blur);
        let waited = laplace(size, noise) * if least.is_some() && size > 0.0 { 2.0 } else { 1.0 };
        (0.9 * waited + 0.1 * self.anywhere(gap)) * if impossible { IMPOSSIBLE } else { 1.0 }
    }

    /// Below this no two gaps are told apart.
    fn least(&self) -> f64 {
        self.blur.max(200.0)
    }

    /// Evenly on a logarithmic scale from `from` on.
    fn even(&self, gap: f64, from: f64) -> f64 {
        let from = from.max(self.least());
        if gap < from { 0.0 } else { 1.0 / (gap * (self.longest / from).ln().max(0.5)) }
    }

    fn anywhere(&self, gap: f64) -> f64 {
        let least = self.least();
        if gap < least { 1.0 / (least * (self.longest / least).ln().max(1.0)) } else { self.even(gap, 0.0) }
    }

    /// Of arrivals: what cross traffic did to them, the NIC brought into its own order.
    fn scattered(&self, gap: f64, least: f64) -> f64 {
        let (period, together) = (self.behaviour.period(), self.together);
        match self.behaviour {
            Behaviour::None if gap < least - 6.0 * self.blur => IMPOSSIBLE * self.anywhere(gap),
            // Trains that queued leave the narrowest link packet upon packet.
            Behaviour::None => 0.4 * self.near(gap - self.burst) + 0.6 * self.anywhere(gap),
            Behaviour::Hold(_) => {
                0.49 * self.near(gap - together) + 0.49 * self.even(gap, period) + 0.02 * self.anywhere(gap)
            }
            Behaviour::Throttle(_) => {
                0.33 * self.near(gap - together)
                    + 0.33 * self.near(gap - period)
                    + 0.32 * self.even(gap, period)
                    + 0.02 * self.anywhere(gap)
            }
            Behaviour::Deferred { polls, .. } => {
                let step = (gap / period).round().clamp(1.0, f64::from(polls));
                0.33 * self.near(gap - together)
                    + 0.33 / f64::from(polls) * self.near(gap - step * period)
                    + 0.32 * self.even(gap, period)
                    + 0.02 * self.anywhere(gap)
            }
        }
    }
}
