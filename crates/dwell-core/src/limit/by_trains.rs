//! What held a rate back that a method told without saying so: seen by its own packets.

mod batches;

use super::Limit;
use super::by_size::BySize;
use crate::bucket::fall::{Fall, described, fall, unseen, warned};
use crate::report::{Finding, Quantity, Report, Side};
use crate::stats::quantile::{median, sorted};
use crate::stream::{bit_rate, occupied, passed, rate_at, shape, vantage};
use crate::train::{Fate, Observation, PathFacts};
use crate::unit::{BitRate, Bytes};
use batches::Batches;

/// The rates whose limit is told, the first of which a report has.
const RATES: [Quantity; 3] =
    [Quantity::AvailableBandwidth, Quantity::NarrowLinkCapacity, Quantity::DispersionRate];

/// What is sent so many times as fast as a rate shows whether the path holds it up there; less than that clocks and cross traffic blur.
const FASTER: f64 = 1.1;

/// It is held up where it comes so many times as slow as it left: more than stamps err by, less than a link of which a fifth is free adds.
const HELD_UP: f64 = 1.02;

/// Trains show one bucket where rates, and depths, are no further apart than these factors, in so many of them, and in half of those
/// that could.
const SAME_RATE: f64 = 1.1;
const SAME_DEPTH: f64 = 1.5;
const AGAIN: usize = 2;

/// Packets of a train of which it can be told whether its rate falls.
const LONG: usize = 33;

/// From one packet of a train to the next.
#[derive(Copy, Clone, Debug)]
struct Gap {
    /// Of the second.
    size: Bytes,
    /// Nanoseconds, as asked for; zero: back to back.
    asked: f64,
    sent: f64,
    /// `None` if one of them was lost.
    came: Option<f64>,
}

impl Gap {
    fn is_asked_above(&self, rate: f64) -> bool {
        rate_at(self.size, self.asked) > rate
    }

    fn is_sent_above(&self, rate: f64) -> bool {
        rate_at(self.size, self.sent.max(0.0)) > rate
    }
}

/// A train that is long enough to empty a bucket.
#[derive(Copy, Clone, Debug)]
struct Long {
    size: Bytes,
    /// Bits per second at which it left.
    sent: f64,
    fell: Option<Fall>,
}

/// What became of the packets of a measurement, for what they tell of its limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByTrains {
    gaps: Vec<Gap>,
    long: Vec<Long>,
    batches: Batches,
    /// The longest train that came at one rate.
    steady: Bytes,
}

impl ByTrains {
    /// Sees what became of a train.
    pub(crate) fn see(&mut self, observation: &Observation) {
        let vantage = vantage(observation);
        let came = |fate: &Fate| vantage.read(&fate.arrival.as_ref()?.stamps);
        let gap = |two: &[Fate]| Gap {
            size: two[1].packet.size,
            asked: two[1].packet.hold.as_f64(),
            sent: (two[1].sent.nearest_wire() - two[0].sent.nearest_wire()).as_f64(),
            came: came(&two[0]).zip(came(&two[1])).map(|(first, second)| (second - first).as_f64()),
        };
        self.gaps.extend(observation.fates.windows(2).map(gap));
        let Some((size, _)) = shape(observation) else { return };
        let passed = passed(observation);
        self.batches.see(&passed);
        let fell = fall(&passed);
        if let (Some(last), true) = (passed.last(), observation.fates.len() >= LONG) {
            let sent = rate_at(size, last.sent / last.number.max(1) as f64);
            self.long.push(Long { size, sent, fell });
        }
        if fell.is_none() {
            self.steady = self.steady.max(observation.bytes());
        }
    }

    /// Says in a report what the limit of its rate is, unless the method has.
    #[must_use]
    pub(crate) fn judge(&self, report: Report, facts: &PathFacts) -> Report {
        let told = RATES.iter().find_map(|quantity| Some((*quantity, report.findings.get(quantity)?)));
        let Some((quantity, told)) = told.filter(|_| report.verdict.is_none()) else { return report };
        // An upper bound does not say that so much is free.
        let (rate, is_free) = match told {
            Finding::Value { value, low, high, .. } => (Some((*value, high - low)), true),
            Finding::Bound { bound, side, .. } => (Some((*bound, 0.0)), *side == Side::Lower),
            Finding::Unmeasurable { .. } => (None, false),
        };
        if let Some(bucket) = self.bucket() {
            let mut report = report.limited(Limit::TokenBucket, &bucket);
            report.warnings.push(warned(&bucket));
            return report;
        }
        if let Some(batches) = self.batches.described(facts.resolution) {
            let is_told = rate.is_some();
            let mut report = report.limited(Limit::HostLimited, batches);
            if is_told {
                let why =
                    "packets came in batches, and this method takes the gaps between them for the path's";
                report.warnings.push(why.to_owned());
            }
            return report;
        }
        if rate.is_some_and(|(rate, range)| range > rate) {
            return report.limited(Limit::Unstable, "the range is wider than the value that it is of");
        }
        if self.is_of_hosts() {
            let why = "smaller packets take no less time: hosts set the pace, not a link";
            return report.limited(Limit::HostLimited, why);
        }
        let is_free = is_free && quantity == Quantity::AvailableBandwidth;
        let (limit, why) = match (told, rate) {
            (Finding::Unmeasurable { reason }, _) => self.limit_of_none(reason),
            (_, Some((rate, _))) if !self.gaps.is_empty() => self.limit(rate, is_free, facts),
            _ => return report,
        };
        let mut report = report.limited(limit, &why);
        if limit == Limit::Unstable && rate.is_some() {
            report.warnings.push(why);
        }
        report
    }

