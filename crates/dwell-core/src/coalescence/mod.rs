//! Interrupt coalescence of the host under test: whether its NIC, or the kernel above it, gathers packets before it
//! hands them on, how, and for how long (host-delay.md, section 5; papers/002 only detects it).
//!
//! # What shows it
//!
//! Trains of three packets, the second x after the first, the third back to back with the second, are sent after a
//! rest. With a period T, and f the least dispersion that the path delivers, their gaps at the receiver's kernel are
//!
//! | | x and f within the period | x above it |
//! |---|---|---|
//! | none | x, f | x, f |
//! | hold | 0, 0 | x, 0 |
//! | throttle | T, 0 | x, T |
//! | deferred, n polls | T times the polls it took, 0 | x above n T only |
//!
//! The first packet is a *priming* packet to the other two: what is flat because a link is slow is so for every gap,
//! what is flat because of coalescence is not. [`Fit`] weighs the kinds against each other by their likelihood.
//! Long dense trains show the period at a high packet rate: where it is longer than after a rest, the NIC adapts.
//!
//! # Where it is identifiable
//!
//! - T must be above the least dispersion that the path delivers and the stamps resolve: of a shorter one only a bound
//!   is said.
//! - Kernel stamps see the NIC alone. On application stamps a hold of T looks as a program does that takes T to wake
//!   up, so there only throttles longer than the application stage are told, and of the rest nothing is claimed.
//! - `deferred` with one poll is a throttle.
//! - A NIC that changes its settings during the run is told as such, and gets no figure.

mod behaviour;
mod fit;
mod kind;
mod long;
mod replies;
mod scatter;

pub use behaviour::Behaviour;
pub use fit::{Fit, Sample};
pub use kind::Kind;

use crate::gap;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::stats::histogram::half_sample_mode;
use crate::stats::quantile::quantile;
use crate::train::{Departure, Direction, Fleet, Observation, Packet, PathFacts, Train};
use crate::unit::{Bytes, INTER_FRAME_GAP, Nanos};
use fit::Known;
use long::LongTrain;
use replies::Replies;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What other methods must know of coalescence: how long a packet of a pair may be held after a rest.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coalesced {
    /// How.
    pub kind: Kind,
    /// At most so long; of [`Kind::None`] what could not be seen, because it would be too short.
    pub period: Nanos,
}

/// What can be set.
#[derive(Clone, Debug, PartialEq)]
pub struct CoalescenceConfig {
    /// Idle time before each train; longer than any period, or it is lengthened.
    pub pause: Nanos,
    /// The largest dispersion that is tried first.
    pub reach: Nanos,
    /// Which of the receiver's stamps are read; `None`: the kernel's where there are any, else the program's.
    pub stamps: Option<Vantage>,
    /// Whether the stamps are those of the replies that the host's kernel sent back, taken here.
    pub replies: bool,
}

impl Default for CoalescenceConfig {
    fn default() -> Self {
        Self { pause: Nanos::from_millis(4), reach: Nanos::from_micros(1_500), stamps: None, replies: false }
    }
}

/// What is found.
pub const QUANTITIES: [Quantity; 4] =
    [Quantity::CoalescencePresent, Quantity::CoalescenceKind, Quantity::CoalescencePeriod, Quantity::NicHold];

/// Short trains of each round, of which there are [`ROUNDS`].
const ROUND: usize = 36;
const ROUNDS: usize = 4;
/// Packets of a long train. A host that does not know of being measured is asked for less at once.
const LONG: usize = 320;
const LONG_OF_REPLIES: usize = 160;
/// Such a train tells something from so many packets on.
const LONG_ENOUGH: usize = 40;
/// Batches are told apart where replies take no more than this share of the time between requests.
pub const REPLIES_TAKE: f64 = 1.0 / 3.5;
/// The latter.
pub const SPACING: Nanos = Nanos::from_micros(10);
/// Periods below this are not told from what kernels themselves take for a packet: over veth, without any NIC, packets
/// sent up to 12 us apart were seen to come together.
const SHORTEST: f64 = 15_000.0;
/// The longest pause that is tried.
const LONGEST_PAUSE: Nanos = Nanos::from_millis(300);
/// Nats by which a part of a run must prefer its own behaviour to the other part's before a change is believed.
const PREFERS: f64 = 50.0;
/// So busy a path tells no change.
const TOO_WILD: f64 = 0.4;
/// The share of gaps changed by cross traffic from which on nothing can be ruled out.
const TOO_BUSY: f64 = 0.55;
/// Where periods up to this would not show, 'no coalescence' says nothing: NICs are set to tens of microseconds.
const NOTHING_TO_SAY: f64 = 60_000.0;
/// Two halves of a run whose periods differ by more than this share saw a change.
const CHANGED: f64 = 0.2;
/// A period at a high rate that is longer than the one after a rest by this factor follows the rate.
const ADAPTS: f64 = 1.25;

