//! `salehin2017`: packet processing time with the detection of interrupt coalescence, as published by Salehin and
//! Rojas-Cessa, 'Method for Measuring the Packet Processing Time of Internet Workstations with the Detection of
//! Interrupt Coalescence' (papers/002).
//!
//! Compound probes with several trailing sizes. Where G_avg(s_1) = G_avg(s_2) = ... = G_avg(s_n) for consecutive
//! sizes (5), coalescence is said to be present and PPT = G_avg(s_1) (6); else the scheme of
//! [`super::salehin2015`] answers.
//!
//! # What 'zero slope' means here
//!
//! The paper compares the averages by eye ('even though there is a 1 us variation'). Here it is a statement about an
//! interval. The slope of G_avg over a run of consecutive sizes, by least squares through the averages, is a weighted
//! sum of them, so its standard error follows from theirs; the 95 % interval is widened by one tick of the receiver's
//! clock across the run, because quantisation moves averages by up to a tick. Two slopes are possible: 0, when P_t
//! waits for the host, and 1 / c_n, when the host waits for P_t. The run is *flat* when every slope in the interval
//! is nearer to 0, *rising* when every slope is nearer to 1 / c_n, and undecided otherwise. A flat interval that held
//! 1 / c_n is thereby excluded, while a host that takes 0.1 ns longer for each byte it copies does not pass for a link.
//!
//! c_n comes from the facts of the path, or else from the rising part: the slope over the largest sizes, if the line
//! there explains the gap itself. Where neither is known, 1 / c_n is replaced by the largest slope that a link could
//! give the run at all, that of a gap which is serialisation and nothing else: mean gap / (mean size + 12).
//!
//! A run starts with the smallest size, because a host that is slower than the link at s_t is so at every smaller
//! size; it may end inside the sizes, as in the paper's own Figures 4(a) and 5(a), flat up to 112 and 212 bytes and
//! linear above. The longest flat run without a rising step counts.
//!
//! # Where its quantity can be told
//!
//! The flat gap is the service time S, from one stamp to the next when the next packet already waits. It is the
//! processing time L of a packet only where nothing overlaps and nothing sleeps: with a receiver that blocks in its
//! read, L holds a wake-up of tens of microseconds that S does not. The report says so. A flat gap does not prove
//! coalescence either: any host slower than the link shows it.

use super::compound::CompoundProbes;
use super::salehin2015::{self, TwoSizes};
use crate::gap::{self, FILTER_BIN, Filtered};
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Vantage};
use crate::stats::CONFIDENCE;
use crate::train::{Observation, PathFacts};
use crate::unit::{Bytes, INTER_FRAME_GAP, Nanos};
use statrs::distribution::{ContinuousCDF, Normal};

/// How `salehin2017` probes.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Probes of each size. The paper sent 5,000 in ten iterations.
    pub probes: usize,
    /// Trailing sizes; those that the path cannot carry are left out.
    pub trailing: Vec<Bytes>,
    /// Idle time before each probe.
    pub pause: Nanos,
    /// Bin of the filter's histogram.
    pub bin: Nanos,
    /// Which of the receiver's stamps are read.
    pub vantage: Vantage,
    /// Seed of the fall-back's bootstrap.
    pub seed: u64,
}

impl Default for Config {
    /// The paper's seven sizes (section IV.A), one of its ten iterations.
    fn default() -> Self {
        Self {
            probes: 500,
            trailing: [87, 112, 212, 512, 812, 1012, 1212].map(Bytes).to_vec(),
            pause: Nanos::from_millis(10),
            bin: FILTER_BIN,
            vantage: Vantage::Application,
            seed: 2017,
        }
    }
}

/// How a run of consecutive sizes looks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Trend {
    /// Every slope in the interval is nearer to zero.
    Flat,
    /// Every slope in the interval is nearer to the link's.
    Rising,
    /// The interval holds slopes of both kinds.
    Undecided,
}

/// A size with its filtered gaps.
pub type SizeGaps = (Bytes, Filtered);

/// The interval of the slope of G_avg over the run's sizes, in nanoseconds per byte; `None` for fewer than two sizes.
#[must_use]
pub fn slope_interval(run: &[SizeGaps], resolution: Nanos) -> Option<(f64, f64)> {
    let n = run.len() as f64;
    let mean = run.iter().map(|(size, _)| size.0 as f64).sum::<f64>() / n;
    let sxx: f64 = run.iter().map(|(size, _)| (size.0 as f64 - mean).powi(2)).sum();
    if run.len() < 2 || sxx <= 0.0 {
        return None;
    }
    let weight = |size: &Bytes| (size.0 as f64 - mean) / sxx;
    let slope: f64 = run.iter().map(|(size, gaps)| weight(size) * gaps.avg).sum();
    let variance: f64 = run.iter().map(|(size, gaps)| (weight(size) * gaps.standard_error()).powi(2)).sum();
    let span = run[run.len() - 1].0.0.abs_diff(run[0].0.0) as f64;
    let tick = resolution.as_f64().max(0.0) / span;
    let half = Normal::standard().inverse_cdf((1.0 + CONFIDENCE) / 2.0) * variance.sqrt() + tick;
    Some((slope - half, slope + half))
}

