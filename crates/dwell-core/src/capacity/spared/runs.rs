//! Two packets of a train make a run.

use super::train::{Point, Seen};
use crate::stats::Line;
use crate::stats::hull::line_under;
use crate::stats::quantile::median;
use crate::unit::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Two packets of a train.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Run {
    /// Which train.
    pub(super) train: usize,
    /// Bits from the one to the other.
    pub(super) bits: f64,
    /// Nanoseconds from the one to the other.
    pub(super) lasting: f64,
    /// How late both were over the line under all trains of their size, together, in packets' times.
    pub(super) late: f64,
}

impl Run {
    /// Nanoseconds a bit.
    pub(super) fn slope(&self) -> f64 {
        self.lasting / self.bits
    }
}

/// All runs of trains.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    pub(super) runs: Vec<Run>,
    /// Nanoseconds a bit along the earliest packets: no less than the narrow link needs, where some first packet waited
    /// nowhere.
    pub(super) floor: f64,
    /// By how much a stamp may be too late because a NIC, or the kernel above it, hands on several packets at once:
    /// the longest of the packets' times; zero where it does not.
    pub(super) held: f64,
    /// Trains that were looked at.
    pub(super) trains: usize,
    /// The first packets are left out, because a bucket let them pass.
    pub(super) is_of_bucket: bool,
}

/// Packets that come so much closer than the pace came at once.
const TOGETHER: f64 = 0.1;

/// Lumps of more packets than this, at the mean, are a NIC's.
pub(super) const LUMPY: f64 = 1.1;

/// Of so many sizes no single one tells how soon packets can come.
const ENOUGH: usize = 3;

/// Where both ends of a run are no later than this share of a packet's time, together, it waited nowhere; one train bears the line that this
/// is told by, and so many are no chance.
const PROMPT: f64 = 0.02;
const SEVERAL: usize = 3;

/// Runs have these lengths, counted in points.
const STRIDES: [usize; 14] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];

/// Packets that come at once, at the mean, of trains that come at this pace.
pub(super) fn lump<'a>(trains: impl Iterator<Item = &'a Seen>, pace: f64) -> f64 {
    let count = |sum: (usize, usize), train: &Seen| {
        (sum.0 + train.came.len(), sum.1 + train.points(TOGETHER * pace).len())
    };
    let (packets, points) = trains.fold((0, 0), count);
    packets as f64 / points.max(1) as f64
}

/// The trains' pace at the median, nanoseconds a packet.
pub(super) fn pace<'a>(trains: impl Iterator<Item = &'a Seen>) -> Option<f64> {
    median(&trains.map(Seen::pace).collect::<Vec<_>>()).filter(|pace| *pace > 0.0)
}

impl Runs {
    /// Of trains of the given sizes, all of which the same link sets the pace of, without the first packets of each: those
    /// that take so many bits.
    pub(super) fn of(trains: &[Seen], sizes: &[Bytes], without: f64) -> Option<Self> {
        let (drift, is_of_bucket) = (drift(trains), without > 0.0);
        let groups: Vec<Group> =
            sizes.iter().filter_map(|size| Group::of(trains, *size, drift, without)).collect();
        // A first packet that waited nowhere takes a time that is linear in its size: what few sizes met, all share.
        let firsts: Vec<(f64, f64)> = groups
            .iter()
            .map(|group| (group.bits, group.first))
            .filter(|first| first.1.is_finite())
            .collect();
        let base = line_under(&firsts).filter(|_| !is_of_bucket);
        let lines: Vec<Option<Line>> = groups.iter().map(|group| group.line(base)).collect();
        let slopes = groups.iter().zip(&lines).filter_map(|(group, line)| Some((*line)?.slope / group.bits));
        let mut slopes: Vec<f64> = slopes.collect();
        slopes.sort_by(f64::total_cmp);
        // Behind a bucket a train's first packet may come late, and those behind it at once. And one size alone that comes
        // before the others' time tells of a bucket, not of the link.
        let place = if is_of_bucket { slopes.len() / 2 } else { usize::from(slopes.len() >= ENOUGH) };
        let floor = slopes.get(place).copied().unwrap_or(f64::INFINITY);
        let held = groups.iter().map(|group| group.held).fold(0.0, f64::max);
        let mut all = Self { floor, held, trains: trains.len(), is_of_bucket, runs: Vec::new() };
        for (group, line) in groups.iter().zip(lines) {
            let Some(line) = line else { continue };
            for (train, points) in &group.points {
                all.add(*train, points, group.bits, line.intercept);
            }
        }
        (floor > 0.0 && floor.is_finite()).then_some(all)
    }

