//! One-way delay, freed of what the hosts added (papers/000 (1), papers/002 (1)).
//!
//! # The equations
//!
//! A packet's apparent delay, from one program's stamp to the other's, is
//!
//! ```text
//! OWD' = PPT_src + IC_src + t_t + t_q + t_p + PPT_dst + IC_dst        (papers/002, (1))
//! ```
//!
//! and the delay that RFC 7679 means is what lies between the two data links. PPT_src is the sender's own transmit
//! stamp minus its program's. PPT_dst is the receiver's kernel stamp against its program's, packet by packet; or,
//! where only application stamps are to be used, the application stage A that [`Knee`](crate::host::Knee) found.
//! IC_dst of a lone packet is the period of a NIC that holds packets, as [`coalescence`](crate::coalescence) found it, and
//! nothing for the other kinds. (IC_src is not: no NIC waits before it sends.)
//! In papers/000 section 7.3 the same subtraction turns 56 us into 35 us and 216 us into 186 us.
//!
//! # Clocks
//!
//! Lone packets travel both ways in turn. With theta the receiver's clock minus the sender's, a delay read forward is
//! w_f + theta and one read in reverse is w_r - theta, and neither w is negative. So theta(t) lies under every
//! forward reading and above minus every reverse one: the lower convex hulls of both are its bounds, their slopes its
//! skew, and the middle is its value if the least delays of both ways are alike. The findings say so: their
//! intervals hold whatever the asymmetry, their values rest on symmetry.
//!
//! # Where the quantity is identifiable
//!
//! Sum of both ways: always. Each way alone: to within half the least round trip, less what must be (serialisation
//! on a known end link); no measurement between two clocks can do better without knowing the path's asymmetry.

use crate::clock;
use crate::method::{Method, Step};
use crate::nic::Kind;
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::Estimate;
use crate::stats::hull::line_under;
use crate::stats::quantile::{median, quantile_interval, sorted};
use crate::stats::share::wilson;
use crate::train::{Departure, Direction, Fate, Fleet, Observation, PathFacts, Train};
use crate::unit::{Bytes, Nanos};

/// How PPT_dst is taken off.
#[derive(Clone, Debug, PartialEq)]
pub enum Correction {
    /// By the receiving kernel's own stamps, packet by packet; falls back to nothing where there are none.
    Stamps,
    /// By the application stage `A` that the knee found, in nanoseconds, from application stamps alone. PPT = K + A, and the
    /// kernel stage `K` cannot be seen from afar: it stays in the value, and the interval reaches down to what is left
    /// if all of it were `K`.
    Stage(Estimate),
    /// As by stamps, because the knee found no stage, and why not.
    Unknown(String),
}

/// What can be set.
#[derive(Clone, Debug, PartialEq)]
pub struct OneWayDelayConfig {
    /// Packets each way.
    pub count: usize,
    /// Idle time before each packet.
    pub pause: Nanos,
    /// Size of the packets; the path's smallest if none is given.
    pub size: Option<Bytes>,
    /// How the receiving host's share is taken off.
    pub correction: Correction,
}

impl Default for OneWayDelayConfig {
    fn default() -> Self {
        Self { count: 100, pause: Nanos::from_millis(4), size: None, correction: Correction::Stamps }
    }
}

impl OneWayDelayConfig {
    /// For the clocks' skew: 500 packets each way over so long a time. What queues and ticks add to a delay shifts the
    /// skew by as much over the whole span: to tell 0.1 ppm takes a minute and more than the usual packets.
    #[must_use]
    pub fn over(span: Nanos) -> Self {
        const COUNT: usize = 500;
        Self { count: COUNT, pause: Nanos(span.0 / (2 * COUNT as i64)), ..Self::default() }
    }
}

/// Packets each way in one fleet.
const ROUND: usize = 25;
/// So many packets go one way before as many go the other: a live path pays a round trip for each change.
const IN_TURN: usize = 5;
/// Fewer packets than this, either way, carry no statement.
const LEAST: usize = 8;

