//! `end-link`: capacity of the link that the host under test hangs on, from gaps between packets that arrive back to
//! back (papers/000, sections 2 and 5), made to cope with hosts that are slower than their link.
//!
//! Two kinds of trains. *Compound probes* of several heading and trailing sizes: where they reach the end link back to
//! back their gap is s_t / c_n + gamma + dPPT (2), so the slope over s_t is 1 / c_n, and dPPT is only its offset; and
//! where they do not, it depends on s_h too (`back_to_back.rs`). *Bursts* of equal packets of two sizes: (N - 1) packets
//! raise the signal over a receiver's wake-up, at (s + gamma) / c each, where c is the narrowest link of the path.
//!
//! A first round of single probes and one short burst shows the pace; a second looks at all sizes; the rest go where
//! they decide, and it ends when the answer leaves no doubt.
//!
//! # What can be told
//!
//! | compound probes | bursts | finding |
//! |---|---|---|
//! | back to back, same rate | grow with s | a value: the end link is the narrowest, or as narrow as any |
//! | back to back, faster | grow with s | a value from the probes, and the warning that the end link is not the limit |
//! | back to back | grow, parted by cross traffic | a value from the probes |
//! | back to back | none arrived | a value from the probes |
//! | back to back, or apart on the way to a very fast link | | a lower bound |
//! | apart | grow | a lower bound: the narrowest link's rate |
//! | hidden by the host | grow | a lower bound: the narrowest link's rate |
//! | any | do not grow in proportion | a lower bound: the host, not the link, sets the gap |
//!
//! The lower bound follows from the rate at which packets were read, but only up to a host that slept through the
//! whole burst: everything then waits in its queue, and the gaps tell nothing of the link. So the bound is never more
//! than the burst's bytes over [`LONGEST_SLEEP`].
//!
//! 'Grow' means, as in [`crate::host::salehin2017`], that every slope in the interval is nearer to that of pure
//! serialisation than to none, and that the interval reaches nine tenths of the former. Bursts whose packets
//! each cost the host something beside the link come slower than the link, which is a lower bound too.

mod back_to_back;
mod bursts;
mod pairs;

use crate::gap::{self, FILTER_BIN};
use crate::method::{LoadLimit, Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::train::{Departure, Direction, Observation, PathFacts, Train};
use crate::unit::{BitRate, Bytes, INTER_FRAME_GAP, Nanos};
use back_to_back::{Known, Passage, Sweep};
use bursts::{Bursts, Shown};
use pairs::Pairs;

/// The longest that a host is taken to sleep before it reads: wake-up, coalescence and the program together. Beyond
/// it, a lower bound would not hold.
pub const LONGEST_SLEEP: Nanos = Nanos::from_micros(500);

/// Share by which two hosts' clocks may run at different rates without anybody knowing: twice a common crystal's.
const CLOCK_RATE_DOUBT: f64 = 200e-6;

/// Sizes of a heading packet and of the trailing one behind it.
type PairSizes = (Bytes, Bytes);

/// How `end-link` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Single compound probes of each of eight trailing sizes.
    pub probes: usize,
    /// Rounds of trains after all sizes were looked at, if so many are needed.
    pub rounds: usize,
    /// Least idle time before a train.
    pub pause: Nanos,
    /// Share of the narrowest link that trains may take, by what the first round showed of it.
    pub load: f64,
    /// The fastest that an end link is taken to be: what is faster shows nowhere.
    pub fastest: BitRate,
    /// Bin of the filter's histogram.
    pub bin: Nanos,
    /// Which of the receiver's stamps are read; `None`: capture stamps where nine packets of ten have them.
    pub vantage: Option<Vantage>,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for Config {
    /// 27 single compound probes and a burst, 18 trains of all kinds, then at most 40 that decide.
    fn default() -> Self {
        Self {
            probes: 3,
            rounds: 8,
            pause: Nanos::from_millis(20),
            load: LoadLimit::DEFAULT_SHARE,
            fastest: BitRate::from_mbps(100_000),
            bin: FILTER_BIN,
            vantage: None,
            seed: 4,
        }
    }
}

/// Packets of a train, least and most: the most still fits into a socket buffer of Linux's default size, 212,992 bytes
/// at 2,304 for each full packet.
const TRAIN: (usize, usize) = (6, 80);

/// Packets of the burst that ends the first round.
const FIRST_BURST: usize = 12;

/// Bursts of each size in the second round.
const BURSTS: usize = 2;

/// Half width of an interval, as a share, that is narrow enough to stop. The doubt about the inter-frame gap alone takes
/// 0.4 %.
const SURE: f64 = 0.01;

/// Half width of an interval, as a share, beyond which there is no value, but a bound.
const VAGUE: f64 = 0.1;

/// Rates that differ by less than this factor are taken for one link's, seen in two ways.
const SAME: f64 = 1.05;

/// A train should last so long: an application that sleeps for less than a quarter of a burst is seen through.
const SPAN: Nanos = Nanos::from_millis(3);

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
    sweep: Sweep,
    /// Rounds asked for.
    asked: usize,
    /// Nanoseconds that a byte takes, by the first round.
    pace: f64,
    pairs: Pairs,
    large: Bursts,
    small: Bursts,
    arrived: usize,
    captured: usize,
}

