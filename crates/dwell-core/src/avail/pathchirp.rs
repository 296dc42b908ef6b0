//! `pathchirp`: chirps of packets that come ever closer (Ribeiro, Riedi, Baraniuk, Navratil, Cottrell, PAM 2003).
//!
//! One chirp probes a whole range of rates: gaps shrink by the spread factor from packet to packet. Where delays begin
//! to rise for good, the rate is what is free; excursions before it are bursts of cross traffic. The mean over several
//! chirps is reported.

use super::averaged::averaged;
use super::excursion::estimate;
use super::pace::Pace;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Vantage};
use crate::stream::{occupied, passed, spacing};
use crate::train::{Departure, Observation, Packet, PathFacts, Train};
use crate::unit::{Bytes, Nanos};

/// How `pathchirp` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// P: size of each packet on the wire; the authors' packets of 1,000 bytes.
    pub size: Bytes,
    /// gamma: each gap is so much shorter than the one before it.
    pub spread: f64,
    /// Chirps of which the mean is taken.
    pub chirps: usize,
    /// Chirps take this share of the time.
    pub share: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { size: Bytes(1_054), spread: 1.2, chirps: 11, share: 0.1 }
    }
}

/// Rates of a chirp as shares of the rate at which a burst arrives: the authors' range of ten to two hundred Mb/s, laid
/// around the path's own.
const RANGE: (f64, f64) = (0.1, 2.0);

/// The range is moved so often at most, when estimates lie at its end.
const RANGES: usize = 4;

/// More gaps than the widest range needs: what a chirp may be made of, whatever the burst seemed to show.
const MOST_GAPS: f64 = 100.0;

/// Packets of the burst that shows where the range may lie.
const BURST: usize = 25;

/// The method.
#[derive(Clone, Debug)]
pub struct Pathchirp {
    config: Config,
    facts: PathFacts,
    pace: Pace,
    ranges: usize,
    /// Lowest and highest rate of the chirps, bits per second.
    range: Option<(f64, f64)>,
    estimates: Vec<f64>,
    broken: usize,
    lasting: f64,
    vantage: Vantage,
}

impl Pathchirp {
    /// Its name.
    pub const NAME: &'static str = "pathchirp";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            pace: Pace::new(BURST, facts),
            ranges: 0,
            range: None,
            estimates: Vec::new(),
            broken: 0,
            lasting: 0.0,
            vantage: Vantage::Capture,
        }
    }

    fn size(&self) -> Bytes {
        self.config.size.max(self.facts.min_size).min(self.facts.max_size)
    }

    fn chirp(&self, (low, high): (f64, f64)) -> Train {
        let size = self.size();
        let gaps = ((high / low).ln() / self.config.spread.ln()).ceil().clamp(1.0, MOST_GAPS) as i32;
        let first = Packet { size, hold: Nanos::ZERO };
        let packet = |gap| Packet { size, hold: spacing(size, low * self.config.spread.powi(gap)) };
        Train { packets: std::iter::once(first).chain((0..gaps).map(packet)).collect(), ..Train::default() }
    }

    /// A range that fits better, if the estimates lie at an end of this one.
    fn moved(&self) -> Option<(f64, f64)> {
        let (low, high) = self.range?;
        let mean = self.estimates.iter().sum::<f64>() / self.estimates.len() as f64;
        if mean > high / self.config.spread {
            Some((low * 4.0, high * 4.0))
        } else if mean < low * self.config.spread {
            Some((low / 4.0, high / 4.0))
        } else {
            None
        }
    }
}

impl Method for Pathchirp {
    fn next(&mut self) -> Step {
        let Some(range) = self.range else { return self.pace.ask() };
        let range = match self.moved() {
            Some(moved) => moved,
            None if self.ranges == 0 => range,
            None => return Step::Done,
        };
        if self.ranges == RANGES || (self.ranges > 0 && self.estimates.is_empty()) {
            return Step::Done;
        }
        self.ranges += 1;
        self.range = Some(range);
        self.estimates.clear();
        self.broken = 0;
        let train = self.chirp(range);
        let lasts: Nanos = train.packets.iter().map(|packet| packet.hold).sum();
        let pause = Nanos::from_f64(lasts.as_f64() * (1.0 / self.config.share - 1.0));
        Step::Send(vec![Departure { pause, train }; self.config.chirps])
    }

    fn see(&mut self, observation: &Observation) {
        if self.range.is_none() {
            self.pace.see(observation);
            self.range = self.pace.rate().map(|rate| (RANGE.0 * rate, RANGE.1 * rate));
            return;
        }
        let passed = passed(observation);
        // A chirp with a packet missing is not used, as in the authors' tool.
        if passed.len() != observation.fates.len() || passed.len() < 3 {
            self.broken += 1;
            return;
        }
        if crate::stream::vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        let delays: Vec<f64> = passed.iter().map(crate::stream::Passed::delay).collect();
        let gaps: Vec<f64> = passed.windows(2).map(|two| two[1].sent - two[0].sent).collect();
        let bits = occupied(observation.fates[0].packet.size);
        let rates: Vec<f64> = gaps.iter().map(|gap| bits * 1e9 / gap.max(1.0)).collect();
        self.estimates.extend(estimate(&delays, &gaps, &rates, self.facts.resolution.as_f64()));
        self.lasting = gaps.iter().sum();
    }

    fn report(&self) -> Report {
        let mut report = Report::new(Self::NAME, self.vantage);
        if self.broken > 0 {
            report.warnings.push(format!("{} chirps lost packets and were not used", self.broken));
        }
        let available = averaged(&self.estimates).unwrap_or_else(|| {
            Finding::unmeasurable(match self.range {
                Some(_) => "fewer than two chirps came through whole",
                None => "no burst of 25 packets came through whole: nothing to lay the range around",
            })
        });
        report = report.with(Quantity::AvailableBandwidth, available);
        if self.lasting > 0.0 {
            report = report
                .with(Quantity::AveragingTime, Finding::nanos(self.lasting, self.lasting, self.lasting));
        }
        report
    }
}
