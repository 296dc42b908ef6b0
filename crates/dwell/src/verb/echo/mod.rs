//! `dwell echo`: papers/001's method, from captures, live, or in the lab; and what routers take to answer, by `fsd`.

mod answers;
mod files;
mod fsd;
mod heard;
mod live;
mod respond;
mod tell;

use crate::failure::bad_argument;
use crate::output::Output;
use crate::target::{On, Placement};
use crate::verb::plan::quantity;
use anyhow::{Result, anyhow};
use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum};
use dwell_core::echo::Asked;
use dwell_core::{BitRate, Circumstances, Effort, Nanos};
use dwell_store::{Ask, Found, Header, Record, RecordWriter};
use heard::Heard;
use serde::Deserialize;
use std::path::Path;

/// Measure how long a host takes to answer, by a tap on the link and the host's own stamps
///
/// A tap on the link and the host each stamp the request and the reply; their clocks need not agree. Captures at both
/// places can be given as files. Live, the tap is an interface of this machine; where probes go over UDP or TCP to
/// `dwell echo --respond`, the answers carry the host's stamps. Without any of the host's, there is only a bound.
///
/// With --fsd it is a router on the way to the host that is measured: what it takes to make an ICMP time-exceeded
/// message, beyond what it takes to forward a packet. The two taps are on either side of the router.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell echo --tap link.pcap --host host.pcapng         captures of pings, at the link and at the host
  dwell echo --tap link.pcap --host host.pcap --first-bits '100 Mb/s'   of a tap that stamps first bits
  dwell echo --respond --probe udp                      on the host under test
  dwell echo 192.0.2.7 --tap eth0 --probe udp           from here, answers with stamps
  dwell echo --tap span0 --host eth0                    on the host under test, while others ping it
  dwell echo scenarios/echo.toml --on kernel --probe tcp --plot echo.svg
  dwell echo 192.0.2.7 --fsd 3                          pairs of probes past the third router, captured elsewhere
  dwell echo --fsd 3 --tap near.pcap --host far.pcap    how long that router takes to make a time-exceeded message
  dwell echo scenarios/routers.toml --on kernel --fsd 1 the same, of a router of this machine's kernel")]
pub(crate) struct EchoArgs {
    /// The host to ask; with --on kernel, a scenario file; none: what others ask is heard
    #[arg(value_name = "HOST")]
    target: Option<String>,

    /// The tap: a capture file, or an interface to listen on; with --fsd, on the source's side of the router
    #[arg(long, value_name = "FILE|IF")]
    tap: Option<String>,

    /// What the host under test sees of the same echoes: a capture file, or an interface of this machine; with --fsd, a
    /// tap on the destination's side of the router
    #[arg(long = "host", value_name = "FILE|IF", id = "at_host")]
    at_host: Option<String>,

    /// Where packets travel: live, or with `kernel` in a scenario file's testbed on this machine; the simulator has no taps
    #[arg(long, value_enum, default_value_t = On::Live, value_name = "WORLD", hide_possible_values = true)]
    on: On,

    /// What makes the host answer
    #[arg(long, value_enum, default_value_t = Probe::Icmp)]
    probe: Probe,

    /// Port of probes over UDP and TCP
    #[arg(long, value_name = "PORT", default_value_t = 7924, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,

    /// How often to ask; with --fsd 60 times, where nothing is said
    #[arg(long, value_name = "NUMBER", default_value_t = 500, default_value_if("fsd", ArgPredicate::IsPresent, "60"), value_parser = clap::value_parser!(u32).range(6..=60_000))]
    count: u32,

    /// Time from one probe to the next; with --fsd from one pair to the next, and 1 s where nothing is said
    #[arg(long, value_name = "TIME", default_value = "10 ms", default_value_if("fsd", ArgPredicate::IsPresent, "1 s"), value_parser = quantity::<Nanos>)]
    interval: Nanos,

    /// The tap stamps a packet's first bit, on a link of this rate
    #[arg(long, value_name = "RATE", value_parser = quantity::<BitRate>)]
    first_bits: Option<BitRate>,

    /// Measure the router at this hop on the way to HOST instead, with taps on either side of it
    #[arg(long, value_name = "HOP", conflicts_with_all = ["probe", "port", "first_bits", "respond", "spin"], value_parser = clap::value_parser!(u8).range(1..=63))]
    fsd: Option<u8>,

