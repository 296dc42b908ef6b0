//! Bursts of equal packets: the dispersion per packet of the path's narrowest link, or of the host.

use super::{Dispersion, Trend, trend};
use crate::report::Vantage;
use crate::stats::histogram::Histogram;
use crate::stats::quantile::{mean, median, quantile, standard_deviation};
use crate::stats::slope::least_squares;
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
    /// quarter, which is left to the host to wake up and to work off what came meanwhile. A wake-up shifts the first
    /// stamp only, not the slope: that is how a burst sees through it. A host that falls asleep again between packets
    /// adds a delay that goes up and down, but does not grow along the burst. (The line *under* the stamps would hang
    /// on the few that it touches.)
    fn slopes(&self, vantage: Vantage) -> Vec<f64> {
        let slope = |stamped: &Stamped| {
            let from = stamped.last()?.0 / 4;
            let points: Vec<(f64, f64)> =
                stamped.iter().filter(|(i, _)| *i >= from).map(|(i, at)| (*i as f64, *at)).collect();
            Some(least_squares(&points)?.slope.value)
        };
        self.stamped(vantage).filter_map(slope).collect()
    }

    /// The gaps between packets next to each other, without the first of each burst.
    fn gaps(&self, vantage: Vantage) -> Vec<f64> {
        let gaps = self.stamped(vantage).flat_map(|stamped| stamped.windows(2).skip(1));
        gaps.filter(|pair| pair[1].0 == pair[0].0 + 1).map(|pair| pair[1].1 - pair[0].1).collect()
    }

    /// By whole bursts. Cross traffic makes a burst longer, never shorter: a low quantile. Without cross traffic the
    /// median would be right, so the interval reaches up to it.
    fn by_slope(&self, vantage: Vantage, seed: u64) -> Option<Estimate> {
        let slopes = self.slopes(vantage);
        let estimate = bootstrap::interval(&slopes, 400, seed, |slopes| quantile(slopes, 0.25))?;
        let estimate = estimate.widened(bootstrap::small_sample_factor(slopes.len()));
        Some(Estimate { high: estimate.high.max(median(&slopes)?), ..estimate })
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

/// The dispersion per packet of the narrowest link: of the largest size, if it grows with the size as a link makes
/// it grow. Whole bursts are more exact and see through the host; single gaps still find pairs that cross traffic did
/// not part when no whole burst is untouched. So the gaps count where they are clearly smaller and grow as well.
pub(super) fn dispersion(
    large: &Bursts,
    small: &Bursts,
    vantage: Vantage,
    bin: Nanos,
    seed: u64,
) -> Option<(Dispersion, Trend)> {
    let grown = |one: Option<Estimate>, other: Option<Estimate>| {
        let (one, other) =
            (Dispersion { size: small.size, gap: one? }, Dispersion { size: large.size, gap: other? });
        Some((other, trend(&one, &other)))
    };
    let whole = grown(small.by_slope(vantage, seed), large.by_slope(vantage, seed ^ 1))?;
    let single = grown(small.by_gap(vantage, bin), large.by_gap(vantage, bin));
    let smaller =
        |gaps: &(Dispersion, Trend)| gaps.1 == Trend::Rising && gaps.0.gap.value < 0.95 * whole.0.gap.value;
    single.filter(smaller).or(Some(whole))
}
