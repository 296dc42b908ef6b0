//! Which behaviour explains the gaps of short trains best.
//!
//! The gap between two packets at the receiver follows from when they arrived and from the [`Behaviour`]. What cross
//! traffic did to a train is not known, but whatever it did, a coalescing NIC leaves gaps that no other one does:
//! under a hold no gap lies between 'together' and the period, under a throttle none but 'together' lies below it.
//! Without coalescence packets come closer than they were sent only if the first one was late by as much.
//! So each gap is either as predicted from the dispersion that left the sender, or wild; and wild gaps, too, lie where
//! the behaviour lets them.

use super::Behaviour;
use super::replies::{Replies, one_by_one};
use super::scatter::{Deviation, Scatter};
use crate::clock::CLOCK_RATE_DOUBT;
use crate::stats::histogram::half_sample_mode;
use crate::stats::hull::line_under;
use crate::stats::quantile::{median, quantile, quantile_interval, quantile_of_sorted, sorted};
use crate::stats::{Estimate, Line};
use std::borrow::Cow;

/// A short train, in nanoseconds: three packets, or two.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Sample {
    /// When its first packet left, since the first train's.
    pub at: f64,
    /// Delay of the first packet up to its stamp, on the two clocks as they are, less that of the first train's.
    pub delay: f64,
    /// Dispersion of the second packet when it left: from the first packet's departure to its own.
    pub dispersion: f64,
    /// Gap between the stamps of the first and the second packet.
    pub gap: f64,
    /// The same of the second and the third.
    pub next: Option<(f64, f64)>,
}

/// What the samples say.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The best explanation.
    pub behaviour: Behaviour,
    /// Its period with its interval, where it has one.
    pub period: Option<Estimate>,
    /// Gap of packets that were handed on together.
    pub together: f64,
    /// Nats by which it is better than [`Behaviour::None`].
    pub gain: f64,
    /// Scale of the clean gaps about what was predicted.
    pub blur: f64,
    /// Share of the gaps that were not as predicted.
    pub wild: f64,
    /// Of replies, by how much the first of a train is later than the others at the median, as it finds the host's kernel at
    /// rest.
    pub rest: f64,
}

/// Nats that a behaviour with a period must gain over none. Real ones gain hundreds; cross traffic that comes in bursts,
/// or evenly, offers explanations of up to some fifty.
const GAIN: f64 = 60.0;
/// The same where no more than this share of the gaps is wild: its parameters, with room.
const QUIET: f64 = 0.1;
const QUIET_GAIN: f64 = 15.0;
/// The same where more than this share of the gaps is wild.
const BUSY: f64 = 0.5;
const BUSY_GAIN: f64 = 150.0;
/// The same of replies, where more than a tenth of the gaps is wild.
const GAIN_OF_REPLIES: f64 = 30.0;
/// Nats that a further poll must gain over a plain throttle.
const POLL_GAIN: f64 = 6.0;
/// Half the drop of twice the log-likelihood at the ends of a 95 % interval (chi-squared, one degree: 3.84 / 2).
const PROFILE: f64 = 1.92;
/// Gaps at the level, or together, that a period must show.
const LEAST_SEEN: usize = 5;
/// Numbers of empty polls that are told apart; more behave as the last in any train that is sent.
const POLLS: [u32; 5] = [2, 3, 4, 6, 12];
/// What a kernel takes from packet to packet.
const STEP: f64 = 3_000.0;
/// Packets that are handed on together are stamped within this share of a period, or they were not.
const CLOSE: f64 = 0.25;
/// Replies that leave one by one are no further apart than so many times their usual spacing.
const WIDER: f64 = 1.25;

