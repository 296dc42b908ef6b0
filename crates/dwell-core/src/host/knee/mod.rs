//! The knee: how long the host under test keeps a packet before its program stamps it, read from the break between
//! a gap that is flat and a gap that follows the dispersion.
//!
//! # The equations
//!
//! The sender stamps the departures t_h and t_t of a pair of equal packets, x = t_t - t_h apart; the program under
//! test stamps them at TS_h and TS_t, and its gap is G = TS_t - TS_h. Let D be the delay from the sender's data link
//! to the receiver's socket queue, on the two clocks as they are (so D contains their offset).
//!
//! - P_t is in the socket queue before the program has stamped P_h: `t_t + D < TS_h`. Then G = S, the service time.
//! - P_t comes later: the program had gone back to sleep, and TS_t = t_t + D + A_t, so G = x + dPPT.
//!
//! Papers/000's (12) and (13) hold PPT only up to an unknown epsilon >= 0, and (15) sets it to zero: epsilon is the
//! time by which P_t misses `t_t + D = TS_h`. So that place is looked for. It lies at x = A on the axis of the
//! dispersion, but A differs from packet to packet, and there the regimes mix. On the axis
//!
//! ```text
//! z = TS_h - t_t        P_t waited if and only if z > D
//! ```
//!
//! they do not: A has dropped out, and what blurs the break is only the jitter of the path. So D is found to a
//! fraction of a microsecond from a few pairs near it, and with it every single heading packet tells its own
//! application stage, A = (TS_h - t_h) - D: a whole distribution from which the median is taken.
//!
//! The clocks need not agree, only to run evenly: their relative skew is taken off first, from the delays
//! TS_h - t_h over the run.
//!
//! # Where the quantity is identifiable
//!
//! - A above the smallest dispersion that the path delivers, (s + 12 B) / c of its narrowest link: below it P_t never
//!   waits, and only 'A at most x_min' is said.
//! - The kernel stage K cannot be seen: P_t pays it as P_h does. PPT_h = K + A >= A is reported as a lower bound.
//! - Cross traffic delays P_t in some pairs (they miss the queue although z > D) and P_h in others (their A is too
//!   large). The first does not move D, whose evidence is one-sided: nothing but z > D lets P_t wait. The second
//!   widens the interval of A. Where the path is so busy that hardly any packet passes without waiting, a bound is
//!   all that is left.
//! - Interrupt coalescence holds packets back for up to a period T of its own, and then the break lies at T where A
//!   is shorter: only 'A at most T' is said. Whether the receiver coalesces is what
//!   [`coalescence`](crate::coalescence) finds; where nothing is known of it, the pairs themselves are asked: a program
//!   decides on the axis z who waits, a timer on the axis x, and where they do not tell, a bound is all that is said.
//! - A program that never sleeps (busy polling) has no jump at the break; D is then found from the hinge, less sharply.

mod fit;
mod held;
mod verdict;

use crate::gap;
use crate::method::{Method, Step};
use crate::nic::Coalesced;
use crate::report::{Report, Vantage};
use crate::train::{Departure, Direction, Fleet, Observation, PathFacts, Train};
use crate::unit::{Bytes, INTER_FRAME_GAP, Nanos};
pub use fit::{Break, Fit, Regimes, Sample};

/// What can be set.
#[derive(Clone, Debug, PartialEq)]
pub struct KneeConfig {
    /// Pairs at most.
    pub budget: usize,
    /// Idle time before each pair: the host under test goes to sleep in it, and a sleeping core costs more than a
    /// busy one.
    pub pause: Nanos,
    /// The largest dispersion that is tried.
    pub longest: Nanos,
    /// The run ends when the interval of A is narrower than this share of A on either side.
    pub precision: f64,
    /// Which of the receiver's stamps are read.
    pub stamps: Vantage,
}

impl Default for KneeConfig {
    fn default() -> Self {
        Self {
            budget: 320,
            pause: Nanos::from_millis(4),
            longest: Nanos::from_millis(50),
            precision: 0.015,
            stamps: Vantage::Application,
        }
    }
}

/// Pairs of the coarse sweep.
const COARSE: usize = 24;
/// The coarse sweep ends here first; it goes on to [`KneeConfig::longest`] only when even this was too short.
const FIRST_REACH: Nanos = Nanos::from_micros(1_000);
/// Pairs of each later round.
const ROUND: usize = 24;
/// Before so many pairs no run ends: the median of A needs them, however sharp the break is.
const LEAST: usize = 120;
/// When no pair ever waited, so many pairs at the smallest dispersion settle that it is so.
const BLIND: usize = 80;

/// The method; see the [module's page](self).
#[derive(Clone, Debug)]
pub struct Knee {
    config: KneeConfig,
    size: Bytes,
    resolution: Nanos,
    /// The smallest dispersion that the path delivers, where its narrowest link is known.
    floor: Nanos,
    /// How the receiver coalesces interrupts, where it is known.
    coalescence: Option<Coalesced>,
    samples: Vec<Sample>,
    /// Dispersions and gaps by the kernel's stamps, where there are such.
    taken: Vec<(f64, f64)>,
    origin: Option<(Nanos, Nanos)>,
    asked: usize,
    reach: Nanos,
    seen: usize,
    lost: usize,
    disturbed: usize,
    unstamped: usize,
}

