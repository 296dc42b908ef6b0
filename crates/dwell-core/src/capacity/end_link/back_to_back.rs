//! Whether compound probes reach the end link back to back, from their gaps alone.
//!
//! Every link sends P_t when it has it and when P_h is gone. With m_i = 1 / c_i and M_i = m_(i+1) + ... + m_n, what
//! (24) to (26) of papers/000 do from link to link comes to
//!
//! ```text
//! G(s_h, s_t) = max over i of [(s_t + gamma) m_i - (s_h - s_t) M_i]
//! ```
//!
//! where i is the last link at which P_t had to wait for P_h. Only i = n, back to back on the end link, tells m_n. It
//! is the one term without s_h; every other one falls by M_i >= m_n with each byte of s_h. So
//! where a smaller P_h makes no larger gap, the pair is back to back, or else the end link is so fast that the
//! difference is lost in the noise; and the latter has a limit.

use super::PairSizes;
use super::pairs::{Floor, Pairs};
use crate::report::Vantage;
use crate::stats::Estimate;
use crate::unit::{Bytes, INTER_FRAME_GAP, Nanos};

/// Trailing sizes behind the largest heading one, and headings before the smallest trailing one. Two probes in the
/// same place of either come apart under the same conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sweep {
    /// Ascending.
    trailing: Vec<Bytes>,
    largest: Bytes,
}

/// Trailing sizes of the sweep, without the heading's own.
const SIZES: usize = 8;

/// A line through fewer sizes would not show that it is none.
const LEAST_SIZES: usize = 3;

/// So many standard errors are no accident.
const SURE: f64 = 4.0;

/// What is left of an interval's two sides, in standard errors.
const NORMAL: f64 = 2.1;

fn framed(size: Bytes) -> f64 {
    (size + INTER_FRAME_GAP).0 as f64
}

impl Sweep {
    /// Between the smallest and the largest packet that a path carries: in equal ratios, and closer by the small end,
    /// where the sizes lie that reach a much faster end link back to back.
    pub(super) fn new(smallest: Bytes, largest: Bytes) -> Self {
        let (least, most) = (smallest.0.max(1) as f64, largest.0 as f64);
        let size =
            |steps: f64| Bytes((least * (most / least).powf(steps / (SIZES - 1) as f64)).round() as u64);
        let steps = [0.0, 0.5].into_iter().chain((1..SIZES - 1).map(|i| i as f64));
        let mut trailing: Vec<Bytes> = if least < most { steps.map(size).collect() } else { Vec::new() };
        trailing.dedup();
        Self { trailing, largest }
    }

    /// The largest heading packet with every trailing one.
    pub(super) fn behind_largest(&self) -> impl Iterator<Item = PairSizes> {
        self.trailing.iter().map(|trailing| (self.largest, *trailing))
    }

    /// The pair of the smallest trailing packet that comes apart behind any links exactly where the largest packet and the
    /// `place`th trailing one do: (s + gamma) (m_i - m_n) > (h - s) M_i asks for the same (s + gamma) / (h - s).
    fn before_smallest(&self, place: usize) -> PairSizes {
        let (smallest, trailing) = (self.trailing[0], self.trailing[place]);
        let rest = (self.largest - trailing).0 as f64 * framed(smallest) / framed(trailing);
        (smallest + Bytes(rest.round() as u64), smallest)
    }

    /// Places of which a whole line can be seen.
    fn places(&self) -> std::ops::Range<usize> {
        LEAST_SIZES - 1..self.trailing.len().max(LEAST_SIZES - 1)
    }

    /// Every pair of the sweep.
    pub(super) fn pairs(&self) -> Vec<PairSizes> {
        self.behind_largest().chain(self.places().map(|place| self.before_smallest(place))).collect()
    }

    /// The pairs that decide at a place.
    pub(super) fn deciding(&self, place: usize) -> [PairSizes; 3] {
        [(self.largest, self.trailing[0]), (self.largest, self.trailing[place]), self.before_smallest(place)]
    }

    /// Whether there are sizes to compare.
    pub(super) fn is_empty(&self) -> bool {
        self.trailing.len() < LEAST_SIZES
    }
}

/// What compound probes say of the end link.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Passage {
    /// They are back to back up to this place of the sweep: the slope is 1 / c_n, in nanoseconds per byte.
    BackToBack { place: usize, slope: Estimate },
    /// Either that, or the end link is faster than this slope, too fast for its effect to be seen.
    EitherOr { place: usize, slope: Estimate, faster: f64 },
    /// Even the smallest P_t falls behind on an earlier link.
    Apart,
    /// No pair shows a link: the host, or its NIC, sets the gaps.
    Hidden,
}

/// What is known beside the gaps.
#[derive(Copy, Clone, Debug)]
pub(super) struct Known {
    /// No link takes longer than this, in nanoseconds per byte, where bursts showed it.
    pub(super) slowest: Option<f64>,
    /// No end link is faster than this, in nanoseconds per byte.
    pub(super) fastest: f64,
    /// Resolution of the receiver's clock.
    pub(super) tick: Nanos,
    /// Whether cross traffic parts the packets of bursts.
    pub(super) parted: bool,
}

/// A line through the floors of one place, from the smallest trailing packet on.
struct Line {
    slope: f64,
    slope_error: f64,
    /// The smallest packet's gap.
    start: f64,
    start_error: f64,
}

