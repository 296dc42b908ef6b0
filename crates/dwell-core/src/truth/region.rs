//! Where a quantity can be identified at all, by what is really so (docs/book/src/methods/identifiable.md). Inside, a
//! judge asks for values; outside, for bounds that hold.
//!
//! All limits of all quantities stand here, and nowhere else.

use crate::coalescence::REPLIES_TAKE;
use crate::nic::Kind;
use crate::report::Quantity;
use crate::unit::{BitRate, Bytes, INTER_FRAME_GAP, Nanos};

/// The application stage must be so many times the smallest dispersion: nearer, too few pairs wait.
const ABOVE_SMALLEST: f64 = 1.2;
/// And so many ticks of the clock more.
const TICKS: f64 = 2.0;
/// A coalescing period of more than this share of the application stage blurs its break.
const PERIOD_OF_STAGE: f64 = 0.8;
/// So many times the smallest dispersion must a coalescing period be, to gather packets at all.
const PERIOD_ABOVE_SMALLEST: f64 = 1.5;
/// And so many ticks of the clock more.
const PERIOD_TICKS: f64 = 4.0;
/// And be longer than what kernels themselves take for a packet.
const SHORTEST_PERIOD: f64 = 15_000.0;
const SHORTEST_ADAPTIVE: f64 = 20_000.0;
/// And so many times as long as packets are sent apart, for a quarter of them to come together.
const ADAPTIVE_ABOVE_SENT: f64 = 1.5;
/// So many times the smallest dispersions of two packets may a period be that does not show, as both must fit into it
/// behind the first.
const UNSEEN_PERIOD: f64 = 1.2;
/// Where periods up to this would not show, it is not told that there are none.
const NOTHING_TO_SAY: f64 = 60_000.0;
/// From application stamps alone, so many times the application stage, which else hides the period.
const PERIOD_ABOVE_STAGE: f64 = 1.5;
/// An adaptive period must move by so much over the rates that the path can reach.
const ADAPTS: f64 = 0.2;
/// And reach its longest to within so much, before that can be told.
const REACHED: f64 = 0.95;
/// The share of packets that must cross without waiting. `knee` gives up when more than 70 % of the trailing packets
/// near the break come late, and the coalescence method when most gaps are changed.
const FREE: f64 = 0.2;
/// A wait for one packet of others that is less than this share of the application stage does not count.
const NOTICED: f64 = 0.02;
/// The end link may be so many times faster than the narrowest: s_h / s_1 of the compound probe (docs/book,
/// end-link).
const FASTER: f64 = 17.0;
/// Packets of the longest burst of `end-link`, and the ticks that it must last.
const BURST: f64 = 80.0;
const BURST_TICKS: f64 = 50.0;
/// Seconds, and the load of the busiest link, that the skew of the clocks is promised for.
const SKEW_SPAN: f64 = 59.0;
const SKEW_LOAD: f64 = 0.5;

/// What is really so, as far as it decides what can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Ground {
    /// The smallest packet of a probe.
    pub min_size: Bytes,
    /// The largest packet of a probe.
    pub max_size: Bytes,
    /// The links from the sender to the host under test.
    pub links: Vec<Crossed>,
    /// Resolution of the receiver's clock.
    pub resolution: Nanos,
    /// Whether the receiver's kernel stamps packets.
    pub kernel_stamps: bool,
    /// Median of the application stage, where it is known.
    pub stage: Option<f64>,
    /// Median of the service time, where it is known.
    pub service: Option<f64>,
    /// How the receiver's NIC coalesces.
    pub kind: Kind,
    /// Its period; the longest, where it adapts.
    pub period: Option<Nanos>,
    /// So many periods may it hold the second packet of a pair; more than one where it goes on polling.
    pub polls: u32,
    /// Between which times, where the kind is [`Kind::Adaptive`].
    pub adapting: Option<Adapting>,
    /// From the first probe of the measurement to the last.
    pub span: Nanos,
    /// The least time between two replies of the host's kernel, where those are stamped; zero where arrivals are.
    pub spacing: Nanos,
    /// By how much later the first reply of a train leaves, as its request finds the kernel at rest; zero where arrivals are
    /// stamped.
    pub rest: Nanos,
    /// The smallest dispersion that the sender made, where that is known.
    pub least_sent: Nanos,
}

