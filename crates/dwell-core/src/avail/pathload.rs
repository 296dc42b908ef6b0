//! `pathload`: self-loading periodic streams (Jain and Dovrolis, PAM 2002; IEEE/ACM ToN 11(4), 2003).
//!
//! A stream of K packets at rate R makes the one-way delays of its packets grow if R is more than what the tight link
//! has free, and else does not. A fleet of N streams votes; where it is of two minds, what is free varied around R
//! while the fleet went on. The result is a range.

use super::pace::Pace;
use super::search::{Search, Verdict};
use super::trend::{Trend, trend};
use crate::limit::Limit;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::quantile::median;
use crate::stream::{bit_rate, loss, occupied, passed, rate_at, shape, spacing, stream};
use crate::train::{Departure, Observation, PathFacts, Train};
use crate::unit::{Bytes, Nanos};

/// How `pathload` probes; the names in brackets are those of ToN 2003.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Packets of a stream (K).
    pub packets: usize,
    /// Streams of a fleet (N).
    pub streams: usize,
    /// Share of a fleet's streams that decides (f).
    pub majority: f64,
    /// The least spacing of packets (T_min); rates that full packets do not reach with it use less.
    pub least_spacing: Nanos,
    /// The smallest packet of a stream (L_min).
    pub least_size: Bytes,
    /// Streams take this share of the time, so that a fleet's average rate is a tenth of its streams'.
    pub share: f64,
    /// omega as a share of the dispersion rate; `chi` is one and a half times as much.
    pub resolution: f64,
    /// Fleets after which the range is taken as it is.
    pub fleets: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packets: 100,
            streams: 12,
            majority: 0.7,
            least_spacing: Nanos::from_micros(100),
            least_size: Bytes(200),
            share: 0.1,
            resolution: 0.05,
            fleets: 30,
        }
    }
}

/// A stream with more loss than that ends its fleet: the rate is too much (ToN 2003, section IV-D).
const HIGH_LOSS: f64 = 0.1;

/// Two streams with more loss than that end it too.
const MODERATE_LOSS: f64 = 0.03;

/// A fleet whose streams left at less of the rate under question tells of the rate at which they left, and is the last one: no faster
/// ones can be made.
const KEPT_UP: f64 = 0.9;

/// Packets of the train that shows the asymptotic dispersion rate, from which the search starts.
const FIRST_TRAIN: usize = 50;

/// The method.
#[derive(Clone, Debug)]
pub struct Pathload {
    config: Config,
    facts: PathFacts,
    search: Option<Search>,
    pace: Pace,
    /// Rate of the fleet under way, bits per second.
    rate: f64,
    /// Of the one after it; `None`: the search is over.
    next_rate: Option<f64>,
    trends: Vec<Trend>,
    /// At what rates its streams left.
    left: Vec<f64>,
    /// The sender makes no faster streams.
    fastest: Option<f64>,
    losses: Vec<f64>,
    fleets: usize,
    /// Of these, those that losses ended.
    lossy: usize,
    lasting: Nanos,
    vantage: Vantage,
}

impl Pathload {
    /// Its name.
    pub const NAME: &'static str = "pathload";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            search: None,
            pace: Pace::new(FIRST_TRAIN, facts),
            rate: 0.0,
            next_rate: None,
            trends: Vec::new(),
            left: Vec::new(),
            fastest: None,
            losses: Vec::new(),
            fleets: 0,
            lossy: 0,
            lasting: Nanos::ZERO,
            vantage: Vantage::Capture,
        }
    }

    /// L and T of a stream at `rate`: the least spacing with as large a packet as that takes, within bounds.
    fn stream(&self, rate: f64) -> Train {
        let bits = rate * self.config.least_spacing.as_secs_f64();
        let least = self.config.least_size.max(self.facts.min_size);
        let around = occupied(least) - least.bits() as f64;
        let size = Bytes(((bits - around) / 8.0).max(0.0) as u64).max(least).min(self.facts.max_size);
        stream(size, spacing(size, rate), self.config.packets)
    }

    fn fleet(&self) -> Vec<Departure> {
        let train = self.stream(self.rate);
        let lasts: Nanos = train.packets.iter().map(|packet| packet.hold).sum();
        let pause = Nanos::from_f64(lasts.as_f64() * (1.0 / self.config.share - 1.0));
        vec![Departure { pause, train }; self.config.streams]
    }

    /// Whether the fleet lost so much that its rate is too much, whatever its delays say.
    fn is_lossy(&self) -> bool {
        let moderate = self.losses.iter().filter(|loss| **loss > MODERATE_LOSS).count();
        moderate > 1 || self.losses.iter().any(|loss| *loss > HIGH_LOSS)
    }

    /// What the fleet says of its rate.
    fn verdict(&self) -> Verdict {
        if self.is_lossy() {
            return Verdict::Above;
        }
        let share = |trend| {
            let clear = self.trends.iter().filter(|other| **other != Trend::Ambiguous).count();
            let such = self.trends.iter().filter(|other| **other == trend).count();
            such as f64 / clear.max(1) as f64
        };
        if share(Trend::Increasing) >= self.config.majority {
            Verdict::Above
        } else if share(Trend::None) >= self.config.majority {
            Verdict::Below
        } else {
            Verdict::Grey
        }
    }
}

