//! What is measured: a live host, or a scenario in the simulator or on this machine's kernel.

use crate::failure::bad_argument;
use crate::hops::{Fired, HopWorld};
use crate::hops_alone::HopsAlone;
use crate::identity::IdentityArgs;
use crate::world::{Carried, World};
use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use dwell_core::host::agentless::Request;
use dwell_core::{BitRate, Circumstances, Finding, HostFacts, LoadLimit, Quantity};
use dwell_lab::{Footing, HopLab, HostWatch, Lab, LabOptions};
use dwell_net::hop::LiveHops;
use dwell_net::protocol::PORT;
use dwell_net::{AgentlessConfig, AgentlessPath, ConnectConfig, LivePath};
use dwell_sim::{AnsweringPath, Scenario, SimHops, SimPath};
use std::collections::BTreeMap;
use std::path::Path;

/// Where packets travel.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum On {
    /// A host that runs `dwell agent`
    #[default]
    Live,
    /// A scenario file, as network namespaces on this machine's kernel
    Kernel,
    /// A scenario file, in the simulator
    Sim,
}

/// The host to measure, and how.
#[derive(Args, Clone)]
pub(crate) struct TargetArgs {
    /// Name or address of a host that runs `dwell agent`; with --on kernel or --on sim, a scenario file
    #[arg(value_name = "HOST")]
    pub(crate) host: String,

    /// Where packets travel
    #[arg(long, value_enum, default_value_t = On::Live, value_name = "WORLD")]
    pub(crate) on: On,

    /// Port of the agent
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,

    #[command(flatten)]
    identity: IdentityArgs,

    #[command(flatten)]
    placement: Placement,

    #[command(flatten)]
    pub(crate) load: Load,
}

/// Where the thread runs that stamps packets.
#[derive(Args, Clone, Default)]
pub(crate) struct Placement {
    /// Pin the measuring thread to this core
    #[arg(long, value_name = "NUMBER")]
    pub(crate) core: Option<usize>,

    /// Ask for real-time priority for the measuring thread (needs CAP_SYS_NICE)
    #[arg(long)]
    pub(crate) real_time: bool,
}

impl Placement {
    /// Refuses what the hosts of a scenario cannot heed.
    pub(crate) fn no_lab(&self) -> Result<()> {
        if self.core.is_some() || self.real_time {
            let why = "are for the thread that measures a live host: the hosts of a scenario place their own";
            return Err(bad_argument(anyhow!("--core and --real-time {why}; leave them out")));
        }
        Ok(())
    }
}

/// The probing load.
#[derive(Args, Clone)]
pub(crate) struct Load {
    /// Share of the end link that probes may take once that link is measured, above 0 and up to 1 [default: 0.02]. What
    /// does not measure it first (capacity, avail but for spruce, igi and ptr, and whatever is agentless) keeps limits of
    /// its own
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_load: Option<f64>,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| format!("{text} is not a number"))?;
    if share > 0.0 && share <= 1.0 { Ok(share) } else { Err("a share is above 0 and up to 1".to_owned()) }
}

impl TargetArgs {
    /// The world that was asked for.
    pub(crate) fn open(&self, seed: u64) -> Result<Box<dyn World>> {
        match self.on {
            On::Live => self.live(),
            On::Kernel | On::Sim => {
                let scenario = self.scenario()?;
                Bed::make(&scenario, self.on == On::Kernel, seed)?.open(seed)
            }
        }
    }

    /// The world in which the host's kernel is asked.
    pub(crate) fn ask(&self, request: Request, port: u16, seed: u64) -> Result<Box<dyn World>> {
        if self.on != On::Live {
            let scenario = self.scenario()?;
            return Bed::make(&scenario, self.on == On::Kernel, seed)?.ask(request, seed);
        }
        self.no_scenario()?;
        let Placement { core, real_time } = self.placement;
        let config = AgentlessConfig { host: self.host.clone(), request, port, core, real_time };
        let path = AgentlessPath::connect(&config)?;
        let circumstances = path.circumstances();
        let host = self.host.clone();
        let hops = Box::new(move || live_hops(&host, core));
        Ok(Box::new(Carried { path, circumstances, truths: BTreeMap::new(), hops }))
    }

