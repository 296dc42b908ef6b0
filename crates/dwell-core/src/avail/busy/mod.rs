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
//! pass as they were sent; where they do not (several loaded links, a tight link that is not the narrow one) pathload's
//! search goes on from there with short fleets. And where packets before all trains wait longer than that line explains,
//! another link is loaded, and its answer is an upper bound.

mod line;
mod plan;
mod sample;
mod strain;
mod unparted;
mod waiting;

use super::chance::exponential;
use super::search::{Search, Verdict};
use super::stream::{Passed, first, occupied, passed, spacings, stream, vantage};
use crate::capacity::fall::{Fall, fall};
use crate::limit::Limit;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::bootstrap::Indices;
use crate::stats::quantile::{mean, median};
use crate::train::{Departure, Observation, PathFacts, Train};
use crate::unit::Nanos;
use line::{Line, line};
use plan::Plan;
use sample::{Sample, bursty};
use waiting::{allowed, waited};

/// How `busy-trains` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Packets that are sent on any path.
    pub packets: usize,
    /// What may be sent beyond them, as a share of what the narrow link carries while the measurement lasts.
    pub share: f64,
    /// How long a measurement takes, on links that are not slow.
    pub lasting: Nanos,
    /// Seed of the pauses.
    pub seed: u64,
}

impl Default for Config {
    /// 300 packets in a second at 100 Mb/s.
    fn default() -> Self {
        Self { packets: 300, share: 0.015, lasting: Nanos::from_millis(1_000), seed: 10 }
    }
}

/// Packets of each burst of the first round, and how many bursts.
const BURST: usize = 11;
const BURSTS: usize = 3;

/// A burst that a receiver reads in less than three batches shows no pace: the next are so many times as long, up to
/// the last of all.
const LONGER: usize = 4;
const LONGEST: usize = 704;

/// A burst that comes in so much of the time that it was sent in shows the sender's pace, not the path's.
const SPREAD: f64 = 1.03;

/// At the second spacing, and the third, train and cross traffic together are so much of what the link carries: were it
/// no more than all, the link would idle now and then. But the more it is, the more every other loaded link parts the
/// train as well.
const OVERLOAD: [f64; 2] = [1.25, 1.1];

/// The first spacing is so many times what a packet takes of the link: late packets leave it idle no more than others.
const FULL: f64 = 0.85;

/// Trains that leave so much slower than they should are as fast as the sender makes them.
const LATE: f64 = 1.1;

/// The other spacings are at least so many times that.
const NEARER: f64 = 0.95;

/// What is taken for loaded before anything is known.
const UNKNOWN: f64 = 0.5;

/// What is free and less than this share of the tight link cannot be told from nothing, and is not put to the test.
const NOTHING: f64 = 0.02;

/// The long burst has at least so many packets.
const DEEP: usize = 64;

/// An interval wider than this share of the link is of traffic that does not hold still.
const UNSTABLE: f64 = 0.5;

/// A link that seems to carry so many times what bursts were sent at was not seen: nothing shows what it could carry.
const BEYOND: f64 = 2.0;

/// Trains of the test, and of each fleet of a search.
const TEST: usize = 2;
const FLEET: usize = 8;

/// The search goes on until its ends are so near to each other, as a share of the rate of a burst, or after so many
/// fleets.
const RESOLUTION: f64 = 0.05;
const FLEETS: usize = 10;

