//! The remote and the local half of the same truth: the application stage that `knee` found from afar, and the stages
//! of the same packets that an observer saw inside the host.
//!
//! The host's time is L = K + A: from the driver's hand-over, where the kernel stamps a packet, to the socket's queue,
//! and from there to the program's stamp. `knee` sees A alone, for the break lies at L_h - K_t. So its A and the
//! observer's K must give the observer's L, which in turn must be what the two stamps of the same packets say.

use super::rows::Row;
use crate::figure::figure;
use crate::table::Table;
use dwell_core::inside::{Journey, Point};
use dwell_core::stats::quantile::{Quartiles, median, quantile_interval, quartiles, sorted};
use dwell_core::{Direction, Finding, Nanos, Passage, Quantity, Report, Side, Unit, Vantage};
use dwell_lab::Watched;
use std::collections::BTreeMap;

/// Name of the measurement, and of what both halves say together.
pub(super) const JOINED: &str = "knee+local";
/// Name of what the observer says alone.
pub(super) const LOCAL: &str = "local";

/// The two halves may differ by this share of the whole, or by this time.
const WITHIN: f64 = 0.05;
const WITHIN_NS: f64 = 2_000.0;

/// A journey belongs to the packet whose program stamp is as near as this: both are one reading of one clock, and two
/// readings of the difference between two clocks.
const SAME: Nanos = Nanos(3_000);

/// What an observer saw of the heading packets of a measurement, each in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Inside {
    kernel: Vec<f64>,
    application: Vec<f64>,
    total: Vec<f64>,
}

/// A report, and what is held against it.
pub(super) type Half = (Report, BTreeMap<Quantity, f64>);

impl Inside {
    /// Of `passages`, as `watched`.
    pub(super) fn of<'a>(passages: impl Iterator<Item = &'a Passage>, watched: &Watched) -> Self {
        let stamped: BTreeMap<Nanos, &Journey> = watched
            .journeys
            .iter()
            .filter_map(|journey| Some((journey.times.at(Point::Stamped)?, journey)))
            .collect();
        let mut inside = Self::default();
        for passage in passages.filter(|passage| passage.observation.direction == Direction::Forward) {
            let heading = passage.truth.as_ref().and_then(|truth| truth.first().copied().flatten());
            let Some(heading) = heading else { continue };
            let near = stamped.range(heading.stamped - SAME..=heading.stamped + SAME);
            let nearest = near.min_by_key(|(at, _)| (**at - heading.stamped).abs());
            if let Some((_, journey)) = nearest {
                inside.note(journey);
            }
        }
        inside
    }

    fn note(&mut self, journey: &Journey) {
        let at = |point| journey.times.at(point);
        if let (Some(driver), Some(queue), Some(stamped)) =
            (at(Point::Driver), at(Point::Queue), at(Point::Stamped))
        {
            self.kernel.push((queue - driver).as_f64());
            self.application.push((stamped - queue).as_f64());
            self.total.push((stamped - driver).as_f64());
        }
    }

    /// What `knee` and the observer say together, against what the observer alone saw.
    pub(super) fn joined(&self, knee: &Report) -> Half {
        let stage = knee.finding(Quantity::ApplicationStage);
        let whole = median(&self.kernel).map_or_else(
            || Finding::unmeasurable(UNSEEN),
            |kernel| match &stage {
                Finding::Value { value, low, high, .. } => {
                    Finding::nanos(value + kernel, low + kernel, high + kernel)
                }
                Finding::Bound { bound, side: Side::Upper, reason, .. } => {
                    Finding::at_most(bound + kernel, Unit::Ns, reason.clone())
                }
                Finding::Bound { bound, side: Side::Lower, reason, .. } => {
                    Finding::at_least(bound + kernel, Unit::Ns, reason.clone())
                }
                none @ Finding::Unmeasurable { .. } => none.clone(),
            },
        );
        let report = Report::new(JOINED, Vantage::Application)
            .with(Quantity::ApplicationStage, stage)
            .with(Quantity::PptHeading, whole);
        let seen = [(Quantity::ApplicationStage, &self.application), (Quantity::PptHeading, &self.total)];
        let truth = seen.into_iter().filter_map(|(quantity, spans)| Some((quantity, median(spans)?)));
        (report, truth.collect())
    }

    /// What the observer saw, its whole against the stamps of the same packets (`by_stamps`).
    pub(super) fn local(&self, by_stamps: Option<f64>) -> Half {
        let found = |spans: &[f64]| {
            quantile_interval(&sorted(spans), 0.5).map_or_else(
                || Finding::unmeasurable(UNSEEN),
                |middle| Finding::nanos(middle.value, middle.low, middle.high),
            )
        };
        let report = Report::new(LOCAL, Vantage::Application)
            .with(Quantity::KernelStage, found(&self.kernel))
            .with(Quantity::ApplicationStage, found(&self.application))
            .with(Quantity::PptHeading, found(&self.total));
        (report, by_stamps.map(|truth| (Quantity::PptHeading, truth)).into_iter().collect())
    }
}