/// One packet: when it left, and its delays, in nanoseconds, clocks as they are.
#[derive(Copy, Clone, Debug)]
struct Lone {
    /// When this host sent it, or when it reached this host: on this host's clock, since the first packet.
    at: f64,
    /// From the sending program's stamp to the receiving program's.
    apparent: f64,
    /// From the sending program's stamp to the sending kernel's; `None` without that stamp.
    sender: Option<f64>,
    /// From the sender's stamp nearest to the wire to the receiver's, without what its NIC held.
    wire: f64,
    /// From the sender's stamp nearest to the wire to the receiving program's, likewise.
    stamped: f64,
    /// From the receiving kernel's stamp to the program's; `None` without that stamp.
    receiver: Option<f64>,
}

/// The method; see the [module's page](self).
#[derive(Clone, Debug)]
pub struct OneWayDelay {
    config: OneWayDelayConfig,
    size: Bytes,
    serialisation: f64,
    /// IC_dst: how long the receiver's NIC holds a lone packet.
    held: Nanos,
    asked: usize,
    /// Stamps that all times are counted from: of this host, and of the host under test.
    origin: Option<(Nanos, Nanos)>,
    sent: [usize; 2],
    forward: Vec<Lone>,
    reverse: Vec<Lone>,
}

/// The clocks of both hosts against each other.
#[derive(Clone, Debug, PartialEq)]
struct Offset {
    /// theta at the origin: middle and bounds.
    start: Estimate,
    /// Its rate.
    skew: Estimate,
}

/// What the packets of one way say once the clocks are put right; medians with their intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// From the sending program to the receiving one.
    pub apparent: Estimate,
    /// Between the data links, as near to them as there are stamps, or corrected by the stage.
    pub wire: Estimate,
    /// In the sending host, where its kernel stamps.
    pub sender: Option<Estimate>,
    /// From the receiving kernel's stamp to the program's, where it stamps.
    pub receiver: Option<Estimate>,
    /// 95th percentile of the delay over its least (RFC 5481's delay variation).
    pub variation: Estimate,
}

fn middle(values: impl Iterator<Item = f64>) -> Option<Estimate> {
    quantile_interval(&sorted(&values.collect::<Vec<_>>()), 0.5)
}

/// A delay, unless nothing is left of it: then only that it is no longer than so.
fn possible(value: f64, low: f64, high: f64) -> Finding {
    let wrong = "what was taken off for the receiving host is as long as the delay itself";
    match (value > 0.0, high > 0.0) {
        (true, _) => Finding::nanos(value, low, high),
        (false, true) => Finding::at_most(high, Unit::Ns, wrong),
        (false, false) => Finding::unmeasurable(wrong),
    }
}

impl OneWayDelay {
    /// For a path of which `facts` are known.
    #[must_use]
    pub fn new(config: OneWayDelayConfig, facts: &PathFacts) -> Self {
        let size = config.size.unwrap_or(facts.min_size);
        Self {
            size,
            serialisation: facts.end_link.map_or(0.0, |capacity| capacity.time_for(size).as_f64()),
            held: facts
                .coalescence
                .filter(|coalesced| coalesced.kind == Kind::Hold)
                .map_or(Nanos::ZERO, |coalesced| coalesced.period),
            config,
            asked: 0,
            origin: None,
            sent: [0; 2],
            forward: Vec::new(),
            reverse: Vec::new(),
        }
    }