/// One short train with its stamps of one vantage.
#[derive(Clone, Debug, Default)]
struct Seen {
    short: Vec<Sample>,
    long: Vec<LongTrain>,
    /// Departure and stamp of the first packet of all.
    origin: Option<(Nanos, Nanos)>,
}

/// The method; see the [module's page](self).
#[derive(Clone, Debug)]
pub struct Coalescence {
    config: CoalescenceConfig,
    size: Bytes,
    resolution: Nanos,
    floor: Nanos,
    pause: Nanos,
    reach: Nanos,
    rounds: usize,
    sent: usize,
    trains: usize,
    lost: usize,
    application: Seen,
    capture: Seen,
    /// Last departure and last application stamp of the train before.
    before: Option<(Nanos, Nanos)>,
    /// Trains that were handed on together with the one before, and trains that could have been.
    merged: (usize, usize),
}

impl Coalescence {
    /// For a path of which `facts` are known.
    #[must_use]
    pub fn new(config: CoalescenceConfig, facts: &PathFacts) -> Self {
        let narrowest = [facts.end_link, facts.narrow_link].into_iter().flatten().min();
        let frame = facts.min_size + INTER_FRAME_GAP;
        Self {
            size: facts.min_size,
            resolution: facts.resolution.max(Nanos(1)),
            floor: narrowest.map_or(Nanos::ZERO, |capacity| capacity.time_for(frame)),
            pause: config.pause,
            reach: config.reach,
            rounds: 0,
            sent: 0,
            trains: 0,
            lost: 0,
            application: Seen::default(),
            capture: Seen::default(),
            before: None,
            merged: (0, 0),
            config,
        }
    }

    /// Which stamps are read.
    fn vantage(&self) -> Vantage {
        let kernel = self.capture.short.len() * 2 > self.application.short.len();
        self.config.stamps.unwrap_or(if kernel { Vantage::Capture } else { Vantage::Application })
    }

    fn seen(&self) -> &Seen {
        match self.vantage() {
            Vantage::Application => &self.application,
            Vantage::Capture => &self.capture,
        }
    }