impl Knee {
    /// For a path of which `facts` are known; pairs are of its smallest packets, whose dispersion can be smallest.
    #[must_use]
    pub fn new(config: KneeConfig, facts: &PathFacts) -> Self {
        Self {
            config,
            size: facts.min_size,
            resolution: facts.resolution.max(Nanos(1)),
            floor: [facts.end_link, facts.narrow_link]
                .into_iter()
                .flatten()
                .min()
                .map_or(Nanos::ZERO, |capacity| capacity.time_for(facts.min_size + INTER_FRAME_GAP)),
            coalescence: facts.coalescence,
            samples: Vec::new(),
            taken: Vec::new(),
            origin: None,
            asked: 0,
            reach: Nanos::ZERO,
            seen: 0,
            lost: 0,
            disturbed: 0,
            unstamped: 0,
        }
    }

    /// What the samples say, for pictures: the break, both regimes, A of each heading packet.
    #[must_use]
    pub fn fit(&self) -> Fit {
        Fit::of(&self.samples, self.resolution.as_f64(), self.floor.as_f64())
    }

    /// The pairs that could be used.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Dispersions of the coarse sweep, spaced evenly in their logarithm between `from` and `to`.
    fn sweep(from: Nanos, to: Nanos, count: usize) -> Vec<Nanos> {
        let (low, high) = (from.as_f64().max(1_000.0).ln(), to.as_f64().max(2_000.0).ln());
        let share = |i: usize| i as f64 / (count - 1).max(1) as f64;
        (0..count).map(|i| Nanos::from_f64((low + (high - low) * share(i)).exp())).collect()
    }

    /// The next dispersions to try, given the fit; empty when enough is known.
    fn choose(&mut self) -> Vec<Nanos> {
        let left = self.config.budget.saturating_sub(self.asked);
        let round = ROUND.min(left);
        if round == 0 {
            return Vec::new();
        }
        if self.asked == 0 {
            self.reach = FIRST_REACH.min(self.config.longest);
            let from = self.floor.max(Nanos(1_000));
            return Self::sweep(from, self.reach.max(from * 4), COARSE.min(left));
        }
        match self.fit().regimes {
            // Nothing but waiting: the stage is longer than the sweep reached.
            Regimes::AllWaited if self.reach < self.config.longest => {
                let from = self.reach;
                self.reach = (self.reach * 8).min(self.config.longest);
                Self::sweep(from, self.reach, round.min(12))
            }
            Regimes::AllWaited => Vec::new(),
            Regimes::NoneWaited if self.asked >= BLIND + COARSE => Vec::new(),
            // Just above the smallest dispersion, and not at one place: what tells a flat gap from one that follows
            // the dispersion is that the dispersion differs.
            Regimes::NoneWaited | Regimes::Unclear => {
                let from = self.floor.max(Nanos(1_000));
                Self::sweep(from, from + (from / 3).max(Nanos(3_000)), round)
            }
            Regimes::Both(found) => {
                let stage = &found.stage;
                let narrow = stage.half_width() <= self.config.precision * stage.value.abs()
                    || stage.half_width() <= 3.0 * self.resolution.as_f64();
                if self.samples.len() >= LEAST && narrow {
                    return Vec::new();
                }
                // z = D + A - x: dispersions drawn from the middle of A's own distribution put z next to D, on
                // either side. The golden ratio spreads them evenly however many rounds follow.
                let place = |i: usize| 0.1 + 0.8 * ((self.asked + i) as f64 * 0.618_033_988_75).fract();
                (0..round).map(|i| Nanos::from_f64(found.stage_quantile(place(i)).max(0.0))).collect()
            }
        }
    }
}

impl Method for Knee {
    fn next(&mut self) -> Step {
        let holds = self.choose();
        if holds.is_empty() {
            return Step::Done;
        }
        self.asked += holds.len();
        let pair =
            |hold| Departure { pause: self.config.pause, train: Train::pair(self.size, self.size, hold) };
        let fleet: Fleet = holds.into_iter().map(pair).collect();
        Step::Send(fleet)
    }

    fn see(&mut self, observation: &Observation) {
        let [heading, trailing] = observation.fates.as_slice() else { return };
        // A pair of unequal sizes loses dispersion at every store-and-forward hop, so x would not be what arrives.
        if observation.direction != Direction::Forward || heading.packet.size != trailing.packet.size {
            return;
        }
        self.seen += 1;
        let Some((first, second)) = heading.arrival.zip(trailing.arrival) else {
            self.lost += 1;
            return;
        };
        // A duplicate makes the program busy before it reads P_t.
        if first.order.checked_add(1) != Some(second.order) || first.copies > 1 {
            self.disturbed += 1;
            return;
        }
        let stamp = self.config.stamps.read(&first.stamps);
        let (Some(stamp), Some(gap)) = (stamp, gap::between(heading, trailing, self.config.stamps)) else {
            self.unstamped += 1;
            return;
        };
        let (sent, sent_later) = (heading.sent.nearest_wire(), trailing.sent.nearest_wire());
        // Closer packets than the narrowest link can tell apart reach it queued, one behind the other.
        let dispersion = (sent_later - sent).max(self.floor).as_f64();
        let taken = gap::between(heading, trailing, Vantage::Capture);
        self.taken.extend(taken.map(|gap| (dispersion, gap)));
        let origin = *self.origin.get_or_insert((sent, stamp));
        self.samples.push(Sample {
            at: (sent - origin.0).as_f64(),
            delay: ((stamp - origin.1) - (sent - origin.0)).as_f64(),
            dispersion,
            gap,
        });
    }

    fn report(&self) -> Report {
        let fit = self.fit();
        let report = match self.config.stamps {
            Vantage::Application => self.unless_asleep(self.unless_held(self.application_report(&fit), &fit)),
            Vantage::Capture => self.capture_report(&fit),
        };
        self.with_doubts(report, &fit)
    }
}
