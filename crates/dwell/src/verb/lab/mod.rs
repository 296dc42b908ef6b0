//! `dwell lab`: testbeds on this machine's own kernel.

mod handshakes;

use super::conclude;
use super::local::LocalArgs;
use super::path::Path as PathAnalysis;
use crate::failure::bad_argument;
use crate::output::Output;
use crate::screen::{print, print_json, print_text};
use crate::target::{Bed, Load, allow_labs, load};
use anyhow::{Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use dwell_lab::{Carriage, Case, Footing, Lab, LabError, LabOptions, Situation};
use dwell_sim::Scenario;
use dwell_store::Ask;
use serde_json::{Map, json};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Build a testbed from a scenario file, on this machine's own kernel
///
/// Hosts and routers are threads in network namespaces of their own, so that nothing is left behind, also when the
/// command is killed. Without root this works where the system lets users make namespaces.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell lab demo --plot demo.svg                a real measurement, with a picture
  dwell lab run scenarios/lan-100m.toml         the same on a scenario of yours
  dwell lab run scenarios/lan-100m.toml --on sim
  dwell lab check scenarios/lan-100m.toml       what this machine can carry of it
  dwell lab case busy-core                      a host that keeps packets waiting, and why
  dwell lab handshakes                          each segment of a handshake lost, and what a probe tells
  dwell lab up scenarios/lan-100m.toml          keep it up, for other tools")]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Keep a testbed up until interrupted, and say how to enter it
    Up {
        /// A scenario file
        scenario: PathBuf,
    },
    /// Measure where the time goes on a scenario, as `dwell path` does
    Run {
        /// A scenario file
        scenario: PathBuf,

        /// Where packets travel
        #[arg(long, value_enum, default_value_t = Testbed::Kernel)]
        on: Testbed,

        #[command(flatten)]
        load: Load,
    },
    /// The same on a scenario that is built in
    Demo {
        /// Where packets travel
        #[arg(long, value_enum, default_value_t = Testbed::Kernel)]
        on: Testbed,

        #[command(flatten)]
        load: Load,
    },
    /// Make a situation in which a host keeps its packets waiting, and show what `dwell local` says of it
    ///
    /// A program of the source sends UDP packets; a program of the destination, which knows nothing of Dwell, reads them;
    /// the destination is watched, for 2 s unless --seconds says otherwise. The options are those of `dwell local`. Needs root.
    #[command(after_help = cases())]
    Case {
        /// Which
        #[arg(value_parser = case)]
        case: Case,

        #[command(flatten)]
        local: Box<LocalArgs>,
    },
    Handshakes(handshakes::HandshakesArgs),
    /// Measure the testbed itself: what it delivers of what the scenario asks, and what it costs
    Check {
        /// A scenario file
        scenario: PathBuf,
    },
}

/// What carries the packets of a scenario.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Testbed {
    /// Network namespaces on this machine's kernel
    Kernel,
    /// The simulator
    Sim,
}

/// The scenario of `dwell lab demo`.
const DEMO: &str = include_str!("../../../../../scenarios/demo.toml");

impl LabArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        match self.what {
            What::Up { scenario } => up(&scenario, output),
            What::Case { case, local } => watch_case(case, *local, output),
            What::Handshakes(handshakes) => handshakes.run(output),
            What::Check { scenario } => check(&scenario, output),
            What::Run { scenario, on, load: share } => {
                let loaded = load(&scenario)?;
                run(&loaded, &scenario.display().to_string(), on, &share, output)
            }
            What::Demo { on, load: share } => {
                let demo = Scenario::parse("scenarios/demo.toml", DEMO).map_err(bad_argument)?;
                run(&demo, "scenarios/demo.toml", on, &share, output)
            }
        }
    }
}

fn run(scenario: &Scenario, target: &str, on: Testbed, share: &Load, output: &Output) -> Result<()> {
    let world = Bed::make(scenario, on == Testbed::Kernel, output.seed)?.open(output.seed)?;
    let ask = Ask {
        verb: "path".to_owned(),
        target: target.to_owned(),
        seed: output.seed,
        config: share.config(),
        ..Ask::default()
    };
    conclude(&PathAnalysis, world, ask, share.share(), output)
}