/// What is known of the stamps and the path.
#[derive(Copy, Clone, Debug)]
pub(super) struct Known {
    /// Of the receiver's clock.
    pub(super) resolution: f64,
    /// The smallest dispersion that the path delivers, as far as it is known.
    pub(super) floor: f64,
    /// Periods below this are not looked for.
    pub(super) shortest: f64,
    /// Where not arrivals are stamped, but what the host's kernel replied to them.
    pub(super) replies: Option<Replies>,
}

impl Known {
    /// Packets that came together are stamped no closer than this.
    fn spacing(&self) -> f64 {
        self.replies.map_or(0.0, |replies| replies.spacing)
    }
}

/// One explanation with its likelihood.
#[derive(Clone, Debug)]
struct Explained {
    behaviour: Behaviour,
    log: f64,
    together: f64,
    /// By how much the first reply of a train is later than the others.
    rest: f64,
    blur: f64,
    wild: f64,
}

/// Log-likelihood of `behaviour` given `samples`.
pub(super) fn log_likelihood(samples: &[Sample], known: Known, behaviour: Behaviour) -> Option<f64> {
    View::new(samples, known).explain(behaviour).map(|explained| explained.log)
}

impl Explained {
    /// Nats that it must gain over none: on a busy path, where most gaps are wild, chance offers many explanations.
    fn needed(&self, known: Known) -> f64 {
        match self.wild {
            // What others did to replies is weighed as such, for every behaviour alike.
            wild if known.replies.is_some() && wild > QUIET => GAIN_OF_REPLIES,
            wild if wild > BUSY => BUSY_GAIN,
            wild if wild > QUIET => GAIN,
            _ => QUIET_GAIN,
        }
    }

    /// A period must stand well clear of the blur; the more so where its multiples count too.
    fn stands_clear(&self) -> bool {
        let times = if let Behaviour::Deferred { .. } = self.behaviour { 20.0 } else { 6.0 };
        times * self.blur < self.behaviour.period()
    }
}

impl Fit {
    /// The behaviour that explains `samples`; `None` for too few.
    pub(super) fn of(samples: &[Sample], known: Known) -> Option<Self> {
        if samples.len() < 3 * LEAST_SEEN {
            return None;
        }
        let view = View::new(samples, known);
        let none = view.explain(Behaviour::None)?;
        let mut all: Vec<Explained> = Vec::new();
        for period in view.borders() {
            all.extend(view.explain(Behaviour::Hold(period)));
        }
        for period in view.levels() {
            all.extend(view.explain(Behaviour::Throttle(period)));
            for polls in POLLS {
                all.extend(
                    view.explain(Behaviour::Deferred { period, polls })
                        .map(|explained| Explained { log: explained.log - POLL_GAIN, ..explained }),
                );
            }
        }
        all.retain(|explained| view.shows(explained));
        let best = all.iter().max_by(|a, b| a.log.total_cmp(&b.log));
        // By how much first replies are late is fitted for each explanation, and is no evidence of a NIC.
        let as_late = best.and_then(|best| view.explain_late(Behaviour::None, best.rest));
        let without = as_late.map_or(none.log, |late| late.log.max(none.log));
        let Some(best) = best.filter(|best| best.log > without + best.needed(known)) else {
            let Explained { behaviour, together, blur, wild, .. } = none;
            let rest = view.median_rest(behaviour);
            return Some(Self { behaviour, period: None, together, gain: 0.0, blur, wild, rest });
        };
        let kin: Vec<&Explained> = all
            .iter()
            .filter(|other| other.behaviour.kind() == best.behaviour.kind() && other.log > best.log - PROFILE)
            .collect();
        let period = view.period(best, &kin);
        Some(Self {
            behaviour: best.behaviour,
            period: Some(period),
            together: best.together,
            gain: best.log - without,
            blur: best.blur,
            wild: best.wild,
            rest: view.median_rest(best.behaviour),
        })
    }
}

