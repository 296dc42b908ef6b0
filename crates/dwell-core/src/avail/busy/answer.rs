//! What a measurement says when it is over.

use super::Busy;
use crate::avail::search::Verdict;
use crate::bucket::Bucket;
use crate::bucket::fall::{Fall, unseen};
use crate::limit::Limit;
use crate::report::{Finding, Quantity, Report, Side, Unit};
use crate::stream::line::Line;

/// An interval wider than this share of the link is of traffic that does not hold still.
const UNSTABLE: f64 = 0.5;

/// What a search tells is off by some 0.03 of the narrow link at the mean where loaded links are not alike, or three (of 50 simulated runs
/// each 0.04 low to 0.03 high): its range has room for that.
const UNALIKE: f64 = 0.04;

/// A link that seems to carry so many times what bursts were sent at was not seen: nothing shows what it could carry.
const BEYOND: f64 = 2.0;

/// Three such links, of C each, let a burst through at C / (1 + 2 rho) and have C (1 - rho) free: so many times that at most, where rho is a
/// quarter. Of several bursts and trains at the pace the fastest was held up no more than that by chance.
const THROUGH: f64 = 1.125;

/// What may as well carry so many times as much has no figure.
const OPEN: f64 = 2.0;

/// Trains at 1.1 times what three links carry that are loaded alike, each by rho, show a load of 1.1^2 rho: so much more than each has.
const ALIKE: f64 = 0.21;

/// Why a search follows where bursts are a slow sender's.
const BLIND: &str =
    "the sender, or its own link, makes bursts so slowly that they do not show what the tight link carries";

/// What may be free and is more than so much of what a slow sender makes, its host may hide, and more may be free.
const NEARLY: f64 = 0.95;
const AS_FAST: &str = "the sender sends no faster, and trains about as fast as that were not surely held up";

/// What comes at once is so many packets of ours before it is a burst.
const LUMPY: f64 = 2.5;

/// A link loaded by less is not looked at: how trains differ there is the hosts' doing.
const IDLE: f64 = 0.1;

