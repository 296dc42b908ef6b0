//! `busy-trains`, Dwell's own method: trains that keep the tight link busy, so that each gap counts what came between.
//!
//! While a train comes in at least as fast as the tight link has free, that link is hardly idle between two of its packets.
//! What leaves it between them is the second packet and the cross traffic that came after the first:
//! `g_out = L / C + rho g_in`, a line in g_in, whose beginning is the tight link's capacity and whose slope its load;
//! A = C (1 - rho). Every gap of every train counts, whatever the traffic is made of, and the trains are spread at random
//! over the time that the answer is an average of.
//!
//! First bursts show the pace, and where packets were not parted, L / C. Then come trains at that pace and, nearer and nearer to
//! what seems free, at two other spacings, each headed by a few packets back to back that keep the link busy until the
//! train itself does: the line is known. Last the least that it says is free is put to the test by longer trains, which must
//! pass as they were sent; where they do not, or where waits and bursts show another loaded link, long trains at several rates
//! tell together what is free, whatever the tight link carries. And where there is room for
//! it, a long train at the least that seems free looks for a token bucket that passed all others.

mod answer;
mod belief;
mod came;
mod deep;
mod elsewhere;
mod late;
mod long;
#[cfg(test)]
mod made;
mod plan;
mod queue;
mod round;
mod samples;
mod sending;
mod still;
mod strain;
mod trial;
mod unparted;
mod waiting;

use crate::bucket::Bucket;
use crate::limit::by_size::BySize;
use crate::method::{Method, Step};
use crate::report::{Report, Vantage};
use crate::stream::sample::at_once;
use crate::stream::{Passed, first, passed, shape, spacings, vantage};
use crate::train::{Observation, PathFacts};
use crate::unit::Nanos;
use came::Came;
use deep::Deep;
use round::Round;
use samples::Samples;
use sending::Sending;
use still::{is_rare, stood_still};
use trial::Trial;

/// How `busy-trains` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Packets that are sent on any path.
    pub packets: usize,
    /// What may be sent beyond them, as a share of what the narrow link carries while the measurement lasts.
    pub share: f64,
    /// All that may be sent, as such a share, where that leaves room for a train that looks for a token bucket.
    pub most: f64,
    /// How long a measurement takes, on links that are not slow.
    pub lasting: Nanos,
    /// Seed of the pauses.
    pub seed: u64,
}

impl Config {
    /// Packets that may be sent on a link that takes `pace` nanoseconds for each.
    fn budget(&self, pace: f64) -> usize {
        self.packets.max((self.share * self.lasting.as_f64() / pace) as usize)
    }
}

impl Default for Config {
    /// 300 packets in a second at 100 Mb/s.
    fn default() -> Self {
        Self { packets: 300, share: 0.015, most: 0.02, lasting: Nanos::from_millis(1_000), seed: 10 }
    }
}

/// The method.
#[derive(Clone, Debug)]
pub struct Busy {
    config: Config,
    round: Round,
    sending: Sending,
    /// Of the receiver's stamps, nanoseconds.
    resolution: f64,
    samples: Samples,
    trial: Trial,
    /// How the trains of this round came.
    came: Came,
    /// How far apart packets of bursts came, by their size.
    sizes: BySize,
    /// Of the receiver's batches, what it took for their length when trains at the pace were planned, and whether they
    /// were sent a second time.
    planned: Option<usize>,
    again: bool,
    /// Trains waited for each other, and were sent again further apart.
    apart: bool,
    /// How often all was sent once more because what bursts showed was not the link's.
    anew: usize,
    deep: Deep,
    /// More was to be asked when it took too long.
    is_cut_short: bool,
    /// Of the long trains at what seems free, where there were any.
    bucket: Option<Bucket>,
    /// The same while long trains at a search's rate look for a token bucket, and whether any were sent.
    aside: Option<Bucket>,
    sought: bool,
    /// Trains of which packets were lost, and whole ones that came in another order: neither is read.
    lost: usize,
    disordered: usize,
    /// Trains that a host held up, which are not read either.
    still: usize,
    seen: usize,
    vantage: Vantage,
}