/// The samples, and what follows from them once for all explanations.
struct View<'a> {
    samples: &'a [Sample],
    known: Known,
    /// By how much the first packet of each sample was later than the promptest ones.
    lateness: Vec<f64>,
    /// All gaps, ascending.
    gaps: Vec<f64>,
    /// The gap of packets that left as one burst, as most have it.
    burst: f64,
    longest: f64,
}

/// Deviations of the gaps from what is predicted, in the order of the samples.
struct Deviations {
    all: Vec<Deviation>,
    together: f64,
}

impl<'a> View<'a> {
    fn new(samples: &'a [Sample], known: Known) -> Self {
        let next: Vec<f64> = samples.iter().filter_map(|sample| Some(sample.next?.1)).collect();
        let all: Vec<f64> = samples.iter().map(|sample| sample.gap).chain(next.iter().copied()).collect();
        let gaps = sorted(&all);
        let longest = gaps.last().copied().unwrap_or(0.0).max(10.0 * known.shortest);
        let delays: Vec<(f64, f64)> = samples.iter().map(|sample| (sample.at, sample.delay)).collect();
        let line = if known.replies.is_some() {
            // Both stamps are of one clock.
            let least = delays.iter().map(|(_, delay)| *delay).fold(f64::INFINITY, f64::min);
            Line { intercept: least, slope: 0.0 }
        } else {
            // The clocks run apart: the line under the delays takes that off.
            line_under(&delays).unwrap_or(Line { intercept: f64::NEG_INFINITY, slope: 0.0 })
        };
        let lateness = delays.iter().map(|(at, delay)| (delay - line.at(*at)).max(0.0)).collect();
        Self { samples, known, lateness, burst: half_sample_mode(&next).unwrap_or(0.0), gaps, longest }
    }

    /// Where a hold's period may end: between any two dispersions.
    fn borders(&self) -> Vec<f64> {
        let dispersions = sorted(&self.samples.iter().map(|sample| sample.dispersion).collect::<Vec<_>>());
        let between = dispersions.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
        between.filter(|period| (self.known.shortest..=self.longest_hold()).contains(period)).collect()
    }

    /// No lone packet is held for longer.
    fn longest_hold(&self) -> f64 {
        self.known.replies.map_or(f64::INFINITY, |replies| replies.round_trip)
    }

    /// Where a throttle's level may lie: wherever gaps are.
    fn levels(&self) -> Vec<f64> {
        const PLACES: usize = 90;
        let at = |place: usize| quantile_of_sorted(&self.gaps, place as f64 / PLACES as f64);
        let mut levels: Vec<f64> = (0..=PLACES)
            .filter_map(at)
            .filter(|level| *level >= self.known.shortest)
            .map(|level| {
                // The middle of the heap that this gap lies in, if it lies in one.
                let reach = 3.0 * self.least_blur();
                let near: Vec<f64> =
                    self.gaps.iter().copied().filter(|gap| (gap - level).abs() <= reach).collect();
                median(&near).unwrap_or(level)
            })
            .collect();
        levels.dedup_by(|a, b| (*a - *b).abs() < 1.0);
        levels
    }

    fn least_blur(&self) -> f64 {
        (self.known.resolution / 2.0).max(150.0)
    }

    fn most_blur(&self) -> f64 {
        3_000.0 + self.known.resolution
    }

    /// How far apart packets may be stamped that were handed on together: the path alone brings none so close.
    fn closest(&self, behaviour: Behaviour) -> f64 {
        (0.5 * self.known.floor).max(STEP).min(CLOSE * behaviour.period()).max(WIDER * self.known.spacing())
    }

    /// When the packets of each train are handed on, if the first comes at zero and no two closer than `floor`.
    fn handed(&self, behaviour: Behaviour, floor: f64) -> impl Iterator<Item = Vec<f64>> {
        self.samples.iter().map(move |sample| {
            let second = sample.dispersion.max(floor);
            let third = second + sample.next.map_or(0.0, |(dispersion, _)| dispersion.max(floor));
            behaviour.delivered(&[0.0, second, third])
        })
    }

