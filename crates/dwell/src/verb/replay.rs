//! `dwell replay`: the same analysis, or another, on recorded data.

use super::agentless::AgentlessPpt;
use super::avail::{Avail, AvailMethod};
use super::capacity::{Capacity, CapacityMethod};
use super::delay::Delay;
use super::path::{Path, PathAlone};
use super::ppt::{Ppt, PptMethod};
use super::{Measuring, conclude};
use crate::failure::{bad_argument, is_misnamed};
use crate::output::Output;
use crate::run::CUT_SHORT;
use crate::world::Replayed;
use anyhow::{Error, Result, anyhow};
use clap::{Args, ValueEnum};
use dwell_core::Vantage;
use dwell_store::{Ask, Record, StoreError};
use std::path::PathBuf;

/// Repeat an analysis, or make another, on what `--record` kept
#[derive(Args)]
#[command(after_help = "Examples:
  dwell replay monday.dwell                        the report of that run again
  dwell replay monday.dwell --method salehin2015   what another method makes of it (here: of a run of salehin2017)
  dwell replay monday.dwell.partial --partial      what a killed run had seen")]
pub(crate) struct ReplayArgs {
    /// A record
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Another method than that of the run
    #[arg(long, value_enum)]
    method: Option<PptMethod>,

    /// Other stamps than those of the run
    #[arg(long, value_enum)]
    stamps: Option<super::ppt::Stamps>,

    /// Analyse a record that is cut short, as far as it goes
    #[arg(long)]
    partial: bool,
}

/// A name that stands for nothing, or for no record, is a mistake in the arguments; a record that is damaged is not.
fn unread(error: StoreError) -> Error {
    let is_misnamed = match &error {
        StoreError::Io { source, .. } => is_misnamed(source),
        StoreError::NotARecord { .. } => true,
        _ => false,
    };
    if is_misnamed { bad_argument(error) } else { error.into() }
}

impl ReplayArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if let Some(file) = &output.record {
            return Err(bad_argument(anyhow!("{}: a replay is no run to record", file.display())));
        }
        output.spare(&[&self.file], &[])?;
        let (mut record, cut) = Record::load_partial(&self.file).map_err(unread)?;
        if let Some(cut) = cut {
            if !self.partial {
                return Err(cut.into());
            }
            let note = format!(
                "{} passages, echoes, pairs, volleys or events of a run that did not end",
                record.seen()
            );
            record.header.circumstances.notes.insert(CUT_SHORT.to_owned(), note.clone());
            eprintln!("dwell: {}: {note}", self.file.display());
        }
        let verb = record.header.ask.verb.clone();
        if matches!(verb.as_str(), "local" | "echo" | "throughput") {
            if self.method.is_some() || self.stamps.is_some() {
                let text = format!("a record of `dwell {verb}` has no trains for another method");
                return Err(bad_argument(anyhow!("{}: {text}", self.file.display())));
            }
            return match verb.as_str() {
                "local" => super::local::replay(record, output),
                "throughput" => super::throughput::replay(record, output),
                _ => super::echo::replay(record, output),
            };
        }
        let no_facts = || anyhow!("{}: line 1: the record says nothing of the path", self.file.display());
        let facts = record.header.facts.ok_or_else(no_facts)?;
        record.header.circumstances.notes.insert("replayed".to_owned(), record.header.when.clone());
        let recorded = record.header.ask.clone();
        let verb = self.verb(&recorded)?;
        let (method, stamps) = verb.method();
        let ask = Ask { verb: verb.verb().to_owned(), method: method.map(str::to_owned), stamps, ..recorded };
        conclude(
            &*verb,
            Box::new(Replayed { record, facts, by_another: self.method.is_some(), told: Vec::new() }),
            ask,
            1.0,
            output,
        )
    }

    /// The analysis that was asked for, now or then.
    fn verb(&self, recorded: &Ask) -> Result<Box<dyn Measuring>> {
        if PathAlone::recorded(&recorded.config) {
            if self.method.is_some() || self.stamps.is_some() {
                let text = "the host of that run had no agent, and what routers said no other method reads";
                return Err(bad_argument(anyhow!("{}: {text}", self.file.display())));
            }
            return Ok(Box::new(PathAlone));
        }
        if let Some(agentless) = AgentlessPpt::recorded(&recorded.config) {
            if self.method.is_some() || self.stamps.is_some() {
                return Err(bad_argument(anyhow!(
                    "{}: the host of that run had no agent, and the stamps are of its replies: no other method reads them",
                    self.file.display()
                )));
            }
            return Ok(Box::new(agentless));
        }
        let stamps = self.stamps.map_or(recorded.stamps, Vantage::from);
        if self.method.is_some() || self.stamps.is_some() || recorded.verb == "ppt" {
            let then = recorded.method.as_deref().and_then(|name| PptMethod::from_str(name, false).ok());
            let method = self.method.or(then).unwrap_or_default();
            return Ok(Box::new(Ppt::new(method, stamps)));
        }
        Ok(match recorded.verb.as_str() {
            "path" => Box::new(Path),
            "delay" => Box::new(Delay { stamps }),
            "capacity" => Box::new(Capacity { method: CapacityMethod::named(recorded.method.as_deref()) }),
            "avail" => Box::new(Avail { method: AvailMethod::named(recorded.method.as_deref()) }),
            other => return Err(anyhow!("{}: this dwell knows no verb `{other}`", self.file.display())),
        })
    }
}
