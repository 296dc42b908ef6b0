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
pub(super) mod dispersion;
mod pairs;
mod rounds;
mod verdict;

use crate::gap::{self, FILTER_BIN};
use crate::method::{LoadLimit, Method, Step};
use crate::report::{Report, Vantage};
use crate::train::{Direction, Observation, PathFacts};
use crate::unit::{BitRate, Bytes, Nanos};
use back_to_back::{Known, Passage, Sweep};
use bursts::{Bursts, Shown};
use dispersion::{Dispersion, Trend};
use pairs::Pairs;

/// The longest that a host is taken to sleep before it reads: wake-up, coalescence and the program together. Beyond
/// it, a lower bound would not hold.
pub const LONGEST_SLEEP: Nanos = Nanos::from_micros(500);

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
        self.verdict()
    }
}
