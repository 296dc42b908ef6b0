//! `busy-trains`, Dwell's own method: trains that keep the tight link busy, so that each gap counts what came between.
//!
//! While a train comes in at least as fast as the tight link has free, that link is hardly idle between two of its packets.
//! What leaves it between them is the second packet and the cross traffic that came after the first:
//! `g_out = L / C + rho g_in`, a line in g_in, whose beginning is the tight link's capacity and whose slope its load;
//! A = C (1 - rho). Every gap of every train counts, whatever the traffic is made of, and the trains are spread at random
//! over the time that the answer is an average of.
//!
//! First bursts show the pace, and where packets were not parted, L / C. Then trains at that pace and, nearer to what
//! seems free, a second spacing: the line is known. Last the line is put to the test by trains a little slower than what
//! it says is free, which must pass as they were sent; where they do not (several loaded links, a tight link that is not
//! the narrow one) pathload's search goes on from there with short fleets.

mod line;
mod strain;
mod unparted;

use super::chance::exponential;
use super::search::{Search, Verdict};
use super::stream::{Passed, occupied, passed, spacings, stream, vantage};
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::bootstrap::Indices;
use crate::stats::quantile::median;
use crate::train::{Departure, Observation, PathFacts, Train};
use crate::unit::Nanos;
use line::{Line, Sample, line};

/// How `busy-trains` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Trains of each fleet of a search; other rounds have parts of it.
    pub trains: usize,
    /// Least and most packets of a train.
    pub packets: (usize, usize),
    /// A train lasts so long, if that takes no more than the packets allowed.
    pub lasting: Nanos,
    /// Mean pause before a train.
    pub pause: Nanos,
    /// Seed of the pauses.
    pub seed: u64,
}

impl Default for Config {
    /// Some 300 packets in a second and a half, at 100 Mb/s.
    fn default() -> Self {
        Self {
            trains: 8,
            packets: (15, 60),
            lasting: Nanos::from_micros(600),
            pause: Nanos::from_millis(40),
            seed: 10,
        }
    }
}

/// Packets of each burst of the first round.
const BURST: usize = 12;

/// So many packets back to back head a train: what they leave waiting keeps the link busy until the train does. Their
/// gaps do not count.
const HEAD: usize = 4;

/// At the second spacing, and the third, train and cross traffic together are so much of what the link carries: were it
/// no more than all, the link would idle now and then. But the more it is, the more every other loaded link parts the
/// train as well.
const OVERLOAD: [f64; 2] = [1.25, 1.1];

/// These spacings are at least so many times the first.
const NEARER: f64 = 1.1;

/// The test is made at the lower end of what seems free, by trains of so many packets: shorter ones may be held up by
/// what the cross traffic does by chance.
const TEST: usize = 26;

/// What is free and less than this share of the tight link cannot be told from nothing, and is not put to the test.
const NOTHING: f64 = 0.02;

/// The search goes on until its ends are so near to each other, as a share of the rate of a burst, or after so many
/// fleets.
const RESOLUTION: f64 = 0.05;
const FLEETS: usize = 10;

/// What a round is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Round {
    /// Bursts, to see the pace.
    Pace,
    /// Trains at the pace.
    Full,
    /// Trains nearer to what is free: how many spacings there were before.
    Nearer(usize),
    /// Trains slower than that.
    Test,
    /// Fleets at rates of a search, because these were held up.
    Search,
    /// Enough is known.
    Over,
}

