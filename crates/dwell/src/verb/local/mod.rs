//! `dwell local`: where packets wait inside this host, stage by stage, on live traffic of any program.

mod asked;
mod document;
mod live;
mod panels;
mod source;
mod table;
mod told;
mod watching;

use crate::failure::bad_argument;
use crate::output::Output;
use crate::picture::Picture;
use crate::screen::{coloured, print_json, print_text};
use anyhow::{Result, anyhow, bail};
use asked::Asked;
use clap::Args;
use dwell_core::inside::{Tally, Watched};
use dwell_store::Record;
use std::net::IpAddr;
use std::path::PathBuf;
use told::Told;

/// Show where packets wait inside this host, on live traffic of any program
///
/// Small programs that the kernel runs at its tracepoints (eBPF) note when a packet passes; nothing is sent, and nothing
/// stays. While it runs, one socket has the kernel stamp the packets that come; no setting is changed. Each stage is told
/// as a distribution with its share of the time, and what packets waited for in sentences. Needs root, or CAP_BPF
/// and CAP_PERFMON, and a kernel with BTF.
///
/// Without these, and where no port, address, process or control group is asked for, it says so and measures Dwell's own
/// probes over the loopback, one each millisecond, by the kernel's socket stamps: fewer stages, and no live traffic.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell local                                   all interfaces, until Ctrl-C
  dwell local eth0 --port 443 --receive         what the web server's packets wait for
  dwell local --pid 4711 --seconds 5 --json     one process, as a document
  dwell local lo --plot host.svg --overhead     a picture, and what watching cost")]
pub(crate) struct LocalArgs {
    /// Only packets of this interface
    #[arg(value_name = "IF")]
    interface: Option<String>,

    /// End after so many seconds; without it: on a terminal when interrupted, elsewhere after 10
    #[arg(long, value_name = "NUMBER", value_parser = seconds)]
    seconds: Option<f64>,

    /// End after so many packets
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    packets: Option<u64>,

    /// Only packets from or to this port; several may be given
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Vec<u16>,

    /// Only packets from or to this address; several may be given
    #[arg(long, value_name = "ADDRESS")]
    address: Vec<IpAddr>,

    /// Only what this process reads and sends
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,

    /// Only what the processes of this control group read and send: a folder in /sys/fs/cgroup
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,

    /// Only packets that come
    #[arg(long, conflicts_with = "send")]
    receive: bool,

    /// Only packets that leave
    #[arg(long)]
    send: bool,

    /// Have the kernel keep account of what watching costs, and tell it; needs root, or CAP_SYS_ADMIN
    #[arg(long)]
    overhead: bool,

    /// Tell the way of so many of the slowest packets each way
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u16).range(0..=1_000))]
    slowest: u16,

    /// Whether Dwell's own probes would be no answer
    #[arg(skip)]
    only_live: bool,
}

/// A number of seconds that a run may last.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.001..=1e9).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("must be from 0.001 to 1000000000 seconds".to_owned())
    }
}

impl LocalArgs {
    /// The same, where nothing else is asked for, on this interface and for so many seconds; of live traffic only.
    pub(crate) fn or(self, interface: &str, seconds: f64) -> Self {
        Self {
            interface: self.interface.or_else(|| Some(interface.to_owned())),
            seconds: self.seconds.or(Some(seconds)),
            only_live: true,
            ..self
        }
    }

    pub(crate) fn run(self, output: &Output) -> Result<()> {
        let mut asked = Asked::new(&self).map_err(bad_argument)?;
        let run = watching::watch(&mut asked, output)?;
        tell(&Told { watch: &run.watch, tally: &run.tally, watched: &run.watched }, &asked.what, output)
    }
}

/// Tells a recorded run again.
pub(super) fn replay(record: Record, output: &Output) -> Result<()> {
    let no_watch = || anyhow!("the record of a `dwell local` says nothing of the host");
    let watch = record.watch.as_ref().ok_or_else(no_watch)?;
    let ask = &record.header.ask;
    let slowest = ask.config.get("slowest").and_then(|slowest| slowest.parse().ok()).unwrap_or_default();
    let mut tally = Tally::new(slowest);
    record.events.into_iter().for_each(|event| tally.add(event));
    let cut = || Watched { ended: Some("the record is cut short".to_owned()), ..Watched::default() };
    let watched = record.watched.unwrap_or_else(cut);
    tell(&Told { watch, tally: &tally, watched: &watched }, &ask.target, output)
}

fn tell(told: &Told<'_>, what: &str, output: &Output) -> Result<()> {
    let Told { tally, watched, .. } = told;
    if tally.packets() == 0 && tally.dropped().sum() == 0 {
        let ended = watched.ended.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let losses = watched.losses.sum();
        let lost = if losses == 0 { String::new() } else { format!(" ({losses} could not be told)") };
        bail!("no packet of {what} in {:.1} s{lost}{ended}", watched.span.as_secs_f64());
    }
    if output.json {
        print_json(&document::document(told)?)?;
    } else {
        print_text(&table::text(told, coloured()))?;
    }
    if let Some(file) = &output.plot {
        let here = format!(
            "dwell {}: local, {what}, {:.1} s",
            env!("CARGO_PKG_VERSION"),
            watched.span.as_secs_f64()
        );
        let notes = [vec![here], table::note(told)].concat();
        Picture { title: table::headline(told), notes, panels: panels::panels(told) }.write(file)?;
    }
    Ok(())
}
