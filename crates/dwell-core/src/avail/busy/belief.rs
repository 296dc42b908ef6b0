//! What trains at several rates tell of a tight link of which nothing is known.

use super::queue::{busy, grown, spread};
use super::waiting::HOST;
use crate::stats::Estimate;
use crate::stats::quantile::mean;
use crate::stream::sample::Sample;

/// What is free and what the tight link carries (both as shares of the narrow link) and how much what comes between packets varies
/// (as a share of what a packet takes of the narrow link) are looked for in these ranges; in the last two by even steps of
/// their logarithms.
const FREE: (f64, f64) = (0.0, 1.05);
const CARRIES: (f64, f64) = (0.9, 30.0);
const VARIES: (f64, f64) = (1e-4, 30.0);
const STEPS: (usize, usize, usize) = (42, 10, 10);

/// And so many links that are loaded alike. Several links of the narrow one's kind often are; that several have as little free as each
/// other which carry much more would be an accident: less likely as a logarithm of what they carry that spreads so far.
const LINKS: usize = 3;
const ALIKE: f64 = 0.5;

/// Then, so many times, in what is left of them.
const CLOSER: usize = 2;

/// Left is what is at least so probable, as a share of the most probable.
const LEFT: f64 = 1e-3;

/// Stamps are off by so many nanoseconds.
const STAMP: f64 = 2e3;

/// How far, as a logarithm, the mean wait of single packets may be from what the tight link makes them wait: few are seen, and other
/// links make them wait too.
const WAITS: f64 = 0.7;

/// Other links that are loaded less part what comes faster than they have free: by so much of the square of what a train grew by, the model
/// may be off.
const ORDER: f64 = 0.5;

/// Trains at one rate: how many, their rate in packets a `pace`, how long they last, and what they grew by at the mean and its
/// variance, all in units of `pace`.
struct Fleet {
    trains: f64,
    rate: f64,
    lasting: f64,
    grown: f64,
    scatter: f64,
    stamps: f64,
}

/// What is free, and what the tight link carries, as shares of what the narrow link carries.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Belief {
    pub(super) free: Estimate,
    pub(super) carries: Estimate,
}

/// What is free, as a share of what the narrow link carries, which takes `pace` a packet: a train at a rate R on a tight link that
/// carries C and has A free makes its queue drift by (R - A) / C of the time, and the train grows as [`grown`] says. Every A, C
/// and variance that explains the trains, and the mean of how long single packets `waited`, is taken for as probable as they are
/// by it.
pub(super) fn belief(fleets: &[Vec<Sample>], waited: Option<f64>, pace: f64) -> Option<Belief> {
    let fleets: Vec<Fleet> = fleets.iter().filter_map(|fleet| Fleet::of(fleet, pace)).collect();
    if fleets.is_empty() {
        return None;
    }
    let waited = waited.map(|waited| (waited / pace, HOST / pace));
    let mut grid = Grid { free: FREE, carries: log(CARRIES), varies: log(VARIES) };
    let mut weights = grid.weights(&fleets, waited);
    for _ in 0..CLOSER {
        grid = grid.left(&weights);
        weights = grid.weights(&fleets, waited);
    }
    let mut free = vec![0.0; STEPS.0 + 1];
    let mut carries = vec![0.0; STEPS.1 + 1];
    for (step, weight) in &weights {
        free[step.0] += weight;
        carries[step.1] += weight;
    }
    Some(Belief {
        free: told(|part| share(grid.free, &free, part).clamp(FREE.0, FREE.1)),
        carries: told(|part| share(grid.carries, &carries, part).exp()),
    })
}

/// The median, and what 95 % of all weight lies between.
fn told(at: impl Fn(f64) -> f64) -> Estimate {
    Estimate { value: at(0.5), low: at(0.025), high: at(0.975) }
}

fn log((from, to): (f64, f64)) -> (f64, f64) {
    (from.ln(), to.ln())
}

/// Where what is free, and the logarithms of what the link carries and of how much its traffic varies, are looked for.
struct Grid {
    free: (f64, f64),
    carries: (f64, f64),
    varies: (f64, f64),
}

/// Of each step of the three, how probable it is as a share of the most probable.
type Weights = Vec<((usize, usize, usize), f64)>;

fn at((from, to): (f64, f64), step: usize, steps: usize) -> f64 {
    from + (to - from) * step as f64 / steps as f64
}