/// The method.
#[derive(Clone, Debug)]
pub struct Busy {
    config: Config,
    facts: PathFacts,
    round: Round,
    chance: Indices,
    /// Single gaps of bursts, nanoseconds.
    gaps: Vec<f64>,
    /// Mean gaps of bursts, as sent and as they came.
    bursts: Vec<(f64, f64)>,
    /// Of trains at the pace.
    full: Vec<Sample>,
    /// Of trains nearer to what is free.
    near: Vec<Sample>,
    /// Of the fleet under way at a rate that may be free.
    fleet: Vec<Sample>,
    search: Option<Search>,
    /// Rate of that fleet, bits per second.
    rate: f64,
    fleets: usize,
    lossy: usize,
    seen: usize,
    span: Nanos,
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
            facts: *facts,
            round: Round::Pace,
            chance: Indices::new(config.seed),
            gaps: Vec::new(),
            bursts: Vec::new(),
            full: Vec::new(),
            near: Vec::new(),
            fleet: Vec::new(),
            search: None,
            rate: 0.0,
            fleets: 0,
            lossy: 0,
            seen: 0,
            span: Nanos::ZERO,
            vantage: Vantage::Capture,
        }
    }

    fn bits(&self) -> f64 {
        occupied(self.facts.max_size)
    }

    /// L / C, where packets show it.
    fn own(&self) -> Option<line::Known> {
        unparted::unparted(&self.gaps)
    }

    /// What a packet takes of the link, as far as is known: at most what bursts come apart.
    fn pace(&self) -> Option<f64> {
        let came: Vec<f64> = self.bursts.iter().map(|(_, came)| *came).collect();
        self.own().map(|(own, _)| own).or_else(|| median(&came))
    }

    fn line(&self) -> Option<Line> {
        line(&self.full, &self.near, self.own())
    }

    /// The spacing at which the train and what else is on the link are `overload` times what it carries.
    fn nearer(&self, overload: f64) -> Option<f64> {
        let own = self.pace()?;
        let shares: Vec<f64> =
            self.full.iter().chain(&self.near).map(|sample| (sample.output - own) / sample.input).collect();
        let share = median(&shares)?.clamp(0.0, 1.0);
        Some(own * (1.0 / (overload - share)).max(NEARER))
    }

    fn packets(&self, gap: f64) -> usize {
        let (least, most) = self.config.packets;
        ((self.config.lasting.as_f64() / gap).ceil() as usize).clamp(least, most)
    }

    /// Trains that keep the link busy from their head on.
    fn headed(&mut self, gap: f64, count: usize) -> Vec<Departure> {
        let mut train = stream(self.facts.max_size, Nanos::from_f64(gap), HEAD + self.packets(gap));
        for packet in &mut train.packets[..HEAD] {
            packet.hold = Nanos::ZERO;
        }
        self.departures(&train, count)
    }

    /// A fleet at `rate`, of which it is not known whether it is free.
    fn fleet_at(&mut self, rate: f64, count: usize) -> Vec<Departure> {
        if rate != self.rate {
            self.fleet.clear();
        }
        self.rate = rate;
        let gap = self.bits() * 1e9 / rate;
        let packets = self.packets(gap).max(TEST);
        let train = stream(self.facts.max_size, Nanos::from_f64(gap), packets);
        self.departures(&train, count)
    }

    /// The rate to look at next, given what became of the last fleet; `None`: the line holds, or the search is over.
    fn searched(&mut self) -> Option<f64> {
        let verdict = strain::verdict(&self.fleet, self.line()?.noise);
        if self.search.is_none() {
            if verdict == Verdict::Below {
                return None;
            }
            if self.fleet.len() < self.config.trains {
                return Some(self.rate);
            }
            if verdict != Verdict::Above {
                return None;
            }
        }
        let resolution = RESOLUTION * self.bits() * 1e9 / self.pace()?;
        let search = self.search.get_or_insert_with(|| Search::new(resolution, resolution));
        search.learn(self.rate, verdict);
        self.fleets += 1;
        search.next().filter(|_| self.fleets < FLEETS)
    }

    fn departures(&mut self, train: &Train, count: usize) -> Vec<Departure> {
        let mean = self.config.pause;
        let fleet: Vec<Departure> = (0..count)
            .map(|_| Departure {
                pause: exponential(&mut self.chance, mean) + mean / 4,
                train: train.clone(),
            })
            .collect();
        self.span += fleet.iter().map(|departure| departure.pause).sum();
        fleet
    }
}

