//! `end-link`: capacity of the link that the host under test hangs on, from gaps between packets that arrive back to
//! back (papers/000, sections 2 and 5), made to cope with hosts that are slower than their link.
//!
//! Two kinds of trains. *Compound probes* of several trailing sizes: their gap is s_t / c_n + gamma + dPPT (2), so
//! the slope over s_t is 1 / c_n, and dPPT is only its offset. *Bursts* of equal packets of two sizes: (N - 1) packets
//! raise the signal over a receiver's wake-up, at (s + gamma) / c each, where c is the narrowest link of the path.
//!
//! A first round of single probes and one short burst shows the pace; a second keeps to a share of it, and ends early
//! when its first third leaves no doubt.
//!
//! # What can be told
//!
//! | compound probes | bursts | finding |
//! |---|---|---|
//! | a link's line, same rate | grow with s | a value: the end link is the narrowest, or as narrow as any |
//! | a link's line, faster | grow with s | a value from the probes, and the warning that the end link is not the limit |
//! | a link's line | grow, parted by cross traffic | a value from the probes, where it is sure within 10 % |
//! | hidden by the host | grow, parted | a lower bound: the rate of the bursts |
//! | hidden by the host | grow with s | the narrowest link's rate as value, with the warning that it need not be the end link |
//! | a link's line | none arrived | a value from the probes |
//! | any | do not grow in proportion | a lower bound: the host, not the link, sets the gap |
//!
//! The lower bound follows from the rate at which packets were read, but only up to a host that slept through the
//! whole burst: everything then waits in its queue, and the gaps tell nothing of the link. So the bound is never more
//! than the burst's bytes over [`LONGEST_SLEEP`].
//!
//! 'Grows' means, as in [`crate::host::salehin2017`], that every slope in the interval is nearer to that of pure
//! serialisation than to none; and for bursts, that the interval reaches nine tenths of the former. Bursts whose packets
//! each cost the host something beside the link come slower than the link, which is a lower bound too.

mod bursts;
mod pairs;

use crate::gap::{self, FILTER_BIN};
use crate::method::{LoadLimit, Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::train::{Departure, Direction, Observation, PathFacts, Train};
use crate::unit::{BitRate, Bytes, INTER_FRAME_GAP, Nanos};
use bursts::Bursts;
use pairs::{LinkLine, Pairs};

/// The longest that a host is taken to sleep before it reads: wake-up, coalescence and the program together. Beyond
/// it, a lower bound would not hold.
pub const LONGEST_SLEEP: Nanos = Nanos::from_micros(500);

/// Share by which two hosts' clocks may run at different rates without anybody knowing: twice a common crystal's.
const CLOCK_RATE_DOUBT: f64 = 200e-6;

/// How `end-link` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Single compound probes of each of eight trailing sizes.
    pub probes: usize,
    /// Trains of several compound probes of each size but the largest.
    pub trains: usize,
    /// Bursts of each of two sizes.
    pub bursts: usize,
    /// Least idle time before a train.
    pub pause: Nanos,
    /// Share of the narrowest link that bursts may take, by what the compound probes showed of it.
    pub load: f64,
    /// Bin of the filter's histogram.
    pub bin: Nanos,
    /// Which of the receiver's stamps are read; `None`: capture stamps where nine packets of ten have them.
    pub vantage: Option<Vantage>,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for Config {
    /// 24 single compound probes and a burst, then at most 14 trains of compound probes and 20 bursts.
    fn default() -> Self {
        Self {
            probes: 3,
            trains: 2,
            bursts: 10,
            pause: Nanos::from_millis(20),
            load: LoadLimit::DEFAULT_SHARE,
            bin: FILTER_BIN,
            vantage: None,
            seed: 4,
        }
    }
}

/// Trailing sizes of the compound probes.
const SIZES: usize = 8;

/// Trains asked for at a time.
const FLEET: usize = 50;

/// Packets of a burst, least and most: the most still fits into a socket buffer of Linux's default size, 212,992 bytes
/// at 2,304 for each full packet.
const BURST: (usize, usize) = (6, 80);

/// Packets of the burst that ends the first round.
const FIRST_BURST: usize = 12;

/// Bursts of each size that are looked at first; with a train of compound probes of each size they may be enough.
const EARLY_BURSTS: usize = 2;

/// Half width of an interval, as a share, that is narrow enough to stop. The doubt about the inter-frame gap alone takes
/// 0.4 %.
const SURE: f64 = 0.01;

/// A burst should last so long: an application that sleeps for less than a quarter of it is seen through.
const BURST_SPAN: Nanos = Nanos::from_millis(3);

/// The gap that packets of one size keep.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Dispersion {
    size: Bytes,
    /// Nanoseconds.
    gap: Estimate,
}

