//! `salehin2015`: packet processing time through the capacity of the end link, as published by Salehin, Rojas-Cessa,
//! Lin, Dong and Kijkanjanarat, 'Scheme to Measure Packet Processing Time of a Remote Host through Estimation of
//! End-Link Capacity', IEEE Transactions on Computers 64(1), 2015 (papers/000). The scheme is the subject of US
//! patent 9,118,557.
//!
//! Two trains of compound probes: a heading packet of the largest size, and right behind it a trailing packet of s_1
//! or s_2 bytes. Of each size's gaps the filter of section 2.3 ([`crate::gap::filter`]) leaves `G_low`, `G_avg` and
//! `G_high`; [`solve`] does the rest, (3) to (16).
//!
//! # Where its quantities can be told
//!
//! - `end_link_capacity` and `differential_ppt`: wherever P_t arrives after P_h has been stamped, that is where
//!   s_t / c_n is longer than the host's stage up to the stamp; and where the narrowest link before the end link is not
//!   so narrow that P_t falls behind (17).
//! - `ppt_trailing` and `ppt_heading`: only where epsilon, the time from the stamp of P_t(s_1) to the arrival of
//!   P_t(s_2), is zero. Equations (12) and (13) hold the PPT up to that unknown; (15) sets it to zero. As long as P_t
//!   arrives after P_h has been stamped, G_avg(s_2) - G_avg(s_1) is (s_2 - s_1) / c_n whatever the host does: 20 us
//!   at 10 Mb/s and 2 us at 100 Mb/s for 25 bytes. If P_t arrives earlier, both gaps are the service time and the
//!   difference is zero.
//!
//! The figures are reported as the published scheme yields them, negative ones too, each report with a warning that
//! says which of the two it was. Dwell's own estimator is `knee`.

use super::compound::CompoundProbes;
use crate::gap::{self, FILTER_BIN, Filtered};
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::sizing;
use crate::stats::bootstrap;
use crate::train::{Observation, PathFacts};
use crate::unit::{Bytes, INTER_FRAME_GAP, Nanos};

/// How `salehin2015` probes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Probes of each of the two sizes.
    pub probes: usize,
    /// s_1 and s_2; raised where the path or the clock's resolution asks for it.
    pub trailing: [Bytes; 2],
    /// Idle time before each probe.
    pub pause: Nanos,
    /// Bin of the filter's histogram.
    pub bin: Nanos,
    /// Which of the receiver's stamps are read.
    pub vantage: Vantage,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for Config {
    /// The paper's probes (section 3.1), with the shorter of the two pauses that it tried (section 7.4).
    fn default() -> Self {
        Self {
            probes: 500,
            trailing: [Bytes(87), Bytes(112)],
            pause: Nanos::from_millis(10),
            bin: FILTER_BIN,
            vantage: Vantage::Application,
            seed: 2015,
        }
    }
}

/// What the filter leaves of one size's gaps, in nanoseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct GapFigures {
    /// s_t.
    pub size: Bytes,
    /// G_low(s_t), equation (18).
    pub low: f64,
    /// G_high(s_t), equation (19).
    pub high: f64,
    /// G_avg(s_t).
    pub avg: f64,
}

impl GapFigures {
    /// Of filtered gaps.
    #[must_use]
    pub fn new(size: Bytes, filtered: &Filtered) -> Self {
        Self { size, low: filtered.low(), high: filtered.high(), avg: filtered.avg }
    }
}

/// Everything that (3) to (16) yield. Times in nanoseconds, slopes in nanoseconds per byte.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Solution {
    /// m_low, from the widest difference of gaps: the larger slope, in spite of its name.
    pub m_low: f64,
    /// m_high, from the narrowest.
    pub m_high: f64,
    /// m_avg, 1 / c_n.
    pub m_avg: f64,
    /// gamma.
    pub inter_frame_gap: f64,
    /// Expected gaps for s_1 and s_2.
    pub expected: [f64; 2],
    /// dPPT_avg.
    pub differential: f64,
    /// PPT_t.
    pub trailing: f64,
    /// PPT_h.
    pub heading: f64,
    /// PPT_avg, the mean of both (section 3.1).
    pub average: f64,
}