    /// Nanoseconds a bit that the narrow link needs at the most, where packets tell that come one by one and from no bucket: none comes
    /// before its time, though behind a loaded link they come nearer to each other.
    pub(super) fn most(&self) -> Option<f64> {
        (self.held == 0.0 && !self.is_of_bucket).then_some(self.floor)
    }

    /// Whether several trains have runs that waited nowhere and took that time, within these shares of it: then it is what the narrow link
    /// needs.
    pub(super) fn is_untouched(&self, around: &RangeInclusive<f64>) -> bool {
        let at_floor = |run: &&Run| run.late <= PROMPT && around.contains(&(run.slope() / self.floor));
        let prompt = self.runs.iter().filter(at_floor).map(|run| run.train);
        self.most().is_some() && prompt.collect::<BTreeSet<_>>().len() >= SEVERAL
    }

    fn add(&mut self, train: usize, points: &[Point], bits: f64, from: f64) {
        let packet = self.floor * bits;
        let late = |point: &Point| ((point.came - from) / packet - point.place as f64).max(0.0);
        for stride in STRIDES.into_iter().take_while(|stride| *stride < points.len()) {
            let runs = points.iter().zip(&points[stride..]).map(|(one, other)| Run {
                train,
                bits: bits * (other.place - one.place) as f64,
                lasting: other.came - one.came,
                late: late(one) + late(other),
            });
            self.runs.extend(runs.filter(|run| run.lasting > 0.0 && run.late.is_finite()));
        }
    }
}

/// How fast the receiver's clock gains on the sender's: the line under the delays of the trains' first packets (Moon,
/// Skelly, Towsley 1999), each over the least of its size, so that all sizes together bear the line.
fn drift(trains: &[Seen]) -> f64 {
    let mut least = BTreeMap::new();
    let first = || trains.iter().filter_map(|train| Some((train, *train.came.first()?)));
    for (train, came) in first() {
        let least = least.entry(train.size.0).or_insert(came);
        *least = came.min(*least);
    }
    let over = |(train, came): (&Seen, f64)| Some((train.at, came - least.get(&train.size.0)?));
    line_under(&first().filter_map(over).collect::<Vec<_>>()).map_or(0.0, |line| line.slope)
}

/// The trains of one size.
struct Group {
    bits: f64,
    /// Each train's place among all, and its points, without the clocks' skew.
    points: Vec<(usize, Vec<Point>)>,
    /// When the earliest first packet came.
    first: f64,
    /// See [`Runs::held`].
    held: f64,
}

impl Group {
    fn of(trains: &[Seen], size: Bytes, drift: f64, without: f64) -> Option<Self> {
        let of_size = || trains.iter().enumerate().filter(|(_, train)| train.size == size);
        let pace = pace(of_size().map(|(_, train)| train))?;
        let bits = of_size().next()?.1.bits();
        let lumpy = lump(of_size().map(|(_, train)| train), pace) > LUMPY;
        let together = if lumpy { TOGETHER * pace } else { -1.0 };
        let skipped = (without / bits).ceil() as usize;
        let straight = |at: f64| {
            move |point: Point| {
                Some(Point { came: point.came - drift * at, place: point.place.checked_sub(skipped)? })
            }
        };
        let points: Vec<(usize, Vec<Point>)> = of_size()
            .map(|(place, train)| {
                let mut points = train.points(together);
                // Nothing follows the last packet of a train. How long a NIC held it nobody knows; and a kernel that has a timer
                // to set for the next one stamps those before it later, by several microseconds.
                points.truncate(points.len() - 1);
                (place, points.into_iter().filter_map(straight(train.at)).collect())
            })
            .collect();
        let mut group = Self { bits, points, first: f64::INFINITY, held: if lumpy { pace } else { 0.0 } };
        if !lumpy {
            let firsts = group.all().filter(|point| point.place == 0).map(|point| point.came);
            group.first = firsts.fold(f64::INFINITY, f64::min);
        }
        Some(group)
    }

    fn all(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().flat_map(|(_, points)| points)
    }

    /// The line from the earliest first packet, by its own or by other sizes' account, under the earliest of all later ones.
    /// Of lumps, the line under the last packets in the trains' first half: farther on others have parted more of them.
    fn line(&self, base: Option<Line>) -> Option<Line> {
        if self.held > 0.0 {
            let half = self.all().map(|point| point.place).max()? / 2;
            let early = self.all().filter(|point| point.place <= half);
            return line_under(&early.map(|point| (point.place as f64, point.came)).collect::<Vec<_>>());
        }
        let first = base.map_or(self.first, |base| base.at(self.bits).min(self.first));
        let later = self.all().filter(|point| point.place > 0);
        let slope =
            later.map(|point| (point.came - first) / point.place as f64).fold(f64::INFINITY, f64::min);
        (first.is_finite() && slope.is_finite()).then_some(Line { slope, intercept: first })
    }
}
