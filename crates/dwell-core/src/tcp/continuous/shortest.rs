//! What the interval that is not over has of one flow.

use super::super::{Endpoint, Half};
use super::sample::Trip;
use super::{By, End, RoundTrips};
use crate::unit::Nanos;

/// So many signs tell the round trips of flows of one kind at most.
pub(super) const SIGNS: usize = 3;

/// What the interval that is not over has of one flow: beside what is kept of the flow itself, where it is at hand.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Shortest {
    /// The round trips to the end that was heard first, and those to the other.
    to: [Trips; 2],
}

/// The round trips to one end, by each sign: what a packet adds to is one line of the cache.
#[derive(Copy, Clone, Debug, Default)]
#[repr(align(64))]
struct Trips {
    least: [Nanos; SIGNS],
    /// For three hundred years, if all are as long as that interval.
    sums: [i64; SIGNS],
    samples: [u32; SIGNS],
    /// Which of them there are, and which hold bounds, a bit each.
    heard: u8,
    bounds: u8,
    /// Which end it is, as soon as that is known.
    end: Option<End>,
}

/// The same of one direction and one sign, with its flow's ends, once the interval is over.
#[derive(Copy, Clone, Debug)]
pub(super) struct Told {
    least: Nanos,
    sum: i64,
    samples: u32,
    to: Endpoint,
    other: Endpoint,
    end: Option<End>,
    by: By,
    is_bound: bool,
}

impl Trips {
    /// One more, of this value, by the sign of this number.
    fn add(&mut self, trip: &Trip, value: Nanos, sign: usize) {
        let bit = 1 << sign;
        let least = &mut self.least[sign];
        *least = if self.heard & bit == 0 { value } else { value.min(*least) };
        self.sums[sign] = self.sums[sign].saturating_add(value.0);
        self.samples[sign] = self.samples[sign].saturating_add(1);
        self.heard |= bit;
        if trip.value.exact().is_none() {
            self.bounds |= bit;
        }
        self.end = self.end.or(trip.end);
    }
}

impl Shortest {
    /// A sample of this value, by the sign of this number.
    pub(super) fn add(&mut self, trip: &Trip, value: Nanos, sign: usize) {
        self.to[usize::from(!trip.to_first)].add(trip, value, sign);
    }

    /// What it has of a flow between these ends, first the one that was heard first, by these signs.
    pub(super) fn told(
        self,
        [first, second]: [Endpoint; 2],
        signs: [By; SIGNS],
    ) -> impl Iterator<Item = Told> {
        let [to_first, to_second] = self.to;
        let end = to_first.end.or(to_second.end.map(End::other));
        let directions = [(to_first, first, second, end), (to_second, second, first, end.map(End::other))];
        directions.into_iter().flat_map(move |(trips, to, other, end)| {
            let Trips { least, sums, samples, heard, bounds, .. } = trips;
            (0..SIGNS).filter(move |sign| heard >> sign & 1 != 0).map(move |sign| Told {
                least: least[sign],
                sum: sums[sign],
                samples: samples[sign],
                to,
                other,
                end,
                by: signs[sign],
                is_bound: bounds >> sign & 1 != 0,
            })
        })
    }
}

impl Told {
    /// Of an interval from then until then.
    pub(super) fn of(self, from: Nanos, until: Nanos) -> RoundTrips {
        let Self { least, sum, samples, to, other, end, by, is_bound } = self;
        let least = if is_bound { Half::AtMost(least) } else { Half::Exact(least) };
        let (mean, samples) = (Nanos(sum / i64::from(samples)), u64::from(samples));
        RoundTrips { from, until, to, end, other, by, least, mean, samples }
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
        let mut add = |value: Half, to_first: bool, end: Option<End>| {
            let trip = Trip { at, value, by: By::QuicHandshake, to_first, end };
            shortest.add(&trip, value.value().expect("a value"), 0);
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