/// What a round is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Round {
    /// Bursts of so many packets, to see the pace.
    Pace(usize),
    /// Trains at the pace.
    Full,
    /// One long burst, where all came as it was sent, or none came whole: a token bucket would be empty before its end.
    Deep,
    /// More of them, where traffic comes in bursts.
    More,
    /// Trains nearer to what is free: how many spacings there were before.
    Nearer(usize),
    /// Trains at the least that seems free.
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
    /// Packets that the receiver reads at once, where it reads several.
    batch: Option<usize>,
    /// That of when trains at the pace were planned, and whether they were sent a second time.
    planned: Option<usize>,
    again: bool,
    /// Single gaps of bursts, nanoseconds.
    gaps: Vec<f64>,
    /// Of bursts at the length of this round, and their mean gaps.
    bursts: Vec<Sample>,
    /// Mean gap between packets of bursts as they were sent.
    made: Vec<f64>,
    /// Of trains at the pace.
    full: Vec<Sample>,
    /// Of trains nearer to what is free, spacing by spacing.
    near: Vec<Vec<Sample>>,
    /// Departure and apparent delay of first packets, nanoseconds.
    firsts: Vec<(f64, f64)>,
    /// Of the fleet under way at a rate that may be free.
    fleet: Vec<Sample>,
    search: Option<Search>,
    /// Rate of that fleet, bits per second.
    rate: f64,
    fleets: usize,
    fall: Option<Fall>,
    sent: usize,
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
            round: Round::Pace(0),
            chance: Indices::new(config.seed),
            batch: None,
            planned: None,
            again: false,
            gaps: Vec::new(),
            bursts: Vec::new(),
            made: Vec::new(),
            full: Vec::new(),
            near: Vec::new(),
            firsts: Vec::new(),
            fleet: Vec::new(),
            search: None,
            rate: 0.0,
            fleets: 0,
            fall: None,
            sent: 0,
            lossy: 0,
            seen: 0,
            span: Nanos::ZERO,
            vantage: Vantage::Capture,
        }
    }

    fn bits(&self) -> f64 {
        occupied(self.facts.max_size)
    }

    /// L / C, where packets show it: where bursts come faster than the link serves them.
    fn own(&self) -> Option<line::Known> {
        let made = median(&self.made)?;
        unparted::unparted(&self.gaps).filter(|(own, _)| made * SPREAD < *own)
    }

    /// What a packet takes of the link, as far as is known: at most what bursts come apart.
    fn pace(&self) -> Option<f64> {
        let came: Vec<f64> = self.bursts.iter().map(|burst| burst.output).collect();
        self.own().map(|(own, _)| own).or_else(|| median(&came))
    }

    fn line(&self) -> Option<Line> {
        let (last, before) =
            self.near.split_last().map_or((&[][..], &[][..]), |(last, before)| (last, before));
        // Trains that were, as the last tell, too slow to keep the link busy say nothing.
        let least = self.pace()? / (1.0 - self.share()).max(f64::MIN_POSITIVE);
        let kept = before.iter().flatten().filter(|sample| sample.input < least);
        let near: Vec<Sample> = kept.chain(last).copied().collect();
        line(&self.full, &near, self.own())
    }

    fn plan(&self, pace: f64) -> Plan {
        Plan::of(&self.config, pace, self.share(), self.batch)
    }

    /// rho, as far as the last samples and what is known of L / C tell; half before there are any.
    fn share(&self) -> f64 {
        let Some(own) = self.pace() else { return UNKNOWN };
        let last = self.near.iter().rev().find(|near| !near.is_empty()).unwrap_or(&self.full);
        let shares: Vec<f64> = last.iter().map(|sample| (sample.output - own) / sample.input).collect();
        mean(&shares).unwrap_or(UNKNOWN).clamp(0.0, 1.0)
    }

    /// The spacing at which the train and what else is on the link are `overload` times what it carries.
    fn nearer(&self, overload: f64) -> Option<f64> {
        Some(self.pace()? * (1.0 / (overload - self.share())).max(NEARER))
    }

    /// Trains that keep the link busy from their head on.
    fn headed(&mut self, gap: f64, part: impl Fn(&Plan) -> usize) -> Option<Vec<Departure>> {
        let plan = self.plan(self.pace()?);
        self.planned = self.batch.map(|batch| batch * 2);
        let mut train = stream(self.facts.max_size, Nanos::from_f64(gap), plan::HEAD + plan.packets);
        for packet in &mut train.packets[..plan::HEAD] {
            packet.hold = Nanos::ZERO;
        }
        Some(self.departures(&train, part(&plan), plan.pause, plan.drained))
    }

    /// A fleet at `rate`, of which it is not known whether it is free.
    fn fleet_at(&mut self, rate: f64, count: usize) -> Option<Vec<Departure>> {
        let plan = self.plan(self.pace()?);
        if rate != self.rate {
            self.fleet.clear();
        }
        self.rate = rate;
        let train = stream(self.facts.max_size, Nanos::from_f64(self.bits() * 1e9 / rate), plan.tested);
        Some(self.departures(&train, count, plan.pause, plan.drained))
    }

    /// The rate to look at next, given what became of the last fleet; `None`: the line holds, or the search is over.
    fn searched(&mut self) -> Option<f64> {
        let verdict = strain::verdict(&self.fleet, self.line()?.noise);
        if self.search.is_none() {
            if verdict == Verdict::Below {
                return None;
            }
            if self.fleet.len() < FLEET {
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

    fn departures(&mut self, train: &Train, count: usize, pause: Nanos, drained: Nanos) -> Vec<Departure> {
        let fleet: Vec<Departure> = (0..count)
            .map(|_| Departure {
                pause: exponential(&mut self.chance, pause) + drained,
                train: train.clone(),
            })
            .collect();
        self.sent += count * train.packets.len();
        self.span += fleet.iter().map(|departure| departure.pause).sum();
        fleet
    }

    fn bursts(&mut self, packets: usize) -> (Round, Option<Vec<Departure>>) {
        self.gaps.clear();
        self.bursts.clear();
        let fleet = self.departures(
            &Train::burst(self.facts.max_size, packets),
            BURSTS,
            plan::PAUSE,
            plan::PAUSE / 4,
        );
        (Round::Pace(packets), Some(fleet))
    }

    /// A burst that would empty a token bucket, while there are packets left.
    fn deep(&mut self) -> (Round, Option<Vec<Departure>>) {
        // Where packets were lost, so that nothing else can be told, as many as all others.
        let least = if self.lossy > 0 { self.config.packets } else { DEEP };
        let packets = self.config.packets.saturating_sub(self.sent).max(least);
        let burst = Train::burst(self.facts.max_size, packets);
        (Round::Deep, Some(self.departures(&burst, 1, plan::PAUSE, plan::PAUSE)))
    }

    /// What is to be done after a round: the next, and its trains unless it has none.
    fn after(&mut self) -> (Round, Option<Vec<Departure>>) {
        let end = (Round::Over, None);
        match self.round {
            Round::Pace(0) => self.bursts(BURST),
            Round::Pace(packets) if self.bursts.is_empty() && self.lossy < self.seen && packets < LONGEST => {
                self.bursts(packets * LONGER)
            }
            Round::Pace(_) => match self.pace() {
                Some(gap) => (Round::Full, self.headed(FULL * gap, |plan| plan.full)),
                None => self.deep(),
            },
            // They came in longer batches than bursts did.
            Round::Full if self.batch > self.planned && !self.again => {
                self.again = true;
                self.full.clear();
                (Round::Full, self.pace().and_then(|gap| self.headed(FULL * gap, |plan| plan.full)))
            }
            Round::Full if self.as_made() || self.full.is_empty() => self.deep(),
            Round::Deep => end,
            Round::Full if self.own().is_some() && bursty(&self.full) => {
                let more = |plan: &Plan| plan.near.iter().sum();
                (Round::More, self.pace().and_then(|gap| self.headed(FULL * gap, more)))
            }
            Round::Full => match self.nearer(OVERLOAD[0]) {
                Some(gap) => (Round::Nearer(1), self.headed(gap, |plan| plan.near[0])),
                None => end,
            },
            Round::Nearer(step) if step < OVERLOAD.len() => match self.nearer(OVERLOAD[step]) {
                Some(gap) => (Round::Nearer(step + 1), self.headed(gap, |plan| plan.near[step])),
                None => end,
            },
            Round::Nearer(_) | Round::More => match (self.line(), self.pace()) {
                (Some(line), Some(pace)) if line.free.low * pace > NOTHING => {
                    (Round::Test, self.fleet_at(line.free.low * self.bits() * 1e9, TEST))
                }
                _ => end,
            },
            Round::Test | Round::Search => match self.searched() {
                Some(rate) => {
                    let round = if self.search.is_some() { Round::Search } else { Round::Test };
                    (round, self.fleet_at(rate, FLEET))
                }
                None => end,
            },
            Round::Over => end,
        }
    }

    /// Trains that should have been faster than the pace came as they were sent: the sender makes no faster ones.
    fn as_made(&self) -> bool {
        let late = |sample: &Sample| self.pace().is_some_and(|pace| sample.input > LATE * FULL * pace);
        self.full.iter().all(late) && strain::verdict(&self.full, 0.0) == Verdict::Below
    }
}

impl Method for Busy {
    fn next(&mut self) -> Step {
        let (round, fleet) = self.after();
        self.round = round;
        fleet.map_or(Step::Done, Step::Send)
    }

    fn see(&mut self, observation: &Observation) {
        self.seen += 1;
        let passed = passed(observation);
        if self.round == Round::Deep {
            self.fall = fall(&passed);
        }
        if spacings(observation).is_none()
            && !(passed.len() == observation.fates.len() && sample::at_once(&passed))
        {
            self.lossy += 1;
            return;
        }
        if vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        if !matches!(self.round, Round::Pace(_)) {
            self.firsts.extend(first(observation));
        }
        if let Round::Pace(_) | Round::Full = self.round {
            let gaps: Vec<f64> = passed.windows(2).map(|two| two[1].came - two[0].came).collect();
            self.batch = self.batch.max(unparted::batch(&gaps));
        }
        let bunched = self.batch.is_some();
        let trained = |passed: &[Passed]| Sample::of(passed.get(plan::HEAD - 1..)?, bunched);
        match self.round {
            Round::Pace(_) => {
                self.gaps.extend(passed.windows(2).map(|two| two[1].came - two[0].came));
                self.bursts.extend(Sample::of(&passed, bunched));
                self.made.extend(passed.last().map(|last| last.sent / (passed.len() - 1).max(1) as f64));
            }
            Round::Test | Round::Search => {
                // A sender that was too quick asked for more than was meant: what counts is whether that came through.
                let asked = self.bits() * 1e9 / self.rate;
                let asked = |sample: Sample| Sample { input: sample.input.max(asked), ..sample };
                self.fleet.extend(Sample::of(&passed, bunched).map(asked));
            }
            Round::Full | Round::More => self.full.extend(trained(&passed)),
            Round::Nearer(step) => {
                self.near.resize(step, Vec::new());
                self.near[step - 1].extend(trained(&passed));
            }
            Round::Deep | Round::Over => (),
        }
    }

    fn report(&self) -> Report {
        let mut report = Report::new(Self::NAME, self.vantage);
        if self.lossy > 0 {
            report
                .warnings
                .push(format!("{} of {} trains lost packets, or came in another order than they were sent in, and were not used", self.lossy, self.seen));
        }
        let rate = |per_packet: f64| (per_packet * self.bits() * 1e9).max(0.0);
        let span = self.span.as_f64();
        if let Some(fall) = self.fall {
            let why = format!("{}: what is free is no more than the rate of that bucket", fall.reason());
            let token = rate(1.0 / fall.after);
            return report
                .with(Quantity::AveragingTime, Finding::nanos(span, span, span))
                .with(Quantity::AvailableBandwidth, Finding::at_most(token, Unit::Bps, why.clone()))
                .limited(Limit::TokenBucket, why);
        }
        if self.as_made() {
            let slowest = self.full.iter().map(|sample| sample.input.max(sample.output)).fold(0.0, f64::max);
            report = report.with(Quantity::AveragingTime, Finding::nanos(span, span, span));
            if self.lossy > 0 {
                let why = "trains lost packets, and those that came through came as they were sent: nothing waits, whatever drops them";
                return report
                    .with(Quantity::AvailableBandwidth, Finding::unmeasurable(why))
                    .limited(Limit::Unstable, why);
            }
            let why = "the sender sends no faster, and what it sent came as it was sent";
            let bound = rate(1.0 / slowest);
            return report
                .with(Quantity::AvailableBandwidth, Finding::at_least(bound, Unit::Bps, why))
                .limited(Limit::SenderLimited, why);
        }
        let Some(line) = self.line() else {
            let why = if self.bursts.is_empty() {
                "no burst came through whole"
            } else {
                "no two spacings came through"
            };
            return report.with(Quantity::AvailableBandwidth, Finding::unmeasurable(why));
        };
        report = report.with(Quantity::AveragingTime, Finding::nanos(span, span, span));
        if let Some(search) = &self.search {
            report.warnings.push(String::from(
                "trains at the least that the narrow link seemed to have free were held up: the tight link is another one, or several are \
                 loaded; the range is that of a search",
            ));
            return report
                .with(Quantity::AvailableBandwidth, range(search))
                .limited(Limit::Link, "trains faster than that are held up");
        }
        if let Some(waited) = waited(&self.firsts).filter(|waited| *waited > allowed(&line)) {
            let why = "packets wait longer than the load of the narrow link explains: another link is loaded";
            report.warnings.push(format!("{why} (at the mean {:.0} us before a train)", waited / 1e3));
            return report
                .with(Quantity::AvailableBandwidth, Finding::at_most(rate(line.free.high), Unit::Bps, why))
                .limited(Limit::Link, why);
        }
        if median(&self.made).is_some_and(|made| line.own.value * BEYOND < made) {
            let why = "by the gaps of its trains the link carries several times what bursts were sent at: these gaps are the hosts', not a link's";
            return report
                .with(Quantity::AvailableBandwidth, Finding::unmeasurable(why))
                .limited(Limit::HostLimited, why);
        }
        let unsure = (line.free.high - line.free.low) * line.own.value;
        let (limit, why) = if unsure > UNSTABLE {
            (
                Limit::Unstable,
                "the traffic of others varies so much that trains differ by more than half of the link",
            )
        } else {
            (Limit::Link, "trains at that rate pass, and faster ones are held up as the line says")
        };
        report
            .limited(limit, why)
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

/// What a search found.
fn range(search: &Search) -> Finding {
    match search.full {
        Some(full) => Finding::value(f64::midpoint(search.free, full), search.free, full, Unit::Bps),
        None => Finding::at_least(search.free, Unit::Bps, "no rate that was tried was too much"),
    }
}
