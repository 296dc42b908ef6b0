//! Bursts of equal packets: the dispersion per packet of the path's narrowest link, or of the host.

use super::dispersion::{Dispersion, Trend, trend};
use crate::report::Vantage;
use crate::stats::histogram::Histogram;
use crate::stats::quantile::{mean, median, quartiles, standard_deviation};
use crate::stats::slope::theil_sen;
use crate::stats::{Estimate, bootstrap};
use crate::train::Observation;
use crate::unit::{Bytes, Nanos};

/// Stamps of one burst: index in the burst, time since its first stamp in nanoseconds.
type Stamped = Vec<(usize, f64)>;

/// The stamps of all bursts of one size.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    pub(super) size: Bytes,
    pub(super) packets: usize,
    stamped: Vec<(Stamped, Stamped)>,
}

impl Bursts {
    pub(super) fn new(size: Bytes) -> Self {
        Self { size, packets: 0, stamped: Vec::new() }
    }

    /// Keeps a burst that arrived in order, whole or in part.
    pub(super) fn see(&mut self, observation: &Observation) {
        let arrivals = observation.fates.iter().enumerate();
        let arrivals: Vec<_> = arrivals.filter_map(|(i, fate)| Some((i, fate.arrival?))).collect();
        if arrivals.windows(2).any(|pair| pair[1].1.order <= pair[0].1.order) {
            return;
        }
        let by = |vantage: Vantage| -> Stamped {
            let stamps =
                arrivals.iter().filter_map(|(i, arrival)| Some((*i, vantage.read(&arrival.stamps)?)));
            let stamps: Vec<(usize, Nanos)> = stamps.collect();
            let first = stamps.first().map_or(Nanos::ZERO, |(_, stamp)| *stamp);
            stamps.into_iter().map(|(i, stamp)| (i, (stamp - first).as_f64())).collect()
        };
        self.packets = self.packets.max(observation.fates.len());
        self.stamped.push((by(Vantage::Application), by(Vantage::Capture)));
    }

    fn stamped(&self, vantage: Vantage) -> impl Iterator<Item = &Stamped> {
        self.stamped.iter().map(move |(application, capture)| match vantage {
            Vantage::Application => application,
            Vantage::Capture => capture,
        })
    }

    /// The time per packet, burst by burst: the slope of the stamps over the packets' places, but for the first
    /// quarter, which is left to the host to wake up and to work off what came meanwhile; by Theil-Sen, as a program
    /// that is interrupted for a while makes a bump. A wake-up shifts the first
    /// stamp only, not the slope: that is how a burst sees through it. A host that falls asleep again between packets
    /// adds a delay that goes up and down, but does not grow along the burst. (The line *under* the stamps would hang
    /// on the few that it touches.)
    fn slopes(&self, vantage: Vantage) -> Vec<f64> {
        let slope = |stamped: &Stamped| {
            let from = stamped.last()?.0 / 4;
            let points: Vec<(f64, f64)> =
                stamped.iter().filter(|(i, _)| *i >= from).map(|(i, at)| (*i as f64, *at)).collect();
            Some(theil_sen(&points)?.slope.value)
        };
        self.stamped(vantage).filter_map(slope).collect()
    }

    /// The typical time per packet.
    pub(super) fn typical(&self, vantage: Vantage) -> Option<f64> {
        median(&self.slopes(vantage))
    }

    /// The time per packet over whole bursts. Where each packet waits for an interrupt of its own, gaps are whole periods,
    /// more often too short than too long, and the slope follows those.
    pub(super) fn average(&self, vantage: Vantage) -> Option<f64> {
        let average = |stamped: &Stamped| {
            let (first, last) = (stamped.first()?, stamped.last()?);
            (last.0 > first.0).then(|| (last.1 - first.1) / (last.0 - first.0) as f64)
        };
        median(&self.stamped(vantage).filter_map(average).collect::<Vec<_>>())
    }

    /// The gaps between packets next to each other, without the first of each burst.
    fn gaps(&self, vantage: Vantage) -> Vec<f64> {
        let gaps = self.stamped(vantage).flat_map(|stamped| stamped.windows(2).skip(1));
        gaps.filter(|pair| pair[1].0 == pair[0].0 + 1).map(|pair| pair[1].1 - pair[0].1).collect()
    }

    /// A NIC that holds packets delivers them in lumps: by what share of a burst's time its ends may be off, which is the
    /// longest gap's. Zero where fewer than a third of the packets come with the one before.
    fn lumps(&self, vantage: Vantage) -> f64 {
        let gaps = self.gaps(vantage);
        let together = mean(&gaps).unwrap_or(0.0) / 10.0;
        if gaps.iter().filter(|gap| **gap <= together).count() * 3 < gaps.len() {
            return 0.0;
        }
        let share = |stamped: &Stamped| {
            let longest = stamped.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(0.0, f64::max);
            let span = stamped.last()?.1 - stamped.first()?.1;
            (span > 0.0).then(|| (longest / span).min(1.0))
        };
        median(&self.stamped(vantage).filter_map(share).collect::<Vec<_>>()).unwrap_or(1.0)
    }

