//! From pairs to the break: clocks made even, regimes told apart, D from their border, A of every heading packet.

use crate::stats::histogram::half_sample_mode;
use crate::stats::hull::line_under;
use crate::stats::quantile::{mad, median, quantile_of_sorted, sorted};
use crate::stats::slope::theil_sen;
use crate::stats::{Estimate, Line};

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
    /// Steps of a clock that were seen, in nanoseconds; the pairs after the last long stretch's end are left out.
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
/// A change of the delay that lasts and is larger than this is a clock's step: no queue and no scheduler does that
/// to every packet from one on.
const STEP: f64 = 2e6;

impl Fit {
    /// Of pairs in the order of their departure, stamped with a clock of `resolution` nanoseconds.
    #[must_use]
    pub fn of(samples: &[Sample], resolution: f64) -> Self {
        let (samples, steps) = longest_stretch(samples);
        let none = |regimes| Self { skew: None, steps: steps.clone(), used: samples.len(), regimes };
        if samples.len() < LEAST {
            return none(Regimes::Unclear);
        }
        let Some((line, skew)) = drift(samples) else { return none(Regimes::Unclear) };
        let even: Vec<Even> = samples.iter().map(|sample| Even::of(sample, &line)).collect();
        Self {
            skew: Some(skew),
            steps: steps.clone(),
            used: samples.len(),
            regimes: regimes(&even, resolution),
        }
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

impl Even {
    fn of(sample: &Sample, drift: &Line) -> Self {
        let delay = sample.delay - drift.slope * sample.at;
        // The gap is a span on the receiver's clock; its own skew is parts per million of microseconds.
        Self { delay, dispersion: sample.dispersion, margin: delay - sample.dispersion, gap: sample.gap }
    }

    /// TS_t - t_t: what the delay of P_t was, whichever regime it met.
    fn trailing_delay(&self) -> f64 {
        self.margin + self.gap
    }
}

/// The longest run of pairs without a step of a clock, and the steps.
fn longest_stretch(samples: &[Sample]) -> (&[Sample], Vec<f64>) {
    const BESIDE: usize = 5;
    let level = |part: &[Sample]| median(&part.iter().map(|s| s.delay).collect::<Vec<_>>()).unwrap_or(0.0);
    let mut cuts = vec![0];
    let mut steps = Vec::new();
    let mut i = BESIDE;
    while i + BESIDE <= samples.len() {
        let jump = samples[i].delay - samples[i - 1].delay;
        let lasting = level(&samples[i..i + BESIDE]) - level(&samples[i - BESIDE..i]);
        if jump.abs() > STEP && lasting.abs() > STEP {
            cuts.push(i);
            steps.push(lasting);
            i += BESIDE;
        } else {
            i += 1;
        }
    }
    cuts.push(samples.len());
    let longest = cuts.windows(2).max_by_key(|ends| ends[1] - ends[0]);
    (longest.map_or(samples, |ends| &samples[ends[0]..ends[1]]), steps)
}

/// How the delays drift over the run: the lower hull first, which no queue can lift; then a robust line through the
/// pairs that lie near it, which is sharper where there is no queue.
fn drift(samples: &[Sample]) -> Option<(Line, Estimate)> {
    let points: Vec<(f64, f64)> = samples.iter().map(|s| (s.at, s.delay)).collect();
    let mut line = line_under(&points)?;
    let mut slope = Estimate { value: line.slope, low: line.slope, high: line.slope };
    for _ in 0..3 {
        let above: Vec<f64> = points.iter().map(|(x, y)| y - line.at(*x)).collect();
        let floor = quantile_of_sorted(&sorted(&above), 0.02)?;
        let peak = half_sample_mode(&above)?;
        let cut = peak + 2.0 * (peak - floor).max(500.0);
        let near: Vec<(f64, f64)> =
            points.iter().zip(&above).filter(|(_, r)| **r <= cut).map(|(p, _)| *p).collect();
        let Some(fit) = theil_sen(&near) else { break };
        line = fit.line();
        slope = fit.slope;
    }
    Some((line, slope))
}

fn regimes(pairs: &[Even], resolution: f64) -> Regimes {
    let mut order = pairs.to_vec();
    // From the pair whose P_t had most time to spare to the one that was latest.
    order.sort_by(|a, b| b.margin.total_cmp(&a.margin));
    let Some(split) = best_split(&order, resolution) else { return Regimes::Unclear };
    if split.waited == 0 {
        return Regimes::NoneWaited;
    }
    let tolerance = (6.0 * split.blur).max(2.0 * resolution);
    let waited: Vec<bool> = order.iter().map(|pair| (pair.gap - split.service).abs() <= tolerance).collect();
    if waited.iter().all(|w| *w) || split.waited == order.len() {
        return Regimes::AllWaited;
    }
    let Some(border) = border(&order, &waited) else { return Regimes::Unclear };
    Regimes::Both(Box::new(read_off(&order, &waited, border, resolution)))
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

/// D where the pairs that waited end: the profile likelihood of a border on z, with a share `late` of pairs above it
/// that cross traffic kept from waiting, and a stray pair below it that waited all the same.
fn border(order: &[Even], waited: &[bool]) -> Option<(Estimate, f64)> {
    let n = order.len();
    let total = waited.iter().filter(|w| **w).count() as f64;
    let (mut best, mut profile) = (f64::NEG_INFINITY, Vec::with_capacity(n + 1));
    let mut inside = 0.0;
    for above in 0..=n {
        if above > 0 && waited[above - 1] {
            inside += 1.0;
        }
        let late = above as f64 - inside;
        let share = if above == 0 { 0.0 } else { late / above as f64 };
        let term = |count: f64, p: f64| if count > 0.0 { count * p.max(1e-12).ln() } else { 0.0 };
        let strays = total - inside;
        let early = (n - above) as f64 - strays;
        let log = term(inside, (1.0 - share).min(1.0 - 1e-3))
            + term(late, share.max(1e-3))
            + term(strays, STRAY)
            + term(early, 1.0 - STRAY);
        best = best.max(log);
        profile.push((log, share));
    }
    // Between the last pair above and the first below; at the ends there is only one of them.
    let edge = |above: usize| -> (f64, f64) {
        let upper = above.checked_sub(1).map(|i| order[i].margin);
        let lower = order.get(above).map(|p| p.margin);
        (lower.or(upper).unwrap_or(0.0), upper.or(lower).unwrap_or(0.0))
    };
    let peak = profile.iter().position(|(log, _)| *log >= best)?;
    let (low_edge, high_edge) = edge(peak);
    let (mut low, mut high) = (low_edge, high_edge);
    for (above, (log, _)) in profile.iter().enumerate() {
        if *log >= best - PROFILE {
            let (l, h) = edge(above);
            low = low.min(l);
            high = high.max(h);
        }
    }
    let value = f64::midpoint(low_edge, high_edge);
    Some((Estimate { value, low: low.min(value), high: high.max(value) }, profile[peak].1))
}

/// The order statistics that hold the `p`-quantile of the population in 95 % of all samples.
pub(super) fn quantile_interval(ascending: &[f64], p: f64) -> Option<Estimate> {
    let n = ascending.len() as f64;
    let reach = Z * (p * (1.0 - p) / n).sqrt();
    let at = |p: f64| quantile_of_sorted(ascending, p.clamp(0.0, 1.0));
    Some(Estimate { value: at(p)?, low: at(p - reach)?, high: at(p + reach)? })
}

fn read_off(order: &[Even], waited: &[bool], border: (Estimate, f64), resolution: f64) -> Break {
    let (delay, late) = border;
    let stages = sorted(&order.iter().map(|pair| pair.delay - delay.value).collect::<Vec<_>>());
    let gaps = sorted(&order.iter().zip(waited).filter(|(_, w)| **w).map(|(p, _)| p.gap).collect::<Vec<_>>());
    let service = quantile_interval(&gaps, 0.5).unwrap_or(Estimate { value: 0.0, low: 0.0, high: 0.0 });
    // Pairs well below the border only: beside it lie those whose P_t met a program on its way to sleep.
    let clear = delay.value - 2.0 * (delay.half_width() + resolution);
    let lone: Vec<f64> = order
        .iter()
        .zip(waited)
        .filter(|(pair, w)| !**w && pair.margin < clear)
        .map(|(pair, _)| pair.gap - pair.dispersion)
        .collect();
    let differential = quantile_interval(&sorted(&lone), 0.5).filter(|_| lone.len() >= LEAST);
    Break {
        stage: stage(&stages, delay, late, resolution),
        stages,
        service,
        differential,
        late,
        waited: gaps.len(),
        delay,
    }
}

/// The share of late pairs up to which the path counts as free: stray interrupts make a few.
pub(super) const FREE: f64 = 0.03;

/// The median of A from TS_h - t_h - D, which is A itself on a free path, and A plus the wait of P_h on a busy one.
///
/// On a busy path a share p = 1 - `late` of the packets passes without waiting. If every wait exceeds the spread of
/// A, the clean packets are the lowest ones and the median of A is their p/2-quantile; if every wait is small
/// against it, it is close to the median of all. So it lies between those two, whatever the cross traffic; where
/// between, the densest place tells, as in papers/000 section 2.3.
fn stage(stages: &[f64], delay: Estimate, late: f64, resolution: f64) -> Estimate {
    let free = late <= FREE;
    let clean = if free { 1.0 } else { 1.0 - late };
    let nothing = Estimate { value: 0.0, low: 0.0, high: 0.0 };
    let lower = quantile_interval(stages, clean / 2.0).unwrap_or(nothing);
    let upper = quantile_interval(stages, 0.5).unwrap_or(nothing);
    let value = if free {
        upper.value
    } else {
        half_sample_mode(stages).unwrap_or(upper.value).clamp(lower.value, upper.value)
    };
    // Independent: the sampling of A, the place of D, the stamps' grid.
    let join = |sampling: f64, border: f64| (sampling.powi(2) + border.powi(2) + resolution.powi(2)).sqrt();
    Estimate {
        value,
        low: value - join(value - lower.low, delay.high - delay.value),
        high: value + join(upper.high - value, delay.value - delay.low),
    }
}