impl Dispersion {
    fn framed(size: Bytes) -> f64 {
        (size + INTER_FRAME_GAP).0 as f64
    }

    /// Nanoseconds per byte, gamma counted.
    fn per_byte(&self) -> f64 {
        self.gap.value / Self::framed(self.size)
    }

    /// The rate of the link that sets this gap. Whether the link spends an inter-frame gap is not known: the low end
    /// of the interval is without. Neither is the rate of the receiver's clock.
    fn rate(&self) -> Estimate {
        let rate = |bytes: f64, gap: f64| 8e9 * bytes / gap;
        Estimate {
            value: rate(Self::framed(self.size), self.gap.value),
            low: rate(self.size.0 as f64, self.gap.high) * (1.0 - CLOCK_RATE_DOUBT),
            high: rate(Self::framed(self.size), self.gap.low) * (1.0 + CLOCK_RATE_DOUBT),
        }
    }
}

/// How gaps change from a smaller size to a larger one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Trend {
    /// As a link makes them.
    Rising,
    /// As a host does.
    Flat,
    /// The interval holds both.
    Undecided,
}

fn trend(small: &Dispersion, large: &Dispersion) -> Trend {
    let span = large.size.0 as f64 - small.size.0 as f64;
    let serialisation = (small.gap.value + large.gap.value)
        / (Dispersion::framed(small.size) + Dispersion::framed(large.size));
    let middle = serialisation / 2.0 * span;
    let apart = (small.gap.half_width().powi(2) + large.gap.half_width().powi(2)).sqrt();
    let rise = large.gap.value - small.gap.value;
    // A link's gap is proportional to the framed size; a share that each packet costs whatever its size is the host's.
    let proportional = large.per_byte() * span;
    if rise - apart > middle && rise + apart > 0.9 * proportional {
        Trend::Rising
    } else if rise + apart < middle {
        Trend::Flat
    } else {
        Trend::Undecided
    }
}

/// The method.
#[derive(Clone, Debug)]
pub struct EndLink {
    config: Config,
    facts: PathFacts,
    /// Trailing sizes, ascending; the last is the heading's own.
    sizes: Vec<Bytes>,
    /// Single probes asked for.
    asked: usize,
    /// What is left of the second round, once it is planned.
    rest: Option<Vec<Departure>>,
    pairs: Pairs,
    large: Bursts,
    small: Bursts,
    arrived: usize,
    captured: usize,
}

