//! What a host reveals that runs no agent: its kernel answers echo requests and connection attempts, and our own kernel
//! stamps the replies (docs/book/src/methods/agentless.md).
//!
//! Both stamps of a round trip are of one clock. Requests wait in the host's NIC as any packets do, so the gaps of the
//! replies show how it coalesces: that is [`Coalescence`] with the replies' stamps in place of the arrivals'
//! (`replies` of its settings). No program is asked, so nothing of the application stage is seen.
//!
//! The host did not agree to be measured: it is asked at a low rate, more slowly still if it stops answering, and for
//! no longer than [`AgentlessConfig::longest`].

mod manners;
mod service;

use crate::coalescence::{Coalescence, CoalescenceConfig};
use crate::gap;
use crate::method::{Method, Step};
use crate::nic::{Coalesced, Kind};
use crate::report::{Finding, Quantity, Report, Unit, Vantage};
use crate::stats::quantile::{quantile_of_sorted, sorted};
use crate::train::{Departure, Fate, Observation, PathFacts, Train};
use crate::unit::{Bytes, Nanos};
use manners::Manners;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The method's name in reports and records.
pub const NAME: &str = "agentless";

/// What a host is asked.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// To echo. The reply is as long as the request.
    #[default]
    Icmp,
    /// For a connection. The reply has one length, and so have the requests.
    Tcp,
}

impl Request {
    /// The name on the command line and in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Icmp => "icmp",
            Self::Tcp => "tcp",
        }
    }
}

/// What can be set.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentlessConfig {
    /// Pairs of requests a second at most; a longer train counts by its packets.
    pub pairs_per_second: f64,
    /// No train is begun after so long.
    pub longest: Nanos,
}

impl AgentlessConfig {
    /// The rate when nobody says otherwise.
    pub const DEFAULT_RATE: f64 = 10.0;
}

impl Default for AgentlessConfig {
    fn default() -> Self {
        Self { pairs_per_second: Self::DEFAULT_RATE, longest: Nanos::from_secs(60) }
    }
}

/// Bursts of smallest requests, and as many of longer ones, which tell the kernel's service time from a link's; and how
/// much longer those are.
const BURSTS: usize = 16;
const LONGER: u64 = 3;
/// Requests of each.
const BURST: usize = 3;

/// The method; see the [module's page](self).
#[derive(Clone, Debug)]
pub struct Agentless {
    config: AgentlessConfig,
    facts: PathFacts,
    coalescence: Coalescence,
    manners: Manners,
    /// Trains that are due, and whether the bursts are among those that were.
    waiting: VecDeque<Departure>,
    compared: bool,
    /// Dispersion and gap of the last two of each burst, and the gaps of longer ones.
    bursts: Vec<(f64, f64)>,
    longer: Vec<f64>,
    round_trips: Vec<f64>,
    requests: usize,
    unanswered: usize,
    repeated: usize,
    /// Trains with a reply that is stamped before its request left.
    impossible: usize,
}

impl Agentless {
    /// For a path of which `facts` are known.
    #[must_use]
    pub fn new(config: AgentlessConfig, facts: &PathFacts) -> Self {
        let replies = CoalescenceConfig {
            stamps: Some(Vantage::Capture),
            replies: true,
            ..CoalescenceConfig::default()
        };
        Self {
            coalescence: Coalescence::new(replies, facts),
            manners: Manners::new(config.pairs_per_second),
            facts: *facts,
            waiting: VecDeque::new(),
            compared: false,
            bursts: Vec::new(),
            longer: Vec::new(),
            round_trips: Vec::new(),
            requests: 0,
            unanswered: 0,
            repeated: 0,
            impossible: 0,
            config,
        }
    }

    /// What looks for coalescence.
    #[must_use]
    pub fn coalescence(&self) -> &Coalescence {
        &self.coalescence
    }

    /// Size of the longer requests, where the path carries such.
    fn longer_size(&self) -> Option<Bytes> {
        let size = Bytes(LONGER * self.facts.min_size.0);
        (size <= self.facts.max_size).then_some(size)
    }

    /// The trains after those that were sent; none: enough is known.
    fn refill(&mut self) {
        if let Step::Send(fleet) = self.coalescence.next() {
            self.waiting.extend(fleet);
        } else if !std::mem::replace(&mut self.compared, true) {
            let sizes = [Some(self.facts.min_size), self.longer_size()].into_iter().flatten();
            let burst = |size| Departure { pause: Nanos::ZERO, train: Train::burst(size, BURST) };
            let turn: Vec<Departure> = sizes.map(burst).collect();
            (0..BURSTS).for_each(|_| self.waiting.extend(turn.clone()));
        }
    }