    /// The path to a host without an agent, hop by hop.
    pub(crate) fn look(&self, seed: u64) -> Result<Box<dyn World>> {
        let hops = match self.on {
            On::Live => {
                self.no_scenario()?;
                live_hops(&self.host, self.placement.core)?
            }
            On::Sim => simulated_hops(&self.scenario()?, seed),
            On::Kernel => {
                let scenario = self.scenario()?;
                allow_labs()?;
                lab_hops(&scenario, seed)?
            }
        };
        Ok(Box::new(HopsAlone::new(hops)))
    }

    /// The scenario that stands in for a host.
    fn scenario(&self) -> Result<Scenario> {
        self.placement.no_lab()?;
        load(Path::new(&self.host))
    }

    fn no_scenario(&self) -> Result<()> {
        if self.host.ends_with(".toml") && Path::new(&self.host).exists() {
            let advice = "is a scenario file; add --on sim or --on kernel";
            return Err(bad_argument(anyhow!("{} {advice}", self.host)));
        }
        Ok(())
    }

    fn live(&self) -> Result<Box<dyn World>> {
        self.no_scenario()?;
        let path = LivePath::connect(ConnectConfig {
            port: self.port,
            core: self.placement.core,
            real_time: self.placement.real_time,
            ..ConnectConfig::new(&self.host, self.identity.load()?, self.identity.peers()?)
        })?;
        let circumstances = path.circumstances();
        let (host, core) = (self.host.clone(), self.placement.core);
        let hops = Box::new(move || live_hops(&host, core));
        Ok(Box::new(Carried { path, circumstances, truths: BTreeMap::new(), hops }))
    }
}

impl Load {
    /// The share that was asked for, or else the usual one.
    pub(crate) fn share(&self) -> f64 {
        self.max_load.unwrap_or(LoadLimit::DEFAULT_SHARE)
    }

    /// Refuses a limit that would limit nothing.
    pub(crate) fn no_limit(&self) -> Result<()> {
        if self.max_load.is_some() {
            let why = "is a share of the end link, which this measurement does not know: it keeps limits of its own";
            return Err(bad_argument(anyhow!("--max-load: {why}; leave it out")));
        }
        Ok(())
    }

    /// The settings that a record keeps.
    pub(crate) fn config(&self) -> BTreeMap<String, String> {
        [("max-load".to_owned(), self.share().to_string())].into()
    }
}

/// A scenario file; whatever is wrong with it is the fault of what was given.
pub(crate) fn load(file: &Path) -> Result<Scenario> {
    Scenario::load(file).map_err(bad_argument)
}

/// A scenario, ready to be measured in run after run.
pub(crate) enum Bed {
    /// Built anew for each run: that costs nothing.
    Sim(Box<Scenario>),
    /// Built and checked once.
    Lab(Lab, Box<Scenario>),
}

/// Makes labs possible without privileges, where the system lets users make namespaces. Before any thread starts.
pub(crate) fn allow_labs() -> Result<Footing> {
    Ok(dwell_lab::enter_user_namespace()?)
}

impl Bed {
    /// In the lab, or else in the simulator. A lab measures itself first: every result of it carries that.
    pub(crate) fn make(scenario: &Scenario, lab: bool, seed: u64) -> Result<Self> {
        let scenario = Box::new(scenario.clone());
        if !lab {
            return Ok(Self::Sim(scenario));
        }
        allow_labs()?;
        let lab = Lab::up(&scenario, LabOptions { seed, ..LabOptions::default() })?;
        lab.check()?;
        Ok(Self::Lab(lab, scenario))
    }

    /// Has an observer watch how the host under test receives what is sent from now on.
    pub(crate) fn watch(&self) -> Result<HostWatch> {
        match self {
            Self::Sim(_) => Err(anyhow!("the simulator's host has no kernel to be observed; the lab's has")),
            Self::Lab(lab, _) => Ok(lab.watch()?),
        }
    }

    /// What the NIC of a lab's destination does now, where that is not what it was asked for.
    pub(crate) fn uncarried_nic(&self) -> Result<Option<String>> {
        Ok(match self {
            Self::Sim(_) => None,
            Self::Lab(lab, _) => lab.nic()?.filter(|nic| !nic.carried()).map(|nic| nic.reason()),
        })
    }

