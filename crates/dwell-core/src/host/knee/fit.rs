//! From pairs to the break: clocks made even, regimes told apart, D from their border, A of every heading packet.

use crate::clock;
use crate::clock::CLOCK_RATE_DOUBT;
use crate::stats::Estimate;
use crate::stats::histogram::half_sample_mode;
use crate::stats::quantile::{densest, mad, median, quantile, quantile_interval, quantile_of_sorted, sorted};

/// One pair, in nanoseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Sample {
    /// Departure of P_h since the first pair's.
    pub at: f64,
    /// TS_h - t_h: delay of P_h up to its stamp, on the two clocks as they are, less that of the first pair.
    pub delay: f64,
    /// x = t_t - t_h.
    pub dispersion: f64,
    /// G = TS_t - TS_h.
    pub gap: f64,
}

/// What the pairs say.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Skew of the receiver's clock against the sender's, as a rate, with its interval.
    pub skew: Option<Estimate>,
    /// Steps of a clock that were seen, in nanoseconds; the pairs outside the longest stretch without one are left out.
    pub steps: Vec<f64>,
    /// Pairs that were used.
    pub used: usize,
    /// Which regimes appeared.
    pub regimes: Regimes,
}

/// Which regimes appeared in the sweep.
#[derive(Clone, Debug, PartialEq)]
pub enum Regimes {
    /// Too few pairs to say anything.
    Unclear,
    /// P_t never had to wait: the stage ends before the smallest dispersion.
    NoneWaited,
    /// P_t always had to wait: the stage is longer than the largest dispersion.
    AllWaited,
    /// Both, and the break between them.
    Both(Box<Break>),
}

/// The break, and what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Break {
    /// D: delay up to the socket queue, on the samples' time scale.
    pub delay: Estimate,
    /// A: the application stage of heading packets, its median.
    pub stage: Estimate,
    /// A of each heading packet, ascending; with cross traffic some contain its queueing.
    pub stages: Vec<f64>,
    /// S: the gap of pairs whose P_t waited.
    pub service: Estimate,
    /// dPPT = G - x of pairs whose P_t did not wait.
    pub differential: Option<Estimate>,
    /// Share of the pairs near the break whose P_t should have waited and did not: it was late by cross traffic.
    pub late: f64,
    /// Pairs whose P_t waited.
    pub waited: usize,
    /// Nats by which z decides who waited, rather than the dispersion x. A program is done with P_h when it is done:
    /// z decides. A NIC that holds packets back for a fixed time knows nothing of the program: x decides.
    pub by_program: f64,
}

impl Break {
    /// The `p`-quantile of A over the heading packets.
    #[must_use]
    pub fn stage_quantile(&self, p: f64) -> f64 {
        quantile_of_sorted(&self.stages, p).unwrap_or(self.stage.value)
    }
}

/// Fewer pairs than this carry no statement.
const LEAST: usize = 8;
/// Nats that two regimes must gain over one before they are believed: three more parameters, with room.
const GAIN: f64 = 10.0;
/// A pair whose P_t waited, on the wrong side of D: a stamp out of order, a packet overtaken. One in a hundred.
const STRAY: f64 = 0.01;
/// Half the drop of twice the log-likelihood at the ends of a 95 % interval: chi-squared with one degree, 3.84 / 2.
const PROFILE: f64 = 1.92;
/// The normal distribution's 97.5 % point.
const Z: f64 = 1.96;

impl Fit {
    /// Of pairs in the order of their departure, stamped with a clock of `resolution` nanoseconds, over a path whose
    /// smallest dispersion is `floor` nanoseconds, as far as is known.
    #[must_use]
    pub fn of(samples: &[Sample], resolution: f64, floor: f64) -> Self {
        let delays: Vec<f64> = samples.iter().map(|sample| sample.delay).collect();
        let (stretch, steps) = clock::longest_stretch(&delays);
        let samples = &samples[stretch];
        let none = |regimes| Self { skew: None, steps: steps.clone(), used: samples.len(), regimes };
        if samples.len() < LEAST {
            return none(Regimes::Unclear);
        }
        let points: Vec<(f64, f64)> = samples.iter().map(|s| (s.at, s.delay)).collect();
        let Some(skew) = clock::skew(&points) else { return none(Regimes::Unclear) };
        let regimes = regimes(samples, skew, resolution, floor);
        Self { skew: Some(skew), steps: steps.clone(), used: samples.len(), regimes }
    }
}