/// A link as cross traffic leaves it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Crossed {
    /// `None`: unshaped.
    pub rate: Option<BitRate>,
    /// Share of its time that others take.
    pub load: f64,
    /// The largest packet of others.
    pub largest: Bytes,
}

/// The periods of an adaptive NIC on this path.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Adapting {
    /// At low rates.
    pub least: Nanos,
    /// At the highest rate that the path can bring.
    pub reached: Nanos,
}

fn us(ns: f64) -> String {
    Nanos::from_f64(ns).to_string()
}

impl Ground {
    /// Rate of the narrowest link.
    fn narrow(&self) -> Option<BitRate> {
        self.links.iter().filter_map(|link| link.rate).min()
    }

    /// The smallest dispersion that the path delivers: a smallest packet and its gap on the narrowest link. Replies are
    /// no closer than their kernel sends them.
    #[must_use]
    pub fn smallest_dispersion(&self) -> f64 {
        let link = self.narrow().map_or(0.0, |rate| rate.nanos_for(self.min_size + INTER_FRAME_GAP));
        link.max(self.spacing.as_f64())
    }

    /// What a packet of `size` and the gap after it take on the end link; `None`: it is unshaped.
    #[must_use]
    pub fn on_end_link(&self, size: Bytes) -> Option<f64> {
        self.links.last()?.rate.map(|rate| rate.nanos_for(size + INTER_FRAME_GAP))
    }

    /// Why `quantity` cannot be told here; `None`: it can, so a value is due.
    #[must_use]
    pub fn outside(&self, quantity: Quantity) -> Option<String> {
        match quantity {
            Quantity::ApplicationStage => self.stage_outside().or_else(|| self.coalescing_hides()),
            Quantity::ServiceTime if self.kind == Kind::Hold && self.gathers() => self.too_busy(self.shown()),
            Quantity::ServiceTime => self.stage_outside().or_else(|| self.coalescing_hides()),
            Quantity::DifferentialPpt => {
                self.too_busy(self.stage.unwrap_or(0.0)).or_else(|| self.coalescing_hides())
            }
            Quantity::KernelStage
            | Quantity::NicHold
            | Quantity::PptHeading
            | Quantity::PptTrailing
            | Quantity::PptAverage => Some("the kernel stage cannot be seen from afar".to_owned()),
            Quantity::EndLinkCapacity => self.end_link_outside(),
            Quantity::CoalescencePresent | Quantity::CoalescenceKind => self.coalescing_outside(),
            Quantity::CoalescencePeriod => self.coalescing_outside().or_else(|| self.period_outside()),
            Quantity::ClockSkew => self.skew_outside(),
            _ => None,
        }
    }

    fn stage_outside(&self) -> Option<String> {
        let stage = self.stage?;
        let (smallest, tick) = (self.smallest_dispersion(), self.resolution.as_f64());
        let least = match self.kind {
            // That nothing coalesces is known only down to some period, and a shorter one looks as a stage does.
            Kind::None if self.kernel_stamps => self.least_period(Kind::Hold),
            _ => ABOVE_SMALLEST * smallest + TICKS * tick,
        };
        if stage <= least {
            return Some(format!("the application stage, {}, is not above {}", us(stage), us(least)));
        }
        self.too_busy(stage)
    }

    /// Whether too few packets cross without such a wait for others as shows beside `figure`.
    fn too_busy(&self, figure: f64) -> Option<String> {
        let notice = NOTICED * figure;
        let counts = |link: &&Crossed| {
            let waits = link.rate.map_or(0.0, |rate| rate.nanos_for(link.largest));
            waits > notice
        };
        let free: f64 = self.links.iter().filter(counts).map(|link| (1.0 - link.load).max(0.0)).product();
        (free < FREE).then(|| format!("only {:.0} % of the packets cross without waiting", free * 100.0))
    }

    /// Whether a coalescing NIC hides the application stage.
    fn coalescing_hides(&self) -> Option<String> {
        let (period, stage) = (self.period?.as_f64() * f64::from(self.polls), self.stage?);
        (period > PERIOD_OF_STAGE * stage)
            .then(|| format!("the NIC holds packets for {} and hides a stage of {}", us(period), us(stage)))
    }