impl Grid {
    fn weights(&self, fleets: &[Fleet], waited: Option<(f64, f64)>) -> Weights {
        let steps = (0..=STEPS.0).flat_map(|free| {
            (0..=STEPS.1).flat_map(move |carries| (0..=STEPS.2).map(move |varies| (free, carries, varies)))
        });
        let likely = |step: (usize, usize, usize)| {
            let link = Loaded {
                free: at(self.free, step.0, STEPS.0),
                carries: at(self.carries, step.1, STEPS.1).exp(),
                varies: at(self.varies, step.2, STEPS.2).exp(),
            };
            let mut likely = [0.0; LINKS];
            for fleet in fleets {
                let passed = fleet.likely(&link);
                likely.iter_mut().zip(passed).for_each(|(all, one)| *all += one);
            }
            for (links, all) in (1..).zip(&mut likely) {
                *all += waited.map_or(0.0, |waited| link.waits(links, waited));
                if links > 1 {
                    *all -= 0.5 * (link.carries.ln() / ALIKE).powi(2);
                }
            }
            likely
        };
        let all: Vec<_> = steps.map(|step| (step, likely(step))).collect();
        let most =
            all.iter().flat_map(|(_, likely)| likely).fold(f64::NEG_INFINITY, |most, one| most.max(*one));
        all.iter().map(|(step, likely)| (*step, likely.iter().map(|one| (one - most).exp()).sum())).collect()
    }

    /// What is left of it, and a step to either side.
    fn left(&self, weights: &Weights) -> Self {
        let left: Vec<(usize, usize, usize)> =
            weights.iter().filter(|(_, weight)| *weight > LEFT).map(|(step, _)| *step).collect();
        let within = |range: (f64, f64), steps: usize, of: fn(&(usize, usize, usize)) -> usize| {
            let first = left.iter().map(of).min().unwrap_or(0).saturating_sub(1);
            let last = (left.iter().map(of).max().unwrap_or(steps) + 1).min(steps);
            (at(range, first, steps), at(range, last, steps))
        };
        Self {
            free: within(self.free, STEPS.0, |step| step.0),
            carries: within(self.carries, STEPS.1, |step| step.1),
            varies: within(self.varies, STEPS.2, |step| step.2),
        }
    }
}

/// A loaded link: what is free and what it carries, and how much its traffic varies.
struct Loaded {
    free: f64,
    carries: f64,
    varies: f64,
}

impl Loaded {
    /// The mean wait of its queue.
    fn waiting(&self) -> f64 {
        self.varies * self.carries / (2.0 * self.free.max(1e-3))
    }

    /// How likely the waits of so many of them are to be what single packets waited, or what hosts made them wait: a logarithm, but for a
    /// constant.
    fn waits(&self, links: u32, (waited, host): (f64, f64)) -> f64 {
        let off = (waited + host).ln() - (f64::from(links) * self.waiting() + host).ln();
        -0.5 * (off / WAITS).powi(2)
    }
}

impl Fleet {
    fn of(samples: &[Sample], pace: f64) -> Option<Self> {
        let of = |figure: fn(&Sample) -> f64| mean(&samples.iter().map(figure).collect::<Vec<_>>());
        let grown = of(|sample| (sample.output - sample.input) * sample.gaps)? / pace;
        let scatter = samples
            .iter()
            .map(|sample| ((sample.output - sample.input) * sample.gaps / pace - grown).powi(2))
            .sum::<f64>();
        let blur = of(|sample| sample.blur * sample.gaps)?;
        Some(Self {
            trains: samples.len() as f64,
            rate: pace / of(|sample| sample.input)?,
            lasting: of(|sample| sample.input * sample.gaps)? / pace,
            grown,
            scatter,
            stamps: (STAMP.powi(2) + blur.powi(2)) / pace.powi(2),
        })
    }

    /// The logarithm of how likely it is behind one such link, two and so on, but for a constant. A packet of others more or less comes at
    /// either end of a train, however even they come.
    fn likely(&self, link: &Loaded) -> [f64; LINKS] {
        let waiting = link.waiting();
        let (mut rate, mut lasting) = (self.rate, self.lasting);
        let mut variance = link.carries.powi(-2) / 6.0 + self.stamps;
        [(); LINKS].map(|()| {
            let deviation = (link.varies * lasting).sqrt();
            let drift = (rate - link.free) / link.carries * lasting / deviation;
            let grown = deviation * grown(drift, waiting / deviation);
            variance = variance * (1.0 - busy(drift) * link.free / link.carries).max(0.0).powi(2)
                + deviation.powi(2) * spread(drift);
            rate *= lasting / (lasting + grown);
            lasting += grown;
            self.came(lasting - self.lasting, variance)
        })
    }

    /// The same where its trains grow by so much at the mean, with such a variance.
    fn came(&self, grown: f64, variance: f64) -> f64 {
        let order = ORDER * grown.powi(2) / self.lasting;
        let of_mean = variance / self.trains + order.powi(2);
        let off = self.scatter / variance + (self.grown - grown).powi(2) / of_mean;
        -0.5 * ((self.trains - 1.0) * variance.ln() + of_mean.ln() + off)
    }
}

