//! `dwell echo --fsd`: how long a router takes to make a time-exceeded message, from captures, live, or in the lab.

mod heard;
mod tell;
mod worlds;

use super::EchoArgs;
use crate::failure::bad_argument;
use crate::output::Output;
use crate::target::On;
use anyhow::{Context, Result, anyhow};
use dwell_core::fsd::{self, MOST_PAIRS};
use dwell_core::{Bytes, Circumstances, Effort, Nanos};
use dwell_net::echo::Asking;
use dwell_store::{Ask, Found, Header, Record, RecordWriter};
use heard::{Heard, ROUTER};
use std::path::Path;

/// Name of the measurement in records, and of the hop among the settings that a record keeps.
pub(super) const STAGE: &str = fsd::NAME;

/// Fewer than this apart, pairs are no longer few to a router whose processor has other things to do.
const LEAST_INTERVAL: Nanos = Nanos::from_millis(100);

pub(super) fn run(args: &EchoArgs, hop: u8, output: &Output) -> Result<()> {
    if args.count > MOST_PAIRS.into() {
        return Err(bad_argument(anyhow!("--count: at most {MOST_PAIRS} pairs to a router")));
    }
    let Some(heard) = hear(args, hop, output)? else { return Ok(()) };
    let ask = Ask {
        verb: "echo".to_owned(),
        target: args.target.clone().or(args.tap.clone()).unwrap_or_default(),
        method: Some(fsd::NAME.to_owned()),
        seed: output.seed,
        config: [(STAGE.to_owned(), hop.to_string())].into(),
        ..Ask::default()
    };
    let report = heard.report();
    if let Some(file) = &output.record {
        let mut writer =
            RecordWriter::create(file, &Header::now(ask.clone(), None, heard.circumstances.clone()))?;
        heard.pairs.iter().try_for_each(|pair| writer.push_pair(*pair))?;
        let effort = effort(&heard);
        writer.finish(&[Found { stage: STAGE.to_owned(), report: report.clone(), effort, used: None }])?;
    }
    tell::tell(&ask, &heard, &report, output)
}

/// `None`: probes went, and others capture them.
fn hear(args: &EchoArgs, hop: u8, output: &Output) -> Result<Option<Heard>> {
    let bad = |text: &str| Err(bad_argument(anyhow!("{text}")));
    let is_file = |name: &str| Path::new(name).exists();
    let heard = match (args.on, args.target.as_deref(), args.tap.as_deref(), args.at_host.as_deref()) {
        (On::Sim, ..) => return bad("the simulator has no taps; --fsd runs live or --on kernel"),
        (On::Kernel, Some(scenario), None, None) => {
            worlds::hear_lab(asking(args), hop, Path::new(scenario), output.seed)?
        }
        (On::Kernel, ..) => return bad("--on kernel takes a scenario file, and has taps of its own"),
        (On::Live, Some(file), ..) if file.ends_with(".toml") && is_file(file) => {
            return bad(&format!("{file} is a scenario file; add --on kernel"));
        }
        (On::Live, Some(_), ..) if args.interval < LEAST_INTERVAL => {
            return bad(&format!("--interval: at least {LEAST_INTERVAL}, for a router has other work to do"));
        }
        (On::Live, None, Some(near), Some(far)) if is_file(near) && is_file(far) => {
            worlds::hear_files(hop, Path::new(near), Path::new(far))?
        }
        (On::Live, Some(host), None, None) => {
            if output.record.is_some() || output.plot.is_some() {
                return bad("without taps nothing is measured here that could be kept or drawn");
            }
            worlds::send(asking(args), hop, host, output)?;
            return Ok(None);
        }
        (On::Live, target, Some(near), Some(far)) => {
            if let Some(file) = [near, far].into_iter().find(|name| is_file(name)) {
                return bad(&format!(
                    "{file} is a file: give two files and no host, for what they hold was asked already, or two \
                     interfaces"
                ));
            }
            worlds::hear_live(asking(args), hop, target, near, far)?
        }
        _ => {
            return bad(
                "where are the taps? --tap takes one on the source's side of the router, --host one on the \
                 destination's, each a capture file or an interface; or give a host alone, and capture elsewhere",
            );
        }
    };
    Ok(Some(heard))
}

fn asking(args: &EchoArgs) -> Asking {
    Asking { count: args.count, interval: args.interval }
}

/// What the pairs cost that were seen.
fn effort(heard: &Heard) -> Effort {
    let pairs = &heard.pairs;
    let bytes: u64 = pairs.iter().map(|pair| pair.direct.sent.0 + pair.limited.sent.0).sum();
    let times = || pairs.iter().flat_map(|pair| [pair.direct.left, pair.limited.left]);
    let span = times().max().zip(times().min()).map_or(Nanos::ZERO, |(last, first)| last - first);
    let count = pairs.len() as u64;
    Effort { probes: count, packets: 2 * count, bytes: Bytes(bytes), span, ..Effort::default() }
}

/// Whether a record is of this measurement.
pub(super) fn recorded(record: &Record) -> bool {
    record.header.ask.config.contains_key(STAGE)
}

/// The same of a record.
pub(super) fn replay(record: Record, output: &Output) -> Result<()> {
    let hop = record.header.ask.config.get(STAGE).and_then(|hop| hop.parse().ok());
    let hop = hop.context("the record does not say which hop was probed")?;
    let circumstances = Circumstances { world: "record".to_owned(), ..record.header.circumstances };
    let router = circumstances.notes.get(ROUTER).and_then(|router| router.parse().ok());
    let heard = Heard { circumstances, hop, pairs: record.pairs, router, ..Heard::default() };
    tell::tell(&record.header.ask, &heard, &heard.report(), output)
}