    /// Answer probes over UDP or TCP, until interrupted
    #[arg(long, conflicts_with_all = ["target", "tap", "at_host", "first_bits"])]
    respond: bool,

    /// With --respond: be busy for so long before each stamp
    #[arg(long, value_name = "TIME", default_value = "0 us", requires = "respond", value_parser = quantity::<Nanos>)]
    spin: Nanos,

    #[command(flatten)]
    placement: Placement,
}

/// What makes the host answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Probe {
    /// ICMP echo requests, which the kernel answers
    Icmp,
    /// Datagrams to a responder
    Udp,
    /// Segments on an open connection to a responder
    Tcp,
}

/// Name of the measurement in records.
const STAGE: &str = "echo";

impl EchoArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        let named = [&self.target, &self.tap, &self.at_host];
        output.spare(&named.into_iter().flatten().map(Path::new).collect::<Vec<_>>(), &[])?;
        if self.on != On::Live {
            self.placement.no_lab()?;
        }
        if self.respond {
            return respond::respond(&self, output);
        }
        if let Some(hop) = self.fsd {
            return fsd::run(&self, hop, output);
        }
        let heard = self.hear(output.seed)?;
        let ask = Ask {
            verb: "echo".to_owned(),
            target: self.target.clone().or(self.tap.clone()).unwrap_or_default(),
            seed: output.seed,
            config: [("probe".to_owned(), self.probe_name().to_owned())].into(),
            ..Ask::default()
        };
        let report = heard.report();
        if let Some(file) = &output.record {
            let mut writer =
                RecordWriter::create(file, &Header::now(ask.clone(), None, heard.circumstances.clone()))?;
            heard.echoes.iter().try_for_each(|echo| writer.push_echo(*echo))?;
            writer.finish(&[Found {
                stage: STAGE.to_owned(),
                report: report.clone(),
                effort: Effort::default(),
                used: None,
            }])?;
        }
        tell::tell(&ask, &heard, &report, output)
    }

    fn hear(&self, seed: u64) -> Result<Heard> {
        let bad = |text: &str| Err(bad_argument(anyhow!("{text}")));
        match (self.on, &self.target, &self.tap) {
            (On::Sim, ..) => bad("the simulator has no taps; echoes run live or --on kernel"),
            (On::Kernel, Some(scenario), None) if self.at_host.is_none() => {
                live::hear_lab(self, Path::new(scenario), seed)
            }
            (On::Kernel, ..) => bad("--on kernel takes a scenario file, and has a tap and a host of its own"),
            (On::Live, Some(file), _) if file.ends_with(".toml") && Path::new(file).exists() => {
                bad(&format!("{file} is a scenario file; add --on kernel"))
            }
            (On::Live, _, None) => bad("where is the tap? --tap takes a capture file, or an interface"),
            (On::Live, target, Some(tap)) if Path::new(tap).exists() => match target {
                None => files::hear(self, Path::new(tap)),
                Some(host) => {
                    bad(&format!("{tap} is a file: what it holds was asked already, so {host} is not"))
                }
            },
            (On::Live, _, Some(tap)) => match self.at_host.as_deref() {
                Some(host) if Path::new(host).exists() => {
                    bad(&format!("{host} is a file and {tap} is none: give two files, or two interfaces"))
                }
                _ => live::hear(self, tap),
            },
        }
    }

    fn asked(&self) -> Asked {
        match self.probe {
            Probe::Icmp => Asked::Icmp,
            Probe::Udp => Asked::Udp { port: self.port },
            Probe::Tcp => Asked::Tcp { port: self.port },
        }
    }

    fn probe_name(&self) -> &'static str {
        match self.probe {
            Probe::Icmp => "icmp",
            Probe::Udp => "udp",
            Probe::Tcp => "tcp",
        }
    }
}

/// The same of a record.
pub(crate) fn replay(record: Record, output: &Output) -> Result<()> {
    if fsd::recorded(&record) {
        return fsd::replay(record, output);
    }
    let circumstances = Circumstances { world: "record".to_owned(), ..record.header.circumstances };
    let heard = Heard { circumstances, echoes: record.echoes, ..Heard::default() };
    tell::tell(&record.header.ask, &heard, &heard.report(), output)
}