/// Equations (3) to (16). `inter_frame_gap` is gamma on the end link where its rate is known; without it, gamma is
/// what 12 bytes take at the rate found, and nothing where the slope is not positive.
#[must_use]
pub fn solve(one: &GapFigures, two: &GapFigures, inter_frame_gap: Option<f64>) -> Solution {
    let (s1, s2) = (one.size.0 as f64, two.size.0 as f64);
    // (3) m_low = (G_high(s2) - G_low(s1)) / (s2 - s1)
    let m_low = (two.high - one.low) / (s2 - s1);
    // (4) m_high = (G_low(s2) - G_high(s1)) / (s2 - s1)
    let m_high = (two.low - one.high) / (s2 - s1);
    // (5) m_avg = (m_low + m_high) / 2
    let m_avg = (m_low + m_high) / 2.0;
    // gamma: 96 bit times on Ethernet.
    let inter_frame_gap = inter_frame_gap.unwrap_or(INTER_FRAME_GAP.0 as f64 * m_avg.max(0.0));
    // (6), (7) expected gap(s_t) = m_avg s_t + gamma
    let expected = [m_avg * s1 + inter_frame_gap, m_avg * s2 + inter_frame_gap];
    // (8) dPPT_avg = G_avg(s1) - expected gap(s1)
    let differential = one.avg - expected[0];
    // (10) PPT_t(s2) = G_avg(s2) - G_avg(s1) - epsilon; by (12), (13) equal for both sizes (14); with epsilon set to
    // zero: (15) PPT_t = G_avg(s2) - G_avg(s1)
    let trailing = two.avg - one.avg;
    // (16) PPT_h = PPT_t - dPPT
    let heading = trailing - differential;
    let average = (heading + trailing) / 2.0;
    Solution { m_low, m_high, m_avg, inter_frame_gap, expected, differential, trailing, heading, average }
}

/// Resamples for the intervals.
const RESAMPLES: usize = 400;

/// What becomes of the gaps of two sizes: filtered, solved, with intervals. `salehin2015` reports it, and
/// `salehin2017` where it falls back.
pub(super) struct TwoSizes<'a> {
    pub(super) sizes: [Bytes; 2],
    pub(super) gaps: [&'a [f64]; 2],
    /// What to say when there are too few.
    pub(super) shortage: String,
    pub(super) bin: Nanos,
    pub(super) seed: u64,
}

impl TwoSizes<'_> {
    fn solve(&self, gaps: [&[f64]; 2], inter_frame_gap: Option<f64>) -> Option<Solution> {
        let [one, two] = gaps.map(|gaps| gap::filter(gaps, self.bin.as_f64()));
        let one = GapFigures::new(self.sizes[0], &one?);
        let two = GapFigures::new(self.sizes[1], &two?);
        Some(solve(&one, &two, inter_frame_gap))
    }

    pub(super) fn add_to(&self, report: Report, facts: &PathFacts) -> Report {
        const QUANTITIES: [Quantity; 4] =
            [Quantity::DifferentialPpt, Quantity::PptTrailing, Quantity::PptHeading, Quantity::PptAverage];
        let unmeasurable = |report: Report, reason: &str| {
            let all = QUANTITIES.into_iter().chain([Quantity::EndLinkCapacity]);
            all.fold(report, |report, quantity| report.with(quantity, Finding::unmeasurable(reason)))
        };
        if self.gaps.iter().any(|gaps| gaps.len() < 2) {
            return unmeasurable(report, &self.shortage);
        }
        let inter_frame_gap = facts.end_link.map(|rate| rate.nanos_for(INTER_FRAME_GAP));
        let estimates = bootstrap::intervals(&self.gaps, RESAMPLES, self.seed, |drawn| {
            let solution = self.solve([&drawn[0], &drawn[1]], inter_frame_gap)?;
            Some([solution.differential, solution.trailing, solution.heading, solution.average])
        });
        let (Some(solution), Some(estimates)) = (self.solve(self.gaps, inter_frame_gap), estimates) else {
            return unmeasurable(report, "the gaps are not finite, or the filter's bin is not positive");
        };
        let mut report = report.with(Quantity::EndLinkCapacity, capacity(&solution));
        for (quantity, estimate) in QUANTITIES.into_iter().zip(estimates) {
            report = report.with(quantity, Finding::nanos(estimate.value, estimate.low, estimate.high));
        }
        let [_, trailing, heading, _] = estimates;
        report.warnings.push(if trailing.low <= 0.0 {
            format!(
                "the gap does not grow from {} to {}: P_t mostly waits in the receiver's queue and both gaps are its \
                 service time, so (15) is about zero whatever the processing time; ask `knee`",
                self.sizes[0], self.sizes[1]
            )
        } else {
            format!(
                "PPT_t by (15) holds epsilon at zero; unless that is so here, it is only the {} that {} more take on \
                 the end link, whatever the host does; ask `knee` for the application stage",
                Nanos::from_f64(solution.trailing),
                self.sizes[1] - self.sizes[0]
            )
        });
        if heading.value < 0.0 || trailing.value < 0.0 {
            report.warnings.push(
                "a negative processing time is what the published equations yield here; it cannot be one, so do not \
                 use it"
                    .to_owned(),
            );
        }
        for ((size, gaps), filtered) in
            self.sizes.iter().zip(self.gaps).zip(self.gaps.map(|gaps| gap::filter(gaps, self.bin.as_f64())))
        {
            let kept = filtered.map_or(0, |filtered| filtered.kept.len());
            if kept * 10 < gaps.len() {
                report.warnings.push(format!(
                    "the filter kept {kept} of {} gaps for {size}: widen its bin of {}, or probe when the path is \
                     quieter",
                    gaps.len(),
                    self.bin
                ));
            }
        }
        report
    }
}

