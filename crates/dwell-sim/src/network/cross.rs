//! A source of cross traffic.

use super::Picos;
use crate::link::LinkSpec;
use crate::random::Stream;
use crate::traffic::{CrossKind, CrossSpec, Offered};
use dwell_core::Bytes;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};

/// One flow of cross traffic where it enters the path.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// When its next packet comes.
    pub(super) next: Picos,
    /// Size of each packet on the wire.
    pub(super) size: Bytes,
    /// Links that each packet passes.
    pub(super) hops: usize,
    kind: CrossKind,
    /// Mean time between packets.
    interval: f64,
    rng: Stream,
    /// Seeds `rng` anew after each rest, so that what was drawn before a rest changes nothing after it.
    seeds: Stream,
}

impl Source {
    /// The flow of `spec` that enters at `link`; `None` if it offers nothing.
    pub(super) fn new(spec: &CrossSpec, link: &LinkSpec, mut rng: Stream) -> Option<Self> {
        let bits_per_second = match (spec.offered, link.rate) {
            (Offered::Rate(rate), _) => rate.0 as f64,
            (Offered::Load(load), Some(rate)) => load * rate.0 as f64,
            (Offered::Load(_), None) => 0.0,
        };
        let bits = link.framing.occupied(spec.size).bits() as f64;
        let interval = bits * 1e12 / bits_per_second;
        if !interval.is_finite() {
            return None;
        }
        let phase = match spec.kind {
            CrossKind::Constant => rng.random::<f64>(),
            CrossKind::Poisson => Exp1.sample(&mut rng),
        };
        let next = (phase * interval) as Picos;
        let seeds = Stream::from_rng(&mut rng);
        Some(Self { next, size: spec.size, hops: spec.hops, kind: spec.kind, interval, rng, seeds })
    }

    /// Share of the link's time that it takes, if each packet takes `each`.
    pub(super) fn load(&self, each: Picos) -> f64 {
        each as f64 / self.interval
    }

    /// Goes on at `at`, as if all packets until then had been drawn.
    pub(super) fn resume(&mut self, at: Picos) {
        match self.kind {
            CrossKind::Constant => self.next = at + (self.next - at).rem_euclid(self.even_gap()),
            CrossKind::Poisson => {
                self.rng = Stream::from_rng(&mut self.seeds);
                self.next = at;
                self.step();
            }
        }
    }

    /// Draws the packet after the next.
    pub(super) fn step(&mut self) {
        let gap = match self.kind {
            CrossKind::Constant => self.even_gap(),
            CrossKind::Poisson => {
                let unit: f64 = Exp1.sample(&mut self.rng);
                whole(self.interval * unit)
            }
        };
        self.next = self.next.saturating_add(gap);
    }

    fn even_gap(&self) -> Picos {
        whole(self.interval)
    }
}

/// At least 1 ps, so that time always moves on.
fn whole(gap: f64) -> Picos {
    ((gap + 0.5) as Picos).max(1)
}
