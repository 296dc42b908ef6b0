//! Interrupt coalescence of the host under test: whether its NIC, or the kernel above it, gathers packets before it
//! hands them on, how, and for how long (papers/002 only detects it).
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

mod asking;
mod behaviour;
mod fit;
mod long;
mod replies;
mod scatter;
mod verdict;

pub use behaviour::Behaviour;
pub use fit::{Fit, Sample};

use crate::gap;
use crate::method::{Method, Step};
use crate::report::{Quantity, Report, Vantage};
use crate::stats::quantile::quantile;
use crate::train::{Direction, Fleet, Observation, PathFacts};
use crate::unit::{Bytes, INTER_FRAME_GAP, Nanos};
use asking::{LONG, ROUND, ROUNDS};
use fit::Known;
use long::LongTrain;
use replies::Replies;
use std::borrow::Cow;

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

/// A long train tells something from so many packets on.
const LONG_ENOUGH: usize = 40;
/// Batches are told apart where replies take no more than this share of the time between requests.
pub const REPLIES_TAKE: f64 = 1.0 / 3.5;
/// Time between the requests of a train whose replies are read.
pub const SPACING: Nanos = Nanos::from_micros(10);
/// Periods below this are not told from what kernels themselves take for a packet: over veth, without any NIC, packets
/// sent up to 12 us apart were seen to come together.
const SHORTEST: f64 = 15_000.0;
/// So many packets at least must be further apart than a hold's period for its end to be known.
const BEYOND: usize = 5;
/// The longest pause that is tried.
const LONGEST_PAUSE: Nanos = Nanos::from_millis(300);

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
        let (departed, stamp) = self.seen().origin.filter(|_| self.config.replies)?;
        Some(Replies::of(self.samples(), &self.counted(), (stamp - departed).as_f64()))
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

    /// Whether trains were handed on together with the ones before them: the pause is shorter than the period.
    fn pause_too_short(&self) -> bool {
        self.merged.1 >= 8 && self.merged.0 * 3 > self.merged.1
    }

    /// Whether hardly a packet came apart from the one before it: the period is longer than all that was tried.
    fn reach_too_short(&self) -> bool {
        if self.rounds < ROUNDS {
            return false;
        }
        let Some(Behaviour::Hold(period)) = self.fit().map(|fit| fit.behaviour) else { return false };
        self.counted().iter().filter(|sample| sample.dispersion > period).count() < BEYOND
    }

    /// Forgets what was seen with a pause, or dispersions, that were too short.
    fn start_again(&mut self) {
        self.pause = (self.pause * 8).min(LONGEST_PAUSE);
        self.reach = self.reach * 8;
        self.rounds = 0;
        self.merged = (0, 0);
        self.before = None;
        self.application = Seen::default();
        self.capture = Seen::default();
    }

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
}

impl Method for Coalescence {
    fn next(&mut self) -> Step {
        if self.pause < LONGEST_PAUSE && (self.pause_too_short() || self.reach_too_short()) {
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
        self.verdict()
    }
}