impl Busy {
    pub(super) fn answer(&self) -> Report {
        if let Some((bucket, fall)) =
            self.bucket.as_ref().and_then(|bucket| bucket.fallen().map(|fall| (bucket, fall)))
        {
            return self.behind(bucket, fall);
        }
        let mut report = Report::new(Self::NAME, self.vantage);
        for (count, what) in [
            (self.lost, "lost packets"),
            (self.disordered, "came in another order than they were sent in"),
            (
                self.still,
                "waited a millisecond or more and then came at once, as behind a host that stood still or a much faster link,",
            ),
        ] {
            if count > 0 {
                report.warnings.push(format!("{count} of {} trains {what} and were not used", self.seen));
            }
        }
        let rate = |per_packet: f64| (per_packet * self.sending.bits() * 1e9).max(0.0);
        let span = self.sending.span.as_f64();
        if self.sizes.is_of_hosts() {
            let why = "packets of half the size come as far apart, by the receiving program's stamps: that program sets the pace, not a link";
            return report
                .with(Quantity::AvailableBandwidth, Finding::unmeasurable(why))
                .limited(Limit::HostLimited, why);
        }
        if let Some(fall) = self.deep.fall {
            let why = format!("{}: what is free is no more than the rate of that bucket", fall.reason());
            let token = rate(1.0 / fall.after);
            return report
                .with(Quantity::AveragingTime, Finding::nanos(span, span, span))
                .with(Quantity::AvailableBandwidth, Finding::at_most(token, Unit::Bps, why.clone()))
                .limited(Limit::TokenBucket, why);
        }
        if self.as_made() && self.trial.told.is_none() {
            report = report.with(Quantity::AveragingTime, Finding::nanos(span, span, span));
            if self.lost > 0 {
                let why = "trains lost packets, and those that came through came as they were sent: nothing waits, whatever drops them";
                return report
                    .with(Quantity::AvailableBandwidth, Finding::unmeasurable(why))
                    .limited(Limit::Unstable, why);
            }
            let why = format!(
                "the sender sends no faster, and what it sent came as it was sent; {}, by the longest train",
                unseen(self.sending.most())
            );
            let mut bound = self.samples.at_least().unwrap_or(0.0);
            if self.waits() {
                // Another link is loaded, and if it carries much more it holds trains up by less than they can show.
                bound = bound.min(self.idle());
            }
            let bound = rate(bound);
            return report
                .with(Quantity::AvailableBandwidth, Finding::at_least(bound, Unit::Bps, why.clone()))
                .limited(Limit::SenderLimited, why);
        }
        if self.deep.unexplained() {
            let why = "a long train at the link's own pace lost most of its packets, at no steady rate: what drops them is not known";
            return report
                .with(Quantity::AvailableBandwidth, Finding::unmeasurable(why))
                .limited(Limit::Unstable, why);
        }
        if self.is_cut_short {
            report.warnings.push(format!(
                "it took {} by then, and not all was asked that would show another loaded link, or tell more closely what is free",
                self.sending.span
            ));
        }
        let Some(line) = self.samples.line() else {
            return match self.searched(None) {
                Some(range) if self.samples.are_blind() => self.by_search(report, range, BLIND),
                Some(range) => {
                    self.by_search(report, range, "slower trains came by no rule that one link has")
                }
                None => {
                    let (limit, why) = self.no_line();
                    report.with(Quantity::AvailableBandwidth, Finding::unmeasurable(why)).limited(limit, why)
                }
            };
        };
        report = report.with(Quantity::AveragingTime, Finding::nanos(span, span, span));
        // On a link that is loaded its queue may be what drops them, and those that came through tell of it all the same.
        if self.is_lossy() && line.share.high < IDLE {
            let why = "a quarter of the trains or more lost packets, at no steady rate, though those that came through met next to nothing: what drops them is not known";
            return report
                .with(Quantity::AvailableBandwidth, Finding::at_most(rate(line.free.high), Unit::Bps, why))
                .limited(Limit::Unstable, why);
        }
        if self.is_jerked() {
            let narrow = rate(self.samples.fastest().map_or(0.0, f64::recip));
            let idle = self.samples.idle_share();
            let why = format!(
                "others load another link than the narrow one in bursts: in {:.0} % of the time or more nothing waits, and a link has as much \
                 of what it carries free; at most the narrow one's {:.1} Mb/s",
                idle * 100.0,
                narrow / 1e6
            );
            return report
                .with(Quantity::AvailableBandwidth, Finding::at_least(idle * narrow, Unit::Bps, why.clone()))
                .limited(Limit::Link, why);
        }
        if let Some(range) = self.searched(Some(&line)) {
            let held = "trains at the least that the narrow link seemed to have free were held up";
            let usual = if self.samples.are_blind() { BLIND } else { held };
            return self.by_search(report, range, self.elsewhere(&line).as_deref().unwrap_or(usual));
        }
        if let Some(why) = self.elsewhere(&line) {
            report.warnings.push(why.clone());
            return report
                .with(
                    Quantity::AvailableBandwidth,
                    Finding::at_most(rate(line.free.high), Unit::Bps, why.clone()),
                )
                .limited(Limit::Link, why);
        }
        if self.samples.made().is_some_and(|made| line.own.high * BEYOND < made) {
            let why = "by the gaps of its trains the link carries several times what bursts were sent at: these gaps are the hosts', not a link's";
            return report
                .with(Quantity::AvailableBandwidth, Finding::unmeasurable(why))
                .limited(Limit::HostLimited, why);
        }
        if self.samples.another().is_some() {
            report.warnings.push(String::from(
                "packets of bursts come nearer to each other than one link lets them: another is loaded as well, or stamps are off",
            ));
        }
        if self.samples.are_senders() || self.samples.are_blind() {
            report.warnings.push(String::from(
                "bursts came as far apart as they were sent: the sender, or its own link, sets the pace, and if what holds trains up is a faster link \
                 behind it, less is free",
            ));
        }
        if self.samples.bursty() || line.noise > LUMPY * line.share.high.max(IDLE) * line.own.value {
            report.warnings.push(String::from(
                "trains differ by more than single packets of others explain: traffic comes in bursts, or another link is loaded as well",
            ));
        }
        if self.held_up().is_some_and(|verdict| verdict != Verdict::Below) {
            report.warnings.push(String::from(
                "a long train at what seems free may have been held up throughout, as a link makes it that carries much more and has less free",
            ));
        }
        if let Some(why) = self.bucket.as_ref().and_then(Bucket::doubt) {
            return report
                .with(Quantity::AvailableBandwidth, Finding::at_most(rate(line.free.high), Unit::Bps, why))
                .limited(Limit::Unstable, why);
        }
        let (limit, why) = if self.unsure().is_some_and(|unsure| unsure > UNSTABLE) {
            let why = "the traffic of others varies so much that trains differ by more than half of the link";
            (Limit::Unstable, why.to_owned())
        } else {
            let longer = if self.bucket.is_none() { " (dwell capacity may send a longer one)" } else { "" };
            let why = format!(
                "trains at that rate pass, and faster ones are held up as the line says; {}, by the longest train{longer}",
                unseen(self.sending.most())
            );
            (Limit::Link, why)
        };
        let (mut carries, mut free) = (line.carries(self.resolution), line.left(self.resolution));
        if self.is_senders(free.high) {
            // Without a search: of another link the line says nothing.
            let bound = rate(free.low.min(self.idle()));
            return report
                .with(Quantity::AvailableBandwidth, Finding::at_least(bound, Unit::Bps, AS_FAST))
                .limited(Limit::SenderLimited, AS_FAST);
        }
        if self.samples.batch.is_some() && line.share.high > IDLE {
            report.warnings.push(String::from(
                "the receiver gathers packets, which hides whether several links are loaded: if they are, more is free than one alone would have",
            ));
            // What is not free is at most what a link may carry that these trains leave open, less what is.
            let most = self.samples.quickest().map_or(carries.high, |gap| carries.high.min(THROUGH / gap));
            free.high = free.high.max((free.high + ALIKE * (carries.high - free.value)).min(most));
            // Each of three carries more than what comes through all of them.
            carries.high *= 1.0 + 2.0 * line.share.high.min(1.0) / (1.0 + ALIKE);
        }
        report
            .limited(limit, why)
            .with(
                Quantity::AvailableBandwidth,
                Finding::value(rate(free.value), rate(free.low), rate(free.high), Unit::Bps),
            )
            .with(
                Quantity::TightLinkCapacity,
                if carries.high > OPEN * carries.low {
                    let why = "trains leave open how much of the link's time a packet of theirs takes, and how much those of others";
                    Finding::at_least(rate(carries.low), Unit::Bps, why)
                } else {
                    Finding::value(rate(carries.value), rate(carries.low), rate(carries.high), Unit::Bps)
                },
            )
    }