    /// The short trains of the vantage that is read.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.seen().short
    }

    /// Those of them that count.
    fn counted(&self) -> Cow<'_, [Sample]> {
        match self.config.replies {
            true => replies::prompt(self.samples()).into(),
            false => self.samples().into(),
        }
    }

    fn replies(&self) -> Option<Replies> {
        self.config.replies.then(|| Replies::of(self.samples(), &self.counted()))
    }

    /// How close together packets are stamped that came at once.
    fn spacing(&self) -> f64 {
        self.replies().map_or(0.0, |replies| replies.spacing)
    }

    /// The smallest dispersion that can tell anything.
    fn least(&self) -> f64 {
        self.floor.as_f64().max(1_000.0).max(self.spacing())
    }

    /// The smallest dispersion that the sender made, but for a few.
    fn least_sent(&self) -> f64 {
        quantile(&self.counted().iter().map(|s| s.dispersion).collect::<Vec<_>>(), 0.02).unwrap_or(0.0)
    }

    fn known(&self) -> Known {
        let (floor, replies) = (self.floor.as_f64(), self.replies());
        let spacing = replies.map_or(0.0, |replies| replies.spacing);
        let least = self.least_sent().max(floor).max(spacing);
        let resolution = self.resolution.as_f64();
        let shortest = (1.25 * least + 3.0 * resolution).max(SHORTEST);
        Known { resolution, floor, shortest, replies }
    }

    /// What the short trains say.
    #[must_use]
    pub fn fit(&self) -> Option<Fit> {
        self.explained_with().map(|(fit, _)| fit)
    }

    /// The same, and what had to be taken for known.
    fn explained_with(&self) -> Option<(Fit, Known)> {
        let (samples, known) = (self.counted(), self.known());
        // Replies show how far apart they came back, not how far apart requests arrived: no further, where the links
        // back are no faster.
        let shares: &[f64] = if self.config.replies { &[0.0, 0.5, 1.0] } else { &[0.0] };
        let floors = shares.iter().map(|share| known.floor.max(share * self.spacing()));
        let fits = floors.filter_map(|floor| {
            let known = Known { floor, ..known };
            Some((Fit::of(&samples, known)?, known))
        });
        fits.max_by(|(one, _), (other, _)| one.gain.total_cmp(&other.gain))
    }

    fn short(&self, dispersion: f64) -> Departure {
        let packet = |hold| Packet { size: self.size, hold };
        let packets =
            vec![packet(Nanos::ZERO), packet(Nanos::from_f64(dispersion).max(Nanos(1))), packet(Nanos::ZERO)];
        Departure { pause: self.pause, train: Train { direction: Direction::Forward, packets } }
    }

    fn long(&self) -> Departure {
        let apart = (1.1 * self.floor.as_f64()).max(self.spacing() / REPLIES_TAKE);
        let hold = SPACING.max(Nanos::from_f64(apart));
        let packet = |place| Packet { size: self.size, hold: if place == 0 { Nanos::ZERO } else { hold } };
        let packets = (0..if self.config.replies { LONG_OF_REPLIES } else { LONG }).map(packet).collect();
        Departure { pause: self.pause, train: Train { direction: Direction::Forward, packets } }
    }

    /// Dispersions of the next round: the first goes over all, the later ones to where the fit leaves most open, and
    /// some over all again, so that a change of the settings shows.
    fn dispersions(&self) -> Vec<f64> {
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

    /// Whether trains were handed on together with the ones before them: the pause is shorter than the period.
    fn pause_too_short(&self) -> bool {
        self.merged.1 >= 8 && self.merged.0 * 3 > self.merged.1
    }

    /// Forgets what was seen with a pause that was too short.
    fn start_again(&mut self) {
        self.pause = (self.pause * 8).min(LONGEST_PAUSE);
        self.reach = self.reach * 8;
        self.rounds = 0;
        self.merged = (0, 0);
        self.before = None;
        self.application = Seen::default();
        self.capture = Seen::default();
    }

    fn changed(&self) -> Option<[Fit; 2]> {
        let samples = self.counted();
        let (first, last) = (samples.first()?.at, samples.last()?.at);
        let (whole, known) = self.explained_with()?;
        let split = |share: f64| {
            let border = first + share * (last - first);
            let place = samples.iter().position(|sample| sample.at > border)?;
            let (early, late) = samples.split_at(place);
            let fits = [Fit::of(early, known)?, Fit::of(late, known)?];
            let [one, other] = &fits;
            if one.wild.max(other.wild) > TOO_WILD {
                return None;
            }
            let apart = match (one.period, other.period) {
                (Some(one), Some(other)) => {
                    (one.value - other.value).abs() > CHANGED * one.value.max(other.value)
                }
                (one, other) => one.is_some() != other.is_some(),
            };
            // Each side must be explained far better by its own behaviour than by the other side's.
            let prefers = |samples: &[Sample], own: &Fit, other: &Fit| {
                let log = |fit: &Fit| fit::log_likelihood(samples, known, fit.behaviour);
                Some(log(own)? > log(other)? + PREFERS)
            };
            // What explains all of the run as well as that leaves no change to believe in.
            let differs = prefers(early, one, &whole)? || prefers(late, other, &whole)?;
            let sure = differs && prefers(early, one, other)? && prefers(late, other, one)?;
            ((apart || one.behaviour.kind() != other.behaviour.kind()) && sure).then_some(fits)
        };
        [0.3, 0.5, 0.7].into_iter().find_map(split)
    }

    /// What other methods must know; `None` where the run did not tell.
    #[must_use]
    pub fn coalesced(&self) -> Option<Coalesced> {
        let fit = self.fit()?;
        if self.changed().is_some() || self.pause_too_short() {
            return None;
        }
        if let Some(fast) = self.adapts(fit.behaviour) {
            return Some(Coalesced { kind: Kind::Adaptive, period: Nanos::from_f64(fast.high) });
        }
        match (self.vantage(), fit.behaviour) {
            (Vantage::Application, Behaviour::Hold(_) | Behaviour::None) => None,
            (_, Behaviour::None) if fit.wild > TOO_BUSY => None,
            (_, Behaviour::None) => {
                Some(Coalesced { kind: Kind::None, period: Nanos::from_f64(self.unseen_hold()) })
            }
            (_, behaviour) => {
                let polls = if let Behaviour::Deferred { polls, .. } = behaviour { polls } else { 1 };
                let longest = behaviour.period() * f64::from(polls.min(POLLS_OF_A_PAIR));
                Some(Coalesced { kind: behaviour.kind(), period: Nanos::from_f64(longest) })
            }
        }
    }

    /// The period at a high packet rate, if it is longer than that after a rest. On application stamps the program's own
    /// pace would be in it. (And a hold's batches come late by the wait for the next packet, which would look as a
    /// longer period.)
    fn adapts(&self, behaviour: Behaviour) -> Option<Estimate> {
        if self.vantage() != Vantage::Capture || matches!(behaviour.kind(), Kind::Hold | Kind::Deferred) {
            return None;
        }
        let batches = |together| long::batch_period(&self.seen().long, together, self.resolution.as_f64());
        let late = || self.config.replies.then(|| batches(long::TOGETHER_IF_LATE)).flatten();
        let fast = batches(long::TOGETHER).or_else(late)?;
        (fast.low > (ADAPTS * behaviour.period()).max(self.unseen_hold())).then_some(fast)
    }

    /// How close together packets came to the receiver, where nothing held them back.
    fn closest(&self) -> f64 {
        if self.config.replies {
            return self.least().max(self.least_sent());
        }
        let bursts: Vec<f64> = self.samples().iter().filter_map(|sample| Some(sample.next?.1)).collect();
        half_sample_mode(&bursts).unwrap_or(0.0).max(self.least())
    }

    /// The longest period that may not have shown: behind the first packet of a train two more must fit into it, as
    /// close as bursts came.
    fn bound(&self) -> f64 {
        2.4 * self.closest() + 4.0 * self.resolution.as_f64() + SHORTEST
    }

    /// The longest hold that may not have shown: one packet more must fit into it. (A throttle that did not show is
    /// no danger to others: it makes no packet wait for the program.)
    fn unseen_hold(&self) -> f64 {
        (1.25 * self.closest() + 3.0 * self.resolution.as_f64()).max(SHORTEST)
    }

    fn too_few(&self) -> String {
        match (self.trains, self.samples().len()) {
            (0, _) => "no trains of three packets were sent".to_owned(),
            (trains, 0) if self.lost == trains => format!("all {trains} trains lost a packet"),
            (trains, used) => format!("only {used} of {trains} trains arrived whole and in order"),
        }
    }
}