    /// The same, with what is known of each train. Of replies, a first one that was late, wherever, has the second follow so
    /// much closer that is handed on by itself.
    fn delivered(&self, behaviour: Behaviour, floor: f64) -> Vec<Vec<f64>> {
        let of = |((sample, late), mut at): ((&Sample, &f64), Vec<f64>)| {
            let second = sample.dispersion.max(floor);
            // To the nanosecond, as below.
            if self.known.replies.is_some() && at[1] - at[0] > second - 1.0 {
                at[0] += late;
            }
            at
        };
        self.samples.iter().zip(&self.lateness).zip(self.handed(behaviour, floor)).map(of).collect()
    }

    /// By how much first replies are late, where the second is handed on at another time: of each train by how much its gap is
    /// shorter than `delivered` has it. Nothing for too few.
    fn rests(&self, delivered: &[Vec<f64>]) -> Vec<f64> {
        let Some(replies) = self.known.replies else { return Vec::new() };
        let mut apart: Vec<(f64, f64)> =
            self.samples.iter().zip(delivered).map(|(sample, at)| (at[1] - at[0], sample.gap)).collect();
        if apart.len() < 2 * LEAST_SEEN {
            return Vec::new();
        }
        // Those that came before the first reply had left tell nothing: the further half tells, and of it not those that follow
        // as close as they can.
        apart.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let further = apart[..apart.len() / 2].iter();
        let alone = further.filter(|(due, gap)| *due > 0.0 && *gap > WIDER * replies.spacing);
        alone.map(|(due, gap)| due - gap).collect()
    }

    /// By how much even a prompt first reply is later than it would be if its request had not found the kernel at rest. A hold
    /// that is shorter hides in it.
    fn rest(&self, behaviour: Behaviour, delivered: &[Vec<f64>]) -> f64 {
        let most = if let Behaviour::Hold(period) = behaviour { period } else { f64::INFINITY };
        half_sample_mode(&self.rests(delivered)).map_or(0.0, |rest| rest.clamp(0.0, most))
    }

    /// By how much the first reply of most trains is late, its own lateness with it. Waits on the path are not in it, which the
    /// second packet has as well as the first.
    fn median_rest(&self, behaviour: Behaviour) -> f64 {
        let handed: Vec<Vec<f64>> = self.handed(behaviour, self.known.floor).collect();
        median(&self.rests(&handed)).unwrap_or(0.0).max(0.0)
    }

    /// Without coalescence a burst shows how close packets can come; with it that is hidden.
    fn floor(&self, behaviour: Behaviour) -> f64 {
        match behaviour {
            Behaviour::None => self.known.floor.max(self.burst),
            _ => self.known.floor,
        }
    }

    fn deviations(&self, behaviour: Behaviour, delivered: Vec<Vec<f64>>, rest: f64) -> Deviations {
        let mut predicted: Vec<(f64, f64, Option<f64>, f64)> = Vec::with_capacity(2 * self.samples.len());
        for ((sample, late), at) in self.samples.iter().zip(&self.lateness).zip(delivered) {
            let replied = one_by_one(at, self.known.spacing(), rest);
            predicted.push((sample.gap, replied[1] - replied[0], Some(sample.dispersion - late), *late));
            predicted.extend(sample.next.map(|(_, gap)| (gap, replied[2] - replied[1], None, *late)));
        }
        // To the nanosecond: the expected are sums and differences.
        let met = |expected: f64| expected <= self.known.spacing() + 1.0;
        let close: Vec<f64> =
            predicted.iter().filter(|(_, expected, ..)| met(*expected)).map(|(gap, ..)| *gap).collect();
        let together = median(&close).unwrap_or(0.0).clamp(0.0, self.closest(behaviour));
        let deviation = |&(gap, expected, least, late): &(f64, f64, Option<f64>, f64)| {
            let size = gap - if met(expected) { together } else { expected };
            Deviation { gap, size, least, late }
        };
        Deviations { all: predicted.iter().map(deviation).collect(), together }
    }