/// Why there is nothing.
const UNSEEN: &str = "the observer saw none of the heading packets from driver to stamp";

/// Both halves side by side, one line a condition: medians of its runs.
pub(super) fn text(rows: &[Row]) -> Option<String> {
    let mut conditions: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| row.method == JOINED) {
        if !conditions.contains(&row.condition_text()) {
            conditions.push(row.condition_text());
        }
    }
    if conditions.is_empty() {
        return None;
    }
    let mut table = Table::new(&[
        "condition",
        "runs",
        "knee's A",
        "K inside",
        "A + K",
        "L inside",
        "difference (quartiles)",
        "within 5 % or 2 us",
        "L by stamps",
        "L unwatched",
    ]);
    let told = |value: Option<f64>| value.map_or_else(super::show::none, |value| figure(value, Unit::Ns));
    for condition in conditions {
        let of = |method: &str, quantity| {
            let rows = rows.iter().filter(|row| row.condition_text() == condition);
            rows.filter(|row| row.method == method && row.quantity == quantity).collect::<Vec<_>>()
        };
        let estimates = |rows: &[&Row]| rows.iter().filter_map(|row| row.estimate).collect::<Vec<_>>();
        let truths = |rows: &[&Row]| rows.iter().filter_map(|row| row.truth).collect::<Vec<_>>();
        let whole = of(JOINED, Quantity::PptHeading);
        let differences: Vec<(f64, f64)> =
            whole.iter().filter_map(|row| Some((row.estimate? - row.truth?, row.truth?))).collect();
        let within = differences.iter().filter(|(off, truth)| off.abs() <= WITHIN_NS.max(WITHIN * truth));
        let off: Vec<f64> = differences.iter().map(|(off, _)| *off).collect();
        let spread = quartiles(&off).map_or_else(super::show::none, |Quartiles { p25, p50, p75 }| {
            format!("{} ({} to {})", told(Some(p50)), told(Some(p25)), told(Some(p75)))
        });
        table.add_row([
            condition.clone(),
            whole.len().to_string(),
            told(median(&estimates(&of(JOINED, Quantity::ApplicationStage)))),
            told(median(&estimates(&of(LOCAL, Quantity::KernelStage)))),
            told(median(&estimates(&whole))),
            told(median(&truths(&whole))),
            spread,
            format!("{} of {}", within.count(), whole.len()),
            told(median(&truths(&of(LOCAL, Quantity::PptHeading)))),
            told(median(&truths(&of("knee", Quantity::ApplicationStage)))),
        ]);
    }
    Some(format!("The remote and the local half of the same truth, medians of the runs:\n{}", table.text()))
}

#[cfg(test)]
mod tests {
    use super::super::grid::EvalWorld;
    use super::super::place::Place;
    use super::super::rows::Origin;
    use super::*;
    use dwell_core::inside::{Flow, Losses, Protocol, Times, Way};
    use dwell_core::{Bytes, Effort, Observation, PacketTruth};
    use std::net::SocketAddr;

