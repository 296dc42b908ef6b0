//! Sources of cross traffic.

mod on_off;
mod replay;

use super::{Picos, rounded};
use crate::link::LinkSpec;
use crate::random::{Stream, stream};
use crate::traffic::{CrossKind, CrossSpec, Offered, SizeDraw, Tcp};
use dwell_core::{Bytes, Nanos};
use on_off::OnOff;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, Poisson};
use replay::Replay;

/// The packets of one flow of cross traffic where it enters the path, one after the other without end: when each
/// comes, and its size on the wire.
#[derive(Clone, Debug)]
pub struct Flow(Source);

impl Flow {
    /// The flow of `spec` that enters at `link`, in which all chance follows from `seed`; `None` if it offers nothing, or
    /// is TCP, whose packets nobody knows before the link was met.
    #[must_use]
    pub fn new(spec: &CrossSpec, link: &LinkSpec, seed: u64) -> Option<Self> {
        if matches!(spec.kind, CrossKind::Tcp(_)) {
            return None;
        }
        Source::new(spec, link, stream(seed, &[])).map(Self)
    }
}

impl Iterator for Flow {
    type Item = (Nanos, Bytes);

    fn next(&mut self) -> Option<(Nanos, Bytes)> {
        let packet = (rounded(self.0.next), self.0.size);
        self.0.step();
        Some(packet)
    }
}

/// One flow of cross traffic at work.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// When its next packet comes.
    pub(super) next: Picos,
    /// Size of its next packet on the wire.
    pub(super) size: Bytes,
    /// Links that each packet passes.
    pub(super) hops: usize,
    /// Its largest packet.
    pub(super) largest: Bytes,
    /// The share of its link's time that it may take for long, infinite where no bound is known.
    pub(super) most: f64,
    spacing: Spacing,
    sizes: SizeDraw,
    /// Draws gaps and sizes.
    rng: Stream,
    /// Seeds `rng` anew after each rest, so that what was drawn before a rest changes nothing after it.
    seeds: Stream,
}

#[derive(Clone, Debug)]
enum Spacing {
    Constant { gap: Picos },
    Poisson { mean: f64 },
    OnOff(Box<OnOff>),
    Replay(Replay),
    Tcp(Box<Tcp>),
}

/// What became of a packet on its link.
#[derive(Copy, Clone, Debug)]
pub(super) enum Fate {
    /// Sent by then.
    Passed(Picos),
    Dropped(Picos),
}

impl Source {
    /// The flow of `spec` that enters at `link`; `None` if it offers nothing.
    pub(super) fn new(spec: &CrossSpec, link: &LinkSpec, mut rng: Stream) -> Option<Self> {
        let greedy = matches!(spec.kind, CrossKind::Tcp(_)) && spec.offered == Offered::Own;
        let mean = link.bits_of(spec).filter(|mean| *mean > 0.0 || greedy)?;
        let sizes = SizeDraw::new(&spec.sizes);
        let gap_at = |rate: f64| spec.sizes.mean_bits(link.framing) * 1e12 / rate;
        let (spacing, next, fastest) = match &spec.kind {
            CrossKind::Constant => {
                let gap = gap_at(mean);
                (Spacing::Constant { gap: whole(gap) }, (rng.random::<f64>() * gap) as Picos, mean)
            }
            CrossKind::Poisson => {
                let gap = gap_at(mean);
                let unit: f64 = Exp1.sample(&mut rng);
                (Spacing::Poisson { mean: gap }, (unit * gap) as Picos, mean)
            }
            CrossKind::Pareto(pareto) => {
                let peak = pareto.peak.0 as f64;
                let on_off = OnOff::new(pareto, mean, gap_at(peak), Stream::from_rng(&mut rng));
                let next = on_off.now.next;
                (Spacing::OnOff(Box::new(on_off)), next, peak)
            }
            CrossKind::Capture(capture) => {
                let recorded = capture.trace().bits_per_second(link.framing);
                let replay = Replay::new(capture.trace(), recorded / mean, &mut rng);
                let next = replay.next();
                (Spacing::Replay(replay), next, f64::INFINITY)
            }
            CrossKind::Tcp(tcp) => {
                let start = (rng.random::<f64>() * tcp.rtt.as_f64() * 1e3) as Picos;
                let most = tcp.window.map_or(f64::INFINITY, |window| {
                    (window.0 as f64 / sizes.largest().0 as f64).floor().max(1.0)
                });
                let written_every = if greedy { 0 } else { whole(gap_at(mean)) };
                (Spacing::Tcp(Box::new(Tcp::new(tcp, most, written_every, start))), start, f64::INFINITY)
            }
        };
        let seeds = Stream::from_rng(&mut rng);
        let largest = match &spec.kind {
            CrossKind::Capture(capture) => capture.trace().largest(),
            _ => sizes.largest(),
        };
        let most = link.rate.map_or(0.0, |rate| fastest / rate.0 as f64);
        let hops = spec.hops;
        let mut source = Self { next, size: Bytes(0), hops, largest, most, spacing, sizes, rng, seeds };
        source.measure();
        Some(source)
    }