/// Weighted least squares; `None` where the gaps lie on no line.
fn line(points: &[(f64, Floor)]) -> Option<Line> {
    let weight = |floor: &Floor| floor.error.powi(-2);
    let sum = |of: &dyn Fn(f64, &Floor) -> f64| {
        points.iter().map(|(x, floor)| weight(floor) * of(*x, floor)).sum::<f64>()
    };
    let whole = sum(&|_, _| 1.0);
    let (x, y) = (sum(&|x, _| x) / whole, sum(&|_, floor| floor.gap) / whole);
    let spread = sum(&|at, _| (at - x).powi(2));
    let slope = sum(&|at, floor| (at - x) * (floor.gap - y)) / spread;
    let fits = |(at, floor): &(f64, Floor)| (floor.gap - y - slope * (at - x)).abs() <= SURE * floor.error;
    let start = points.first()?.0;
    (slope.is_finite() && points.iter().all(fits)).then(|| Line {
        slope,
        slope_error: spread.sqrt().recip(),
        start: y + slope * (start - x),
        start_error: (whole.recip() + (start - x).powi(2) / spread).sqrt(),
    })
}

/// What the gaps of a sweep show; `None` where too few arrived.
pub(super) fn passage(pairs: &Pairs, sweep: &Sweep, vantage: Vantage, known: Known) -> Option<Passage> {
    let floors = pairs.floors(sweep.pairs(), vantage, known.tick);
    let floor = |sizes: PairSizes| floors.get(&sizes).copied();
    let mut best: Option<Passage> = None;
    let mut apart = None;
    for place in sweep.places().rev() {
        let behind: Option<Vec<(f64, Floor)>> = sweep
            .behind_largest()
            .take(place + 1)
            .map(|sizes| Some((sizes.1.0 as f64, floor(sizes)?)))
            .collect();
        let (Some(behind), Some(before)) = (behind, floor(sweep.before_smallest(place))) else { continue };
        let error = before.error.hypot(behind[0].1.error);
        // What got between most of the packets then is told from the host's jitter only where there is next to none.
        let clean =
            |(trailing, floor): &(f64, Floor)| floor.repeats || trailing * 4.0 < sweep.largest.0 as f64;
        if known.parted && !behind.iter().all(clean) {
            continue;
        }
        // The last place looked at is the one at which packets come apart last.
        apart = Some(before.gap - behind[0].1.gap > SURE * error);
        let Some(line) = line(&behind) else { continue };
        let found = Decision { sweep, place, line, before, known }.passage();
        best = match (best, found) {
            (Some(old), Some(new)) => Some(finer(old, new)),
            (old, new) => old.or(new),
        };
    }
    best.or(apart.map(|apart| if apart { Passage::Apart } else { Passage::Hidden }))
}

/// What is proven before what is not, then the narrower interval.
fn finer(old: Passage, new: Passage) -> Passage {
    match (old, new) {
        (Passage::BackToBack { slope: one, .. }, Passage::BackToBack { slope: other, .. }) => {
            if other.half_width() < one.half_width() { new } else { old }
        }
        (_, Passage::BackToBack { .. }) => new,
        _ => old,
    }
}

/// One place of the sweep, looked at.
struct Decision<'a> {
    sweep: &'a Sweep,
    place: usize,
    line: Line,
    before: Floor,
    known: Known,
}

impl Decision<'_> {
    fn passage(&self) -> Option<Passage> {
        let Self { sweep, place, line, before, known } = self;
        let [(largest, smallest), (_, trailing), (heading, _)] = sweep.deciding(*place);
        let b = Estimate {
            value: line.slope,
            low: line.slope - NORMAL * line.slope_error,
            high: line.slope + NORMAL * line.slope_error,
        };
        // A line that does not rise is a host's, and one steeper than any link's is that of several links.
        if line.slope < SURE * line.slope_error || known.slowest.is_some_and(|slowest| b.low > slowest * 1.01)
        {
            return None;
        }
        let error = before.error.hypot(line.start_error);
        let wider = before.gap - line.start;
        // Narrower, it is not the path but what got in between: more fits behind a larger packet.
        if wider.abs() > SURE * error {
            return None;
        }
        let most = wider.max(0.0) + NORMAL * error;
        // What a pair that is not back to back would show: x_B = (s_p - s_1) (b - m_n) behind the largest packet, and
        // x_C = x_B (s_1 + gamma) / (s_p + gamma) before the smallest, or less if that one is back to back already; but
        // then (s_h - h) m_n at least.
        let span = (trailing - smallest).0 as f64;
        let bias = most * framed(trailing) / framed(smallest) / span;
        // P_t waits for P_h at most (s_p + gamma) m - (s_h - s_p) m_n, m being the slowest link's: with b > m_n the end
        // link is at least so much faster.
        let apart = known.slowest.map_or(b.value, |slowest| {
            let reach = (largest - trailing).0 as f64 + framed(smallest);
            (framed(trailing) * slowest - span * b.low) / reach
        });
        let low = if apart > b.value - bias && apart > known.fastest {
            (b.value - bias).max(known.fastest).min(b.low)
        } else {
            b.low
        };
        let slope = Estimate { low, ..b };
        let faster = most / (largest - heading).0 as f64;
        let place = *place;
        Some(if faster < known.fastest || apart < known.fastest {
            Passage::BackToBack { place, slope }
        } else {
            Passage::EitherOr { place, slope, faster }
        })
    }
}