    /// The longest period that shows on this path.
    fn shown(&self) -> f64 {
        let reached = self.adapting.map(|adapting| adapting.reached);
        reached.or(self.period).map_or(0.0, Nanos::as_f64)
    }

    /// Whether packets that follow each other on this path meet in the NIC.
    fn gathers(&self) -> bool {
        self.shown() > self.least_period(self.kind)
    }

    /// A shorter period of that kind cannot be seen: behind the first packet one more must fit into a hold, and two
    /// more into anything else, whose level alone might be a slow link's. What comes while the first reply is late shows
    /// nothing.
    fn least_period(&self, kind: Kind) -> f64 {
        let ticks = PERIOD_TICKS * self.resolution.as_f64();
        let smallest = self.smallest_dispersion();
        let second = smallest.max(self.least_sent.as_f64()) + self.rest.as_f64();
        match kind {
            // Long trains send a packet every 10 us, or as far apart as replies leave; and a batch is more than one.
            Kind::Adaptive => {
                let replies = self.spacing > Nanos::ZERO;
                let sent = if replies { smallest / REPLIES_TAKE + self.least_sent.as_f64() } else { 0.0 };
                self.least_period(Kind::Throttle).max(SHORTEST_ADAPTIVE).max(ADAPTIVE_ABOVE_SENT * sent)
            }
            Kind::Hold => (PERIOD_ABOVE_SMALLEST * second + ticks).max(SHORTEST_PERIOD),
            _ => UNSEEN_PERIOD * (second + smallest) + ticks + SHORTEST_PERIOD,
        }
    }

    fn coalescing_outside(&self) -> Option<String> {
        let Some(period) = self.period.map(Nanos::as_f64) else {
            let hidden = "without kernel stamps a short period cannot be told from the application stage";
            let hidden = (!self.kernel_stamps).then(|| hidden.to_owned());
            let unseen = self.least_period(Kind::None);
            let blind =
                (unseen > NOTHING_TO_SAY).then(|| format!("periods up to {} would not show", us(unseen)));
            return hidden.or(blind).or_else(|| self.too_busy(unseen));
        };
        if !self.gathers() {
            return Some(format!(
                "the period, {}, is not above {}",
                us(self.shown()),
                us(self.least_period(self.kind))
            ));
        }
        if let Some(Adapting { least, reached }) = self.adapting
            && reached.as_f64() < (1.0 + ADAPTS) * least.as_f64()
        {
            return Some(format!("at the rates of this path the period stays between {least} and {reached}"));
        }
        let stage = self.stage.unwrap_or(0.0);
        let seen = self.kind == Kind::Throttle && period > PERIOD_ABOVE_STAGE * stage;
        (!self.kernel_stamps && !seen)
            .then(|| format!("without kernel stamps the application stage hides kind `{}`", self.kind))
            .or_else(|| self.too_busy(self.shown()))
    }

    fn period_outside(&self) -> Option<String> {
        let Some(period) = self.period else { return Some("there is no period".to_owned()) };
        let reached = self.adapting.map_or(period, |adapting| adapting.reached);
        (reached.as_f64() < REACHED * period.as_f64())
            .then(|| format!("at the rates of this path the period stays at {reached} and below"))
    }

    fn end_link_outside(&self) -> Option<String> {
        let (Some(narrow), Some(end)) = (self.narrow(), self.links.last().and_then(|link| link.rate)) else {
            return Some("the end link is unshaped".to_owned());
        };
        let ratio = end.0 as f64 / narrow.0 as f64;
        if ratio > FASTER {
            return Some(format!("the end link is {ratio:.0} times faster than the narrowest"));
        }
        let packet = narrow.nanos_for(self.max_size + INTER_FRAME_GAP);
        if BURST * packet < BURST_TICKS * self.resolution.as_f64() {
            return Some(format!("a burst lasts {}, too few ticks of the clock", us(BURST * packet)));
        }
        let on_end = end.nanos_for(self.max_size);
        if !self.kernel_stamps && self.service.is_some_and(|service| service > on_end) {
            return Some(format!(
                "without kernel stamps the program is slower than packets of {}",
                us(on_end)
            ));
        }
        if !self.kernel_stamps && ratio > 1.0 && self.stage.is_some_and(|stage| stage > on_end) {
            return Some("without kernel stamps the program hides which link is the narrowest".to_owned());
        }
        self.too_busy(0.0)
    }