/// A trailing packet may be held for so many polls of a deferring kernel, as far as the sweep of a pair goes.
const POLLS_OF_A_PAIR: u32 = 12;

impl Method for Coalescence {
    fn next(&mut self) -> Step {
        if self.pause_too_short() && self.pause < LONGEST_PAUSE {
            self.start_again();
        }
        if self.rounds == ROUNDS || (self.rounds > 0 && self.samples().is_empty()) {
            return Step::Done;
        }
        let mut fleet: Fleet = self.dispersions().into_iter().map(|x| self.short(x)).collect();
        // How far apart replies leave must be known before.
        let (rounds, count) = if self.config.replies { (1..3, 2) } else { (0..2, 3) };
        if rounds.contains(&self.rounds) {
            fleet.extend((0..count).map(|_| self.long()));
        }
        self.rounds += 1;
        self.sent += ROUND;
        Step::Send(fleet)
    }

    fn see(&mut self, observation: &Observation) {
        let fates = observation.fates.as_slice();
        let [first, .., last] = fates else { return };
        if observation.direction != Direction::Forward
            || fates.iter().any(|fate| fate.packet.size != first.packet.size)
        {
            return;
        }
        let departed = |place: usize| fates[place].sent.nearest_wire();
        self.note_merging(first, last);
        self.trains += usize::from(fates.len() <= 3);
        if fates.iter().any(|fate| fate.arrival.is_none_or(|arrival| arrival.copies > 1)) {
            self.lost += usize::from(fates.len() <= 3);
            return;
        }
        for (vantage, seen) in
            [(Vantage::Application, &mut self.application), (Vantage::Capture, &mut self.capture)]
        {
            let gaps: Option<Vec<f64>> =
                fates.windows(2).map(|pair| gap::between(&pair[0], &pair[1], vantage)).collect();
            let stamp = first.arrival.and_then(|arrival| vantage.read(&arrival.stamps));
            let (Some(gaps), Some(stamp)) = (gaps, stamp) else { continue };
            let origin = *seen.origin.get_or_insert((departed(0), stamp));
            let left = |place: usize| (departed(place) - departed(place - 1)).as_f64();
            match gaps.as_slice() {
                [gap] | [gap, _] => seen.short.push(Sample {
                    at: (departed(0) - origin.0).as_f64(),
                    delay: (stamp - origin.1 - (departed(0) - origin.0)).as_f64(),
                    dispersion: left(1),
                    gap: *gap,
                    next: gaps.get(1).map(|gap| (left(2), *gap)),
                }),
                gaps if gaps.len() + 1 >= if self.config.replies { LONG_ENOUGH } else { LONG / 2 } => {
                    let mut stamps = vec![0.0];
                    gaps.iter().for_each(|gap| stamps.push(stamps[stamps.len() - 1] + gap));
                    let spacing = (departed(fates.len() - 1) - departed(0)).as_f64() / gaps.len() as f64;
                    seen.long.push(LongTrain { stamps, spacing });
                }
                _ => {}
            }
        }
    }