    /// Why trains that came through tell nothing of a link.
    fn no_line(&self) -> (Limit, &'static str) {
        if self.samples.bursts.is_empty() {
            return if self.lost > 0 {
                (Limit::Unstable, "no burst came through whole: what drops packets is not known")
            } else if self.disordered > 0 {
                (Limit::Unstable, "no burst came in the order that it was sent in")
            } else {
                (Limit::HostLimited, "the receiver hands over whole bursts at once")
            };
        }
        if self.samples.are_senders() {
            let why = "bursts came as far apart as they were sent, and slower trains by no rule: the gaps are the hosts', and no link shows";
            return (Limit::HostLimited, why);
        }
        if self.is_lossy() {
            let why = "a quarter of the trains or more lost packets, at no steady rate, and the others are too few: what drops them is not known";
            return (Limit::Unstable, why);
        }
        let why = "trains of several spacings came by no rule that a link with a steady load has: the traffic of others varies too much";
        (Limit::Unstable, why)
    }

    /// What is free of a token bucket that a long train emptied.
    fn behind(&self, bucket: &Bucket, fall: Fall) -> Report {
        let bits = self.sending.bits() * 1e9;
        let watched = bucket.watched;
        let why = format!(
            "{} (some {:.0} of them, at {:.1} Mb/s)",
            fall.reason(),
            fall.passed,
            bits / fall.before / 1e6
        );
        let report = Report::new(Self::NAME, self.vantage)
            .with(Quantity::AveragingTime, Finding::nanos(watched, watched, watched))
            .limited(Limit::TokenBucket, why.clone());
        let Some(line) = bucket.line() else {
            let why = format!("{why}: what is free is no more than the rate of that bucket");
            let token = Finding::at_most(bits * bucket.through(), Unit::Bps, why);
            return report.with(Quantity::AvailableBandwidth, token);
        };
        let free = line.left(self.resolution);
        let free = Finding::value(bits * free.value, bits * free.low, bits * free.high, Unit::Bps);
        let report = report.with(Quantity::AvailableBandwidth, free);
        bucket.told(report, &line, self.sending.size, self.resolution)
    }

    /// The answer of a search that found this range, and why it followed.
    fn by_search(&self, mut report: Report, range: Finding, why: &str) -> Report {
        let span = self.sending.span.as_f64();
        report = report.with(Quantity::AveragingTime, Finding::nanos(span, span, span));
        if let Finding::Bound { side: Side::Lower, .. } = range {
            return report.with(Quantity::AvailableBandwidth, range).limited(Limit::SenderLimited, AS_FAST);
        }
        report.warnings.push(format!(
            "{why}: the tight link is another one, or several are loaded; the range is that of a search"
        ));
        report
            .with(Quantity::AvailableBandwidth, range)
            .limited(Limit::Link, "trains faster than that are held up")
    }