    /// The shortest of the round trips. None can be shorter than what the path takes; how far above that the shortest
    /// still is, the next shortest ones tell.
    fn round_trip(&self) -> Finding {
        let all = sorted(&self.round_trips);
        let (Some(least), Some(tenth)) = (all.first().copied(), quantile_of_sorted(&all, 0.1)) else {
            return Finding::unmeasurable("nothing was answered");
        };
        let tick = self.facts.resolution.as_f64();
        Finding::nanos(least, least - (tenth - least) - tick, least + tick)
    }

    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.manners.halved > 0 {
            doubts.push(format!(
                "the host stopped answering for a while, as one that limits its answers: the rate was halved to {:.1} \
                 pairs a second ({} of {} requests had no answer); ask at a lower rate from the start",
                self.manners.rate(),
                self.unanswered,
                self.requests
            ));
        }
        if self.manners.gone() {
            doubts.push(
                "the host answers no more: the run was ended; try again later, at a lower rate".to_owned(),
            );
        } else if self.manners.spent >= self.config.longest {
            doubts.push(format!("the run was ended after {}, before all was asked", self.manners.spent));
        }
        if self.repeated > 0 {
            doubts.push(format!("{} replies came more than once; their trains were left out", self.repeated));
        }
        if self.impossible > 0 {
            doubts.push(format!(
                "the clock was set during the run: {} trains were left out whose replies are stamped before their requests",
                self.impossible
            ));
        }
        doubts
    }
}

/// What no reply of a kernel can tell, and why.
const UNSEEN: &str = "the host's kernel answers by itself: no program sees the packet";

impl Method for Agentless {
    fn next(&mut self) -> Step {
        if self.manners.gone() || self.manners.spent >= self.config.longest {
            return Step::Done;
        }
        if self.waiting.is_empty() {
            self.refill();
        }
        let fleet = self.manners.next(&mut self.waiting);
        if fleet.is_empty() { Step::Done } else { Step::Send(fleet) }
    }

    fn see(&mut self, observation: &Observation) {
        let Some(first) = observation.fates.first() else { return };
        let fates = &observation.fates;
        self.manners.see(observation);
        self.requests += fates.len();
        self.unanswered += fates.iter().filter(|fate| fate.arrival.is_none()).count();
        self.repeated += fates.iter().filter(|fate| fate.arrival.is_some_and(|it| it.copies > 1)).count();
        let is_before = |fate: &Fate| {
            let replied = fate.arrival.and_then(|arrival| arrival.stamps.kernel);
            replied.is_some_and(|replied| replied < fate.sent.nearest_wire())
        };
        if fates.iter().any(is_before) {
            self.impossible += 1;
            return;
        }
        if let [_, second, third] = fates.as_slice()
            && second.packet.hold == Nanos::ZERO
        {
            let left = (third.sent.nearest_wire() - second.sent.nearest_wire()).as_f64();
            let gap = gap::between(second, third, Vantage::Capture);
            match first.packet.size == self.facts.min_size {
                true => self.bursts.extend(gap.map(|gap| (left, gap))),
                false => self.longer.extend(gap),
            }
            return;
        }
        if let Some(stamp) = first.arrival.and_then(|arrival| arrival.stamps.kernel) {
            self.round_trips.push((stamp - first.sent.nearest_wire()).as_f64());
        }
        self.coalescence.see(observation);
    }

    fn report(&self) -> Report {
        let mut report = self.coalescence.report();
        report.method = NAME.to_owned();
        report.warnings.extend(self.doubts());
        let held = match self.coalescence.coalesced() {
            Some(Coalesced { kind: Kind::Hold, .. }) => report.finding(Quantity::NicHold),
            _ => Finding::unmeasurable(UNSEEN),
        };
        // A lone packet is held before anything else happens to it.
        let processing = match held {
            Finding::Value { low, .. } => Finding::at_least(
                low,
                Unit::Ns,
                "its NIC holds a lone packet for so long; what the program adds is not seen",
            ),
            _ => Finding::unmeasurable(UNSEEN),
        };
        let resolution = self.facts.resolution.as_f64();
        let service = service::time(&self.bursts, &self.longer, resolution);
        report
            .with(Quantity::KernelServiceTime, service)
            .with(Quantity::RoundTripMinimum, self.round_trip())
            .with(Quantity::ApplicationStage, Finding::unmeasurable(UNSEEN))
            .with(Quantity::ServiceTime, Finding::unmeasurable(UNSEEN))
            .with(Quantity::DifferentialPpt, Finding::unmeasurable(UNSEEN))
            .with(Quantity::PptTrailing, Finding::unmeasurable(UNSEEN))
            .with(Quantity::PptHeading, processing)
    }
}