/// A pair with the clocks' drift taken off.
#[derive(Copy, Clone, Debug)]
struct Even {
    /// TS_h - t_h.
    delay: f64,
    /// x.
    dispersion: f64,
    /// z = TS_h - t_t.
    margin: f64,
    /// G.
    gap: f64,
}

/// The pairs with a drift of `slope` taken off, from the one whose P_t had most time to spare to the one that was
/// latest. The drift is taken off about the middle of the run, so that an error of it hardly moves D.
fn evened(samples: &[Sample], slope: f64) -> Vec<Even> {
    let middle = median(&samples.iter().map(|s| s.at).collect::<Vec<_>>()).unwrap_or(0.0);
    let even = |sample: &Sample| {
        let delay = sample.delay - slope * (sample.at - middle);
        // The gap is a span on the receiver's clock; its own skew is parts per million of microseconds.
        Even { delay, dispersion: sample.dispersion, margin: delay - sample.dispersion, gap: sample.gap }
    };
    let mut order: Vec<Even> = samples.iter().map(even).collect();
    order.sort_by(|a, b| b.margin.total_cmp(&a.margin));
    order
}

impl Even {
    /// TS_t - t_t: what the delay of P_t was, whichever regime it met.
    fn trailing_delay(&self) -> f64 {
        self.margin + self.gap
    }
}

fn regimes(samples: &[Sample], skew: Estimate, resolution: f64, floor: f64) -> Regimes {
    let order = evened(samples, skew.value);
    let Some(split) = best_split(&order, resolution) else { return Regimes::Unclear };
    if split.waited == 0 {
        return Regimes::NoneWaited;
    }
    if split.waited == order.len() {
        return Regimes::AllWaited;
    }
    let tolerance = parting(&order, &split, 6.0 * split.blur, 2.0 * resolution);
    if is_the_links(&order, &split, floor, tolerance) {
        return Regimes::NoneWaited;
    }
    let waits = |pair: &Even| (pair.gap - split.service).abs() <= tolerance;
    match border(samples, skew, waits) {
        Some((order, delay)) => Regimes::Both(Box::new(read_off(&order, waits, delay, resolution))),
        None => Regimes::Unclear,
    }
}

/// How far from S a gap still is that of a pair that waited: of a third to the whole of `widest`, that whose border
/// parts best. Just after the stamp there is a third kind of pair, whose P_t finds the program asleep but its core not
/// yet: its gap is S and a short wake-up, and where S itself is blurred, those would pass as ones that waited.
fn parting(order: &[Even], split: &Split, widest: f64, least: f64) -> f64 {
    let parted = |tolerance: f64| {
        let waits = |pair: &Even| (pair.gap - split.service).abs() <= tolerance;
        profile(order, waits).into_iter().fold(f64::NEG_INFINITY, f64::max)
    };
    let tried = [1.0, 0.8, 2.0 / 3.0, 0.5, 1.0 / 3.0].map(|share| (share * widest).max(least));
    // The widest of those that part as well.
    let best = tried
        .iter()
        .rev()
        .map(|tolerance| (parted(*tolerance), *tolerance))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(widest, |(_, tolerance)| tolerance)
}