    /// By whole bursts.
    fn by_slope(&self, vantage: Vantage, seed: u64) -> Option<Estimate> {
        let slopes = self.slopes(vantage);
        if slopes.len() < 2 {
            return None;
        }
        let estimate = bootstrap::interval(&slopes, 400, seed, median)?;
        let estimate = estimate.widened(bootstrap::small_sample_factor(slopes.len()));
        let off = estimate.value * self.lumps(vantage);
        Some(Estimate { low: estimate.low - off, high: estimate.high + off, ..estimate })
    }

    /// By single gaps: the lowest mode of their histogram, as pairs that cross traffic did not part are the lowest
    /// cluster, though not always the fullest; around it as far up as the smallest gap lies below it, as in the filter
    /// of papers/000. Clusters with less than a third of the fullest bin are noise, and bins narrower than a
    /// tenth of a gap show clusters where there is one. Gaps that spread there too come
    /// from a host that sleeps and catches up: their mean means nothing.
    fn by_gap(&self, vantage: Vantage, bin: Nanos) -> Option<Estimate> {
        let gaps = self.gaps(vantage);
        let bin = bin.as_f64().max(median(&gaps)? / 10.0);
        let histogram = Histogram::new(&gaps, bin)?;
        let fullest = histogram.peak()?.count;
        let lowest = histogram.local_modes().into_iter().find(|mode| mode.count * 3 >= fullest)?;
        let limit = lowest.high + (lowest.low - histogram.bins().next()?.low);
        let cluster: Vec<f64> = gaps.into_iter().filter(|gap| *gap < limit).collect();
        let (avg, sigma) = (mean(&cluster)?, standard_deviation(&cluster)?);
        if cluster.len() < 5 || sigma > 0.15 * avg {
            return None;
        }
        // Half a bin is what the choice of the cluster's ends may move the mean.
        let half = 2.0 * sigma / (cluster.len() as f64).sqrt() + bin / 2.0;
        Some(Estimate { value: avg, low: avg - half, high: avg + half })
    }
}

/// What bursts show.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Shown {
    /// Of the largest size.
    pub(super) dispersion: Dispersion,
    /// How it grew from the smaller size.
    pub(super) trend: Trend,
    /// Whether cross traffic got between the packets of bursts.
    pub(super) parted: bool,
    /// Whether the dispersion is that of single gaps, which it spared; if not, it is too long where parted.
    pub(super) spared: bool,
}

/// Bursts that differ by more than this share between their quartiles had cross traffic between their packets. Without,
/// capture stamps agree within 0.2 %, and application stamps within 1 %, or 2 % where the host sleeps for longer than
/// eight packets take.
const fn parting(vantage: Vantage) -> f64 {
    match vantage {
        Vantage::Capture => 0.01,
        Vantage::Application => 0.025,
    }
}

/// The dispersion per packet of the narrowest link. Whole bursts are more exact and see through the host; single gaps
/// still find packets that cross traffic did not part when no whole burst is untouched. So the gaps count where they
/// are clearly smaller and grow as a link makes them grow.
pub(super) fn show(large: &Bursts, small: &Bursts, vantage: Vantage, bin: Nanos, seed: u64) -> Option<Shown> {
    let relative = |bursts: &Bursts| {
        let slopes = bursts.slopes(vantage);
        let middle = median(&slopes).unwrap_or(1.0);
        slopes.into_iter().map(move |slope| slope / middle)
    };
    let relative: Vec<f64> = relative(large).chain(relative(small)).collect();
    let parted = quartiles(&relative).is_some_and(|q| q.p75 - q.p25 > parting(vantage));
    let grown = |one: Option<Estimate>, other: Option<Estimate>, spared: bool| {
        let (one, dispersion) =
            (Dispersion { size: small.size, gap: one? }, Dispersion { size: large.size, gap: other? });
        Some(Shown { dispersion, trend: trend(&one, &dispersion), parted, spared })
    };
    let whole = grown(small.by_slope(vantage, seed), large.by_slope(vantage, seed ^ 1), false)?;
    let single = grown(small.by_gap(vantage, bin), large.by_gap(vantage, bin), true);
    let smaller = |shown: &Shown| {
        shown.trend == Trend::Rising && shown.dispersion.gap.value < 0.95 * whole.dispersion.gap.value
    };
    single.filter(|_| parted).filter(smaller).or(Some(whole))
}