    fn explain(&self, behaviour: Behaviour) -> Option<Explained> {
        let delivered = self.delivered(behaviour, self.floor(behaviour));
        let rest = self.rest(behaviour, &delivered);
        self.explain_with(behaviour, delivered, rest)
    }

    /// The same, if the first reply of a train is later than the others by `rest`.
    fn explain_late(&self, behaviour: Behaviour, rest: f64) -> Option<Explained> {
        self.explain_with(behaviour, self.delivered(behaviour, self.floor(behaviour)), rest)
    }

    fn explain_with(&self, behaviour: Behaviour, delivered: Vec<Vec<f64>>, rest: f64) -> Option<Explained> {
        let Deviations { all, together } = self.deviations(behaviour, delivered, rest);
        let sizes: Vec<f64> = all.iter().map(|deviation| deviation.size.abs()).collect();
        // Laplace's distribution of scale b has 30 % of its deviations below 0.357 b; the wild ones are above.
        let blur = (quantile(&sizes, 0.3)? / 0.357).clamp(self.least_blur(), self.most_blur());
        let strays = sizes.iter().filter(|size| **size > 6.0 * blur).count();
        let wild = (strays as f64 / sizes.len() as f64).clamp(0.02, 0.95);
        let noise = self.known.replies.map(|replies| replies.noise);
        let scatter = Scatter { behaviour, blur, together, burst: self.burst, longest: self.longest, noise };
        let likelihood = |one: &Deviation| (1.0 - wild) * scatter.near(one.size) + wild * scatter.wild(one);
        let log = all.iter().map(|deviation| likelihood(deviation).ln()).sum();
        Some(Explained { behaviour, log, together, rest, blur, wild })
    }

    /// Whether enough gaps lie where only this behaviour puts them: together, and a throttle's at its level as well. A
    /// slow link makes a level too, but no packets that come together.
    fn shows(&self, explained: &Explained) -> bool {
        let Explained { behaviour, together, blur, .. } = explained;
        let seen = |gaps: &[f64], place: f64| {
            gaps.iter().filter(|gap| (**gap - place).abs() <= 4.0 * blur).count() >= LEAST_SEEN
        };
        let level = || {
            matches!(behaviour, Behaviour::Hold(_)) || seen(&self.gaps_awake(explained), behaviour.period())
        };
        explained.stands_clear() && seen(&self.gaps, *together) && level()
    }

