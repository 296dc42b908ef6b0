//! What probes and bursts prove together.

use super::back_to_back::Passage;
use super::dispersion::{Dispersion, rate};
use super::{EndLink, LONGEST_SLEEP, Seen};
use crate::limit::Limit;
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::unit::{BitRate, Nanos};

/// Half width of an interval, as a share, beyond which there is no value, but a bound.
const VAGUE: f64 = 0.1;

/// Rates that differ by less than this factor are taken for one link's, seen in two ways.
const SAME: f64 = 1.05;

/// The end link's rate, and whether an earlier link is narrower; `None` where it is not to be known.
pub(super) fn end_link(seen: &Seen) -> Option<(Estimate, bool)> {
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
    /// All findings.
    pub(super) fn verdict(&self) -> Report {
        let seen = self.seen();
        let (finding, warning) = self.finding(&seen);
        let limit = match finding {
            Finding::Unmeasurable { .. } => None,
            Finding::Bound { .. } if seen.link.is_none() => {
                Some((Limit::HostLimited, "gaps do not grow with their packets, as a link's would"))
            }
            _ => Some((Limit::Link, "gaps grow with their packets, as a link's do")),
        };
        let mut report = Report::new(Self::NAME, seen.vantage).with(Quantity::EndLinkCapacity, finding);
        if let Some((limit, why)) = limit {
            report = report.limited(limit, why);
        }
        if let Some(shown) = seen.link {
            let rate = shown.dispersion.rate();
            let narrowest = if shown.parted { parted(&rate) } else { value(&rate) };
            report = report.with(Quantity::NarrowLinkCapacity, narrowest);
        }
        report.warnings.extend(warning.map(str::to_owned));
        report
    }

    fn finding(&self, seen: &Seen) -> (Finding, Option<&'static str>) {
        let known = end_link(seen);
        if let Some((rate, narrower)) = known
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
        // As `end_link` has it: what probes say is another link's only where it is much more.
        let least = |low: f64| if low > narrowest.high * SAME { low } else { narrowest.low };
        let at_least = |low: f64, reason: String| (Finding::at_least(least(low), Unit::Bps, reason), None);
        let name = |rate: f64| BitRate(rate.round() as u64);
        if let Some((rate, _)) = known {
            let low = least(rate.low);
            let reason = format!(
                "compound probes reach the end link back to back, but their gaps scatter too much to tell more than that \
                 it carries {} to {}",
                name(low),
                name(rate.high)
            );
            return at_least(low, reason);
        }
        match seen.pairs {
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
            _ => at_least(
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

fn value(rate: &Estimate) -> Finding {
    Finding::value(rate.value, rate.low, rate.high, Unit::Bps)
}

/// What can be said of the narrowest link, and so of the end link, when cross traffic got between the packets of bursts.
fn parted(bursts: &Estimate) -> Finding {
    let reason = "cross traffic parts the packets of bursts, so they come slower than the narrowest link could bring \
                  them; repeat when it is quieter";
    Finding::at_least(bursts.low, Unit::Bps, reason)
}