/// The largest slope that a link could give the run: that of gaps which are serialisation and nothing else.
fn serialisation_slope(run: &[SizeGaps]) -> f64 {
    let gaps: f64 = run.iter().map(|(_, gaps)| gaps.avg).sum();
    let bytes: f64 = run.iter().map(|(size, _)| (*size + INTER_FRAME_GAP).0 as f64).sum();
    gaps / bytes
}

/// Judges a run against the slope that the link would give it.
#[must_use]
pub fn trend(run: &[SizeGaps], link_slope: f64, resolution: Nanos) -> Trend {
    match slope_interval(run, resolution) {
        // A slope is nearer to zero than to the link's below half of the link's.
        Some((_, high)) if high < link_slope / 2.0 => Trend::Flat,
        Some((low, _)) if low > link_slope / 2.0 => Trend::Rising,
        _ => Trend::Undecided,
    }
}

/// 1 / c_n in nanoseconds per byte from the largest sizes, where they rise as a link makes them.
fn rising_slope(sizes: &[SizeGaps], resolution: Nanos) -> Option<f64> {
    let top = &sizes[sizes.len().saturating_sub(3)..];
    if trend(top, serialisation_slope(top), resolution) != Trend::Rising {
        return None;
    }
    slope_interval(top, resolution).map(|(low, high)| (low + high) / 2.0)
}

/// The longest flat run of consecutive sizes from the smallest on, at least two.
#[must_use]
pub fn flat_run<'a>(sizes: &'a [SizeGaps], facts: &PathFacts) -> Option<&'a [SizeGaps]> {
    let known =
        facts.end_link.map(|rate| rate.nanos_for(Bytes(1))).or_else(|| rising_slope(sizes, facts.resolution));
    (2..=sizes.len()).rev().map(|length| &sizes[..length]).find(|run| {
        let link = known.unwrap_or_else(|| serialisation_slope(run));
        let rises = |step: &[SizeGaps]| trend(step, link, facts.resolution) == Trend::Rising;
        trend(run, link, facts.resolution) == Trend::Flat && !run.windows(2).any(rises)
    })
}

/// The method.
#[derive(Clone, Debug)]
pub struct Salehin2017 {
    config: Config,
    facts: PathFacts,
    probes: CompoundProbes,
}

impl Salehin2017 {
    /// Its published name.
    pub const NAME: &'static str = "salehin2017";

    /// Ready to probe a path of which so much is known.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        let mut trailing: Vec<Bytes> = config.trailing.clone();
        trailing.retain(|size| (facts.min_size..facts.max_size).contains(size));
        trailing.sort_unstable();
        trailing.dedup();
        let probes =
            CompoundProbes::new(facts.max_size, trailing, config.probes, config.pause, config.vantage);
        Self { config, facts: *facts, probes }
    }

    /// The sizes of which enough gaps are there.
    fn filtered(&self) -> Vec<SizeGaps> {
        let sizes = self.probes.trailing.iter().filter(|size| self.probes.gaps(**size).len() >= 2);
        sizes
            .filter_map(|&size| Some((size, gap::filter(self.probes.gaps(size), self.config.bin.as_f64())?)))
            .collect()
    }

    /// PPT = G (6). The interval holds the averages of all sizes of the run with theirs.
    fn flat_report(&self, run: &[SizeGaps]) -> Report {
        let reach = Normal::standard().inverse_cdf((1.0 + CONFIDENCE) / 2.0);
        let ends = run.iter().map(|(_, gaps)| (gaps.avg, reach * gaps.standard_error()));
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (avg, half)| {
            (low.min(avg - half), high.max(avg + half))
        });
        let ppt = Finding::nanos(run[0].1.avg, low, high);
        let (first, last) = (run[0].0, run[run.len() - 1].0);
        let mut report = Report::new(Self::NAME, self.config.vantage)
            .with(Quantity::PptTrailing, ppt.clone())
            .with(Quantity::PptHeading, ppt.clone())
            .with(Quantity::PptAverage, ppt);
        report.warnings.push(format!(
            "the gap is flat from {first} to {last} and is published as PPT, but a flat gap is the service time: \
             what one more packet costs when it already waits, without the wake-up that a packet pays; ask `knee` for \
             the application stage"
        ));
        report.warnings.push(
            "a flat gap is published as a sign of interrupt coalescence; any host slower than its link shows one, so \
             do not conclude from it that the NIC coalesces"
                .to_owned(),
        );
        report
    }
}

impl Method for Salehin2017 {
    fn next(&mut self) -> Step {
        self.probes.next()
    }

    fn see(&mut self, observation: &Observation) {
        self.probes.see(observation);
    }

    fn report(&self) -> Report {
        let sizes = self.filtered();
        if let Some(run) = flat_run(&sizes, &self.facts) {
            return self.flat_report(run);
        }
        // Else (2) holds with its slope, and the scheme of 2015 answers from the two smallest sizes.
        let two = match *self.probes.trailing.as_slice() {
            [one, two, ..] => [one, two],
            _ => salehin2015::Config::default().trailing,
        };
        let two_sizes = TwoSizes {
            sizes: two,
            gaps: two.map(|size| self.probes.gaps(size)),
            shortage: self.probes.shortage(),
            bin: self.config.bin,
            seed: self.config.seed,
        };
        let mut report = two_sizes.add_to(Report::new(Self::NAME, self.config.vantage), &self.facts);
        if sizes.len() >= 2 {
            report.warnings.push(
                "no two consecutive sizes show a flat gap, so the figures are those of `salehin2015`"
                    .to_owned(),
            );
        }
        report
    }
}
