//! What the crowds say of the path.

use super::crowd::{Crowd, crowd};
use super::runs::{LUMPY, Runs, lump, pace};
use super::{SparedRuns, WIDE};
use crate::clock::CLOCK_RATE_DOUBT;
use crate::limit::Limit;
use crate::report::{Finding, Quantity, Report, Side, Unit, Vantage};
use crate::stats::Estimate;
use crate::stats::quantile::quantile;
use crate::stream::occupied;
use crate::unit::{BitRate, Bytes};

/// Of what a link makes packets' times shrink by from one size to the next, so much at least must show.
const SHRINKS: f64 = 0.4;

/// Weight of a crowd that leaves no doubt, and of one that most runs are in.
const CLEAR: f64 = 0.1;
pub(super) const MOST: f64 = 0.5;

/// Half width of an interval, and what the sizes differ by, as shares, that are small enough to stop.
pub(super) const SURE: f64 = 0.006;

/// Sizes agree within this share, and so many do where the answer is sure.
const AGREE: f64 = 0.02;
pub(super) const AGREEING: usize = 3;

/// Sizes that say more than the answer by more than this contradict it.
const FASTER: f64 = 0.01;

/// So large a share of gaps have nothing in them.
const SOON: f64 = 0.02;

/// Without what a bucket lets pass, sizes differ by less than this share of what they differ by with it.
const NEARER: f64 = 0.5;

/// Trains of a crowd, at least.
const FEWEST: usize = 5;

/// A bucket that a kernel's timer needs holds no more than so many full packets.
pub(super) const SPILL: f64 = 4.0;

impl SparedRuns {
    /// The sizes of which a link sets the pace, from the largest on: the time of a smaller packet is shorter. Where a host
    /// needs the same time for each, it is not.
    pub(super) fn link_sizes(&self) -> Vec<Bytes> {
        let of = |size: Bytes| pace(self.trains.iter().filter(|train| train.size == size));
        let sizes = self.sizes();
        let Some(full) = of(self.facts.max_size) else { return Vec::new() };
        let shrinks = |size: &Bytes| {
            let less = 1.0 - occupied(*size) / occupied(self.facts.max_size);
            of(*size).is_some_and(|pace| pace <= full * (1.0 - SHRINKS * less))
        };
        sizes.into_iter().filter(shrinks).collect()
    }

    /// Where the runs of trains of these sizes crowd, without the first packets of each, which take so many bits.
    pub(super) fn crowd(&self, sizes: &[Bytes], without: f64) -> Option<Crowd> {
        let anew = || {
            let runs = Runs::of(&self.trains, sizes, without)?;
            crowd(&runs, occupied(self.facts.max_size), self.facts.resolution.as_f64(), self.config.seed)
        };
        *self.crowds.borrow_mut().entry((sizes.to_vec(), without.to_bits())).or_insert_with(anew)
    }

    /// What each size says by itself, and how many of them agree with all together.
    pub(super) fn agreement(&self, sizes: &[Bytes], without: f64) -> (Vec<f64>, usize) {
        let Some(all) = self.crowd(sizes, without) else { return (Vec::new(), 0) };
        let of_one =
            |size: &Bytes| self.crowd(std::slice::from_ref(size), without).map(|one| one.slope.value);
        let alone: Vec<f64> = sizes.iter().filter_map(of_one).collect();
        let agree = alone.iter().filter(|one| (*one / all.slope.value - 1.0).abs() < AGREE).count();
        (alone, agree)
    }

    /// The sizes that the answer is of, and how many bits of each train are left out.
    fn answering(&self) -> (Vec<Bytes>, f64) {
        let (sizes, without) = self.basis();
        (self.spared(&sizes, without).unwrap_or(sizes), without)
    }

    /// Whether all runs agree as closely as those do of packets that got through untouched.
    pub(super) fn is_narrow(&self) -> bool {
        let (sizes, without) = self.answering();
        self.crowd(&sizes, without).is_some_and(|all| all.slope.half_width() < SURE * all.slope.value)
    }

    /// Whether most sizes agree so closely, each by itself.
    pub(super) fn is_close(&self) -> bool {
        let (sizes, without) = self.answering();
        let (alone, _) = self.agreement(&sizes, without);
        self.crowd(&sizes, without).is_some_and(|all| 2 * near(&alone, all.slope.value) > sizes.len())
    }

    /// The sizes that agree on the fastest rate that as many as make an answer agree on, where others, larger ones, say a slower one: others'
    /// packets are in all of those, and none comes before its time.
    fn spared(&self, sizes: &[Bytes], without: f64) -> Option<Vec<Bytes>> {
        let is_plain = without == 0.0 && self.ears.is_none();
        let all = self.crowd(sizes, without).filter(|_| is_plain)?.slope.value;
        let alone: Vec<(Bytes, f64)> = sizes
            .iter()
            .filter_map(|size| Some((*size, self.crowd(std::slice::from_ref(size), without)?.slope.value)))
            .collect();
        let agreeing = |slope: f64| -> Vec<Bytes> {
            alone.iter().filter(|(_, one)| (one / slope - 1.0).abs() < SURE).map(|(size, _)| *size).collect()
        };
        let faster = alone.iter().map(|(_, slope)| *slope).filter(|slope| *slope < all * (1.0 - AGREE));
        let fastest = faster.filter(|slope| agreeing(*slope).len() >= AGREEING).reduce(f64::min)?;
        // Where the largest are among them others' packets are no more in larger ones.
        Some(agreeing(fastest)).filter(|agreeing| agreeing.first() != sizes.first())
    }

