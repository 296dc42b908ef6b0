//! The command line: every option once, from which help, manual page and completions are made.

use crate::failure::bad_argument;
use crate::output::Output;
use crate::screen::NO_OUTPUT;
use crate::verb;
use anyhow::{Result, anyhow};
use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use dwell_store::RecordWriter;
use std::io::{self, ErrorKind, Write as _};
use std::process::exit;

/// Tells where a packet's time goes between two hosts.
///
/// Dwell sends short trains of packets to a host that runs `dwell agent`, and says how long each part of the way
/// keeps them: the sending host, the path, the end link, the receiving kernel, the receiving program. Each figure
/// comes with its 95 % interval, or as a bound with its reason, or with the reason why it cannot be had.
#[derive(Parser)]
#[command(name = "dwell", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  dwell agent                                  on the host under test
  dwell path 192.0.2.7                         where the time goes on the way there
  dwell ppt 192.0.2.7 --json                   how long its application stage takes
  dwell path scenarios/lan-100m.toml --on sim  the same, in the simulator
  dwell lab demo                               the same, on this machine's own kernel

Exit status, of every verb:
  0  measured
  1  could not measure, though what was given is right: no such host, nobody answers, not allowed,
     no key or password, an output that cannot be made, an input that breaks off, nothing to tell
  2  what was given cannot be used: a wrong option or value, a mistake in a scenario or grid,
     a file, folder or interface that is not there or is something else, an output over what is read
The reason is the last line of standard error.")]
pub(crate) struct Cli {
    #[command(flatten)]
    output: Output,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Path(verb::path::PathArgs),
    Ppt(verb::ppt::PptArgs),
    Capacity(verb::capacity::CapacityArgs),
    Avail(verb::avail::AvailArgs),
    Throughput(verb::throughput::ThroughputArgs),
    Delay(verb::delay::DelayArgs),
    Echo(verb::echo::EchoArgs),
    Plan(verb::plan::PlanArgs),
    Local(verb::local::LocalArgs),
    Watch(verb::watch::WatchArgs),
    Sections(verb::sections::SectionsArgs),
    Lab(verb::lab::LabArgs),
    Agent(verb::agent::AgentArgs),
    Serve(verb::serve::ServeArgs),
    Eval(verb::eval::EvalArgs),
    Replay(verb::replay::ReplayArgs),
    Generate(verb::generate::GenerateArgs),
}

/// A number below 0 is a value like another, of which its option says what is wrong; else it is taken for an option, with
/// advice that makes it an argument.
fn with_negative_numbers(command: Command) -> Command {
    let allowed = |arg: Arg| {
        let takes_value = arg.get_action().takes_values();
        arg.allow_negative_numbers(takes_value)
    };
    command.mut_args(allowed).mut_subcommands(with_negative_numbers)
}

/// Why a command line cannot be understood. How it is written is told ahead, so that the reason is the last line, as that of
/// every error is. Where help or the version is asked for, the process ends with that, if it can be written.
fn misuse(error: &clap::Error) -> anyhow::Error {
    if !error.use_stderr() {
        return match error.print().and_then(|()| io::stdout().flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                anyhow::Error::new(error).context(NO_OUTPUT)
            }
            _ => exit(0),
        };
    }
    let said = error.render().to_string();
    let (reason, usage) = match said.strip_prefix("error: ") {
        Some(said) => said.split_once("\n\n").unwrap_or((said, "")),
        None => ("no verb is given", said.as_str()),
    };
    eprintln!("{}\n", usage.trim_end());
    bad_argument(anyhow!("{reason}"))
}

impl Cli {
    /// What the command line says. Where help or the version is asked for, the process ends with that.
    pub(crate) fn given() -> Result<Self> {
        let matches = with_negative_numbers(Self::command()).try_get_matches();
        matches.and_then(|matches| Self::from_arg_matches(&matches)).map_err(|error| misuse(&error))
    }

    /// Does what was asked.
    pub(crate) fn run(self) -> Result<()> {
        let output = &self.output;
        if let Some(file) = &output.plot {
            crate::picture::check_name(file)?;
        }
        if let Some(file) = &output.record {
            // Whatever is measured would be lost.
            RecordWriter::check_name(file).map_err(bad_argument)?;
        }
        output.spare(&[], &[])?;
        match self.verb {
            Verb::Path(verb) => verb.run(output),
            Verb::Ppt(verb) => verb.run(output),
            Verb::Capacity(verb) => verb.run(output),
            Verb::Avail(verb) => verb.run(output),
            Verb::Throughput(verb) => verb.run(output),
            Verb::Delay(verb) => verb.run(output),
            Verb::Echo(verb) => verb.run(output),
            Verb::Plan(verb) => verb.run(output),
            Verb::Local(verb) => verb.run(output),
            Verb::Watch(verb) => verb.run(output),
            Verb::Sections(verb) => verb.run(output),
            Verb::Lab(verb) => verb.run(output),
            Verb::Agent(verb) => verb.run(output),
            Verb::Serve(verb) => verb.run(output),
            Verb::Eval(verb) => verb.run(output),
            Verb::Replay(verb) => verb.run(output),
            Verb::Generate(verb) => verb.run(output, Self::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        with_negative_numbers(Cli::command()).debug_assert();
    }
}
