//! `dwell throughput`: what TCP connections, or IP itself, can carry to a host or from it.

mod course;
mod tcp;
mod tell;

use crate::cli::Output;
use crate::failure::bad_argument;
use crate::identity::IdentityArgs;
use crate::target::On;
use crate::verb::local::seconds;
use anyhow::{Result, anyhow};
use clap::Args;
use dwell_core::{Bytes, Direction, Nanos};
use dwell_net::protocol::PORT;
use dwell_store::{Ask, Record};
use tell::Measured;

/// Measure what TCP connections carry to a host or from it, and what holds them back
///
/// One connection, or as many as fill the path: they are doubled while that gains a twentieth. The kernels tell of each
/// connection ten times a second; from that comes the verdict: the link, the sending or receiving program, or a host's
/// cores. Rates count payload as the receiving program reads it, and IP packets beside.
///
/// With --autotune the receiver sizes its window while the connection runs (SOBAS): as much as the path holds, and no
/// more, so that no queue is built that is not needed.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell throughput 192.0.2.7                         to there
  dwell throughput 192.0.2.7 --reverse --json        from there
  dwell throughput 192.0.2.7 --autotune --plot run.svg
  dwell throughput 192.0.2.7 --connections 1 --window 65536
  dwell throughput scenarios/lan-100m.toml --on kernel")]
pub(crate) struct ThroughputArgs {
    /// Name or address of a host that runs `dwell agent`; with --on kernel, a scenario file
    #[arg(value_name = "HOST")]
    host: String,

    /// Where packets travel
    #[arg(long, value_enum, default_value_t = On::Live, value_name = "WORLD")]
    on: On,

    /// Port of the agent
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,

    #[command(flatten)]
    identity: IdentityArgs,

    /// From the host to here
    #[arg(long)]
    reverse: bool,

    /// How long to count
    #[arg(long, value_name = "NUMBER", default_value = "10", value_parser = seconds)]
    seconds: f64,

    /// TCP connections at a time; without it, as many as fill the path
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=64))]
    connections: Option<u32>,

    /// Have the receiver size its window while it runs (SOBAS); one connection, where nothing is said
    #[arg(long, conflicts_with = "window")]
    autotune: bool,

    /// Have the receiver offer no larger window than this
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(2048..=1 << 30))]
    window: Option<u64>,

    /// Congestion control of the sender, by its kernel's name
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
}

/// The verb's name.
const VERB: &str = "throughput";

impl ThroughputArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if self.on == On::Sim {
            let text = "the simulator has no TCP; run it live, or on the kernel with --on kernel";
            return Err(bad_argument(anyhow!(text)));
        }
        let measured = tcp::measure(&self, output)?;
        tell::tell(&measured, output)
    }

    fn direction(&self) -> Direction {
        if self.reverse { Direction::Reverse } else { Direction::Forward }
    }

    fn duration(&self) -> Nanos {
        Nanos::from_f64(self.seconds * 1e9)
    }

    fn window(&self) -> Option<Bytes> {
        self.window.map(Bytes)
    }

    fn ask(&self, seed: u64) -> Ask {
        Ask {
            verb: VERB.to_owned(),
            target: self.host.clone(),
            method: Some(dwell_core::throughput::report::NAME.to_owned()),
            seed,
            ..Ask::default()
        }
    }
}

/// Tells a recorded run again.
pub(super) fn replay(record: Record, output: &Output) -> Result<()> {
    let Record { header, mut transfers, .. } = record;
    let run = transfers.pop().ok_or_else(|| anyhow!("the record of a `dwell throughput` has no run"))?;
    let measured = Measured { ask: header.ask, circumstances: header.circumstances, trials: transfers, run };
    tell::tell(&measured, output)
}