    fn lone(&self, fate: &Fate, direction: Direction) -> Option<Lone> {
        let arrival = fate.arrival.filter(|arrival| arrival.copies == 1)?;
        let (here, there) = self.origin?;
        // Each stamp against its own host's origin: differences of spans, so that no offset is ever squared away.
        let (from, to) = match direction {
            Direction::Forward => (here, there),
            Direction::Reverse => (there, here),
        };
        let left = fate.sent.nearest_wire() - from;
        let handed = fate.sent.application - from;
        let stamped = arrival.stamps.application - to;
        let reached = arrival.stamps.nearest_wire() - to;
        let held = match direction {
            Direction::Forward => self.held,
            Direction::Reverse => Nanos::ZERO,
        };
        Some(Lone {
            at: match direction {
                Direction::Forward => left,
                Direction::Reverse => reached,
            }
            .as_f64(),
            apparent: (stamped - handed).as_f64(),
            sender: fate.sent.kernel.map(|kernel| (kernel - fate.sent.application).as_f64()),
            wire: (reached - left - held).as_f64(),
            stamped: (stamped - left - held).as_f64(),
            receiver: arrival.stamps.kernel.map(|kernel| (arrival.stamps.application - kernel).as_f64()),
        })
    }

    /// The packets of both ways between two steps of a clock, and the steps.
    fn stretch(&self) -> (Vec<Lone>, Vec<Lone>, Vec<f64>) {
        let cut = |lone: &[Lone]| {
            let (range, steps) = clock::longest_stretch(&lone.iter().map(|l| l.wire).collect::<Vec<_>>());
            (lone[range].to_vec(), steps)
        };
        let (forward, steps) = cut(&self.forward);
        let (reverse, _) = cut(&self.reverse);
        if steps.is_empty() {
            return (forward, reverse, steps);
        }
        // Both ways must be from between the same steps: keep the reverse packets sent while the forward ones were.
        let (first, last) = match (forward.first(), forward.last()) {
            (Some(first), Some(last)) => (first.at, last.at),
            _ => (0.0, 0.0),
        };
        let within = |lone: &&Lone| (first..=last).contains(&lone.at);
        let reverse = reverse.iter().filter(within).copied().collect();
        (forward, reverse, steps)
    }

    fn offset(&self, forward: &[Lone], reverse: &[Lone]) -> Option<Offset> {
        let points = |lone: &[Lone]| lone.iter().map(|l| (l.at, l.wire)).collect::<Vec<_>>();
        let (up, down) = (points(forward), points(reverse));
        let (skew_up, skew_down) = (clock::skew(&up)?, clock::skew(&down)?);
        // theta rises in the one and falls in the other.
        let skew = Estimate {
            value: f64::midpoint(skew_up.value, -skew_down.value),
            low: skew_up.low.max(-skew_down.high).min(f64::midpoint(skew_up.low, -skew_down.high)),
            high: skew_up.high.min(-skew_down.low).max(f64::midpoint(skew_up.high, -skew_down.low)),
        };
        let even = |points: &[(f64, f64)], slope: f64| {
            points.iter().map(|(at, delay)| (*at, delay - slope * at)).collect::<Vec<_>>()
        };
        // With the skew off, what is left of a hull's line at the origin is the least reading: the level of the line.
        let least = |points: Vec<(f64, f64)>| {
            let line = line_under(&points)?;
            median(&points.iter().map(|(at, _)| line.at(*at)).collect::<Vec<_>>())
        };
        let above = least(even(&up, skew.value))? - self.serialisation;
        let below = -(least(even(&down, -skew.value))? - self.serialisation);
        Some(Offset {
            start: Estimate {
                value: f64::midpoint(below, above),
                low: below.min(above),
                high: above.max(below),
            },
            skew,
        })
    }