/// Whether a flat gap is the path's doing and not the host's: a pair whose P_h waited in a queue leaves the narrowest
/// link packet upon packet, and its gap is that link's, plus dPPT, whatever dispersion it was sent with. Such a P_h is
/// late by at least as much as the pair lost of its dispersion; where a host is slow, most are not.
fn is_the_links(order: &[Even], split: &Split, floor: f64, tolerance: f64) -> bool {
    let (flat, lone) = order.split_at(split.waited);
    let differential = median(&lone.iter().map(|p| p.gap - p.dispersion).collect::<Vec<_>>()).unwrap_or(0.0);
    let alike = (split.service - floor - differential).abs() <= tolerance + 0.2 * floor;
    let prompt = quantile(&order.iter().map(|pair| pair.delay).collect::<Vec<_>>(), 0.05).unwrap_or(0.0);
    let lost = |pair: &&Even| pair.dispersion - floor > tolerance;
    let spread: Vec<&Even> = flat.iter().filter(lost).collect();
    let unqueued = spread.iter().filter(|p| p.delay - prompt < p.dispersion - floor - tolerance).count();
    floor > 0.0 && alike && unqueued * 10 <= spread.len()
}

/// The flat regime as the likelihood sees it.
struct Split {
    /// Pairs on the flat side; zero where one regime explains as much as two.
    waited: usize,
    /// S.
    service: f64,
    /// Scale of the gaps about S.
    blur: f64,
}

/// Laplace density of scale `b` mixed with wild points spread over `range`, as a log-likelihood.
fn log_density(deviation: f64, b: f64, wild: f64, range: f64) -> f64 {
    ((1.0 - wild) / (2.0 * b) * (-deviation.abs() / b).exp() + wild / range).ln()
}

/// The change point of a two-regime line with likelihood, on the axis z: G = S where P_t waited, and
/// TS_t - t_t = D + A_t where it did not. Every split of the ordered pairs is tried.
fn best_split(order: &[Even], resolution: f64) -> Option<Split> {
    let least_scale = (resolution / 2.0).max(100.0);
    let spread = |values: &[f64]| {
        let v = sorted(values);
        Some(v.last()? - v.first()?)
    };
    let all_gaps: Vec<f64> = order.iter().map(|p| p.gap).collect();
    let all_late: Vec<f64> = order.iter().map(Even::trailing_delay).collect();
    let range = spread(&all_gaps)?.max(spread(&all_late)?).max(10.0 * least_scale);
    let late_side = |from: usize| -> Option<f64> {
        let values = &all_late[from..];
        if values.len() < 3 {
            return Some(values.len() as f64 * (1.0 / range).ln());
        }
        let centre = median(values)?;
        let b = (mad(values)? / std::f64::consts::LN_2).max(least_scale);
        Some(values.iter().map(|v| log_density(v - centre, b, 0.1, range)).sum())
    };
    let alone = late_side(0)?;
    let mut best = Split { waited: 0, service: 0.0, blur: least_scale };
    let mut most = alone + GAIN;
    for waited in 3..=order.len() {
        let gaps = &all_gaps[..waited];
        let service = half_sample_mode(gaps)?;
        // Cross traffic only lengthens gaps, so the lower side tells the scale.
        let below: Vec<f64> = gaps.iter().filter(|g| **g <= service).map(|g| service - g).collect();
        let above: Vec<f64> = gaps.iter().filter(|g| **g >= service).map(|g| g - service).collect();
        let side = |values: &[f64]| median(values).unwrap_or(0.0) / std::f64::consts::LN_2;
        let blur = side(&below).max(side(&above).min(4.0 * side(&below))).max(least_scale);
        let flat: f64 = gaps.iter().map(|gap| log_density(gap - service, blur, 0.3, range)).sum();
        let total = flat + late_side(waited)?;
        if total > most {
            most = total;
            best = Split { waited, service, blur };
        }
    }
    Some(best)
}