    /// What is free at the least, packets of ours a nanosecond, whichever links are loaded: in so much of the time nothing waits.
    fn idle(&self) -> f64 {
        self.samples.idle_share() / self.samples.pace().unwrap_or(f64::INFINITY)
    }

    /// Whether so much, packets of ours a nanosecond, is about as much as a slow sender makes.
    fn is_senders(&self, free: f64) -> bool {
        let is_slow = self.samples.are_blind() || self.as_made();
        is_slow && self.samples.fastest().is_some_and(|pace| free * pace > NEARLY)
    }

    /// What a search found. Where traffic comes in bursts, they may be all that held trains up while it went on: either may be true, unless
    /// a long train was held up throughout.
    fn searched(&self, line: Option<&Line>) -> Option<Finding> {
        let pace = self.samples.fastest()?;
        let free = self.trial.told?.free;
        let bits = self.sending.bits() * 1e9;
        let rate = |share: f64| (share * bits / pace).max(0.0);
        let (mut low, mut high) = (
            free.value - UNALIKE.hypot(free.value - free.low),
            free.value + UNALIKE.hypot(free.high - free.value),
        );
        if let Some(line) = line.filter(|_| self.samples.bursty() && !self.is_held_up()) {
            (low, high) = (low.min(line.free.low * pace), high.max(line.free.high * pace));
        }
        Some(if self.is_senders(free.high / pace) {
            Finding::at_least(rate(low), Unit::Bps, AS_FAST)
        } else if high - low > UNSTABLE {
            let why = "trains of a search do not tell what is free to better than half of the narrow link";
            Finding::at_most(rate(high), Unit::Bps, why)
        } else {
            Finding::value(rate(free.value), rate(low), rate(high), Unit::Bps)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::belief::Belief;
    use super::super::made::{OWN, seen};
    use super::*;
    use crate::Method;
    use crate::stats::Estimate;
    use crate::stream::sample::Sample;

    #[test]
    fn where_trains_lie_on_no_line_the_verdict_says_why() {
        let untold = |apart: fn(usize) -> f64| {
            // Trains further apart came so much further that their line begins below nothing.
            let mut busy = seen(apart, 0.3, 40e3);
            busy.samples.near = vec![vec![Sample { output: 5.0 * OWN, ..busy.samples.full[0] }; 7]];
            busy.samples.near[0].iter_mut().for_each(|sample| sample.input = 1.2 * OWN);
            let report = busy.report();
            let Finding::Unmeasurable { reason } = report.finding(Quantity::AvailableBandwidth) else {
                panic!("{report:?}")
            };
            let verdict = report.verdict.unwrap();
            assert_eq!(verdict.reason, reason);
            verdict.limit
        };
        // The sender's packets leave every 12 us.
        assert_eq!(untold(|_| 12e3), Limit::HostLimited);
        assert_eq!(untold(|number| 12e3 * (1 + number % 3) as f64), Limit::Unstable);
    }

    #[test]
    fn a_search_behind_a_slow_sender_tells_a_range_or_what_it_passes_at_least() {
        let told = |value: f64, low: f64, high: f64| {
            // The sender's packets leave every 12 us.
            let mut busy = seen(|_| 12.1e3, 0.3, 40e3);
            let free = Estimate { value, low, high };
            busy.trial.told = Some(Belief { free, carries: Estimate { value: 1.0, low: 1.0, high: 1.0 } });
            busy.report()
        };
        let ranged = told(0.5, 0.4, 0.6);
        assert!(ranged.finding(Quantity::AvailableBandwidth).estimate().is_some(), "{ranged:?}");
        assert!(ranged.warnings.iter().any(|warning| warning.contains("the sender")), "{ranged:?}");
        let passed = told(0.99, 0.9, 1.05);
        let finding = passed.finding(Quantity::AvailableBandwidth);
        assert!(matches!(finding, Finding::Bound { side: Side::Lower, .. }), "{passed:?}");
        assert_eq!(passed.verdict.map(|verdict| verdict.limit), Some(Limit::SenderLimited));
    }

    #[test]
    fn without_a_search_another_link_leaves_a_bound() {
        let parted = |number: usize| if number.is_multiple_of(3) { 3.0 * OWN } else { OWN };
        let report = seen(parted, 0.3, 40e3).report();
        let finding = report.finding(Quantity::AvailableBandwidth);
        assert!(finding.estimate().is_none() && !report.warnings.is_empty());
        assert_eq!((finding.holds(1e6), finding.holds(1e9)), (Some(true), Some(false)));
    }
}
