//! `dwell throughput`: what TCP connections, or IP itself, can carry to a host or from it.

mod course;
mod given;
mod tcp;
mod tell;
mod told;
mod udpst;

use crate::failure::bad_argument;
use crate::identity::IdentityArgs;
use crate::output::Output;
use crate::target::On;
use crate::verb::local::seconds;
use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use dwell_core::throughput::report;
use dwell_core::throughput::udpst::capacity;
use dwell_core::{Bytes, Direction, Nanos};
use dwell_store::{Ask, Record};
use std::path::{Path, PathBuf};
use tell::Measured;

/// Measure what TCP connections, or IP itself, carry to a host or from it, and what holds them back
///
/// The default method, `tcp`, opens one connection, or as many as fill the path: they are doubled while that gains a
/// twentieth. The kernels tell of each connection ten times a second; from that comes the verdict: the link, the sending
/// or receiving program, or a host's cores. Rates count payload as the receiving program reads it, and IP packets beside.
///
/// With --autotune the receiver sizes its window while the connection runs (SOBAS): as much as the path holds, and no
/// more, so that no queue is built that is not needed.
///
/// The method `udpst` is the search of RFC 9097 for the maximum IP-layer capacity, with a server that speaks the protocol
/// of RFC 9946.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell throughput 192.0.2.7                         to there
  dwell throughput 192.0.2.7 --reverse --json        from there
  dwell throughput 192.0.2.7 --autotune --plot run.svg
  dwell throughput 192.0.2.7 --connections 1 --window 65536
  dwell throughput 192.0.2.7:25000 --method udpst --reverse
  dwell throughput scenarios/lan-100m.toml --on kernel")]
pub(crate) struct ThroughputArgs {
    /// Name or address of a host that runs `dwell agent`, or of a udpst server, whose port may follow a colon; with --on
    /// kernel or --on sim, a scenario file
    #[arg(value_name = "HOST")]
    host: String,

    /// What carries the load
    #[arg(long, value_enum, default_value_t = ThroughputMethod::Tcp)]
    method: ThroughputMethod,

    /// Where packets travel
    #[arg(long, value_enum, default_value_t = On::Live, value_name = "WORLD")]
    on: On,

    /// Port of the agent, 7923 where nothing is said, or of the udpst server, 24601
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    #[command(flatten)]
    identity: IdentityArgs,

    /// From the host to here
    #[arg(long)]
    reverse: bool,

    /// How long to count, 0.5 at the least; whole seconds, 5 to 60, of udpst
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

    /// How udpst's search moves the rate [default: b]
    #[arg(long, value_enum, value_name = "TYPE")]
    search: Option<SearchType>,

    /// File with the secret that a udpst server shares with its clients
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,

    /// Number of that secret
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "secret")]
    secret_number: u8,
}

/// The methods for throughput.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum ThroughputMethod {
    /// TCP connections
    Tcp,
    /// The search of RFC 9097 over UDP
    Udpst,
}

/// The searches of RFC 9097.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SearchType {
    /// Steps of fixed length
    #[default]
    B,
    /// Multiply, and try again
    C,
}

/// The verb's name.
const VERB: &str = "throughput";

impl ThroughputArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        given::check(&self, output).map_err(bad_argument)?;
        let secret = self.secret.as_deref();
        output
            .spare(&[Some(Path::new(&self.host)), secret].into_iter().flatten().collect::<Vec<_>>(), &[])?;
        match self.method {
            ThroughputMethod::Tcp => tell::tell(&tcp::measure(&self, output)?, output),
            ThroughputMethod::Udpst => udpst::tell(&udpst::measure(&self, output)?, output),
        }
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
        let method = match self.method {
            ThroughputMethod::Tcp => report::NAME,
            ThroughputMethod::Udpst => capacity::NAME,
        };
        Ask {
            verb: VERB.to_owned(),
            target: self.host.clone(),
            method: Some(method.to_owned()),
            seed,
            ..Ask::default()
        }
    }
}

/// Tells a recorded run again.
pub(super) fn replay(record: Record, output: &Output) -> Result<()> {
    let Record { header, mut transfers, mut tests, .. } = record;
    let (ask, circumstances) = (header.ask, header.circumstances);
    if let Some(tested) = tests.pop() {
        return udpst::tell(&udpst::Measured { ask, circumstances, tested }, output);
    }
    let run = transfers.pop().ok_or_else(|| anyhow!("the record of a `dwell throughput` has no run"))?;
    tell::tell(&Measured { ask, circumstances, trials: transfers, run }, output)
}