/// Where, in even steps of that range, so large a share of all weight lies below.
fn share(range: (f64, f64), weights: &[f64], share: f64) -> f64 {
    let (all, steps) = (weights.iter().sum::<f64>(), weights.len() - 1);
    let mut below = 0.0;
    for (step, weight) in weights.iter().enumerate() {
        if below + weight >= share * all {
            let part = (share * all - below) / weight - 0.5;
            return at(range, step, steps) + (range.1 - range.0) * part / steps as f64;
        }
        below += weight;
    }
    range.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::bootstrap::Indices;
    use crate::stats::chance::share;
    use proptest::prelude::*;

    const PACE: f64 = 1e5;

    /// Trains as slow as a hundredth of the narrow link and as fast as ten of it, that came in half of the time or in three times as much.
    fn trains() -> impl Strategy<Value = Vec<Sample>> {
        let train = |(input, longer, gaps, blur): (f64, f64, f64, f64)| Sample {
            input,
            output: input * longer,
            gaps,
            blur,
            scatter: 0.0,
        };
        prop::collection::vec((1e4..1e7f64, 0.5..3.0f64, 1.0..700.0f64, 0.0..1e5f64).prop_map(train), 1..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn whatever_trains_show_what_is_told_is_free_of_a_link(fleets in prop::collection::vec(trains(), 1..6),
                                                              waited in prop::option::of(0.0..1e7f64)) {
            let told = belief(&fleets, waited, PACE).unwrap();
            let free = told.free;
            prop_assert!(FREE.0 <= free.low && free.low <= free.value && free.value <= free.high && free.high <= FREE.1, "{told:?}");
            prop_assert!(told.carries.high.is_finite() && told.carries.low > 0.0, "{told:?}");
        }
    }

    #[test]
    fn trains_that_differ_little_were_parted_by_several_links_rather_than_by_one_alone() {
        // 20 trains that last 100 and grow by 60 in links half free: by 45, 54, 58 and so on where no link ever idles. One link alone adds a
        // variance of half of the time; each further one takes three quarters off what the last left, and adds its own.
        let link = Loaded { free: 0.5, carries: 1.0, varies: 0.5 };
        let of = |deviation: f64| Fleet {
            trains: 20.0,
            rate: 0.95,
            lasting: 100.0,
            grown: 77.0,
            scatter: 19.0 * deviation.powi(2),
            stamps: 0.0,
        };
        let [_, two, _] = of(8.5).likely(&link);
        let [_, more, _] = of(12.5).likely(&link);
        assert!(two > more, "{two} {more}");
    }

    /// Trains of 88 at each rate over a link that carries `carries` times the narrow one, of whose packets' times what comes
    /// between ours varies by `varies`: a walk with a step for each packet.
    fn searched(free: f64, carries: f64, varies: f64) -> Vec<Vec<Sample>> {
        let mut chance = Indices::new(4);
        let mut train = |rate: f64| {
            let gap = PACE / rate;
            let step = (varies * PACE * gap).sqrt();
            let (mut queue, mut waiting) = (0.0_f64, 0.0);
            for packet in 0..200 {
                // The cross traffic alone, until the train begins.
                let rate = if packet < 113 { 0.0 } else { rate };
                if packet == 113 {
                    waiting = queue;
                }
                let by = if share(&mut chance) < 0.5 { step } else { -step };
                queue = (queue + by + (rate - free) / carries * gap).max(0.0);
            }
            let output = gap + (queue - waiting) / 87.0;
            Sample { input: gap, output, gaps: 87.0, blur: 0.0, scatter: 0.0 }
        };
        [0.4, 0.6, 0.7, 0.9].iter().map(|rate| (0..6).map(|_| train(*rate)).collect()).collect()
    }

    #[test]
    fn what_is_free_is_told_whatever_the_tight_link_carries() {
        for (carries, varies) in [(1.5, 0.01), (1.5, 0.2), (5.0, 0.05)] {
            let told = belief(&searched(0.5, carries, varies), None, PACE).unwrap();
            assert!(told.free.holds(0.5), "{carries} {varies}: {told:?}");
        }
    }

    #[test]
    fn the_rougher_the_traffic_the_less_is_told() {
        let width = |varies| {
            let free = belief(&searched(0.5, 1.5, varies), None, PACE).unwrap().free;
            free.high - free.low
        };
        assert!(width(0.01) < 0.12 && width(1.0) > 2.0 * width(0.01), "{} {}", width(0.01), width(1.0));
        assert_eq!(belief(&[], None, PACE), None);
    }
}