/// What everything that arrived shows.
struct Seen {
    vantage: Vantage,
    bursts: Option<Shown>,
    /// The bursts, if a link set their gaps.
    link: Option<Shown>,
    pairs: Option<Passage>,
}

impl EndLink {
    /// Its name.
    pub const NAME: &'static str = "end-link";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            sweep: Sweep::new(facts.min_size, facts.max_size),
            asked: 0,
            pace: 0.0,
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

    /// The two largest packets one behind the other: they show the pace.
    fn full(&self) -> PairSizes {
        (self.facts.max_size, self.facts.max_size)
    }

    /// Single probes of every trailing size, and a burst: through a wake-up that is longer than a pair, only that shows
    /// the pace for the other rounds.
    fn first_round(&self) -> Vec<Departure> {
        let sizes = self.sweep.behind_largest().chain([self.full()]);
        let sizes: Vec<PairSizes> = sizes.collect();
        let pairs = sizes.iter().cycle().take(self.config.probes * sizes.len());
        let pairs = pairs.map(|(heading, trailing)| Departure {
            pause: self.config.pause,
            train: Train::pair(*heading, *trailing, Nanos::ZERO),
        });
        let pause = self.config.pause * FIRST_BURST as i64;
        let burst = Departure { pause, train: Train::burst(self.facts.max_size, FIRST_BURST) };
        pairs.chain([burst]).collect()
    }

    /// Nanoseconds that the path takes for a byte, as the first round showed it. Every stamp serves here: a host can
    /// hide the link, and then it looks faster than it is.
    fn shown_pace(&self) -> f64 {
        let shown = [Vantage::Application, Vantage::Capture]
            .into_iter()
            .flat_map(|vantage| [self.pairs.typical(self.full(), vantage), self.large.typical(vantage)]);
        shown.flatten().fold(1.0, f64::max) / Dispersion::framed(self.facts.max_size)
    }

    /// `group` again and again for about [`SPAN`] on the link that the first round showed, and a pause before it, so that
    /// both take no more than the load's share.
    fn train(&self, group: &Train) -> Departure {
        let once =
            group.packets.iter().map(|packet| Dispersion::framed(packet.size) * self.pace).sum::<f64>();
        let packets = group.packets.len();
        let times = ((SPAN.as_f64() / once) as usize).clamp(TRAIN.0 / packets, TRAIN.1 / packets);
        let share = if self.config.load > 0.0 { self.config.load } else { 1.0 };
        let pause = Nanos::from_f64(times as f64 * once / share).max(self.config.pause);
        Departure { pause, train: Train { packets: group.packets.repeat(times), ..group.clone() } }
    }