    /// Whether small packets got through where larger ones did not, most of their runs.
    pub(super) fn are_small_spared(&self) -> bool {
        let (sizes, without) = self.basis();
        let crowd = self.spared(&sizes, without).and_then(|spared| self.crowd(&spared, without));
        crowd.is_some_and(|crowd| crowd.share > MOST)
    }

    /// The sizes that tell of the link, and how many bits of each train are left out.
    pub(super) fn basis(&self) -> (Vec<Bytes>, f64) {
        let sizes = self.link_sizes();
        let without = self.spilled(&sizes);
        if without > 0.0 { (self.wide(&sizes), without) } else { (sizes, without) }
    }

    /// Of these sizes the largest ones.
    fn wide(&self, sizes: &[Bytes]) -> Vec<Bytes> {
        let mut wide = self.sizes();
        wide.truncate(WIDE);
        sizes.iter().filter(|size| wide.contains(size)).copied().collect()
    }

    /// How many bits of each train are best left out: those that a token bucket lets pass are no measure of what fills it.
    fn spilled(&self, sizes: &[Bytes]) -> f64 {
        let wide = self.wide(sizes);
        let small: Vec<Bytes> = sizes.iter().filter(|size| !wide.contains(size)).copied().collect();
        let without = SPILL * occupied(self.facts.max_size);
        let is_bucket = || {
            if small.len() >= AGREEING {
                self.is_host(&small)
            } else {
                self.is_lumpy() && self.is_nearer(&wide, without)
            }
        };
        if self.agreement(sizes, 0.0).1 < AGREEING && is_bucket() { without } else { 0.0 }
    }

    /// Whether the smallest packets follow each other no sooner than others of these, as they would behind any link: of
    /// small ones a bucket lets several pass at a time, each as soon as a host can.
    fn is_host(&self, small: &[Bytes]) -> bool {
        let Some((smallest, larger)) = small.split_last() else { return false };
        let Some(least) = self.least_gap(*smallest) else { return false };
        larger.iter().any(|size| {
            let less = 1.0 - occupied(*smallest) / occupied(*size);
            self.least_gap(*size).is_some_and(|gap| least > gap * (1.0 - SHRINKS * less))
        })
    }

    /// Whether sizes agree far better without the first packets. Where packets come in lumps, small ones are not sent.
    fn is_nearer(&self, sizes: &[Bytes], without: f64) -> bool {
        let apart = |without: f64| {
            let alone = self.agreement(sizes, without).0;
            let most = alone.iter().copied().fold(0.0, f64::max);
            let least = alone.iter().copied().fold(f64::INFINITY, f64::min);
            if alone.len() == sizes.len() { most / least - 1.0 } else { f64::INFINITY }
        };
        apart(without) < NEARER * apart(0.0)
    }

    fn is_lumpy(&self) -> bool {
        pace(self.full()).is_some_and(|pace| lump(self.full(), pace) > LUMPY)
    }

    /// How soon packets of a size follow each other where nothing is between them, nanoseconds.
    fn least_gap(&self, size: Bytes) -> Option<f64> {
        let trains = self.trains.iter().filter(|train| train.size == size);
        let gaps = trains.flat_map(|train| train.came.windows(2).map(|two| two[1] - two[0]));
        quantile(&gaps.collect::<Vec<_>>(), SOON)
    }

