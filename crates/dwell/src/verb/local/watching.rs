//! The run itself: from its source to the tally, the record and the live view.

use super::asked::Asked;
use super::live;
use super::source;
use super::table::missing;
use super::told::Told;
use crate::figure::counted;
use crate::output::Output;
use crate::screen::Progress;
use crate::terminal::Live;
use crate::verb::ends::Over;
use anyhow::{Context, Result};
use dwell_core::inside::{Event, Overhead, Tally, Watch, Watched};
use dwell_core::{Circumstances, Nanos};
use dwell_net::{clock, have_packets_stamped, settings};
use dwell_store::{Header, RecordWriter};
use std::io::{self, IsTerminal};

/// A run that is over.
pub(super) struct Run {
    pub(super) watch: Watch,
    pub(super) tally: Tally,
    pub(super) watched: Watched,
}

/// Watches until it is over.
pub(super) fn watch(asked: &mut Asked, output: &Output) -> Result<Run> {
    // What the sum of the stages is checked against.
    let _stamps = have_packets_stamped().context("cannot have the kernel stamp packets")?;
    let mut source = source::open(asked)?;
    let watch = Watch {
        interface: asked.interface.clone(),
        observer: source.name().to_owned(),
        missing: source.missing().to_vec(),
        settings: settings(asked.interface.as_deref()),
    };
    eprint!("{}", missing(&watch));
    let mut writer =
        output.record.as_deref().map(|file| begin_record(file, asked, &watch, output.seed)).transpose()?;
    // From now on the kernel keeps account.
    let before = asked.overhead.then(|| source.hook_costs()).transpose()?;

    let mut live = if !output.json && io::stdout().is_terminal() { Some(Live::open()?) } else { None };
    let progress = if live.is_some() { Progress::hidden() } else { Progress::start() };
    let (mut run, own) = (asked.ends.begin(live.is_some())?, clock::own_cpu_time());
    let mut tally = Tally::new(asked.slowest);
    let mut watched = Watched::default();
    loop {
        let patience = match run.over(tally.packets()) {
            Over::No(patience) => patience,
            Over::Done => break,
            Over::Early(why) => {
                watched.ended = Some(why);
                break;
            }
        };
        let mut unwritten = Ok(());
        source.wait(patience, &mut |event: Event| {
            if asked.ends.packets().is_some_and(|most| tally.packets() >= most) || unwritten.is_err() {
                return;
            }
            if let Some(writer) = &mut writer {
                unwritten = writer.push_event(&event);
            }
            tally.add(event);
        })?;
        unwritten?;
        watched.span = Nanos(i64::try_from(run.span().as_nanos()).unwrap_or(i64::MAX));
        progress.say(counted(tally.packets(), "packet"));
        if let Some(live) = &mut live {
            watched.losses = source.losses();
            let told = Told { watch: &watch, tally: &tally, watched: &watched };
            if live.show(|| live::view(&asked.what, &told))? {
                run.interrupt();
            }
        }
    }
    watched.losses = source.losses();
    watched.span = Nanos(i64::try_from(run.span().as_nanos()).unwrap_or(i64::MAX));
    if before.is_some() {
        watched.overhead = Some(Overhead { hooks: source.hook_costs()?, user: clock::own_cpu_time() - own });
    }
    if let Some(writer) = writer {
        writer.finish_watch(&watched)?;
    }
    Ok(Run { watch, tally, watched })
}

fn begin_record(file: &std::path::Path, asked: &Asked, watch: &Watch, seed: u64) -> Result<RecordWriter> {
    let here = Circumstances { world: "live".to_owned(), ..Circumstances::default() };
    let mut writer = RecordWriter::create(file, &Header::now(asked.ask(seed), None, here))?;
    writer.watch(watch)?;
    Ok(writer)
}