    fn report(&self) -> Report {
        let mut report = Report::new("coalescence", self.vantage());
        if self.lost * 10 > self.trains {
            let doubt = format!("{} of {} trains lost a packet and were left out", self.lost, self.trains);
            report.warnings.push(doubt);
        }
        let Some(fit) = self.fit() else { return nothing(report, &self.too_few()) };
        if self.pause_too_short() {
            let reason = format!(
                "packets were held even over the {} between trains: the period is as long or longer",
                self.pause
            );
            return nothing(report, &reason)
                .with(Quantity::CoalescencePresent, Finding::flag(true))
                .with(Quantity::CoalescencePeriod, Finding::at_least(self.reach.as_f64(), Unit::Ns, reason));
        }
        if let Some([early, late]) = self.changed() {
            let told = |fit: &Fit| match fit.period {
                None => "no coalescence".to_owned(),
                Some(period) => format!("{} of {}", fit.behaviour.kind(), Nanos::from_f64(period.value)),
            };
            let reason = format!(
                "the settings changed during the run, from {} to {}: run it again",
                told(&early),
                told(&late)
            );
            report.warnings.push(reason.clone());
            return nothing(report, &reason).with(Quantity::CoalescencePresent, Finding::flag(true));
        }
        self.explained(report, &fit)
    }
}

impl Coalescence {
    /// Notes whether a train was handed on together with the one before it.
    fn note_merging(&mut self, first: &crate::train::Fate, last: &crate::train::Fate) {
        let before = std::mem::replace(
            &mut self.before,
            last.arrival.map(|arrival| (last.sent.nearest_wire(), arrival.stamps.application)),
        );
        if let (Some((left, stamped)), Some(arrival)) = (before, first.arrival) {
            let rest = (first.sent.nearest_wire() - left).as_f64();
            let apart = (arrival.stamps.application - stamped).as_f64();
            self.merged.0 += usize::from(apart < 0.5 * rest);
            self.merged.1 += 1;
        }
    }