impl EndLink {
    /// Its name.
    pub const NAME: &'static str = "end-link";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        let (least, most) = (facts.min_size.0.max(1) as f64, facts.max_size.0 as f64);
        let size =
            |i: usize| Bytes((least * (most / least).powf(i as f64 / (SIZES - 1) as f64)).round() as u64);
        let mut sizes: Vec<Bytes> = if least < most { (0..SIZES).map(size).collect() } else { Vec::new() };
        sizes.dedup();
        Self {
            config,
            facts: *facts,
            sizes,
            asked: 0,
            rest: None,
            pairs: Pairs::default(),
            large: Bursts::new(facts.max_size),
            // Two thirds: small enough to tell a link from a host, large enough not to fall under the host's pace.
            small: Bursts::new(Bytes((facts.max_size.0 / 3 * 2).max(facts.min_size.0))),
            arrived: 0,
            captured: 0,
        }
    }

    fn vantage(&self) -> Vantage {
        self.config.vantage.unwrap_or(if self.captured > 0 && self.captured >= self.arrived / 10 * 9 {
            Vantage::Capture
        } else {
            Vantage::Application
        })
    }

    /// So many pairs of packets of the largest size take about [`BURST_SPAN`] on the link that the first round showed;
    /// with the pause before them they take no more than the load's share.
    fn pace(&self) -> (usize, Nanos) {
        // Every stamp serves here: a host can hide the link, and then it looks faster than it is.
        let shown = [Vantage::Application, Vantage::Capture].into_iter().flat_map(|vantage| {
            [self.pairs.typical(self.facts.max_size, vantage), self.large.typical(vantage)]
        });
        let shown = shown.flatten().fold(1.0, f64::max);
        let count = ((BURST_SPAN.as_f64() / shown) as usize).clamp(BURST.0, BURST.1);
        let share = if self.config.load > 0.0 { self.config.load } else { 1.0 };
        (count / 2, Nanos::from_f64(count as f64 * shown / share).max(self.config.pause))
    }

    /// Every train of the second round: first those that may be enough.
    fn second_round(&self) -> Vec<Departure> {
        let (pairs, pause) = self.pace();
        let small = self.sizes.split_last().map_or(&[][..], |(_, small)| small);
        let compound = |&trailing: &Bytes| {
            let pair = Train::pair(self.facts.max_size, trailing, Nanos::ZERO);
            Train { packets: pair.packets.repeat(pairs), ..pair }
        };
        let bursts = |count: usize| {
            let sizes = (0..count).flat_map(|_| [self.large.size, self.small.size]);
            sizes.map(|size| Train::burst(size, pairs * 2))
        };
        let rounds = |count: usize| (0..count).flat_map(|_| small).map(compound);
        let (early_trains, early_bursts) = (self.config.trains.min(1), self.config.bursts.min(EARLY_BURSTS));
        let early = rounds(early_trains).chain(bursts(early_bursts));
        let late = rounds(self.config.trains - early_trains).chain(bursts(self.config.bursts - early_bursts));
        early.chain(late).map(|train| Departure { pause, train }).collect()
    }

    /// Whether what was seen so far leaves no doubt worth more trains.
    fn is_sure(&self) -> bool {
        let report = self.report();
        report.warnings.is_empty()
            && matches!(
                report.finding(Quantity::EndLinkCapacity),
                Finding::Value { value, low, high, .. } if high - low < 2.0 * SURE * value
            )
    }
}

impl Method for EndLink {
    fn next(&mut self) -> Step {
        let first = self.config.probes.saturating_mul(self.sizes.len());
        if self.asked < first {
            let until = first.min(self.asked + FLEET);
            let sizes = (self.asked..until).map(|i| self.sizes[i % self.sizes.len()]);
            let pairs = sizes.map(|trailing| Departure {
                pause: self.config.pause,
                train: Train::pair(self.facts.max_size, trailing, Nanos::ZERO),
            });
            let mut fleet: Vec<Departure> = pairs.collect();
            self.asked = until;
            if until == first {
                // Through a wake-up that is longer than a pair, only a burst shows the pace for the second round.
                let pause = self.config.pause * FIRST_BURST as i64;
                fleet.push(Departure { pause, train: Train::burst(self.facts.max_size, FIRST_BURST) });
            }
            return Step::Send(fleet);
        }
        if self.rest.is_none() && !self.sizes.is_empty() {
            let mut early = self.second_round();
            let compound = self.config.trains.min(1) * (self.sizes.len() - 1);
            self.rest = Some(early.split_off(early.len().min(compound + 2 * EARLY_BURSTS)));
            if !early.is_empty() {
                return Step::Send(early);
            }
        } else if self.is_sure() {
            self.rest = Some(Vec::new());
        }
        let rest = self.rest.get_or_insert_default();
        let fleet: Vec<Departure> = rest.drain(..rest.len().min(FLEET)).collect();
        if fleet.is_empty() { Step::Done } else { Step::Send(fleet) }
    }