    /// `theta` is what the clocks add to a reading; `pace` is the rate of the other clock against this one. While a
    /// packet is under way theta drifts by skew times its delay, the same in both ways: w (1 + skew) is read.
    ///
    /// `stage`: what to take off instead of the receiver's stamps, and the least that is left whatever was not seen.
    fn way(
        lone: &[Lone],
        theta: impl Fn(f64) -> f64,
        pace: f64,
        stage: Option<(&Estimate, f64)>,
    ) -> Option<Way> {
        let even = |reading: f64, at: f64| (reading - theta(at)) / pace;
        let apparent = middle(lone.iter().map(|l| even(l.apparent, l.at)))?;
        let wire = match stage {
            None => middle(lone.iter().map(|l| even(l.wire, l.at)))?,
            Some((stage, least)) => {
                let whole = middle(lone.iter().map(|l| even(l.stamped, l.at)))?;
                let join = |a: f64, b: f64| a.hypot(b);
                Estimate {
                    value: whole.value - stage.value,
                    low: least.min(
                        whole.value - stage.value - join(whole.value - whole.low, stage.high - stage.value),
                    ),
                    high: whole.value - stage.value + join(whole.high - whole.value, stage.value - stage.low),
                }
            }
        };
        let delays = sorted(&lone.iter().map(|l| even(l.wire, l.at)).collect::<Vec<_>>());
        let (late, least) = (quantile_interval(&delays, 0.95)?, *delays.first()?);
        let all = |part: fn(&Lone) -> Option<f64>| {
            lone.iter().all(|l| part(l).is_some()).then(|| middle(lone.iter().filter_map(part))).flatten()
        };
        Some(Way {
            apparent,
            wire,
            sender: all(|l| l.sender),
            receiver: all(|l| l.receiver),
            variation: Estimate { value: late.value - least, low: late.low - least, high: late.high - least },
        })
    }

    /// Both ways once the clocks are put right; `None` where too few packets came through.
    #[must_use]
    pub fn ways(&self) -> Option<(Way, Way)> {
        let (forward, reverse, _) = self.stretch();
        let offset = self.offset(&forward, &reverse)?;
        let theta = |at: f64| offset.start.value + offset.skew.value * at;
        let stage = match &self.config.correction {
            Correction::Stamps | Correction::Unknown(_) => None,
            Correction::Stage(stage) => Some((stage, self.serialisation)),
        };
        let pace = 1.0 + offset.skew.value;
        Some((Self::way(&forward, theta, pace, stage)?, Self::way(&reverse, |at| -theta(at), pace, None)?))
    }

    fn why_not(&self) -> String {
        let (there, back) = (self.forward.len(), self.reverse.len());
        match self.sent {
            [0, _] | [_, 0] => "packets must travel both ways, and only one way was tried".to_owned(),
            [sent, _] if there < LEAST => {
                format!("only {there} of {sent} packets arrived at the host under test")
            }
            [_, sent] if back < LEAST => {
                format!("only {back} of {sent} packets came back from the host under test")
            }
            _ => "too few packets remained between two steps of a clock".to_owned(),
        }
    }
}

impl Method for OneWayDelay {
    fn next(&mut self) -> Step {
        let round = ROUND.min(self.config.count - self.asked.min(self.config.count));
        if round == 0 {
            return Step::Done;
        }
        self.asked += round;
        let lone = |reversed| {
            let train = Train::burst(self.size, 1);
            let train = if reversed { train.reversed() } else { train };
            Departure { pause: self.config.pause, train }
        };
        let fleet: Fleet = (0..2 * round).map(|i| lone(i / IN_TURN % 2 == 1)).collect();
        Step::Send(fleet)
    }

    fn see(&mut self, observation: &Observation) {
        let [fate] = observation.fates.as_slice() else { return };
        let way = usize::from(observation.direction == Direction::Reverse);
        self.sent[way] += 1;
        if let Some(arrival) = fate.arrival {
            let (sent, stamp) = (fate.sent.nearest_wire(), arrival.stamps.application);
            self.origin.get_or_insert(if way == 0 { (sent, stamp) } else { (stamp, sent) });
        }
        if let Some(lone) = self.lone(fate, observation.direction) {
            if way == 0 { &mut self.forward } else { &mut self.reverse }.push(lone);
        }
    }