impl Busy {
    /// Its name.
    pub const NAME: &'static str = "busy-trains";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            round: Round::Pace(0),
            sending: Sending::new(&config, facts),
            resolution: facts.resolution.as_f64(),
            samples: Samples::default(),
            trial: Trial::default(),
            came: Came::default(),
            sizes: BySize::default(),
            planned: None,
            again: false,
            apart: false,
            anew: 0,
            deep: Deep::default(),
            is_cut_short: false,
            bucket: None,
            aside: None,
            sought: false,
            lost: 0,
            disordered: 0,
            still: 0,
            seen: 0,
            vantage: Vantage::Capture,
        }
    }

    /// Whether a train, whose first packet left and came so, met a host that stood still: one of few, behind the bursts of the first round.
    fn stood_still(&self, passed: &[Passed], first: Option<(f64, f64)>) -> bool {
        if matches!(self.round, Round::Pace(_)) || self.samples.batch.is_some() {
            return false;
        }
        let least = self.samples.firsts.iter().map(|(_, delay)| *delay).reduce(f64::min);
        let waited = first.zip(least).map_or(0.0, |((_, delay), least)| delay - least);
        let own = self.samples.own();
        own.is_some_and(|(own, _)| stood_still(passed, own, waited)) && is_rare(self.still, self.seen)
    }
}

impl Method for Busy {
    fn next(&mut self) -> Step {
        let (round, fleet) = self.after();
        (self.round, self.came) = (round, Came::default());
        fleet.map_or(Step::Done, Step::Send)
    }

    fn see(&mut self, observation: &Observation) {
        self.seen += 1;
        let passed = passed(observation);
        if self.round == Round::Deep {
            self.deep.see(observation);
        }
        if self.round == Round::Bucket && !self.trial.searching && self.is_at_rest() {
            self.trial.see(&passed, self.samples.whole(&passed));
        }
        if let (Round::Bucket, Some(bucket)) = (self.round, &mut self.bucket) {
            bucket.see(&passed);
            self.lost += usize::from(bucket.fallen().is_none() && passed.len() < observation.fates.len());
            return;
        }
        if spacings(observation).is_none() && !(passed.len() == observation.fates.len() && at_once(&passed)) {
            let whole = passed.len() == observation.fates.len();
            *(if whole { &mut self.disordered } else { &mut self.lost }) += 1;
            return;
        }
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        if let (Round::Pace(_) | Round::Sizes, Some((size, _))) = (self.round, shape(observation)) {
            // Of each burst as a whole: what a NIC hands over at once comes at the program's pace, whatever its size.
            let gaps = passed.len().saturating_sub(1);
            let each = passed.last().map_or(0.0, |last| last.came) / gaps.max(1) as f64;
            (0..gaps).for_each(|_| self.sizes.see(size, each));
        }
        if self.round == Round::Sizes {
            return;
        }
        let first = first(observation);
        if self.stood_still(&passed, first) {
            self.still += 1;
            return;
        }
        if !matches!(self.round, Round::Pace(_)) {
            self.samples.firsts.extend(first);
        }
        // Others are headed by packets that are nearer to each other than the rest: these come further apart on any link.
        if let (false, Some((began, _))) = (matches!(self.round, Round::Nearer(_)), first) {
            self.came.see(&passed, began);
        }
        if let Round::Pace(_) | Round::Full = self.round {
            self.samples.see_batches(&passed);
        }
        let holds: Vec<f64> = observation.fates.iter().map(|fate| fate.packet.hold.as_f64()).collect();
        let timely = self.samples.timely(&passed, &holds);
        match self.round {
            Round::Pace(_) => self.samples.see_burst(&passed, first),
            Round::Test => self.trial.see(&passed, self.samples.whole(&passed)),
            Round::Full | Round::More(_) => self.samples.see_full(&passed, first, &timely),
            Round::Nearer(step) => self.samples.see_near(step, &passed, &timely),
            Round::Sizes | Round::Deep | Round::Bucket | Round::Over => (),
        }
    }

    fn report(&self) -> Report {
        self.answer()
    }
}