    /// A world for one run.
    pub(crate) fn open(&self, seed: u64) -> Result<Box<dyn World>> {
        Ok(match self {
            Self::Sim(scenario) => Box::new(simulated(SimPath::connected(scenario, seed)?, scenario, seed)),
            Self::Lab(lab, scenario) => {
                let path = lab.connect()?;
                let circumstances = path.circumstances();
                let hops = hops_in_lab(scenario, seed);
                Box::new(Carried { path, circumstances, truths: truths(scenario), hops })
            }
        })
    }

    /// A world for one run in which the destination's kernel is asked.
    pub(crate) fn ask(&self, request: Request, seed: u64) -> Result<Box<dyn World>> {
        Ok(match self {
            Self::Sim(scenario) => {
                let mut world = simulated(AnsweringPath::new(scenario, seed, request), scenario, seed);
                let answer = SimPath::new(scenario, 0).truth().answer;
                world.truths.insert(Quantity::KernelServiceTime, answer.as_f64());
                Box::new(world)
            }
            Self::Lab(lab, scenario) => {
                let path = lab.ask(request)?;
                let circumstances = path.circumstances();
                let hops = hops_in_lab(scenario, seed);
                Box::new(Carried { path, circumstances, truths: truths(scenario), hops })
            }
        })
    }
}

fn live_hops(host: &str, core: Option<usize>) -> Result<Box<dyn HopWorld>> {
    let path = LiveHops::open(host, core)?;
    Ok(Box::new(Fired { path, circumstances: Box::new(LiveHops::circumstances) }))
}

fn simulated_hops(scenario: &Scenario, seed: u64) -> Box<dyn HopWorld> {
    let circumstances = simulator(scenario);
    Box::new(Fired {
        path: SimHops::new(scenario, seed),
        circumstances: Box::new(move |_| circumstances.clone()),
    })
}

fn lab_hops(scenario: &Scenario, seed: u64) -> Result<Box<dyn HopWorld>> {
    let path = HopLab::up(scenario, LabOptions { seed, ..LabOptions::default() })?;
    Ok(Box::new(Fired { path, circumstances: Box::new(HopLab::circumstances) }))
}

/// What builds the lab of routers of a scenario, when it is wanted.
fn hops_in_lab(scenario: &Scenario, seed: u64) -> Box<dyn Fn() -> Result<Box<dyn HopWorld>>> {
    let scenario = scenario.clone();
    Box::new(move || lab_hops(&scenario, seed))
}

fn simulator(scenario: &Scenario) -> Circumstances {
    let host = HostFacts { dwell: env!("CARGO_PKG_VERSION").to_owned(), ..HostFacts::default() };
    Circumstances {
        world: "simulator".to_owned(),
        sender: host.clone(),
        receiver: host,
        notes: [("scenario".to_owned(), scenario.name.clone())].into(),
        ..Circumstances::default()
    }
}

fn simulated<P>(path: P, scenario: &Scenario, seed: u64) -> Carried<P> {
    let copy = scenario.clone();
    let hops = Box::new(move || Ok(simulated_hops(&copy, seed)));
    Carried { path, circumstances: simulator(scenario), truths: truths(scenario), hops }
}

/// What a scenario itself says: its last link, and how its clocks run apart.
fn truths(scenario: &Scenario) -> BTreeMap<Quantity, f64> {
    let truth = SimPath::new(scenario, 0).truth();
    let capacity = truth.end_link.map(|BitRate(bps)| (Quantity::EndLinkCapacity, bps as f64));
    let period = truth.nic.period().map(|period| (Quantity::CoalescencePeriod, period.as_f64()));
    let present = Finding::flag(period.is_some()).estimate();
    let always = [
        (Quantity::ClockSkew, Some(truth.skew_ppm)),
        (Quantity::CoalescencePresent, present),
        (Quantity::CoalescenceKind, Some(truth.nic.kind().code())),
    ];
    let always = always.into_iter().filter_map(|(quantity, truth)| Some((quantity, truth?)));
    capacity.into_iter().chain(period).chain(always).collect()
}