/// The profile likelihood of a border on z: for each place between two pairs, the log-likelihood, with a share of
/// pairs above it that cross traffic kept from waiting, and stray pairs below it that waited all the same.
fn profile(order: &[Even], waits: impl Fn(&Even) -> bool) -> Vec<f64> {
    let n = order.len();
    let waited: Vec<bool> = order.iter().map(waits).collect();
    let total = waited.iter().filter(|w| **w).count() as f64;
    let term = |count: f64, p: f64| if count > 0.0 { count * p.ln() } else { 0.0 };
    let mut inside = 0.0;
    (0..=n)
        .map(|above| {
            if above > 0 && waited[above - 1] {
                inside += 1.0;
            }
            let late = above as f64 - inside;
            let share = (late / (above as f64).max(1.0)).clamp(1e-3, 1.0 - 1e-3);
            let strays = total - inside;
            let early = (n - above) as f64 - strays;
            term(inside, 1.0 - share) + term(late, share) + term(strays, STRAY) + term(early, 1.0 - STRAY)
        })
        .collect()
}

/// Drifts that are tried within twice the interval of the drift, on either side.
const DRIFTS: i32 = 20;

/// D where the pairs that waited end, and the pairs with the drift that fits best. Drift and D are estimated
/// together: near the border the pairs tell the drift better than the delays do, whose own spread is that of A.
fn border(
    samples: &[Sample],
    skew: Estimate,
    waits: impl Fn(&Even) -> bool + Copy,
) -> Option<(Vec<Even>, Estimate)> {
    let deviation = (skew.high - skew.low) / (2.0 * Z);
    // (log-likelihood, drift, lower and upper neighbour of the border)
    let mut places: Vec<(f64, f64, f64, f64)> = Vec::new();
    for step in -DRIFTS..=DRIFTS {
        let off = f64::from(step) / f64::from(DRIFTS) * 2.0 * Z;
        let slope = skew.value + off * deviation;
        let order = evened(samples, slope);
        for (above, log) in profile(&order, waits).into_iter().enumerate() {
            let upper = above.checked_sub(1).map(|i| order[i].margin);
            let lower = order.get(above).map(|p| p.margin);
            let (Some(low), Some(high)) = (lower.or(upper), upper.or(lower)) else { continue };
            places.push((log - off * off / 2.0, slope, low, high));
        }
    }
    let best = places.iter().map(|place| place.0).max_by(f64::total_cmp)?;
    places.retain(|place| place.0 >= best - PROFILE);
    // The middle of what is likely, each place by its likelihood and its width.
    let (mut weight, mut value, mut slope) = (0.0, 0.0, 0.0);
    for (log, drift, low, high) in &places {
        let w = (log - best).exp() * (high - low).max(1.0);
        weight += w;
        value += w * f64::midpoint(*low, *high);
        slope += w * drift;
    }
    let (value, slope) = (value / weight, slope / weight);
    let low = places.iter().map(|place| place.2).fold(value, f64::min);
    let high = places.iter().map(|place| place.3).fold(value, f64::max);
    Some((evened(samples, slope), Estimate { value, low, high }))
}

/// How much better a border on z parts the pairs that waited from the others than one on x does.
fn by_program(order: &[Even], waits: impl Fn(&Even) -> bool + Copy) -> f64 {
    let best = |order: &[Even]| profile(order, waits).into_iter().fold(f64::NEG_INFINITY, f64::max);
    let mut by_dispersion = order.to_vec();
    by_dispersion.sort_by(|a, b| a.dispersion.total_cmp(&b.dispersion));
    best(order) - best(&by_dispersion)
}

/// So many pairs next to the border, on its upper side, tell how many are late.
const BESIDE: usize = 40;

/// The share of pairs whose P_t should just have waited and did not. Far above the border even a delayed packet
/// finds the program busy, so only the pairs next to it count.
fn late(order: &[Even], waits: impl Fn(&Even) -> bool, border: f64) -> f64 {
    let above: Vec<&Even> = order.iter().filter(|pair| pair.margin > border).collect();
    let beside = &above[above.len().saturating_sub(BESIDE)..];
    let missed = beside.iter().filter(|pair| !waits(pair)).count();
    missed as f64 / beside.len().max(1) as f64
}