    fn skew_outside(&self) -> Option<String> {
        let busiest = self.links.iter().map(|link| link.load).fold(0.0, f64::max);
        if self.span.as_secs_f64() < SKEW_SPAN {
            return Some(format!("{:.1} s are too short", self.span.as_secs_f64()));
        }
        (busiest > SKEW_LOAD).then(|| format!("the busiest link carries {:.0} %", busiest * 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::ETHERNET_MIN;

    /// One link of 100 Mb/s without others, a stage of 30 us, no coalescence.
    fn plain() -> Ground {
        let link = Crossed { rate: Some(BitRate::from_mbps(100)), load: 0.0, largest: Bytes(0) };
        Ground {
            min_size: ETHERNET_MIN,
            max_size: Bytes(1526),
            links: vec![link],
            resolution: Nanos(1),
            kernel_stamps: true,
            stage: Some(30_000.0),
            service: Some(800.0),
            kind: Kind::None,
            period: None,
            polls: 1,
            adapting: None,
            span: Nanos::from_secs(2),
            spacing: Nanos::ZERO,
            rest: Nanos::ZERO,
            least_sent: Nanos::ZERO,
        }
    }

    fn why(ground: &Ground, quantity: Quantity) -> String {
        ground.outside(quantity).unwrap_or_default()
    }

    #[test]
    fn a_stage_must_be_above_the_smallest_dispersion() {
        // (72 + 12) B at 100 Mb/s take 6.72 us.
        assert_eq!(plain().smallest_dispersion(), 6_720.0);
        assert_eq!(plain().outside(Quantity::ApplicationStage), None);
        let held = Ground { kind: Kind::Hold, period: Some(Nanos(6_200)), ..plain() };
        let short = Ground { stage: Some(8_000.0), ..held };
        assert!(why(&short, Quantity::ApplicationStage).contains("is not above 8.1 us"));
        // A hold of 15 us would not have shown.
        let short = Ground { stage: Some(14_000.0), ..plain() };
        assert!(why(&short, Quantity::ApplicationStage).contains("is not above 15.0 us"));
        let unstamped = Ground { kernel_stamps: false, ..short };
        assert_eq!(unstamped.outside(Quantity::ApplicationStage), None);
        let coarse = Ground { resolution: Nanos(12_000), ..plain() };
        assert!(coarse.outside(Quantity::ApplicationStage).is_some());
        assert!(plain().outside(Quantity::PptHeading).is_some(), "the kernel stage is never seen");
    }

    #[test]
    fn packets_must_cross_free() {
        let busy = |load, mbps| Crossed { rate: Some(BitRate::from_mbps(mbps)), load, largest: Bytes(1526) };
        let three = Ground { links: vec![busy(0.5, 100); 3], ..plain() };
        assert!(why(&three, Quantity::ApplicationStage).contains("only 12 % of the packets"));
        let two = Ground { links: vec![busy(0.5, 100); 2], ..plain() };
        assert_eq!(two.outside(Quantity::ApplicationStage), None);
        // A packet of 1526 B takes 0.12 us at 100 Gb/s: no wait that would matter.
        let fast = Ground { links: vec![busy(0.9, 100_000); 9], ..plain() };
        assert_eq!(fast.outside(Quantity::ApplicationStage), None);
    }

    #[test]
    fn coalescence_hides_what_is_shorter_and_shows_itself() {
        let with = |kind, period| Ground { kind, period: Some(Nanos(period)), ..plain() };
        let hold = with(Kind::Hold, 125_000);
        assert!(why(&hold, Quantity::ApplicationStage).contains("hides a stage of 30.0 us"));
        let polling = Ground { polls: 4, ..with(Kind::Deferred, 20_000) };
        assert!(why(&polling, Quantity::ApplicationStage).contains("80.0 us and hides"));
        assert_eq!(hold.outside(Quantity::CoalescencePeriod), None);
        assert_eq!(hold.outside(Quantity::ServiceTime), None);
        assert_eq!(with(Kind::Hold, 20_000).outside(Quantity::ApplicationStage), None);
        assert!(why(&with(Kind::Hold, 10_000), Quantity::CoalescenceKind).contains("is not above 15.0 us"));
        assert!(plain().outside(Quantity::CoalescencePresent).is_none());
        assert_eq!(why(&plain(), Quantity::CoalescencePeriod), "there is no period");
        let unstamped = |ground| Ground { kernel_stamps: false, ..ground };
        assert!(unstamped(hold).outside(Quantity::CoalescenceKind).is_some());
        assert_eq!(unstamped(with(Kind::Throttle, 125_000)).outside(Quantity::CoalescenceKind), None);
        assert!(unstamped(with(Kind::Throttle, 40_000)).outside(Quantity::CoalescenceKind).is_some());
    }

    #[test]
    fn a_first_reply_that_is_late_hides_what_is_shorter() {
        let late = |kind, period| Ground {
            rest: Nanos(40_000),
            kind,
            period: Some(Nanos(period)),
            spacing: Nanos(3_000),
            ..plain()
        };
        // 1.5 (6.72 + 40) us, and 1.2 (2 times 6.72 + 40) us + 15 us.
        assert!(why(&late(Kind::Hold, 69_000), Quantity::CoalescenceKind).contains("is not above 70.1 us"));
        assert_eq!(late(Kind::Hold, 71_000).outside(Quantity::CoalescencePeriod), None);
        assert!(why(&late(Kind::Throttle, 79_000), Quantity::CoalescenceKind).contains("not above 79.1 us"));
        assert_eq!(late(Kind::Throttle, 80_000).outside(Quantity::CoalescenceKind), None);
    }

    #[test]
    fn an_adaptive_period_must_be_longer_than_requests_are_apart() {
        let adaptive = |reached, spacing| Ground {
            kind: Kind::Adaptive,
            period: Some(Nanos(reached)),
            adapting: Some(Adapting { least: Nanos(9_000), reached: Nanos(reached) }),
            spacing: Nanos(spacing),
            ..plain()
        };
        // Arrivals: as of any throttle. Replies: 1.5 times 3.5 times 6.72 us.
        assert_eq!(adaptive(34_000, 0).outside(Quantity::CoalescenceKind), None);
        assert!(why(&adaptive(34_000, 3_000), Quantity::CoalescenceKind).contains("not above 35.3 us"));
        assert_eq!(adaptive(36_000, 3_000).outside(Quantity::CoalescenceKind), None);
    }

    #[test]
    fn an_adaptive_period_must_move_and_be_reached() {
        let adaptive = |reached| Ground {
            kind: Kind::Adaptive,
            period: Some(Nanos(200_000)),
            adapting: Some(Adapting { least: Nanos(100_000), reached: Nanos(reached) }),
            ..plain()
        };
        assert!(why(&adaptive(110_000), Quantity::CoalescenceKind).contains("stays between"));
        assert_eq!(adaptive(150_000).outside(Quantity::CoalescenceKind), None);
        assert!(why(&adaptive(150_000), Quantity::CoalescencePeriod).contains("150.0 us and below"));
        assert_eq!(adaptive(200_000).outside(Quantity::CoalescencePeriod), None);
    }

    #[test]
    fn an_end_link_may_be_hidden() {
        let end = |mbps| {
            let end = Crossed { rate: Some(BitRate::from_mbps(mbps)), ..plain().links[0] };
            Ground { links: vec![plain().links[0], end], ..plain() }
        };
        assert_eq!(end(1_000).outside(Quantity::EndLinkCapacity), None);
        assert!(why(&end(2_000), Quantity::EndLinkCapacity).contains("20 times faster"));
        let unstamped = Ground { kernel_stamps: false, ..end(1_000) };
        assert!(why(&unstamped, Quantity::EndLinkCapacity).contains("hides which link"));
        let slow = Ground { kernel_stamps: false, service: Some(200_000.0), ..plain() };
        assert!(why(&slow, Quantity::EndLinkCapacity).contains("the program is slower"));
    }

    #[test]
    fn skew_takes_time() {
        assert!(why(&plain(), Quantity::ClockSkew).contains("2.0 s are too short"));
        let long = Ground { span: Nanos::from_secs(60), ..plain() };
        assert_eq!(long.outside(Quantity::ClockSkew), None);
    }
}