    fn report(&self) -> Report {
        let vantage = match self.config.correction {
            Correction::Stamps | Correction::Unknown(_) => Vantage::Capture,
            Correction::Stage(_) => Vantage::Application,
        };
        let mut report = Report::new("one-way-delay", vantage);
        for (way, quantity, arrived) in
            [(0, Quantity::Loss, &self.forward), (1, Quantity::ReverseLoss, &self.reverse)]
        {
            if self.sent[way] > 0 {
                let share = 1.0 - arrived.len() as f64 / self.sent[way] as f64;
                let (low, high) = wilson(share, self.sent[way] as f64);
                report = report.with(quantity, Finding::value(share, low, high, Unit::Ratio));
            }
        }
        let (forward, reverse, steps) = self.stretch();
        let enough = forward.len() >= LEAST && reverse.len() >= LEAST;
        let found = enough.then(|| Some((self.offset(&forward, &reverse)?, self.ways()?))).flatten();
        let Some((offset, (there, back))) = found else {
            return [
                Quantity::ApparentOneWayDelay,
                Quantity::OneWayDelay,
                Quantity::ReverseOneWayDelay,
                Quantity::RoundTrip,
                Quantity::ClockOffset,
                Quantity::ClockSkew,
            ]
            .into_iter()
            .fold(report, |report, quantity| report.with(quantity, Finding::unmeasurable(self.why_not())));
        };
        // What the asymmetry may shift from one way to the other, beside the sampling.
        let reach = offset.start.half_width();
        let one_way = |estimate: &Estimate| {
            let least = self.serialisation.max(0.0).min(estimate.value);
            possible(estimate.value, (estimate.low - reach).max(least), estimate.high + reach)
        };
        let round = there.wire.value + back.wire.value;
        let below = (there.wire.value - there.wire.low).hypot(back.wire.value - back.wire.low);
        let above = (there.wire.high - there.wire.value).hypot(back.wire.high - back.wire.value);
        let start = match self.origin {
            Some((here, other)) => (other - here).as_f64(),
            None => 0.0,
        };
        report = report
            .with(Quantity::ApparentOneWayDelay, one_way(&there.apparent))
            .with(Quantity::OneWayDelay, one_way(&there.wire))
            .with(Quantity::ReverseOneWayDelay, one_way(&back.wire))
            .with(Quantity::RoundTrip, possible(round, round - below, round + above))
            .with(
                Quantity::DelayVariation,
                Finding::nanos(there.variation.value, there.variation.low, there.variation.high),
            )
            .with(
                Quantity::ClockOffset,
                Finding::nanos(
                    start + offset.start.value,
                    start + offset.start.low,
                    start + offset.start.high,
                ),
            )
            .with(
                Quantity::ClockSkew,
                Finding::value(
                    offset.skew.value * 1e6,
                    offset.skew.low * 1e6,
                    offset.skew.high * 1e6,
                    Unit::Ppm,
                ),
            );
        if let Some(sender) = there.sender {
            report = report.with(Quantity::SenderHost, Finding::nanos(sender.value, sender.low, sender.high));
        }
        if let Some(receiver) = there.receiver {
            let finding = Finding::nanos(receiver.value, receiver.low, receiver.high);
            report = report.with(Quantity::PptHeading, finding);
        }
        if let Correction::Unknown(why) = &self.config.correction {
            report.warnings.push(format!(
                "no application stage was found to take off ({why}): the receiving kernel's stamps, where it gave any, \
                 take its place"
            ));
        }
        if !matches!(self.config.correction, Correction::Stage(_)) && there.receiver.is_none() {
            report.warnings.push(
                "the receiver's kernel gave no time stamps: the one-way delay contains the receiving host; measure \
                 its application stage with dwell ppt to take it off"
                    .to_owned(),
            );
        }
        report.warnings.push(format!(
            "how the round trip of {} divides between the two ways rests on both being alike; the intervals hold \
             whatever the asymmetry",
            Nanos::from_f64(round)
        ));
        for step in steps {
            let step = Nanos::from_f64(step);
            report.warnings.push(format!(
                "a clock stepped by {step} during the run; only the longest stretch without a step was used"
            ));
        }
        report
    }
}
