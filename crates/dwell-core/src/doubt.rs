//! What was odd about the packets of a measurement, whatever its method made of them: loss, disorder, a receiver that could
//! not keep up, a path or a clock that changed midway. It goes into the report, so that no figure looks surer than it is.

use crate::bucket::fall::{Fall, STEPS, described, policed, warned};
use crate::limit::Limit;
use crate::report::Report;
use crate::stats::quantile::{median, quantile_of_sorted, sorted};
use crate::stream::{first, passed};
use crate::train::{Fate, Observation};
use crate::unit::{Bytes, Nanos};

/// More lost, or overtaken, than this share is worth a word.
const FEW: f64 = 0.01;

/// So many trains at least lie on either side of a jump of their delays.
const BESIDE: usize = 4;

/// A jump is so many times as high as the delays spread on either side of it, from the first tenth to the last,
const HIGHER: f64 = 3.0;

/// and at least so high.
const NOTICEABLE: f64 = 50_000.0;

/// So many trains, and half of those that could, show the same policer, whose rates are no further apart than this factor.
const AGAIN: usize = 2;
const SAME: f64 = 1.2;

/// A stamp so much earlier than that of a packet which came before is of a clock that was set back.
const BACK: Nanos = Nanos(50_000);

/// The odd things that were seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doubts {
    packets: u64,
    lost: u64,
    overflowed: u64,
    overtaken: u64,
    set_back: Option<Nanos>,
    policed: Vec<(Fall, Bytes)>,
    /// Trains that lost packets and are long enough to show a policer.
    lossy: usize,
    /// Of each train's first packet: departure and apparent delay, nanoseconds.
    firsts: Vec<(f64, f64)>,
}

impl Doubts {
    /// Sees what became of a train.
    pub(crate) fn see(&mut self, observation: &Observation) {
        let arrived = observation.fates.iter().filter_map(|fate| fate.arrival.as_ref());
        let orders: Vec<u32> = arrived.clone().map(|arrival| arrival.order).collect();
        self.packets += observation.fates.len() as u64;
        self.lost += (observation.fates.len() - orders.len()) as u64;
        self.overflowed += u64::from(observation.overflowed);
        self.overtaken += orders.windows(2).filter(|two| two[1] < two[0]).count() as u64;
        let mut came: Vec<&Fate> = observation.fates.iter().filter(|fate| fate.arrival.is_some()).collect();
        came.sort_by_key(|fate| fate.arrival.map(|arrival| arrival.order));
        // Each clock by itself: a packet that a program reads later may have been stamped by the kernel earlier.
        let stamps = came.iter().filter_map(|fate| Some(fate.arrival?.stamps.application));
        let stamps: Vec<Nanos> = stamps.collect();
        let back = stamps.windows(2).map(|two| two[0] - two[1]).filter(|back| *back > BACK).max();
        self.set_back = self.set_back.max(back);
        if orders.len() < observation.fates.len() && orders.len() > STEPS {
            self.lossy += 1;
            let size = observation.fates[0].packet.size;
            self.policed.extend(policed(&passed(observation)).map(|fall| (fall, size)));
        }
        self.firsts.extend(first(observation));
    }

    /// Says in a report what was odd.
    #[must_use]
    pub(crate) fn raise(&self, mut report: Report) -> Report {
        let share = |part: u64| part as f64 / self.packets.max(1) as f64;
        let percent =
            |part: u64| format!("{part} of {} packets ({:.1} %)", self.packets, share(part) * 100.0);
        let told = |report: &Report| report.verdict.as_ref().is_some_and(|it| it.limit == Limit::TokenBucket);
        if let Some(reason) = self.policer().filter(|_| !told(&report)) {
            report.warnings.push(warned(&reason));
            report = report.limited(Limit::TokenBucket, reason);
        }
        let policed = told(&report);
        if self.overflowed > 0 {
            let lost = percent(self.overflowed);
            let reason = format!("the receiving host did not keep up: its socket had no room for {lost}");
            report.warnings.push(format!("{reason}; what arrived is of the host, not of the path alone"));
            report = report.limited(Limit::ReceiverLimited, reason);
        } else if share(self.lost) > FEW && !policed {
            let lost = percent(self.lost);
            report.warnings.push(format!("{lost} were lost: figures are of those that came through"));
        }
        if share(self.overtaken) > FEW {
            let overtaken = percent(self.overtaken);
            report.warnings.push(format!("{overtaken} were overtaken by later ones: the path reorders"));
        }
        let changed = match (self.set_back, self.jump()) {
            (Some(back), _) => Some(format!("the receiver's clock was set back by {back} midway")),
            (None, Some(jump)) => {
                let (way, by) = (if jump > 0.0 { "rose" } else { "fell" }, Nanos::from_f64(jump.abs()));
                Some(format!(
                    "one-way delays {way} by {by} at once and for good: the route changed midway, or a clock was stepped"
                ))
            }
            (None, None) => None,
        };
        if let Some(reason) = changed {
            report.warnings.push(format!("{reason}; measure again"));
            report = report.limited(Limit::Unstable, reason);
        }
        report
    }

    /// The policer that several trains show, with rate and depth.
    fn policer(&self) -> Option<String> {
        let of = |figure: fn(&Fall, Bytes) -> f64| {
            sorted(&self.policed.iter().map(|(fall, size)| figure(fall, *size)).collect::<Vec<_>>())
        };
        let rates = of(Fall::rate);
        let (least, most) = (of(|fall, size| fall.depths(size).0), of(|fall, size| fall.depths(size).1));
        let alike = rates.len() >= AGAIN
            && rates.len() * 2 >= self.lossy
            && rates.last()? <= &(rates.first()? * SAME);
        let (fall, _) = self.policed.first().filter(|_| alike)?;
        Some(described(fall, median(&rates)?, (median(&least)?, median(&most)?)))
    }

