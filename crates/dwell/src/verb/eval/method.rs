//! The methods that a grid names, with what they read and what they rest on.

use crate::verb::ppt::PptMethod;
use crate::verb::{agentless, capacity, coalescence, delay};
use dwell_core::capacity::EndLink;
use dwell_core::delay::{OneWayDelay, OneWayDelayConfig};
use dwell_core::host::AgentlessConfig;
use dwell_core::host::agentless::Request;
use dwell_core::{Finding, Method, Nanos, PathFacts, Vantage};
use serde::Deserialize;

/// A method with the stamps that it reads.
#[derive(Copy, Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MethodSpec {
    pub(super) name: MethodName,
    #[serde(default)]
    pub(super) stamps: Vantage,
    /// Probes, where they are to be others than the method's usual: at most so many for `knee`, so many of each size
    /// for the published ones, so many each way for `delay`.
    probes: Option<usize>,
    /// Seconds over which `delay` spreads its packets, where that is to be other than usual.
    seconds: Option<u32>,
    /// Pairs of requests a second, where an `agentless` one is to ask for others than usual.
    pairs_per_second: Option<f64>,
}

/// Every method that can be judged.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MethodName {
    Knee,
    Salehin2015,
    Salehin2017,
    EndLink,
    Coalescence,
    Delay,
    AgentlessIcmp,
    AgentlessTcp,
}

impl MethodName {
    /// Its name in records and rows.
    pub(super) const fn stage(self) -> &'static str {
        match self {
            Self::Knee => PptMethod::Knee.name(),
            Self::Salehin2015 => PptMethod::Salehin2015.name(),
            Self::Salehin2017 => PptMethod::Salehin2017.name(),
            Self::EndLink => capacity::STAGE,
            Self::Coalescence => coalescence::STAGE,
            Self::Delay => delay::STAGE,
            Self::AgentlessIcmp => agentless::stage(Request::Icmp),
            Self::AgentlessTcp => agentless::stage(Request::Tcp),
        }
    }

    /// What the host is asked, where it takes no agent.
    pub(super) const fn request(self) -> Option<Request> {
        match self {
            Self::AgentlessIcmp => Some(Request::Icmp),
            Self::AgentlessTcp => Some(Request::Tcp),
            _ => None,
        }
    }
}

impl MethodSpec {
    /// Ready to probe a path of which so much is known; `stage` is the application stage, where it was found.
    pub(super) fn build(&self, seed: u64, facts: &PathFacts, stage: Option<&Finding>) -> Box<dyn Method> {
        let ppt = |method: PptMethod| method.build(self.stamps, self.probes, seed, facts);
        match self.name {
            MethodName::Knee => ppt(PptMethod::Knee),
            MethodName::Salehin2015 => ppt(PptMethod::Salehin2015),
            MethodName::Salehin2017 => ppt(PptMethod::Salehin2017),
            MethodName::EndLink => Box::new(EndLink::new(Default::default(), facts)),
            MethodName::Coalescence => Box::new(coalescence::build(facts)),
            MethodName::AgentlessIcmp | MethodName::AgentlessTcp => {
                let rate = self.pairs_per_second.unwrap_or(AgentlessConfig::DEFAULT_RATE);
                Box::new(agentless::build(rate, facts))
            }
            // From application stamps alone, the receiving host's share is what knee found; else its kernel's stamps.
            MethodName::Delay => {
                let correction = delay::correction(stage.filter(|_| self.needs_stage()));
                Box::new(OneWayDelay::new(OneWayDelayConfig { correction, ..self.delay() }, facts))
            }
        }
    }

    fn delay(&self) -> OneWayDelayConfig {
        let usual = OneWayDelayConfig::default();
        let count = self.probes.unwrap_or(usual.count);
        // Both ways take turns.
        let spread = |seconds: u32| Nanos::from_secs(i64::from(seconds)) / (2 * count.max(1) as i64);
        OneWayDelayConfig { count, pause: self.seconds.map_or(usual.pause, spread), ..usual }
    }

    /// Whether it rests on the application stage that `knee` finds before it.
    pub(super) fn needs_stage(&self) -> bool {
        self.name == MethodName::Delay && self.stamps == Vantage::Application
    }

    /// Whether it is one of the papers', which read the gaps of back-to-back pairs.
    pub(super) fn is_published(&self) -> bool {
        matches!(self.name, MethodName::Salehin2015 | MethodName::Salehin2017)
    }

    /// Name of its measurement: the same method may read other stamps in another one.
    pub(super) fn stage(&self) -> String {
        match self.stamps {
            Vantage::Application => self.name.stage().to_owned(),
            Vantage::Capture => format!("{}-capture", self.name.stage()),
        }
    }

    /// Whether the trains that `other` sent are those that this one would send: only the stamps differ that they
    /// read. The sweep of `knee` goes where its stamps lead it.
    pub(super) fn shares_trains_with(&self, other: &Self) -> bool {
        self.is_published() && self.name == other.name && self.probes == other.probes
    }
}