    /// Draws the packet after the next.
    pub(super) fn step(&mut self) {
        self.next = match &mut self.spacing {
            Spacing::Constant { gap } => self.next.saturating_add(*gap),
            Spacing::Poisson { mean } => {
                let unit: f64 = Exp1.sample(&mut self.rng);
                self.next.saturating_add(whole(*mean * unit))
            }
            Spacing::OnOff(on_off) => on_off.step(),
            Spacing::Replay(replay) => replay.step(),
            Spacing::Tcp(tcp) => {
                tcp.sent(self.next);
                Picos::MAX
            }
        };
        self.measure();
    }

    /// Whether what becomes of its packets changes when the next one comes.
    pub(super) fn reacts(&self) -> bool {
        matches!(self.spacing, Spacing::Tcp(_))
    }

    /// The packet that came at `came` has met its fate.
    pub(super) fn hears(&mut self, came: Picos, fate: Fate) {
        if let Spacing::Tcp(tcp) = &mut self.spacing {
            match fate {
                Fate::Passed(sent) => tcp.passed(came, sent),
                Fate::Dropped(at) => tcp.dropped(came, at),
            }
        }
        self.plan();
    }

    /// Finds when the next packet comes, after all that became of those before.
    pub(super) fn plan(&mut self) {
        if let Spacing::Tcp(tcp) = &mut self.spacing {
            self.next = tcp.next().unwrap_or(Picos::MAX);
        }
    }

    /// Goes on at `at`, as if all packets until then had been drawn. Never before where it last went on.
    pub(super) fn resume(&mut self, at: Picos) {
        self.rng = Stream::from_rng(&mut self.seeds);
        self.next = match &mut self.spacing {
            Spacing::Constant { gap } => at + (self.next - at).rem_euclid(*gap),
            Spacing::Poisson { mean } => {
                let unit: f64 = Exp1.sample(&mut self.rng);
                at.saturating_add(whole(*mean * unit))
            }
            Spacing::OnOff(on_off) => on_off.resume(at),
            Spacing::Replay(replay) => replay.resume(at),
            // Its share is not bounded, so that its link never rests.
            Spacing::Tcp(_) => self.next,
        };
        self.measure();
    }

    /// What it sends from `from`, which is not before its next packet, up to `to`, as `of` counts each size. Drawn by
    /// `chance` where it is chance; nothing that comes later is changed by it.
    pub(super) fn sends(
        &self,
        from: Picos,
        to: Picos,
        chance: &mut Stream,
        of: impl Fn(Bytes) -> f64,
    ) -> f64 {
        if to <= from {
            return 0.0;
        }
        let packets = match &self.spacing {
            Spacing::Constant { gap } => {
                let before = |at: Picos| (at - 1 - self.next).div_euclid(*gap);
                (before(to) - before(from)) as f64
            }
            Spacing::Poisson { mean } => {
                // The next one is drawn already, and only those behind it are left to chance.
                let next = f64::from(u8::from(from == self.next));
                next + Poisson::new((to - from) as f64 / mean).map_or(0.0, |packets| packets.sample(chance))
            }
            Spacing::OnOff(on_off) => on_off.passing(from, to) as f64,
            Spacing::Replay(replay) => return replay.sends(from, to, of),
            Spacing::Tcp(_) => 0.0,
        };
        packets * self.sizes.mean(of)
    }

    /// Finds the size of the next packet.
    fn measure(&mut self) {
        self.size = match &self.spacing {
            Spacing::Replay(replay) => replay.size(),
            _ => self.sizes.draw(&mut self.rng),
        };
    }
}

/// At least 1 ps, so that time always moves on.
fn whole(gap: f64) -> Picos {
    ((gap + 0.5) as Picos).max(1)
}