impl Method for Busy {
    fn next(&mut self) -> Step {
        let trains = self.config.trains;
        let (round, fleet) = match self.round {
            Round::Pace if self.seen == 0 => {
                let train = Train::burst(self.facts.max_size, BURST);
                (Round::Pace, self.departures(&train, trains.div_ceil(3)))
            }
            Round::Pace => match self.pace() {
                Some(gap) => (Round::Full, self.headed(gap, trains / 2)),
                None => return Step::Done,
            },
            Round::Full => match self.nearer(OVERLOAD[0]) {
                Some(gap) => (Round::Nearer(1), self.headed(gap, trains / 2)),
                None => return Step::Done,
            },
            Round::Nearer(step) if step < OVERLOAD.len() => match self.nearer(OVERLOAD[step]) {
                Some(gap) => (Round::Nearer(step + 1), self.headed(gap, trains / 2)),
                None => return Step::Done,
            },
            Round::Nearer(_) => {
                let (Some(line), Some(pace)) = (self.line(), self.pace()) else { return Step::Done };
                if line.free.low * pace <= NOTHING {
                    return Step::Done;
                }
                (Round::Test, self.fleet_at(line.free.low * self.bits() * 1e9, trains / 4))
            }
            Round::Test | Round::Search => match self.searched() {
                Some(rate) => {
                    let round = if self.search.is_some() { Round::Search } else { Round::Test };
                    (round, self.fleet_at(rate, trains))
                }
                None => {
                    self.round = Round::Over;
                    return Step::Done;
                }
            },
            Round::Over => return Step::Done,
        };
        self.round = round;
        Step::Send(fleet)
    }

    fn see(&mut self, observation: &Observation) {
        self.seen += 1;
        let Some((sent, came)) = spacings(observation) else {
            self.lossy += 1;
            return;
        };
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        let passed = passed(observation);
        match self.round {
            Round::Pace => {
                self.gaps.extend(passed.windows(2).map(|two| two[1].came - two[0].came));
                self.bursts.push((sent, came));
            }
            Round::Test | Round::Search => self.fleet.extend(sample(&passed)),
            Round::Full => self.full.extend(passed.get(HEAD - 1..).and_then(sample)),
            Round::Nearer(_) => self.near.extend(passed.get(HEAD - 1..).and_then(sample)),
            Round::Over => (),
        }
    }

    fn report(&self) -> Report {
        let mut report = Report::new(Self::NAME, self.vantage);
        if self.lossy > 0 {
            report
                .warnings
                .push(format!("{} of {} trains lost packets and were not used", self.lossy, self.seen));
        }
        let Some(line) = self.line() else {
            let why = if self.bursts.is_empty() {
                "no burst came through whole"
            } else {
                "no two spacings came through"
            };
            return report.with(Quantity::AvailableBandwidth, Finding::unmeasurable(why));
        };
        let rate = |per_packet: f64| (per_packet * self.bits() * 1e9).max(0.0);
        let span = self.span.as_f64();
        report = report.with(Quantity::AveragingTime, Finding::nanos(span, span, span));
        if let Some(search) = &self.search {
            report.warnings.push(String::from(
                "trains at the least that the narrow link seemed to have free were held up: the tight link is another one, or several are \
                 loaded; the range is that of a search",
            ));
            return report.with(Quantity::AvailableBandwidth, range(search));
        }
        report
            .with(
                Quantity::AvailableBandwidth,
                Finding::value(rate(line.free.value), rate(line.free.low), rate(line.free.high), Unit::Bps),
            )
            .with(
                Quantity::TightLinkCapacity,
                Finding::value(
                    rate(1.0 / line.own.value),
                    rate(1.0 / line.own.high),
                    rate(1.0 / line.own.low.max(1.0)),
                    Unit::Bps,
                ),
            )
    }
}

/// The mean of its gaps.
fn sample(passed: &[Passed]) -> Option<Sample> {
    let [first, .., last] = passed else { return None };
    let gaps = (passed.len() - 1) as f64;
    let output = (last.came - first.came) / gaps;
    Some(Sample { input: ((last.sent - first.sent) / gaps).max(1.0), output, gaps })
}

/// What a search found.
fn range(search: &Search) -> Finding {
    match search.full {
        Some(full) => Finding::value(f64::midpoint(search.free, full), search.free, full, Unit::Bps),
        None => Finding::at_least(search.free, Unit::Bps, "no rate that was tried was too much"),
    }
}
