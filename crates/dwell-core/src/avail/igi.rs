//! `igi` and `ptr`: trains whose gaps grow until the path changes them no more (Hu and Steenkiste, IEEE JSAC 21(6),
//! 2003).
//!
//! At the turning point the train is as fast as what is free: its rate there is PTR's answer. IGI computes the competing
//! traffic from the gaps that grew in that train, and takes it off the bottleneck's capacity.

use crate::limit::Limit;
use crate::method::{Method, Step};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::quantile::median;
use crate::stream::{bit_rate, passed, rate_at, shape, spacings, stream};
use crate::train::{Departure, Observation, PathFacts, Train};
use crate::unit::{BitRate, Bytes, Nanos};

/// Which answer is reported.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// Initial gap increasing: capacity less competing traffic.
    #[default]
    Igi,
    /// Packet transmission rate at the turning point.
    Ptr,
}

/// How both probe.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Config {
    /// Which answer is reported.
    pub answer: Answer,
    /// Packets of a train.
    pub packets: usize,
    /// Size of each packet's IP part.
    pub size: Bytes,
    /// Gaps grow by this share of g_B from train to train.
    pub step: f64,
    /// The gap is at its turning point when it came within this share of how it was sent.
    pub turned: f64,
    /// Trains after which it is given up.
    pub trains: usize,
    /// Pause before each train.
    pub pause: Nanos,
}

impl Default for Config {
    /// 60 packets of 750 bytes, from g_B / 2 in steps of g_B / 8 (section IV).
    fn default() -> Self {
        Self {
            answer: Answer::Igi,
            packets: 60,
            size: Bytes(750),
            step: 0.125,
            turned: 0.1,
            trains: 60,
            pause: Nanos::from_millis(100),
        }
    }
}

/// Where trains left so much slower than they were asked for, and than the bottleneck, no faster ones could be made.
const LATE: f64 = 1.1;

/// Bursts from which g_B is read.
const BURSTS: usize = 3;

/// Packets of each.
const BURST: usize = 16;

/// The gap at the turning point, and what it means.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Turned {
    asked: f64,
    sent: f64,
    competing: f64,
    transmission: f64,
    lasting: f64,
}

/// The method.
#[derive(Clone, Debug)]
pub struct Igi {
    config: Config,
    facts: PathFacts,
    bursts_sent: bool,
    /// Median gaps of bursts, nanoseconds.
    bursts: Vec<f64>,
    trains: usize,
    turned: Option<Turned>,
    vantage: Vantage,
}

impl Igi {
    /// Ready to probe a path of which so much is known; the narrow link's capacity gives g_B, or else a few bursts do.
    #[must_use]
    pub fn new(config: Config, facts: &PathFacts) -> Self {
        Self {
            config,
            facts: *facts,
            bursts_sent: false,
            bursts: Vec::new(),
            trains: 0,
            turned: None,
            vantage: Vantage::Capture,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self.config.answer {
            Answer::Igi => "igi",
            Answer::Ptr => "ptr",
        }
    }

    fn size(&self) -> Bytes {
        let around = crate::unit::ETHERNET_OVERHEAD;
        (self.config.size + around).max(self.facts.min_size).min(self.facts.max_size)
    }

    /// g_B: the gap of packets of this size back to back on the bottleneck, nanoseconds.
    fn bottleneck_gap(&self) -> Option<f64> {
        let known = self.facts.narrow_link.map(|BitRate(bps)| rate_at(self.size(), bps as f64));
        known.or_else(|| median(&self.bursts)).filter(|gap| *gap > 0.0)
    }

    /// The competing traffic by the gaps of a train (equation 4): those that grew over g_B, over all.
    fn competing(&self, observation: &Observation, bottleneck: f64, sent: f64) -> f64 {
        let passed = passed(observation);
        let capacity = rate_at(self.size(), bottleneck);
        let gaps: Vec<f64> = passed.windows(2).map(|two| two[1].came - two[0].came).collect();
        let grown: f64 =
            gaps.iter().filter(|gap| **gap > sent.max(bottleneck)).map(|gap| gap - bottleneck).sum();
        capacity * grown / gaps.iter().sum::<f64>()
    }
}

impl Method for Igi {
    fn next(&mut self) -> Step {
        let Some(bottleneck) = self.bottleneck_gap() else {
            if self.bursts_sent {
                return Step::Done;
            }
            self.bursts_sent = true;
            let train = Train::burst(self.size(), BURST);
            return Step::Send(vec![Departure { pause: self.config.pause, train }; BURSTS]);
        };
        if self.turned.is_some() || self.trains == self.config.trains {
            return Step::Done;
        }
        let gap = bottleneck * (0.5 + self.config.step * self.trains as f64);
        self.trains += 1;
        let train = stream(self.size(), Nanos::from_f64(gap), self.config.packets);
        Step::Send(vec![Departure { pause: self.config.pause, train }])
    }

