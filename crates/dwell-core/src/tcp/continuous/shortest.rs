//! What the interval that is not over has of one flow.

use super::super::{Endpoint, Half};
use super::{By, End, RoundTrips, Sample};
use crate::unit::Nanos;

/// So many signs tell the round trips of flows of one kind at most.
pub(super) const SIGNS: usize = 3;

/// The round trips to one end by one sign.
#[derive(Copy, Clone, Debug, Default)]
struct Trips {
    least: Nanos,
    /// For three hundred years, if all are as long as that interval.
    sum: i64,
    samples: u64,
}

/// What the interval that is not over has of one flow: beside what is kept of the flow itself, where it is at hand.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Shortest {
    /// Those to the end that was heard first, by each sign, and those to the other.
    trips: [[Trips; SIGNS]; 2],
    /// Which of them there are, and which hold bounds, a bit each.
    heard: u8,
    bounds: u8,
    /// Its flow's place is among those that the interval has something of.
    pub(super) is_listed: bool,
    /// Which end the one is that was heard first, as soon as that is known.
    first: Option<End>,
}

/// The same of one direction and one sign, with its flow's ends, once the interval is over.
#[derive(Copy, Clone, Debug)]
pub(super) struct Told {
    trips: Trips,
    to: Endpoint,
    other: Endpoint,
    end: Option<End>,
    by: By,
    is_bound: bool,
}

impl Shortest {
    /// None yet, of a flow whose place is listed already or not.
    pub(super) fn none(is_listed: bool) -> Self {
        Self { is_listed, ..Self::default() }
    }

    /// A sample to the end that was heard first, or to the other, by the sign of this number.
    pub(super) fn add(&mut self, sample: &Sample, value: Nanos, to_first: bool, sign: usize) {
        let direction = usize::from(!to_first);
        let (trips, bit) = (&mut self.trips[direction][sign], 1 << (direction * SIGNS + sign));
        trips.least = if self.heard & bit == 0 { value } else { trips.least.min(value) };
        trips.sum = trips.sum.saturating_add(value.0);
        trips.samples += 1;
        self.heard |= bit;
        if sample.value.exact().is_none() {
            self.bounds |= bit;
        }
        if let Some(end) = sample.end {
            self.first.get_or_insert(if to_first { end } else { end.other() });
        }
    }

    /// What it has of a flow between these ends, first the one that was heard first, by these signs.
    pub(super) fn told(
        self,
        [first, second]: [Endpoint; 2],
        signs: [By; SIGNS],
    ) -> impl Iterator<Item = Told> {
        let Self { trips, heard, bounds, first: end, .. } = self;
        let directions = [(first, second, end), (second, first, end.map(End::other))];
        (0..2 * SIGNS).filter_map(move |number| {
            let (direction, sign) = (number / SIGNS, number % SIGNS);
            let (trips, (to, other, end)) = (trips[direction][sign], directions[direction]);
            let (by, is_bound) = (signs[sign], bounds >> number & 1 != 0);
            (heard >> number & 1 != 0).then_some(Told { trips, to, other, end, by, is_bound })
        })
    }
}

impl Told {
    /// Of an interval from then until then.
    pub(super) fn of(self, from: Nanos, until: Nanos) -> RoundTrips {
        let Self { trips: Trips { least, sum, samples }, to, other, end, by, is_bound } = self;
        let least = if is_bound { Half::AtMost(least) } else { Half::Exact(least) };
        RoundTrips { from, until, to, end, other, by, least, mean: Nanos(sum / samples as i64), samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn one_bound_makes_the_shortest_a_bound() {
        let end = |last| Endpoint { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port: 443 };
        let (at, mut shortest) = (Nanos::ZERO, Shortest::default());
        let mut add = |value: Half, to_first: bool, end_heard: Option<End>| {
            let (to, other) = if to_first { (end(1), end(2)) } else { (end(2), end(1)) };
            let sample = Sample { at, to, end: end_heard, other, value, by: By::QuicHandshake };
            shortest.add(&sample, value.value().expect("a value"), to_first, 0);
        };
        add(Half::Exact(Nanos(30)), true, None);
        add(Half::AtMost(Nanos(50)), true, None);
        add(Half::Exact(Nanos(70)), false, Some(End::Client));
        let signs = [By::QuicHandshake, By::SpinBit, By::SpinBit];
        let told: Vec<_> = shortest.told([end(1), end(2)], signs).map(|told| told.of(at, Nanos(9))).collect();
        let trips = |to, from: u8, end_heard, least, mean, samples| RoundTrips {
            from: at,
            until: Nanos(9),
            to,
            end: Some(end_heard),
            other: end(from),
            by: By::QuicHandshake,
            least,
            mean: Nanos(mean),
            samples,
        };
        assert_eq!(
            told,
            [
                trips(end(1), 2, End::Server, Half::AtMost(Nanos(30)), 40, 2),
                trips(end(2), 1, End::Client, Half::Exact(Nanos(70)), 70, 1)
            ]
        );
    }
}