    /// The limit of a measurement that told no rate, and why not: the sender, if it made most packets later than they were asked
    /// for; else none that lasted.
    fn limit_of_none(&self, why: &str) -> (Limit, String) {
        let paced: Vec<&Gap> = self.gaps.iter().filter(|gap| gap.asked > 0.0).collect();
        let late: Vec<f64> =
            paced.iter().map(|gap| gap.sent / gap.asked).filter(|times| *times > FASTER).collect();
        if late.len() * 2 > paced.len() {
            let times = median(&late).unwrap_or(FASTER);
            let why = format!(
                "most packets left later than they were to: {times:.2} times as far apart at the median of these"
            );
            return (Limit::SenderLimited, why);
        }
        (Limit::Unstable, format!("no rate lasted: {why}"))
    }

    /// The limit of a rate, bits per second, which may be told to be free at least, by the packets that were to be sent faster.
    fn limit(&self, rate: f64, is_free: bool, facts: &PathFacts) -> (Limit, String) {
        let above = rate * FASTER;
        let asked: Vec<&Gap> = self.gaps.iter().filter(|gap| gap.is_asked_above(above)).collect();
        let sent: Vec<&Gap> = asked.iter().copied().filter(|gap| gap.is_sent_above(above)).collect();
        let left = |gaps: &[&Gap]| {
            let nanos: f64 = gaps.iter().map(|gap| gap.sent).sum();
            let bits: f64 = gaps.iter().map(|gap| occupied(gap.size)).sum();
            bit_rate(bits * 1e9 / nanos.max(1.0))
        };
        if asked.is_empty() {
            let all: Vec<&Gap> = self.gaps.iter().collect();
            let known = facts.narrow_link.or(facts.end_link).map(|BitRate(bps)| bps as f64);
            return match known.filter(|known| rate * FASTER > *known) {
                Some(known) => {
                    let why = format!(
                        "no packets were sent faster than the narrow link was measured to carry, {}",
                        bit_rate(known)
                    );
                    (Limit::Link, why)
                }
                None => (
                    Limit::SenderLimited,
                    format!("no packets were sent faster: they left at {}", left(&all)),
                ),
            };
        }
        if sent.len() * 2 < asked.len() {
            // Of which most are no faster: the mean would be of the few that are.
            let rates: Vec<f64> = asked.iter().map(|gap| rate_at(gap.size, gap.sent.max(1.0))).collect();
            let most = bit_rate(median(&rates).unwrap_or(rate));
            let why = format!("packets that were to be sent faster left at {most} at the median");
            let is_seen = median(&rates).is_some_and(|most| rate <= most * FASTER);
            return if is_seen {
                (Limit::SenderLimited, why)
            } else {
                (Limit::Unstable, format!("{why}: packets that left so slowly cannot show so high a rate"))
            };
        }
        let whole: Vec<&Gap> = sent.iter().copied().filter(|gap| gap.came.is_some()).collect();
        let time = |of: fn(&Gap) -> f64| whole.iter().map(|gap| of(gap)).sum::<f64>();
        let (went, came) = (time(|gap| gap.sent), time(|gap| gap.came.unwrap_or(0.0)));
        if whole.is_empty() || came < went * HELD_UP {
            let why = format!("packets that left at {}, faster than that, were not held up", left(&sent));
            return (Limit::Unstable, why);
        }
        let bits = time(|gap| occupied(gap.size));
        let (left, arrived) = (left(&whole), bits * 1e9 / came);
        let why = format!("packets that left at {left} came at {}", bit_rate(arrived));
        // A link passes on no less than it has free of what is sent faster: R C / (R + C - A) is A at the least.
        if is_free && arrived * FASTER < rate {
            return (Limit::Unstable, format!("{why}, slower than what is told to be free"));
        }
        let why = format!("{why}; {}", unseen(self.steady));
        (Limit::Link, why)
    }

    /// The bucket that long trains show, with rate and depth.
    fn bucket(&self) -> Option<String> {
        let falls: Vec<(Fall, Bytes)> =
            self.long.iter().filter_map(|long| Some((long.fell?, long.size))).collect();
        let of = |figure: fn(&Fall, Bytes) -> f64| {
            sorted(&falls.iter().map(|(fall, size)| figure(fall, *size)).collect::<Vec<_>>())
        };
        let (rates, depths) = (of(Fall::rate), of(|fall, size| fall.depths(size).0));
        let most = of(|fall, size| fall.depths(size).1);
        let within = |figures: &[f64], factor: f64| {
            figures.first().zip(figures.last()).is_some_and(|(least, most)| *most <= least * factor)
        };
        let rate = median(&rates)?;
        let could = self.long.iter().filter(|long| long.sent > rate * FASTER).count();
        let alike = rates.len() >= AGAIN && rates.len() * 2 >= could;
        (alike && within(&rates, SAME_RATE) && within(&depths, SAME_DEPTH)).then_some(())?;
        let (fall, _) = falls.first()?;
        Some(described(fall, rate, (median(&depths)?, median(&most)?)))
    }

    /// Whether packets back to back come as far apart whatever their size.
    fn is_of_hosts(&self) -> bool {
        let mut by_size = BySize::default();
        let burst = self.gaps.iter().filter(|gap| gap.asked == 0.0);
        burst.filter_map(|gap| Some((gap.size, gap.came?))).for_each(|(size, came)| by_size.see(size, came));
        by_size.is_of_hosts()
    }
}

#[cfg(test)]
mod tests;