    /// By how much the delays of first packets changed at once and for good: on either side they spread by much less. (The
    /// drift of a clock is spread over all of them, and a queue comes and goes.)
    fn jump(&self) -> Option<f64> {
        let delays: Vec<f64> = self.firsts.iter().map(|(_, delay)| *delay).collect();
        let spread = |part: &[f64]| {
            let part = sorted(part);
            Some(quantile_of_sorted(&part, 0.9)? - quantile_of_sorted(&part, 0.1)?)
        };
        let step = |at: usize| (delays[at] - delays[at - 1]).abs();
        let last = delays.len().checked_sub(BESIDE)?;
        // Where two that follow one another differ most.
        let at = (BESIDE..=last).max_by(|a, b| step(*a).total_cmp(&step(*b)))?;
        let (before, after) = delays.split_at(at);
        let jump = median(after)? - median(before)?;
        let widest = spread(before)?.max(spread(after)?);
        (jump.abs() > HIGHER * widest && jump.abs() > NOTICEABLE).then_some(jump)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Vantage;
    use crate::train::{Arrival, Packet, Stamps};
    use crate::unit::Bytes;
    use proptest::prelude::*;

    /// Packets sent 1 ms apart, that took so long each, or never came.
    fn train(at: i64, delays: &[Option<i64>]) -> Observation {
        let stamps = |application| Stamps { application, kernel: None, hardware: None };
        let fate = |(number, delay): (usize, &Option<i64>)| {
            let sent = Nanos::from_millis(at + number as i64);
            let came =
                |delay: i64| Arrival { stamps: stamps(sent + Nanos(delay)), order: number as u32, copies: 1 };
            let packet = Packet { size: Bytes(1_000), hold: Nanos::ZERO };
            Fate { packet, sent: stamps(sent), arrival: delay.map(came) }
        };
        Observation { fates: delays.iter().enumerate().map(fate).collect(), ..Observation::default() }
    }

    fn raised(trains: &[Observation]) -> Report {
        let mut doubts = Doubts::default();
        trains.iter().for_each(|train| doubts.see(train));
        doubts.raise(Report::new("some", Vantage::Application))
    }

    /// 40 trains of two packets, whose first ones took so long.
    fn trains(delay: impl Fn(usize) -> i64) -> Vec<Observation> {
        (0..40).map(|i| train(100 * i as i64, &[Some(delay(i)), Some(delay(i))])).collect()
    }

    fn limit(report: &Report) -> Option<Limit> {
        report.verdict.as_ref().map(|verdict| verdict.limit)
    }

    #[test]
    fn nothing_odd_is_nothing_said() {
        let noise = |i: usize| 1_000_000 + (i as i64 * 7_919) % 200_000;
        assert_eq!(raised(&trains(noise)), Report::new("some", Vantage::Application));
        assert_eq!(raised(&[]), Report::new("some", Vantage::Application));
    }

    #[test]
    fn a_jump_for_good_is_told_and_drift_and_queues_are_none() {
        let noise = |i: usize| (i as i64 * 7_919) % 200_000;
        for by in [2_000_000, -2_000_000] {
            let told = raised(&trains(|i| 9_000_000 + noise(i) + if i < 25 { 0 } else { by }));
            assert_eq!(limit(&told), Some(Limit::Unstable), "{told:?}");
            assert!(told.warnings[0].contains("at once and for good"), "{told:?}");
        }
        let drift = raised(&trains(|i| 100_000 * i as i64));
        assert_eq!(drift.warnings, Vec::<String>::new());
        let queue = raised(&trains(|i| if (10..20).contains(&i) { 5_000_000 } else { noise(i) }));
        assert_eq!(queue.warnings, Vec::<String>::new());
    }

    #[test]
    fn a_clock_set_back_is_told() {
        let told = raised(&[train(0, &[Some(5_000_000), Some(-20_000_000)])]);
        assert!(told.warnings[0].contains("set back by"), "{told:?}");
        assert_eq!(limit(&told), Some(Limit::Unstable));
    }

    #[test]
    fn loss_is_told_and_whose_it_was() {
        let mut lossy = train(0, &[Some(1), None, Some(1), None]);
        let told = raised(std::slice::from_ref(&lossy));
        assert!(told.warnings[0].starts_with("2 of 4 packets (50.0 %) were lost"), "{told:?}");
        lossy.overflowed = 2;
        let told = raised(&[lossy]);
        assert_eq!(limit(&told), Some(Limit::ReceiverLimited));
    }

    #[test]
    fn disorder_is_told() {
        let mut train = train(0, &[Some(1_000_000), Some(1_000_000)]);
        let arrivals = train.fates.iter_mut().filter_map(|fate| fate.arrival.as_mut());
        for (arrival, (order, at)) in arrivals.zip([(1, 4_000_000), (0, 3_000_000)]) {
            (arrival.order, arrival.stamps.application) = (order, Nanos(at));
        }
        let told = raised(&[train]);
        assert_eq!(told.warnings.len(), 1, "{told:?}");
        assert!(told.warnings[0].contains("reorders"), "{told:?}");
    }

    proptest! {
        #[test]
        fn never_panics(delays in prop::collection::vec(prop::collection::vec(any::<Option<i64>>(), 0..4), 0..30)) {
            let trains: Vec<Observation> = delays.iter().map(|one| train(0, one)).collect();
            let _ = raised(&trains);
        }
    }
}