impl Method for Pathload {
    fn next(&mut self) -> Step {
        if self.search.is_none() {
            return self.pace.ask();
        }
        if !self.trends.is_empty() {
            let verdict = self.verdict();
            self.lossy += usize::from(self.is_lossy());
            let left = median(&self.left).filter(|left| *left < KEPT_UP * self.rate);
            self.trends.clear();
            self.losses.clear();
            self.left.clear();
            if let Some(search) = &mut self.search {
                search.learn(left.unwrap_or(self.rate), verdict);
                // Where slower streams are too fast already, that is all the same.
                self.fastest = left.filter(|_| search.full.is_none());
                self.next_rate = search.next().filter(|_| self.fastest.is_none());
            }
        }
        match self.next_rate {
            Some(rate) if self.fleets < self.config.fleets => {
                self.rate = rate;
                self.fleets += 1;
                Step::Send(self.fleet())
            }
            _ => Step::Done,
        }
    }

    fn see(&mut self, observation: &Observation) {
        if self.search.is_none() {
            self.pace.see(observation);
            self.next_rate = self.pace.rate();
            self.search = self.next_rate.map(|rate| {
                let omega = self.config.resolution * rate;
                Search::new(omega, 1.5 * omega)
            });
            return;
        }
        let Some((size, _)) = shape(observation).filter(|_| observation.fates.len() == self.config.packets)
        else {
            return;
        };
        let passed = passed(observation);
        let delays: Vec<f64> = passed.iter().map(crate::stream::Passed::delay).collect();
        if crate::stream::vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        self.losses.push(loss(observation));
        self.trends.push(trend(&delays));
        if let [first, .., last] = passed.as_slice() {
            let gaps = (last.number - first.number) as f64;
            self.left.push(gaps * rate_at(size, last.sent.max(1.0)));
            self.lasting = self.lasting.max(Nanos::from_f64(last.sent));
        }
    }

    fn report(&self) -> Report {
        let mut report = Report::new(Self::NAME, self.vantage);
        let (available, verdict) = match &self.search {
            None => {
                let why = "no train of 50 packets came through whole: nothing to start from";
                (Finding::unmeasurable(why), Some((Limit::Unstable, why.to_owned())))
            }
            Some(search) => match (search.full, self.fastest) {
                (Some(full), _) => {
                    let centre = f64::midpoint(search.free, full);
                    (Finding::value(centre, search.free, full, Unit::Bps), None)
                }
                (None, Some(left)) => {
                    let (left, asked) = (bit_rate(left), bit_rate(self.rate));
                    let why =
                        format!("the sender is the limit: of {asked} asked for its streams left at {left}");
                    let free = Finding::at_least(search.free, Unit::Bps, why.clone());
                    (free, Some((Limit::SenderLimited, why)))
                }
                (None, None) => {
                    let why = format!("no rate up to {} was too much", bit_rate(self.rate));
                    (Finding::at_least(search.free, Unit::Bps, why), None)
                }
            },
        };
        if let Some((limit, why)) = verdict {
            report = report.limited(limit, why);
        }
        if let Some(search) = &self.search
            && self.fleets >= self.config.fleets
            && search.next().is_some()
        {
            report.warnings.push(format!(
                "the search was ended after {} fleets: the range is as wide as it stood then",
                self.fleets
            ));
        }
        if self.lossy > 0 {
            report.warnings.push(format!(
                "losses, not delays, said of {} of {} fleets that they were too fast: where packets are lost by chance as well, \
                 more is free than that",
                self.lossy, self.fleets
            ));
        }
        report = report.with(Quantity::AvailableBandwidth, available);
        if self.lasting > Nanos::ZERO {
            let lasting = self.lasting.as_f64();
            report = report.with(Quantity::AveragingTime, Finding::nanos(lasting, lasting, lasting));
        }
        report
    }
}
