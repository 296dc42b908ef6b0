//! The host's times of echoes as an observer inside it saw them.
//!
//! A program answers: the request comes from the driver to the program's stamp (t3), and the reply goes from the
//! program's call (t5) to the driver. The kernel answers: t3 is where protocol input begins, and t5 where the reply
//! reaches the device's queueing discipline; between them IP and ICMP make the answer.

use super::HostTimes;
use crate::inside::{Journey, Point, Way};
use crate::unit::Nanos;
use std::collections::BTreeMap;

/// What the observer tells and what the host's program or capture tells are the same if they are as near as this: both
/// are one reading of one clock, and two readings of the difference between two clocks.
const SAME: Nanos = Nanos(3_000);

/// The program calls no later than this after it made its answer; else it was kept from its core, and whose call it is
/// cannot be told.
const CALLS_WITHIN: Nanos = Nanos::from_millis(1);

/// The journeys of echoes through the host, by the times at which they are looked for.
#[derive(Clone, Debug, Default)]
pub struct Inside {
    /// Driver, by the program's stamp.
    received: BTreeMap<Nanos, Nanos>,
    /// Hand-over to the driver, by the program's call.
    sent: BTreeMap<Nanos, Nanos>,
    /// The kernel's own answers, by the driver's time of the request.
    answered: BTreeMap<Nanos, HostTimes>,
}

impl Inside {
    /// Of journeys on the clock of the host's own stamps (CLOCK_REALTIME).
    #[must_use]
    pub fn of<'a>(journeys: impl IntoIterator<Item = &'a Journey>) -> Self {
        let mut inside = Self::default();
        for journey in journeys {
            inside.note(journey);
        }
        inside
    }

    fn note(&mut self, journey: &Journey) -> Option<()> {
        let at = |point| journey.times.at(point);
        match journey.way {
            Way::Receive => self.received.insert(at(Point::Stamped)?, at(Point::Driver)?),
            Way::Send => self.sent.insert(at(Point::Called)?, at(Point::Handed)?),
            Way::Answer => {
                let arrived = at(Point::Driver)?;
                let (t3, t5) = (at(Point::Protocol)?, at(Point::Discipline)?);
                let times = HostTimes { arrived: Some(arrived), t3, t5, departed: at(Point::Handed) };
                self.answered.insert(arrived, times);
                None
            }
        };
        Some(())
    }

    /// The times of the echo of which the host's program, or a capture at its data link, told `told`; `None` where the
    /// observer did not see both its packets.
    #[must_use]
    pub fn times(&self, told: &HostTimes) -> Option<HostTimes> {
        self.by_program(told).or_else(|| self.by_kernel(told))
    }

    fn by_program(&self, told: &HostTimes) -> Option<HostTimes> {
        let near = self.received.range(told.t3 - SAME..=told.t3 + SAME);
        let (t3, arrived) = near.min_by_key(|(stamped, _)| (**stamped - told.t3).abs())?;
        let (t5, departed) = self.sent.range(told.t5 - SAME..=told.t5 + CALLS_WITHIN).next()?;
        Some(HostTimes { arrived: Some(*arrived), t3: *t3, t5: *t5, departed: Some(*departed) })
    }

    /// The journey within which the capture heard both packets.
    fn by_kernel(&self, captured: &HostTimes) -> Option<HostTimes> {
        let (_, times) = self.answered.range(..=captured.t3 + SAME).next_back()?;
        let holds = captured.t5 >= times.t5 - SAME && captured.t5 <= times.departed? + SAME;
        holds.then_some(*times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inside::made;

    fn journey(way: Way, times: &[(Point, i64)]) -> Journey {
        made::journey(way, Nanos::ZERO, times)
    }

    fn told(t3: i64, t5: i64) -> HostTimes {
        HostTimes { arrived: None, t3: Nanos(t3), t5: Nanos(t5), departed: None }
    }

    #[test]
    fn a_programs_answer_is_found_by_its_stamp_and_its_call() {
        let journeys = [1_000_000, 6_000_000].map(|start| {
            [
                journey(Way::Receive, &[(Point::Driver, start), (Point::Stamped, start + 40_000)]),
                journey(Way::Send, &[(Point::Called, start + 41_000), (Point::Handed, start + 46_000)]),
            ]
        });
        let inside = Inside::of(journeys.iter().flatten());
        let times = inside.times(&told(6_040_300, 6_040_800)).unwrap();
        assert_eq!((times.arrived, times.t3), (Some(Nanos(6_000_000)), Nanos(6_040_000)));
        assert_eq!((times.t5, times.departed), (Nanos(6_041_000), Some(Nanos(6_046_000))));
        assert_eq!(inside.times(&told(3_000_000, 3_000_800)), None);
        // Its own call was not seen, and the next one is another answer's.
        let without = Inside::of([&journeys[0][0], &journeys[1][0], &journeys[1][1]]);
        assert_eq!(without.times(&told(1_040_300, 1_040_800)), None);
    }

    #[test]
    fn the_kernels_answer_is_the_one_within_which_the_capture_heard() {
        let answers = [1_000_000, 6_000_000].map(|start| {
            let points = [Point::Driver, Point::Protocol, Point::Discipline, Point::Handed];
            journey(Way::Answer, &[0, 1, 2, 3].map(|at| (points[at], start + 2_000 * at as i64)))
        });
        let inside = Inside::of(&answers);
        let times = inside.times(&told(6_000_100, 6_004_900)).unwrap();
        assert_eq!((times.t3, times.t5), (Nanos(6_002_000), Nanos(6_004_000)));
        assert_eq!((times.arrived, times.departed), (Some(Nanos(6_000_000)), Some(Nanos(6_006_000))));
        for missed in [told(3_000_000, 3_005_000), told(500, 900), told(1_000_100, 1_400_000)] {
            assert_eq!(inside.times(&missed), None);
        }
    }
}