    fn compound(&self, (heading, trailing): PairSizes) -> Departure {
        self.train(&Train::pair(heading, trailing, Nanos::ZERO))
    }

    fn bursts(&self) -> [Departure; 2] {
        // An even number, as trains of pairs have it.
        [self.large.size, self.small.size].map(|size| self.train(&Train::burst(size, 2)))
    }

    fn second_round(&self) -> Vec<Departure> {
        let pairs = self.sweep.pairs().into_iter().map(|sizes| self.compound(sizes));
        pairs.chain((0..BURSTS).flat_map(|_| self.bursts())).collect()
    }

    /// The trains that may still change the answer: none where it leaves no doubt.
    fn another_round(&self) -> Vec<Departure> {
        let seen = self.seen();
        let sure = |rate: &Estimate| rate.half_width() < SURE * rate.value;
        if self.arrived == 0 || end_link(&seen).is_some_and(|(rate, _)| sure(&rate)) {
            return Vec::new();
        }
        let deciding = match seen.pairs {
            Some(Passage::EitherOr { place, .. } | Passage::BackToBack { place, .. }) => {
                self.sweep.deciding(place).to_vec()
            }
            // Floors that are missing may come.
            None => self.sweep.pairs(),
            Some(Passage::Apart | Passage::Hidden) => Vec::new(),
        };
        let narrowest_is_known =
            seen.link.is_some_and(|shown| !shown.parted && sure(&shown.dispersion.rate()));
        let pairs = deciding.into_iter().map(|sizes| self.compound(sizes));
        if narrowest_is_known {
            pairs.clone().chain(pairs).collect()
        } else {
            pairs.chain(self.bursts()).collect()
        }
    }

    fn seen(&self) -> Seen {
        let vantage = self.vantage();
        let bursts = bursts::show(&self.large, &self.small, vantage, self.config.bin, self.config.seed);
        let link = bursts.filter(|shown| shown.trend == Trend::Rising && shown.dispersion.gap.low > 0.0);
        let known = Known {
            slowest: bursts
                .map(|shown| shown.dispersion.gap.high / Dispersion::framed(shown.dispersion.size)),
            fastest: self.config.fastest.nanos_for(Bytes(1)),
            tick: self.facts.resolution,
            parted: bursts.is_some_and(|shown| shown.parted),
        };
        let pairs = back_to_back::passage(&self.pairs, &self.sweep, vantage, known);
        Seen { vantage, bursts, link, pairs }
    }
}

impl Method for EndLink {
    fn next(&mut self) -> Step {
        if self.sweep.is_empty() {
            return Step::Done;
        }
        let fleet = match self.asked {
            0 => self.first_round(),
            1 => {
                self.pace = self.shown_pace();
                self.second_round()
            }
            asked if asked < self.config.rounds + 2 => self.another_round(),
            _ => Vec::new(),
        };
        self.asked += 1;
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
        } else if fates.chunks(2).all(|fates| fates.iter().map(|fate| fate.packet.size).eq(pair)) {
            let vantages = [Vantage::Application, Vantage::Capture];
            let gaps = fates.chunks_exact(2);
            let gaps = gaps.map(|fates| vantages.map(|vantage| gap::between(&fates[0], &fates[1], vantage)));
            self.pairs.see(pair.into(), gaps);
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
        let seen = self.seen();
        let (finding, warning) = self.finding(&seen);
        let mut report = Report::new(Self::NAME, seen.vantage).with(Quantity::EndLinkCapacity, finding);
        if let Some(shown) = seen.link {
            let rate = shown.dispersion.rate();
            let narrowest = if shown.parted { parted(&rate) } else { value(&rate) };
            report = report.with(Quantity::NarrowLinkCapacity, narrowest);
        }
        report.warnings.extend(warning.map(str::to_owned));
        report
    }
}