    /// A packet that the driver had at `driver`, read with nobody else's help.
    fn journey(driver: i64, kernel: i64, application: i64) -> Journey {
        let end = SocketAddr::from(([10, 0, 0, 1], 9));
        let mut times = Times::default();
        times.set(Point::Driver, Nanos(driver));
        times.set(Point::Queue, Nanos(driver + kernel));
        times.set(Point::Stamped, Nanos(driver + kernel + application));
        let flow = Flow { protocol: Protocol::Udp, local: end, remote: end };
        Journey::new(Way::Receive, flow, Bytes(60), times)
    }

    fn passage(stamped: i64) -> Passage {
        let truth = PacketTruth {
            handed_over: Nanos(0),
            left_sender: Nanos(0),
            reached_receiver: Nanos(0),
            held: Nanos::ZERO,
            queued: Nanos(0),
            stamped: Nanos(stamped),
            waited: Nanos::ZERO,
        };
        Passage { observation: Observation::default(), truth: Some(vec![Some(truth), None]) }
    }

    /// Three heading packets, one of which the observer did not see, and a packet of somebody else.
    fn inside() -> Inside {
        let journeys = vec![
            journey(1_000_000, 2_000, 30_000),
            journey(2_000_000, 4_000, 40_000),
            journey(2_500_000, 90_000, 900_000),
        ];
        let watched = Watched { journeys, losses: Losses::default() };
        let passages = [passage(1_032_100), passage(2_043_900), passage(9_000_000)];
        Inside::of(passages.iter(), &watched)
    }

    fn knee(stage: Finding) -> Report {
        Report::new("knee", Vantage::Application).with(Quantity::ApplicationStage, stage)
    }

    #[test]
    fn both_halves_are_of_the_same_packets() {
        let (report, truth) = inside().joined(&knee(Finding::nanos(34_000.0, 33_000.0, 36_000.0)));
        let whole = Finding::nanos(37_000.0, 36_000.0, 39_000.0);
        assert_eq!(report.finding(Quantity::PptHeading), whole);
        assert_eq!(truth[&Quantity::PptHeading], 38_000.0);
        assert_eq!(truth[&Quantity::ApplicationStage], 35_000.0);
        let (report, truth) = inside().local(Some(38_100.0));
        assert_eq!(report.finding(Quantity::KernelStage).estimate(), Some(3_000.0));
        assert_eq!(report.finding(Quantity::PptHeading).estimate(), Some(38_000.0));
        assert_eq!(truth[&Quantity::PptHeading], 38_100.0);
    }

    #[test]
    fn a_bound_stays_one_and_nothing_is_made_of_nothing() {
        let (report, _) = inside().joined(&knee(Finding::at_most(6_700.0, Unit::Ns, "end link")));
        let whole = Finding::at_most(9_700.0, Unit::Ns, "end link");
        assert_eq!(report.finding(Quantity::PptHeading), whole);
        let (report, truth) = Inside::default().joined(&knee(Finding::nanos(1.0, 1.0, 1.0)));
        assert_eq!(report.finding(Quantity::PptHeading), Finding::unmeasurable(UNSEEN));
        assert!(truth.is_empty());
        let (report, _) = Inside::default().local(None);
        assert_eq!(report.finding(Quantity::KernelStage), Finding::unmeasurable(UNSEEN));
    }

    #[test]
    fn the_table_counts_what_agrees() {
        let row = |run, estimate, truth| {
            let origin = Origin {
                world: EvalWorld::Lab,
                place: Place { block: "spin".to_owned(), condition: 0, run },
                condition: [].into(),
                method: JOINED.to_owned(),
                stamps: Vantage::Application,
                effort: Effort::default(),
                seconds: 1.0,
            };
            let finding = Finding::nanos(estimate, estimate - 1.0, estimate + 1.0);
            Row::new(&origin, Quantity::PptHeading, &finding, Some(truth), None)
        };
        // 1.9 us off; 4 us off, which is 4 %; 6 us off, which is 6 %.
        let rows = [row(0, 31_900.0, 30_000.0), row(1, 96_000.0, 1e5), row(2, 106_000.0, 1e5)];
        assert!(text(&rows).unwrap().contains("2 of 3"));
        assert_eq!(text(&[]), None);
    }
}
