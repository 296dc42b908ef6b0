//! `end-link`: capacity of the link that the host under test hangs on, from gaps between packets that arrive back to
//! back (papers/000, sections 2 and 5), made to cope with hosts that are slower than their link.
//!
//! Two kinds of trains. *Compound probes* of several trailing sizes: their gap is s_t / c_n + gamma + dPPT (2), so
//! the slope over s_t is 1 / c_n, and dPPT is only its offset. *Bursts* of equal packets of two sizes: (N - 1) packets
//! raise the signal over a receiver's wake-up, at (s + gamma) / c each, where c is the narrowest link of the path.
//!
//! # What can be told
//!
//! | compound probes | bursts | finding |
//! |---|---|---|
//! | a link's line, same rate | grow with s | a value: the end link is the narrowest, or as narrow as any |
//! | a link's line, faster | grow with s | a value from the probes, and the warning that the end link is not the limit |
//! | hidden by the host | grow with s | the narrowest link's rate as value, with the warning that it need not be the end link |
//! | a link's line | do not grow | a value from the probes |
//! | hidden | do not grow | a lower bound: the host, not the link, sets the gap |
//!
//! The lower bound follows from the rate at which packets were read, but only up to a host that slept through the
//! whole burst: everything then waits in its queue, and the gaps tell nothing of the link. So the bound is never more
//! than the burst's bytes over [`LONGEST_SLEEP`].
//!
//! 'Grows' means, as in [`crate::host::salehin2017`], that every slope in the interval is nearer to that of pure
//! serialisation than to none.

mod bursts;
mod pairs;

use crate::gap::{self, FILTER_BIN};
use crate::method::{LoadLimit, Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::train::{Departure, Direction, Observation, PathFacts, Train};
use crate::unit::{Bytes, INTER_FRAME_GAP, Nanos};
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
    /// Compound probes of each of eight trailing sizes.
    pub probes: usize,
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
    /// 40 compound probes and 20 bursts.
    fn default() -> Self {
        Self {
            probes: 5,
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
    if rise - apart > middle {
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
    asked: usize,
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

    /// A burst of so many packets takes about [`BURST_SPAN`] on the link that the compound probes showed, and with the
    /// pause before it no more than the load's share.
    fn burst(&self, size: Bytes) -> Departure {
        let shown = self.pairs.typical(self.facts.max_size, self.vantage()).unwrap_or(0.0).max(1.0);
        let count = (BURST_SPAN.as_f64() / shown) as usize;
        let count = count.clamp(BURST.0, BURST.1);
        let share = if self.config.load > 0.0 { self.config.load } else { 1.0 };
        let pause = Nanos::from_f64(count as f64 * shown / share).max(self.config.pause);
        Departure { pause, train: Train::burst(size, count) }
    }
}

impl Method for EndLink {
    fn next(&mut self) -> Step {
        let probes = self.config.probes.saturating_mul(self.sizes.len());
        let all = probes.saturating_add(self.config.bursts.saturating_mul(2));
        if self.sizes.is_empty() || self.asked >= all {
            return Step::Done;
        }
        // Bursts wait for what the probes show.
        let until = if self.asked < probes { probes } else { all };
        let fleet: Vec<Departure> = (self.asked..until.min(self.asked + FLEET))
            .map(|i| {
                if i < probes {
                    let trailing = self.sizes[i % self.sizes.len()];
                    let train = Train::pair(self.facts.max_size, trailing, Nanos::ZERO);
                    Departure { pause: self.config.pause, train }
                } else {
                    self.burst([self.large.size, self.small.size][(i - probes) % 2])
                }
            })
            .collect();
        self.asked += fleet.len();
        Step::Send(fleet)
    }

    fn see(&mut self, observation: &Observation) {
        if observation.direction != Direction::Forward {
            return;
        }
        match (gap::compound_probe(observation), observation.fates.as_slice()) {
            (Some((heading, trailing)), [first, second])
                if heading == self.facts.max_size && self.sizes.contains(&trailing) =>
            {
                let by = |vantage| gap::between(first, second, vantage);
                self.pairs.see(trailing, by(Vantage::Application), by(Vantage::Capture));
            }
            (None, [first, _, _, ..])
                if observation
                    .fates
                    .iter()
                    .skip(1)
                    .all(|fate| fate.packet.size == first.packet.size && fate.packet.hold == Nanos::ZERO) =>
            {
                match first.packet.size {
                    size if size == self.large.size => self.large.see(observation),
                    size if size == self.small.size => self.small.see(observation),
                    _ => return,
                }
            }
            _ => return,
        }
        let arrivals = observation.fates.iter().filter_map(|fate| fate.arrival);
        for arrival in arrivals {
            self.arrived += 1;
            self.captured += usize::from(arrival.stamps.kernel.is_some());
        }
    }

    fn report(&self) -> Report {
        let vantage = self.vantage();
        let burst = bursts::dispersion(&self.large, &self.small, vantage, self.config.bin, self.config.seed);
        let narrowest =
            burst.filter(|(dispersion, trend)| *trend == Trend::Rising && dispersion.gap.low > 0.0);
        let narrowest = narrowest.map(|(dispersion, _)| dispersion);
        let line =
            self.pairs.line(vantage, narrowest.map(|narrowest| narrowest.per_byte()), self.config.seed);
        let (finding, warning) = match (narrowest, line) {
            (Some(narrowest), line) => compare(&narrowest.rate(), line),
            (None, Some(LinkLine::Whole(slope) | LinkLine::Upper(slope))) => (value(&rate(&slope)), None),
            (None, None) => (self.without_link(burst.map(|(dispersion, _)| dispersion), vantage), None),
        };
        let mut report = Report::new(Self::NAME, vantage).with(Quantity::EndLinkCapacity, finding);
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
                "the host, not the link, sets the gap: packets follow each other by {} whatever their size (if the \
                 receiver sleeps no longer than {LONGEST_SLEEP})",
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

/// Which of two rates is the end link's: the narrowest link's by the bursts, or the compound probes'.
fn compare(narrowest: &Estimate, line: Option<LinkLine>) -> (Finding, Option<&'static str>) {
    let agrees = |probes: &Estimate| probes.high > narrowest.low * 0.95 && probes.low < narrowest.high * 1.05;
    let finer = |probes: &Estimate| {
        let width = |rate: &Estimate| rate.half_width() / rate.value;
        value(if width(probes) < width(narrowest) { probes } else { narrowest })
    };
    match line {
        Some(LinkLine::Whole(slope)) if agrees(&rate(&slope)) => (finer(&rate(&slope)), None),
        Some(LinkLine::Whole(slope)) if rate(&slope).value > narrowest.value => (
            value(&rate(&slope)),
            Some(
                "the end link is not the limit: an earlier link is narrower, and only packets far smaller than the \
                 one they follow reach the end link back to back; take the capacity of the path from bursts or pairs \
                 of equal packets",
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
            value(narrowest),
            Some(
                "the receiver's own pace hides small packets, so this is the narrowest link of the path; the end link \
                 carries at least as much, and more if an earlier link is narrower: kernel stamps of the receiver \
                 would tell",
            ),
        ),
    }
}