    pub(super) fn verdict(&self) -> Report {
        let captured = self.trains.iter().all(|train| train.vantage == Vantage::Capture);
        let stamps = if captured { Vantage::Capture } else { Vantage::Application };
        let mut report = Report::new(Self::NAME, stamps);
        let (sizes, without) = self.answering();
        let (of_all, _) = self.basis();
        if sizes.len() < of_all.len() {
            report.warnings.push(rates_told(&self.agreement(&of_all, without).0));
        }
        let Some(found) = self.crowd(&sizes, without) else {
            let why = if self.trains.is_empty() {
                "no train came through"
            } else {
                "each train came all at once: the receiver's NIC or kernel hands on more packets at a time than a train has"
            };
            return report.with(Quantity::NarrowLinkCapacity, Finding::unmeasurable(why));
        };
        let rate = |slope: f64| 1e9 / slope;
        if sizes.len() < 2 {
            let why = "smaller packets take no less time: hosts, or a NIC that gathers packets, set the pace, not a link";
            return report
                .with(Quantity::NarrowLinkCapacity, Finding::at_least(rate(found.slope.high), Unit::Bps, why))
                .limited(Limit::HostLimited, why);
        }
        if found.share < CLEAR || found.trains < FEWEST {
            report.warnings.push(format!(
                "few runs of packets were spared by cross traffic ({:.0} % of their weight, in {} trains): measure again",
                found.share * 100.0,
                found.trains
            ));
        }
        // A tick of the clock is in the gap of every packet where it is a multiple of it.
        let mut slope = found.slope;
        let tick = self.facts.resolution.as_f64().max(0.0) / occupied(self.facts.max_size);
        (slope.low, slope.high) = ((slope.low - tick).max(slope.value / 2.0), slope.high + tick);
        if let Some((strained, others)) = self.strained.as_ref().and_then(|all| Some((all, all.others()?))) {
            let what = if others.are_shown {
                "trains a little slower than this are held up"
            } else {
                "the sender was late with trains a little slower than this, so that these cannot show who else is there"
            };
            report.warnings.push(format!(
                "the receiver gathers packets, and {what}: if the link before the narrow one is no faster, others' packets are in \
                 every run, and the narrow link carries up to {}",
                BitRate((rate(slope.value) * (1.0 + others.load)) as u64)
            ));
            slope.low = slope.low.min(slope.value / (1.0 + others.load));
            if others.are_shown && strained.in_step(self.longest()) {
                let why = "trains a little slower than this came slower still, and all alike: others' packets are in all of these, in \
                           step";
                let least = rate(slope.high) * (1.0 - CLOCK_RATE_DOUBT);
                return in_all(report, least, why);
            }
        }
        if without > 0.0 {
            report.warnings.push(
                "the first packets of trains come faster than those behind them, by which this is measured: a token bucket, or cross \
                 traffic in all longer runs (shaper-probe tells which)"
                    .to_owned(),
            );
        }
        let (alone, agree) = self.agreement(&sizes, without);
        if agree < AGREEING {
            report.warnings.push(rates_told(&alone));
            slope.low = alone.iter().copied().fold(slope.low, f64::min);
            // Two sizes that agree at the floor need not fear a third that is slower: others can hold it up, and none comes
            // before its time. Where the receiver gathers packets, stamps do.
            let floor = without == 0.0 && self.ears.is_none();
            if !floor || alone.iter().any(|one| *one < slope.value * (1.0 - AGREE)) {
                slope.high = alone.iter().copied().fold(slope.high, f64::max);
            }
            if floor && near(&alone, slope.value) < 2 {
                return no_less(report, &slope);
            }
        }
        // One size may come before its time by chance, several do not.
        let faster = alone.iter().filter(|one| **one < slope.value * (1.0 - FASTER)).count();
        if without == 0.0 && self.ears.is_none() && faster > 1 {
            if agree >= AGREEING {
                report.warnings.push(rates_told(&alone));
            }
            return no_less(report, &slope);
        }
        narrow_link(report, slope)
    }
}

/// How many of these are as close to the slope as packets are that got through untouched.
fn near(slopes: &[f64], slope: f64) -> usize {
    slopes.iter().filter(|one| (*one / slope - 1.0).abs() < SURE).count()
}

/// That sizes do not agree, which would each say so by themselves.
pub(super) fn rates_told(slopes: &[f64]) -> String {
    let rates: Vec<String> = slopes.iter().map(|slope| BitRate((1e9 / slope) as u64).to_string()).collect();
    format!(
        "packets of different sizes do not agree ({}): cross traffic leaves few packets untouched; measure when there is less",
        rates.join(", ")
    )
}

/// What is known where sizes do not agree: no packet comes before its time.
pub(super) fn no_less(report: Report, slope: &Estimate) -> Report {
    let why =
        "packets of different sizes do not agree, as a link's would: others' packets may be in all of these";
    in_all(report, 1e9 / slope.high * (1.0 - CLOCK_RATE_DOUBT), why)
}

/// Others' packets are in all that was measured, so that no more than a bound is known.
pub(super) fn in_all(report: Report, least: f64, why: &str) -> Report {
    report
        .with(Quantity::NarrowLinkCapacity, Finding::at_least(least, Unit::Bps, why))
        .limited(Limit::Unstable, why)
}

/// A link that takes so long for a bit is the narrow one.
pub(super) fn narrow_link(report: Report, slope: Estimate) -> Report {
    let most = 1e9 / slope.low * (1.0 + CLOCK_RATE_DOUBT);
    let least = 1e9 / slope.high * (1.0 - CLOCK_RATE_DOUBT);
    report.with(Quantity::NarrowLinkCapacity, Finding::value(1e9 / slope.value, least, most, Unit::Bps))
}

/// What the narrow link carries at the least the end link does.
pub(super) fn with_end_link(report: Report) -> Report {
    let least = match report.finding(Quantity::NarrowLinkCapacity) {
        Finding::Value { low: least, .. } | Finding::Bound { bound: least, side: Side::Lower, .. } => least,
        _ => return report,
    };
    let why = "no link is narrower than the narrowest; end-link measures the last one by itself";
    report.with(Quantity::EndLinkCapacity, Finding::at_least(least, Unit::Bps, why))
}
