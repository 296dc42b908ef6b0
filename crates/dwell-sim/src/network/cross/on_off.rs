//! Pareto on/off traffic: bursts, and what lies between.

use super::super::Picos;
use super::whole;
use crate::random::Stream;
use crate::traffic::{ParetoSpec, Periods};
use rand::RngExt;

/// Bursts: packets come evenly in the time while it is on, whatever lies between.
#[derive(Clone, Debug)]
pub(super) struct OnOff {
    gap: Picos,
    on: Periods,
    off: Periods,
    pub(super) now: Burst,
    /// Where it last went on, because a rest may begin before what was drawn already.
    resumed: Burst,
}

#[derive(Clone, Debug)]
pub(super) struct Burst {
    /// When the next packet comes.
    pub(super) next: Picos,
    /// When this burst is over; after `next`.
    end: Picos,
    /// Draws the periods, and nothing else.
    rng: Stream,
}

impl OnOff {
    /// In its equilibrium.
    pub(super) fn new(spec: &ParetoSpec, mean_rate: f64, gap: f64, mut rng: Stream) -> Self {
        let on = spec.on.as_f64() * 1e3;
        let share = (mean_rate / spec.peak.0 as f64).min(1.0);
        let off = spec.off.map_or(on * (1.0 - share) / share, |off| off.as_f64() * 1e3).max(1.0);
        let (on, off) = (Periods::new(spec.shape, on), Periods::new(spec.shape, off));
        let (start, end) = if rng.random::<f64>() < share {
            (0, whole(on.rest(&mut rng)))
        } else {
            let start = whole(off.rest(&mut rng));
            (start, start.saturating_add(whole(on.draw(&mut rng))))
        };
        let next = start.saturating_add((rng.random::<f64>() * gap) as Picos);
        let burst = Burst { next, end, rng };
        let mut on_off = Self { gap: whole(gap), on, off, resumed: burst.clone(), now: burst };
        on_off.now.skip_silence(&on_off.on, &on_off.off);
        on_off.resumed = on_off.now.clone();
        on_off
    }

    pub(super) fn step(&mut self) -> Picos {
        self.now.next = self.now.next.saturating_add(self.gap);
        self.now.skip_silence(&self.on, &self.off);
        self.now.next
    }

    pub(super) fn resume(&mut self, at: Picos) -> Picos {
        let burst = &mut self.resumed;
        while burst.next < at {
            // All packets of this burst before `at`, in one step.
            let packets = (at.min(burst.end) - burst.next - 1) / self.gap + 1;
            burst.next = burst.next.saturating_add(packets.saturating_mul(self.gap));
            burst.skip_silence(&self.on, &self.off);
        }
        self.now = burst.clone();
        self.now.next
    }

    pub(super) fn passing(&self, from: Picos, to: Picos) -> i64 {
        let mut burst = self.resumed.clone();
        let mut packets = 0;
        while burst.next < to {
            // Those of this burst that come before a moment.
            let before = |at: Picos| (at.min(burst.end) - burst.next - 1).div_euclid(self.gap) + 1;
            packets += before(to) - before(from).max(0);
            burst.next = burst.next.saturating_add(before(burst.end).saturating_mul(self.gap));
            burst.skip_silence(&self.on, &self.off);
        }
        packets
    }
}

impl Burst {
    /// What does not come before the end of a burst comes as much after the start of the next.
    fn skip_silence(&mut self, on: &Periods, off: &Periods) {
        while self.next >= self.end && self.end < Picos::MAX {
            let start = self.end.saturating_add(whole(off.draw(&mut self.rng)));
            self.next = start.saturating_add(self.next - self.end);
            self.end = start.saturating_add(whole(on.draw(&mut self.rng)));
        }
    }
}