fn read_off(order: &[Even], waits: impl Fn(&Even) -> bool + Copy, delay: Estimate, resolution: f64) -> Break {
    let stages = sorted(&order.iter().map(|pair| pair.delay - delay.value).collect::<Vec<_>>());
    let gaps = sorted(&order.iter().filter(|pair| waits(pair)).map(|p| p.gap).collect::<Vec<_>>());
    let sampled = quantile_interval(&gaps, 0.5).unwrap_or(Estimate { value: 0.0, low: 0.0, high: 0.0 });
    // A gap is a span on the receiver's clock: its grid, and its rate, are in doubt beside the sampling.
    let doubt = resolution + CLOCK_RATE_DOUBT * sampled.value.abs();
    let service = Estimate { low: sampled.low - doubt, high: sampled.high + doubt, ..sampled };
    // Pairs well below the border only: beside it lie those whose P_t met a program on its way to sleep.
    let clear = delay.value - 2.0 * (delay.half_width() + resolution);
    let lone: Vec<f64> = order
        .iter()
        .filter(|pair| !waits(pair) && pair.margin < clear)
        .map(|pair| pair.gap - pair.dispersion)
        .collect();
    let differential = quantile_interval(&sorted(&lone), 0.5).filter(|_| lone.len() >= LEAST);
    let turn_round = service.value.clamp(0.0, TURN_ROUND);
    // Above the border's interval: within it the path's jitter decides, not cross traffic. So it does a little above it,
    // and A is short where that shows; what is late by less than A is uncertain by does no harm.
    let late = late(order, waits, delay.high + resolution + turn_round / 2.0);
    Break {
        stage: stage(&stages, delay, late, turn_round, resolution),
        stages,
        service,
        differential,
        late,
        waited: gaps.len(),
        by_program: by_program(order, waits),
        delay,
    }
}

/// The longest turn-round that is reckoned with. A packet that comes after the stamp and before the next read finds
/// the program awake, so the break lies later than A by the time between those two. It is a part of S, and S tells
/// no more of it; a receive loop that checks and keeps what it read takes less than this. So the middle of what is
/// possible is taken off, and the interval holds the rest.
const TURN_ROUND: f64 = 1_500.0;

/// The share of late pairs up to which the path counts as free: stray interrupts make a few.
pub(super) const FREE: f64 = 0.05;

/// The median of A from TS_h - t_h - D, which is A itself on a free path, and A plus the wait of P_h on a busy one.
///
/// On a busy path a share of the packets passes without waiting, and the others are slower by their wait, which no
/// two share: so A stands where the delays are densest, as in papers/000 section 2.3. Of the packets that would
/// remain if as many heading packets had waited as trailing ones were late (somewhat more have), the densest place
/// gives the value, and the densest half the interval.
fn stage(stages: &[f64], delay: Estimate, late: f64, turn_round: f64, resolution: f64) -> Estimate {
    let nothing = Estimate { value: 0.0, low: 0.0, high: 0.0 };
    let at = |p: f64| quantile_interval(stages, p).unwrap_or(nothing);
    let sampled = if late <= FREE {
        at(0.5)
    } else {
        let clean = 1.0 - late;
        let ceiling = at(clean / 2.0);
        let value = half_sample_mode(stages).unwrap_or(ceiling.value).min(ceiling.value);
        let half = densest(stages, clean / 2.0).unwrap_or(stages);
        let below = stages.iter().filter(|stage| **stage < value).count() as f64 / stages.len().max(1) as f64;
        Estimate {
            value,
            low: half.first().copied().unwrap_or(value).min(at(below).low),
            high: half.last().copied().unwrap_or(value).max(ceiling.high),
        }
    };
    // Independent: the sampling of A, the place of D, the stamps' grid.
    let join = |sampling: f64, border: f64| (sampling.powi(2) + border.powi(2) + resolution.powi(2)).sqrt();
    Estimate {
        value: sampled.value - turn_round / 2.0,
        low: sampled.value - join(sampled.value - sampled.low, delay.high - delay.value) - turn_round,
        high: sampled.value + join(sampled.high - sampled.value, delay.value - delay.low),
    }
}