    fn see(&mut self, observation: &Observation) {
        if observation.direction != Direction::Forward {
            return;
        }
        let fates = observation.fates.as_slice();
        let back_to_back = fates.iter().skip(1).all(|fate| fate.packet.hold == Nanos::ZERO);
        let Some([heading, trailing]) = fates.first_chunk().filter(|_| back_to_back) else { return };
        let pair = [heading.packet.size, trailing.packet.size];
        if fates.len() > 2 && fates.iter().all(|fate| fate.packet.size == pair[0]) {
            match pair[0] {
                size if size == self.large.size => self.large.see(observation),
                size if size == self.small.size => self.small.see(observation),
                _ => return,
            }
        } else if pair[0] == self.facts.max_size
            && self.sizes.contains(&pair[1])
            && fates.chunks(2).all(|fates| fates.iter().map(|fate| fate.packet.size).eq(pair))
        {
            for fates in fates.chunks_exact(2) {
                let by = |vantage| gap::between(&fates[0], &fates[1], vantage);
                self.pairs.see(pair[1], by(Vantage::Application), by(Vantage::Capture));
            }
        } else {
            return;
        }
        let arrivals = observation.fates.iter().filter_map(|fate| fate.arrival);
        for arrival in arrivals {
            self.arrived += 1;
            self.captured += usize::from(arrival.stamps.kernel.is_some());
        }
    }

    fn report(&self) -> Report {
        let vantage = self.vantage();
        let (bin, seed) = (self.config.bin, self.config.seed);
        let shown = bursts::show(&self.large, &self.small, vantage, bin, seed);
        let link = shown.filter(|shown| shown.trend == Trend::Rising && shown.dispersion.gap.low > 0.0);
        let narrowest = link.filter(|shown| !shown.parted).map(|shown| shown.dispersion.per_byte());
        let line = self.pairs.line(vantage, narrowest, seed).filter(LinkLine::is_known);
        let (finding, warning) = match (link, line) {
            (Some(shown), _) if shown.parted && !shown.spared => parted(&shown.dispersion.rate()),
            (Some(shown), line) => compare(&shown.dispersion.rate(), line, shown.parted),
            // Without bursts the probes stand alone; bursts that do not grow contradict them.
            (None, Some(line)) if shown.is_none() => (value(&rate(&line.slope())), None),
            (None, _) => (self.without_link(shown.map(|shown| shown.dispersion), vantage), None),
        };
        let mut report = Report::new(Self::NAME, vantage).with(Quantity::EndLinkCapacity, finding);
        if let Some(shown) = link {
            let rate = shown.dispersion.rate();
            let narrowest = if shown.parted { parted(&rate).0 } else { value(&rate) };
            report = report.with(Quantity::NarrowLinkCapacity, narrowest);
        }
        report.warnings.extend(warning.map(str::to_owned));
        report
    }
}