    fn see(&mut self, observation: &Observation) {
        let (Some((sent, came)), Some((size, hold))) = (spacings(observation), shape(observation)) else {
            return;
        };
        if crate::stream::vantage(observation) == Vantage::Application {
            self.vantage = Vantage::Application;
        }
        if hold == Nanos::ZERO {
            let came: Vec<f64> =
                passed(observation).windows(2).map(|two| two[1].came - two[0].came).collect();
            self.bursts.extend(median(&came));
            return;
        }
        let Some(bottleneck) =
            self.bottleneck_gap().filter(|_| observation.fates.len() == self.config.packets)
        else {
            return;
        };
        // The turning point (section III-C): the mean gap comes out as it went in.
        if self.turned.is_none() && (came - sent).abs() <= self.config.turned * sent {
            self.turned = Some(Turned {
                asked: hold.as_f64(),
                sent,
                competing: self.competing(observation, bottleneck, sent),
                transmission: rate_at(size, came),
                lasting: came * (observation.fates.len() - 1) as f64,
            });
        }
    }

    fn report(&self) -> Report {
        let report = Report::new(self.name(), self.vantage);
        let (Some(bottleneck), Some(turned)) = (self.bottleneck_gap(), self.turned) else {
            let why = match self.bottleneck_gap() {
                None if !self.bursts.is_empty() => {
                    "bursts came all at one time: a host hands packets over together, and the bottleneck's gap is not known"
                }
                None => "no burst arrived whole: the bottleneck's gap is not known",
                Some(_) => "gaps came out longer than they went in to the last train: no turning point",
            };
            return report.with(Quantity::AvailableBandwidth, Finding::unmeasurable(why));
        };
        let capacity = rate_at(self.size(), bottleneck);
        let available = match self.config.answer {
            Answer::Igi => capacity - turned.competing,
            Answer::Ptr => turned.transmission,
        };
        // Between the train before the turning point and the one after it lies the truth, as far as the method sees.
        let rate = |gap: f64| rate_at(self.size(), gap);
        let report = report
            .with(Quantity::AveragingTime, Finding::nanos(turned.lasting, turned.lasting, turned.lasting));
        if turned.sent > LATE * turned.asked.max(bottleneck) {
            let (asked, left) = (bit_rate(rate(turned.asked)), bit_rate(rate(turned.sent)));
            let why =
                format!("the sender is the limit: a train of {asked} left at {left}, and came as it left");
            // What comes by so much later than it left may be faster than what is free by as much of the link.
            let least = turned.transmission.min(rate(turned.sent)) - self.config.turned * capacity;
            let free = Finding::at_least(least.max(0.0), Unit::Bps, why.clone());
            return report.with(Quantity::AvailableBandwidth, free).limited(Limit::SenderLimited, why);
        }
        let step = self.config.step * bottleneck;
        let (low, high) = (rate(turned.sent + step), rate((turned.sent - step).max(step)));
        let half = (high - low) / 2.0;
        report.with(
            Quantity::AvailableBandwidth,
            Finding::value(available, (available - half).max(0.0), available + half, Unit::Bps),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Side;
    use crate::train::{Arrival, Fate, Packet, Stamps};
    use proptest::prelude::*;

    /// A train whose packets left and came so many nanoseconds apart, where `asked` was asked for.
    fn train(asked: f64, left: f64, came: f64, packets: usize, size: Bytes) -> Observation {
        let at = |apart: f64, number: usize| Stamps {
            application: Nanos::from_f64(apart * number as f64),
            kernel: Some(Nanos::from_f64(apart * number as f64)),
            hardware: None,
        };
        let fate = |number: usize| Fate {
            packet: Packet { size, hold: Nanos::from_f64(asked) },
            sent: at(left, number),
            arrival: Some(Arrival { stamps: at(came, number), order: number as u32, copies: 1 }),
        };
        Observation { fates: (0..packets).map(fate).collect(), ..Observation::default() }
    }

    proptest! {
        /// A sender that is late, so much faster than what is free that the train comes by `held` of itself later than it left.
        #[test]
        fn of_a_late_sender_no_more_is_told_than_is_free(late in 1.2..4.0f64, held in 0.0..0.095f64, ptr: bool) {
            let answer = if ptr { Answer::Ptr } else { Answer::Igi };
            let facts = PathFacts {
                max_size: Bytes(1_526),
                min_size: Bytes(96),
                resolution: Nanos(1),
                end_link: None,
                coalescence: None,
                narrow_link: Some(BitRate::from_mbps(100)),
            };
            let mut igi = Igi::new(Config { answer, ..Config::default() }, &facts);
            let (own, capacity) = (igi.bottleneck_gap().unwrap(), 100e6);
            let left = late * own;
            igi.see(&train(own / 2.0, left, left * (1.0 + held), 60, igi.size()));
            // Sent at R, it comes as much later as (R - A) / C.
            let free = capacity / late - held * capacity;
            let report = igi.report();
            let finding = report.finding(Quantity::AvailableBandwidth);
            let Finding::Bound { bound, side: Side::Lower, .. } = finding else { panic!("{finding:?}") };
            prop_assert!(bound <= free.max(0.0) + 1e4 && bound >= free - 0.1 * capacity, "{bound} for {free}");
            prop_assert_eq!(report.verdict.unwrap().limit, Limit::SenderLimited);
        }
    }
}