/// For what has neither picture nor record.
fn refuse_files(output: &Output) -> Result<()> {
    if output.plot.is_some() || output.record.is_some() {
        return Err(bad_argument(anyhow!(
            "this has nothing to plot and keeps no record; `dwell lab run` does"
        )));
    }
    Ok(())
}

/// Builds a lab.
fn build(file: &Path, output: &Output) -> Result<(Lab, Scenario, Footing)> {
    refuse_files(output)?;
    let scenario = load(file)?;
    let footing = allow_labs()?;
    let lab = Lab::up(&scenario, LabOptions { seed: output.seed, ..LabOptions::default() })?;
    Ok((lab, scenario, footing))
}

/// How long a case is watched, where nothing else is said.
const WATCHED: f64 = 2.0;

fn watch_case(case: Case, local: LocalArgs, output: &Output) -> Result<()> {
    let mut situation = Situation::up(case).map_err(|error| match error {
        // A user's own namespaces, as other labs have them, would not do.
        LabError::Refused { reason } => {
            anyhow!(
                "a case takes root, for what this machine's kernel does with packets is watched: {reason}"
            )
        }
        error => error.into(),
    })?;
    situation.begin();
    situation.inside(|| local.or(Situation::INTERFACE, WATCHED).run(output))?
}

fn case(name: &str) -> Result<Case, String> {
    let names = || Case::ALL.map(Case::name).join(", ");
    Case::ALL.into_iter().find(|case| case.name() == name).ok_or_else(|| format!("the cases are {}", names()))
}

/// The cases as a part of the help.
fn cases() -> String {
    let told = Case::ALL.map(|case| format!("\n  {:14} {}", case.name(), case.description()));
    let example = "\n\nExamples:\n  dwell lab case busy-core\n  dwell lab case full-queue --plot queue.svg";
    format!("Cases:{}{example}", told.concat())
}

fn check(file: &Path, output: &Output) -> Result<()> {
    let (lab, ..) = build(file, output)?;
    let check = lab.check()?;
    if output.json { print_json(&serde_json::to_value(&check)?) } else { print_text(&format!("{check}\n")) }
}

fn up(file: &Path, output: &Output) -> Result<()> {
    let (lab, scenario, footing) = build(file, output)?;
    if output.json {
        print_json(&json!({
            "scenario": scenario.name,
            "process": std::process::id(),
            "namespaces": lab.namespaces().map(|(name, place)| (name.to_owned(), json!(place))).collect::<Map<_, _>>(),
            "agent": lab.agent_address().to_string(),
            "carriage": lab.carriage(),
        }))?;
    } else {
        let mut text = built(&scenario, lab.carriage(), lab.agent_address());
        let as_whom = as_whom(footing);
        for (name, place) in lab.namespaces() {
            let _ = writeln!(text, "  {name}: nsenter {as_whom}--net={place}");
        }
        print(&text)?;
    }
    loop {
        std::thread::park();
    }
}

/// What was built, and what of a scenario was not, as lines.
fn built(scenario: &Scenario, carriage: Carriage, agent: IpAddr) -> String {
    let mut text =
        format!("{} is up, on {carriage}, its agent at {agent}; interrupt to end it\n", scenario.name);
    let links = scenario.links.len();
    if carriage == Carriage::Bridge && links > 1 {
        let _ = writeln!(
            text,
            "  its {links} links shape nothing, so that one bridge is all of them, and no router is there: `dwell echo --fsd` and \
             `dwell path --agentless` make routers for their runs"
        );
    }
    text
}

/// As whom others enter a lab: where it is in a user's own namespaces, as that user is there.
fn as_whom(footing: Footing) -> String {
    let here = std::process::id();
    match footing {
        Footing::Privileged => String::new(),
        Footing::UserNamespace => format!("--user=/proc/{here}/ns/user --preserve-credentials "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_says_where_its_agent_is_and_which_routers_are_not_there() {
        let told = |file: &str| {
            let scenario = load(&Path::new("../../scenarios").join(file)).expect("a scenario");
            built(&scenario, Carriage::of(&scenario), IpAddr::from([192, 0, 2, 7]))
        };
        assert!(told("lan-100m.toml").contains("its agent at 192.0.2.7"));
        let routers = told("routers-3.toml");
        assert!(
            routers.contains("its 4 links shape nothing") && routers.contains("no router is there"),
            "{routers}"
        );
        assert!(!told("lan-100m.toml").contains("router"));
    }
}