impl EndLink {
    /// What can be said when no gap grows with its packet.
    fn without_link(&self, burst: Option<Dispersion>, vantage: Vantage) -> Finding {
        if self.sizes.is_empty() {
            return Finding::unmeasurable(format!(
                "the path carries packets from {} to {} only: no two sizes to compare",
                self.facts.min_size, self.facts.max_size
            ));
        }
        let Some(burst) = burst else {
            return Finding::unmeasurable(match (self.arrived, vantage) {
                (0, _) => "no probe arrived",
                (_, Vantage::Capture) if self.captured == 0 => {
                    "the receiver took no kernel stamps; application stamps may serve"
                }
                _ => "too few bursts arrived whole and in order",
            });
        };
        let tick = self.facts.resolution.as_f64().max(1.0);
        if burst.gap.high <= tick {
            return Finding::unmeasurable(
                "all packets of a burst carry the same time: they were delivered as one, so their gaps tell nothing \
                 of a link",
            );
        }
        // The host read a packet each gap, and slept through LONGEST_SLEEP at most: the link did not take longer.
        let bits = burst.size.bits() as f64;
        let read = 1e9 * bits / burst.gap.high;
        let slept = 1e9 * bits * self.large.packets.saturating_sub(1) as f64 / LONGEST_SLEEP.as_f64();
        Finding::at_least(
            read.min(slept),
            Unit::Bps,
            format!(
                "the hosts, not the link alone, set the gap: packets follow each other by {}, which does not grow with \
                 their size as a link's gap does (if the receiver sleeps no longer than {LONGEST_SLEEP})",
                Nanos::from_f64(burst.gap.value)
            ),
        )
    }
}

/// The rate that a slope in nanoseconds per byte stands for.
fn rate(slope: &Estimate) -> Estimate {
    Estimate {
        value: 8e9 / slope.value,
        low: 8e9 / slope.high * (1.0 - CLOCK_RATE_DOUBT),
        high: 8e9 / slope.low * (1.0 + CLOCK_RATE_DOUBT),
    }
}

fn value(rate: &Estimate) -> Finding {
    Finding::value(rate.value, rate.low, rate.high, Unit::Bps)
}

/// What can be said when cross traffic on an earlier link got between the packets of the bursts. Compound probes then
/// follow some link's rate, but whether the end link's or a narrower one's is not told.
fn parted(bursts: &Estimate) -> (Finding, Option<&'static str>) {
    let reason = "cross traffic on an earlier link parts the packets of bursts, so they come slower than the end link \
                  could bring them; repeat when it is quieter";
    (Finding::at_least(bursts.low, Unit::Bps, reason), None)
}

/// Which of two rates is the end link's: the narrowest link's by the bursts, or the compound probes'.
fn compare(narrowest: &Estimate, line: Option<LinkLine>, crossed: bool) -> (Finding, Option<&'static str>) {
    let agrees = |probes: &Estimate| probes.high > narrowest.low * 0.95 && probes.low < narrowest.high * 1.05;
    let finer = |probes: &Estimate| {
        let width = |rate: &Estimate| rate.half_width() / rate.value;
        value(if width(probes) < width(narrowest) { probes } else { narrowest })
    };
    match line {
        Some(LinkLine::Whole(slope)) if agrees(&rate(&slope)) => (finer(&rate(&slope)), None),
        Some(LinkLine::Whole(slope)) if crossed && rate(&slope).value > narrowest.value => parted(narrowest),
        Some(LinkLine::Whole(slope)) if rate(&slope).value > narrowest.value => (
            value(&rate(&slope)),
            Some(
                "the end link is not the limit: an earlier link is narrower, and only packets far smaller than the \
                 one they follow reach the end link back to back; the figure is right if the end link is at most some \
                 17 times faster than that one, and too low if it is faster still",
            ),
        ),
        Some(LinkLine::Whole(_)) => (
            value(narrowest),
            Some(
                "compound probes came wider than bursts, as cross traffic makes them; repeat when it is quieter",
            ),
        ),
        // Behind a narrower link the slope would be that of both links together, steeper than the bursts'.
        Some(LinkLine::Upper(slope)) if agrees(&rate(&slope)) => (value(narrowest), None),
        Some(LinkLine::Upper(_)) | None => (
            Finding::at_least(
                narrowest.low,
                Unit::Bps,
                format!(
                    "the receiver's own pace, or the grid of its clock, hides small packets, so what is seen is the narrowest link of the path, \
                     {}; the end link carries as much, or more if an earlier link is narrower: fine kernel stamps of the \
                     receiver would tell",
                    BitRate(narrowest.value.round() as u64)
                ),
            ),
            None,
        ),
    }
}