/// The end link's rate, and whether an earlier link is narrower; `None` where it is not to be known.
fn end_link(seen: &Seen) -> Option<(Estimate, bool)> {
    let Some(Passage::BackToBack { slope, .. }) = seen.pairs else { return None };
    // Bursts that do not grow contradict the probes, if it was not cross traffic that parted them; where none arrived, the
    // probes stand alone.
    if seen.link.is_none() && seen.bursts.is_some_and(|shown| !shown.parted) {
        return None;
    }
    let probes = rate(&slope);
    let Some(shown) = seen.link.filter(|shown| !shown.parted) else { return Some((probes, false)) };
    let narrowest = shown.dispersion.rate();
    if probes.low > narrowest.high * SAME {
        return Some((probes, true));
    }
    // Bursts are the more exact where both follow the same link.
    Some((
        Estimate {
            high: narrowest.high.max(if probes.low > narrowest.high { probes.high } else { 0.0 }),
            ..narrowest
        },
        false,
    ))
}

impl EndLink {
    fn finding(&self, seen: &Seen) -> (Finding, Option<&'static str>) {
        if let Some((rate, narrower)) = end_link(seen)
            && rate.half_width() < VAGUE * rate.value
        {
            let warning = "the end link is not the limit: an earlier link is narrower, and only packets far smaller than the \
                           one they follow reach the end link back to back";
            return (value(&rate), narrower.then_some(warning));
        }
        let Some(shown) = seen.link else {
            return (self.without_link(seen.bursts.map(|shown| shown.dispersion), seen.vantage), None);
        };
        let narrowest = shown.dispersion.rate();
        let at_least =
            |low: f64, reason: String| (Finding::at_least(low.max(narrowest.low), Unit::Bps, reason), None);
        let name = |rate: f64| BitRate(rate.round() as u64);
        match seen.pairs {
            Some(Passage::BackToBack { slope, .. }) => {
                let probes = rate(&slope);
                let reason = format!(
                    "compound probes reach the end link back to back, but their gaps scatter too much to tell more than \
                     that it carries {} to {}",
                    name(probes.low),
                    name(probes.high)
                );
                at_least(probes.low, reason)
            }
            Some(Passage::EitherOr { slope, faster, .. }) => {
                let probes = rate(&slope);
                let reason = format!(
                    "it carries {}, or else {} or more: behind a narrower link, packets on so fast a link would look the \
                     same to stamps this coarse",
                    name(probes.value),
                    name(8e9 / faster)
                );
                at_least(probes.low, reason)
            }
            _ if shown.parted => (parted(&narrowest), None),
            Some(Passage::Apart) => at_least(
                0.0,
                format!(
                    "behind the narrowest link, {}, even the smallest packet falls behind the largest on its way: the \
                     end link is some 12 times faster or more, and then its rate shows in no gap",
                    name(narrowest.value)
                ),
            ),
            Some(Passage::Hidden) | None => at_least(
                0.0,
                format!(
                    "the receiver's own pace, or the grid of its clock, hides small packets, so what is seen is the \
                     narrowest link of the path, {}; the end link carries as much, or more if an earlier link is \
                     narrower: fine kernel stamps of the receiver would tell",
                    name(narrowest.value)
                ),
            ),
        }
    }

    /// What can be said when no gap grows with its packet.
    fn without_link(&self, burst: Option<Dispersion>, vantage: Vantage) -> Finding {
        if self.sweep.is_empty() {
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
        let read = 1e9 * bits / burst.gap.high.max(self.large.average(vantage).unwrap_or(0.0));
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

/// What can be said of the narrowest link, and so of the end link, when cross traffic got between the packets of bursts.
fn parted(bursts: &Estimate) -> Finding {
    let reason = "cross traffic parts the packets of bursts, so they come slower than the narrowest link could bring \
                  them; repeat when it is quieter";
    Finding::at_least(bursts.low, Unit::Bps, reason)
}