    /// The findings of a run that tells something.
    fn explained(&self, report: Report, fit: &Fit) -> Report {
        let kernel = self.vantage() == Vantage::Capture;
        let bound = self.bound();
        let too_short = |bound: f64| {
            let bound = Nanos::from_f64(bound);
            format!("a shorter one would not show: the path and the stamps resolve no more than {bound}")
        };
        let (unseen, unseen_hold) = (too_short(bound), too_short(self.unseen_hold()));
        let adapts = self.adapts(fit.behaviour);
        match (fit.behaviour, fit.period, adapts) {
            (behaviour, _, Some(fast)) => {
                // A throttle shows in short trains only if two packets fit into its period behind the first.
                let shows = 2.4 * self.least() + 4.0 * self.resolution.as_f64() + SHORTEST;
                let hidden = behaviour == Behaviour::None && fast.value < shows;
                let kind = if hidden {
                    Finding::unmeasurable(
                        "throttle or adaptive: its period is too short for the path to tell",
                    )
                } else {
                    Finding::kind(Kind::Adaptive)
                };
                report
                    .with(Quantity::CoalescencePresent, Finding::flag(true))
                    .with(Quantity::CoalescenceKind, kind)
                    .with(Quantity::CoalescencePeriod, Finding::nanos(fast.value, fast.low, fast.high))
                    .with(Quantity::NicHold, Finding::nanos(0.0, 0.0, 0.0))
            }
            (Behaviour::None, ..) if kernel && fit.wild > TOO_BUSY => {
                let share = 100.0 * fit.wild;
                nothing(
                    report,
                    &format!("cross traffic changed {share:.0} % of the gaps; repeat when it is quieter"),
                )
            }
            (Behaviour::None, ..) if kernel && bound > NOTHING_TO_SAY => nothing(report, &unseen)
                .with(Quantity::CoalescencePeriod, Finding::at_most(bound, Unit::Ns, &unseen))
                .with(Quantity::NicHold, Finding::at_most(self.unseen_hold(), Unit::Ns, unseen_hold)),
            (Behaviour::None, ..) | (_, None, _) if kernel => report
                .with(Quantity::CoalescencePresent, Finding::flag(false))
                .with(Quantity::CoalescenceKind, Finding::kind(Kind::None))
                .with(Quantity::CoalescencePeriod, Finding::at_most(bound, Unit::Ns, unseen))
                .with(Quantity::NicHold, Finding::at_most(self.unseen_hold(), Unit::Ns, unseen_hold)),
            (Behaviour::None | Behaviour::Hold(_), ..) | (_, None, _) if !kernel => {
                let reason = "without the receiving kernel's stamps a hold cannot be told from a program that takes \
                              as long to wake up";
                let longest = fit.period.map_or(bound, |period| period.high);
                nothing(report, reason)
                    .with(Quantity::CoalescencePeriod, Finding::at_most(longest, Unit::Ns, reason))
            }
            (_, None, _) => nothing(report, "no period was found"),
            (behaviour, Some(period), _) => {
                let Estimate { value, low, high } = period;
                let hold = match behaviour.kind() {
                    Kind::Hold => Finding::nanos(value, low, high),
                    // A packet after a rest interrupts at once.
                    _ => Finding::nanos(0.0, 0.0, 0.0),
                };
                report
                    .with(Quantity::CoalescencePresent, Finding::flag(true))
                    .with(Quantity::CoalescenceKind, Finding::kind(behaviour.kind()))
                    .with(Quantity::CoalescencePeriod, Finding::nanos(value, low, high))
                    .with(Quantity::NicHold, hold)
            }
        }
    }
}

/// Every quantity with a reason why it cannot be had.
fn nothing(report: Report, reason: &str) -> Report {
    QUANTITIES
        .into_iter()
        .fold(report, |report, quantity| report.with(quantity, Finding::unmeasurable(reason)))
}