/// c_n = 1 / m_avg, between 1 / m_low and 1 / m_high.
fn capacity(solution: &Solution) -> Finding {
    let rate = |ns_per_byte: f64| 8e9 / ns_per_byte;
    let (steep, shallow) = (solution.m_low.max(solution.m_high), solution.m_low.min(solution.m_high));
    if shallow > 0.0 {
        Finding::value(rate(solution.m_avg), rate(steep), rate(shallow), Unit::Bps)
    } else if steep > 0.0 {
        Finding::unmeasurable(
            "the gaps spread more than the two sizes differ in time on the link: (4) gives no positive slope",
        )
    } else {
        Finding::unmeasurable(
            "the gap does not grow with the trailing packet's size: (3) gives no positive slope",
        )
    }
}

/// The method.
#[derive(Clone, Debug)]
pub struct Salehin2015 {
    config: Config,
    facts: PathFacts,
    probes: CompoundProbes,
}

impl Salehin2015 {
    /// Its published name.
    pub const NAME: &'static str = "salehin2015";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        let trailing = trailing_sizes(config.trailing, facts);
        let probes =
            CompoundProbes::new(facts.max_size, trailing, config.probes, config.pause, config.vantage);
        Self { config, facts: *facts, probes }
    }
}

/// s_1 and s_2 as this path and this clock need them: s_1 at least the smallest packet that can carry a probe, and
/// s_2 - s_1 at least 2 R c_n (section 2.1, phase 1, step 2). Empty where they do not fit under the heading packet.
fn trailing_sizes([s1, s2]: [Bytes; 2], facts: &PathFacts) -> Vec<Bytes> {
    let step = facts.end_link.map_or(Bytes(0), |rate| sizing::step(facts.resolution, rate));
    let wanted = (s2 - s1).max(step);
    let first = s1.max(facts.min_size);
    let second = first + wanted;
    if wanted > Bytes(0) && second < facts.max_size { vec![first, second] } else { Vec::new() }
}

impl Method for Salehin2015 {
    fn next(&mut self) -> Step {
        self.probes.next()
    }

    fn see(&mut self, observation: &Observation) {
        self.probes.see(observation);
    }

    fn report(&self) -> Report {
        let sizes = match *self.probes.trailing.as_slice() {
            [one, two] => [one, two],
            _ => self.config.trailing,
        };
        let two_sizes = TwoSizes {
            sizes,
            gaps: sizes.map(|size| self.probes.gaps(size)),
            shortage: self.probes.shortage(),
            bin: self.config.bin,
            seed: self.config.seed,
        };
        two_sizes.add_to(Report::new(Self::NAME, self.config.vantage), &self.facts)
    }
}
