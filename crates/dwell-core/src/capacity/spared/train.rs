//! A train as it came, and the runs in it.

use crate::avail::stream::vantage;
use crate::report::Vantage;
use crate::stats::hull::line_under;
use crate::stats::quantile::median;
use crate::train::{Fate, Observation};

/// A train of which three packets at least came, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    /// When its first packet left, nanoseconds on the sender's clock.
    at: f64,
    /// Mean time between two packets as they left.
    pub(super) sent: f64,
    /// When each packet came, nanoseconds after that, but for the clocks' offset. What was lost left no room in the narrow
    /// link's queue, so the others have moved up.
    came: Vec<f64>,
    pub(super) vantage: Vantage,
}

/// The last packet of those that came at once: its place in the train, and when it came.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Point {
    place: usize,
    came: f64,
}

/// Two packets of a train.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Run {
    /// Which train.
    pub(super) train: usize,
    /// Packets from the one to the other.
    pub(super) packets: f64,
    /// Nanoseconds a packet.
    pub(super) slope: f64,
    /// How late both were over the earliest of all trains at their places, together.
    pub(super) late: f64,
}

/// All runs of trains of one size.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    pub(super) runs: Vec<Run>,
    /// Nanoseconds a packet at the median of whole trains.
    pub(super) pace: f64,
    /// Packets that came at once, at the mean.
    pub(super) lump: f64,
}

/// Packets that come so much closer than the pace came at once.
const TOGETHER: f64 = 0.1;

/// Lumps of more packets than this, at the mean, are a NIC's.
const LUMPY: f64 = 1.5;

/// Runs have these lengths, counted in points.
const STRIDES: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

impl Seen {
    pub(super) fn of(observation: &Observation) -> Option<Self> {
        let vantage = vantage(observation);
        let stamp = |fate: &Fate| {
            let arrival = fate.arrival.as_ref()?;
            Some((fate.sent.nearest_wire(), vantage.read(&arrival.stamps)?, arrival.order))
        };
        let stamps: Vec<_> = observation.fates.iter().filter_map(stamp).collect();
        let (first, last) = (stamps.first()?, stamps.last()?);
        let in_order = stamps.windows(2).all(|two| two[0].2 < two[1].2 && two[0].1 <= two[1].1);
        let left = observation.fates.first()?.sent.nearest_wire();
        (stamps.len() > 2 && in_order).then(|| Self {
            at: left.as_f64(),
            sent: (last.0 - first.0).as_f64() / (stamps.len() - 1) as f64,
            came: stamps.iter().map(|(_, came, _)| (*came - left).as_f64()).collect(),
            vantage,
        })
    }

    /// Nanoseconds a packet, over the whole train.
    pub(super) fn pace(&self) -> f64 {
        let gaps = self.came.len().saturating_sub(1).max(1) as f64;
        self.came.last().zip(self.came.first()).map_or(0.0, |(last, first)| (last - first) / gaps)
    }

    /// The last packets of lumps.
    fn points(&self, together: f64) -> Vec<Point> {
        let ends = |place: &usize| {
            self.came.get(place + 1).is_none_or(|next| next - self.came[*place] > together)
        };
        let point = |place: usize| Point { place, came: self.came[place] };
        (0..self.came.len()).filter(ends).map(point).collect()
    }
}

impl Runs {
    pub(super) fn of(trains: &[Seen]) -> Option<Self> {
        let pace = median(&trains.iter().map(Seen::pace).collect::<Vec<_>>()).filter(|pace| *pace > 0.0)?;
        let lumps: Vec<Vec<Point>> = trains.iter().map(|train| train.points(TOGETHER * pace)).collect();
        let packets: usize = trains.iter().map(|train| train.came.len()).sum();
        let lump = packets as f64 / lumps.iter().map(Vec::len).sum::<usize>().max(1) as f64;
        let points = if lump > LUMPY {
            lumps
        } else {
            trains.iter().map(|train| train.points(-1.0)).collect()
        };
        let points = straight(trains, points);
        let earliest = floors(&points);
        let late = |point: &Point| point.came - earliest[point.place];
        let mut runs = Vec::new();
        for (train, points) in points.iter().enumerate() {
            // The first lump may have begun before the train did, as others' packets share it.
            for stride in STRIDES.into_iter().take_while(|stride| *stride < points.len()) {
                let of = points.iter().zip(&points[stride..]).map(|(from, to)| {
                    let packets = (to.place - from.place) as f64;
                    let slope = (to.came - from.came) / packets;
                    Run { train, packets, slope, late: late(from) + late(to) }
                });
                runs.extend(of.filter(|run| run.slope > 0.0 && run.slope.is_finite() && run.late.is_finite()));
            }
        }
        Some(Self { runs, pace, lump })
    }
}

/// Takes the clocks' skew out: the line under the trains' first packets is the path's own.
fn straight(trains: &[Seen], mut points: Vec<Vec<Point>>) -> Vec<Vec<Point>> {
    let from = trains.first().map_or(0.0, |train| train.at);
    let first: Vec<(f64, f64)> =
        trains.iter().filter_map(|train| Some((train.at - from, *train.came.first()?))).collect();
    if let Some(line) = line_under(&first) {
        for (train, points) in trains.iter().zip(&mut points) {
            for point in points {
                point.came -= line.slope * (train.at - from);
            }
        }
    }
    points
}

/// The earliest that a packet came, place by place.
fn floors(points: &[Vec<Point>]) -> Vec<f64> {
    let places = points.iter().flatten().map(|point| point.place + 1).max().unwrap_or(0);
    let mut floors = vec![f64::INFINITY; places];
    for point in points.iter().flatten() {
        floors[point.place] = floors[point.place].min(point.came);
    }
    floors
}