    /// All gaps, ascending, as they would be if no request had found the kernel at rest.
    fn gaps_awake(&self, explained: &Explained) -> Cow<'_, [f64]> {
        if explained.rest == 0.0 {
            return Cow::Borrowed(&self.gaps);
        }
        let delivered = self.delivered(explained.behaviour, self.known.floor);
        let gaps = self.samples.iter().zip(delivered).flat_map(|(sample, at)| {
            let rest = if at[1] > at[0] { explained.rest } else { 0.0 };
            [Some(sample.gap + rest), sample.next.map(|(_, gap)| gap)]
        });
        sorted(&gaps.flatten().collect::<Vec<_>>()).into()
    }

    /// The period of the best explanation, with those of the same kind that are nearly as likely.
    fn period(&self, best: &Explained, kin: &[&Explained]) -> Estimate {
        let periods = kin.iter().map(|other| other.behaviour.period());
        let low = periods.clone().fold(best.behaviour.period(), f64::min);
        let high = periods.fold(best.behaviour.period(), f64::max);
        if let Behaviour::Hold(_) = best.behaviour {
            // Any place between the dispersions next to the border is as likely.
            let dispersions = self.samples.iter().map(|sample| sample.dispersion.max(self.known.floor));
            let below = dispersions.clone().filter(|x| *x <= low).fold(0.0, f64::max);
            let above = dispersions.filter(|x| *x >= high).fold(f64::INFINITY, f64::min);
            let above = if above.is_finite() { above } else { high };
            // Cross traffic parts packets that would have come together and so pushes the border down; but whatever it
            // does, no packet that was not held with the first comes within the period.
            let parted = self.gaps_awake(best).iter().copied().find(|gap| *gap >= 0.95 * low);
            let above = parted.map_or(above, |parted| parted.max(above)).min(self.longest_hold());
            return self.doubted(f64::midpoint(low, high), below, above);
        }
        // The level itself: the middle of the gaps that lie on it.
        let reach = 4.0 * best.blur;
        let level = best.behaviour.period();
        let gaps = self.gaps_awake(best);
        let near: Vec<f64> = gaps.iter().copied().filter(|gap| (gap - level).abs() <= reach).collect();
        let sampled = quantile_interval(&near, 0.5).unwrap_or(Estimate { value: level, low, high });
        // The clock's grid, and its rate.
        let doubt = self.known.resolution + CLOCK_RATE_DOUBT * level;
        self.doubted(sampled.value, sampled.low.min(low) - doubt, sampled.high.max(high) + doubt)
    }

    /// A reply leaves once the kernel has dealt with its request, and not every batch is dealt with as quickly: the first
    /// finds the kernel at rest. By how much is not known; what a request takes is the measure of it.
    fn doubted(&self, value: f64, low: f64, high: f64) -> Estimate {
        let kernel = self.known.spacing();
        Estimate { value, low: low - kernel, high: high + kernel }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACING: f64 = 3_000.0;
    const BURST: f64 = 700.0;

    /// Trains of all dispersions up to a millisecond, whose replies leave as that NIC hands on requests, the first later by
    /// `rest`; with the shortest round trip.
    fn fit(behaviour: Behaviour, rest: f64, round_trip: f64) -> Fit {
        let samples = (0..80).map(|place: i32| {
            let dispersion = 2e3 * 1.08_f64.powi(place);
            let handed = behaviour.delivered(&[0.0, dispersion, dispersion + BURST]);
            let replied = one_by_one(handed, SPACING, rest);
            let [gap, next] = [replied[1] - replied[0], replied[2] - replied[1]];
            Sample { at: f64::from(place), delay: 0.0, dispersion, gap, next: Some((BURST, next)) }
        });
        let replies = Some(Replies { spacing: SPACING, noise: 100.0, round_trip });
        let known = Known { resolution: 1.0, floor: 0.0, shortest: 15e3, replies };
        Fit::of(&samples.collect::<Vec<_>>(), known).unwrap()
    }

    #[test]
    fn a_hold_is_no_longer_than_a_round_trip() {
        let hold = fit(Behaviour::Hold(50e3), 0.0, 60e3);
        assert!(matches!(hold.behaviour, Behaviour::Hold(period) if (period - 50e3).abs() < 2e3), "{hold:?}");
        let shorter = fit(Behaviour::Hold(50e3), 0.0, 40e3);
        assert!(shorter.period.is_none_or(|period| period.high <= 40e3 + SPACING), "{shorter:?}");
    }

    #[test]
    fn a_first_reply_that_is_late_is_known_and_taken_off() {
        for rest in [0.0, 8e3, 40e3] {
            let none = fit(Behaviour::None, rest, 1e9);
            assert_eq!(none.behaviour, Behaviour::None, "{rest}: {none:?}");
            assert!((none.rest - rest).abs() < 200.0, "{rest}: {none:?}");
            let throttle = fit(Behaviour::Throttle(120e3), rest, 1e9);
            let period = throttle.period.unwrap();
            assert!(matches!(throttle.behaviour, Behaviour::Throttle(_)), "{rest}: {throttle:?}");
            assert!((period.value - 120e3).abs() < 200.0, "{rest}: {throttle:?}");
        }
    }
}
