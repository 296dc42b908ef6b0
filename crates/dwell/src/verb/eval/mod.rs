//! `dwell eval`: methods over conditions, against the truth.

mod agreement;
mod bandwidth;
mod cells;
mod chart;
mod draw;
mod echo;
mod fsd;
mod gaps;
mod grid;
mod ground;
mod halves;
mod journal;
mod judge;
mod key;
mod method;
mod passing;
mod place;
mod published;
mod rows;
mod sections;
mod sheet;
mod show;
mod uncarried;
mod worst;

use crate::failure::bad_argument;
use crate::figure::counted;
use crate::output::Output;
use crate::picture::{self, Picture};
use crate::screen::{print, print_json};
use anyhow::{Result, anyhow, bail};
use clap::Args;
use dwell_core::LoadLimit;
use grid::{Condition, EvalWorld, Grid};
use journal::{Header, Journal, Judged};
use judge::Judge;
use place::{Only, Place};
use rows::Row;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Judge methods against the truth, on the simulator or in the lab
///
/// Runs follow from the seed alone: any part of a grid, made again with --only, gives the same rows. In the simulator
/// every core takes its share of the runs. The worst cases are told first, each with the command that repeats it.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell eval scenarios/eval/host-delay-sim.toml --rows sim.jsonl    stop it, and the same command goes on
  dwell eval scenarios/eval/host-delay-sim.toml --only random:17    one condition of it
  dwell eval scenarios/eval/host-delay-lab.toml --json > lab.json
  dwell eval scenarios/eval/bandwidth-lab.toml --html report.html   bandwidth tools, ours and others'
  dwell eval scenarios/eval/handshakes-sim.toml --only loss         handshakes and sections
  dwell eval scenarios/eval/host-delay-lab.toml --plot lab.svg --runs 2 --only 'end link'")]
pub(crate) struct EvalArgs {
    /// A grid of conditions, runs and methods, as TOML
    #[arg(value_name = "GRID")]
    grid: PathBuf,

    /// Runs of each condition, instead of the grid's
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,

    /// Only this block, or one condition of it, or one run of that; both are counted from 0
    #[arg(long, value_name = "BLOCK[:CONDITION[:RUN]]", alias = "block")]
    only: Option<Only>,

    /// Keep the rows of each run here as it ends, as lines of JSON, and go on from those that are there
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,

    /// Rows of another evaluation of bandwidth tools, kept by --rows, to stand in the same report
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,

    /// Write the report on bandwidth tools as one page: tables, figures, judgement
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print every row and every condition's summary, however many there are
    #[arg(long)]
    every_run: bool,

    #[command(flatten)]
    load: crate::target::Load,
}

/// What an evaluation came to.
struct Told<'a> {
    grid: &'a Grid,
    rows: Vec<Row>,
    gaps: Vec<(Place, gaps::SizeGaps)>,
    /// Where bandwidth tools were judged.
    tools: Option<bandwidth::Report>,
    failures: Vec<String>,
    seconds: f64,
}

impl EvalArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if let Some(file) = &output.record {
            let error = anyhow!("{}: an evaluation is many runs, and keeps no record", file.display());
            return Err(bad_argument(error));
        }
        let read: Vec<&Path> =
            [Some(&self.grid), self.beside.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
        let written: Vec<&Path> =
            [&self.rows, &self.html].into_iter().flatten().map(PathBuf::as_path).collect();
        output.spare(&read, &written)?;
        self.html.as_deref().map_or(Ok(()), picture::check_folder)?;
        let mut grid = Grid::load(&self.grid)?;
        grid.runs = self.runs.unwrap_or(grid.runs);
        let conditions = grid.conditions(output.seed)?;
        if self.html.is_some() && conditions.iter().all(|condition| condition.bandwidth.is_none()) {
            let advice = "judges no bandwidth tools; --plot FILE.html draws it";
            return Err(bad_argument(anyhow!("{}: {advice}", self.grid.display())));
        }
        let beside = self.beside.as_deref().map(journal::held).transpose()?.unwrap_or_default();
        let runs = grid.runs(&conditions, self.only.as_ref())?;
        let (journal, held) = match &self.rows {
            Some(file) => {
                let header = Header {
                    dwell: env!("CARGO_PKG_VERSION").to_owned(),
                    grid: grid.digest(&conditions)?,
                    seed: output.seed,
                    max_load: self.load.share(),
                };
                let (journal, held) = Journal::open(file, &header)?;
                (Some(journal), held)
            }
            None => (None, Vec::new()),
        };
        if grid.world == EvalWorld::Lab {
            crate::target::allow_labs()?;
        }
        let began = Instant::now();
        let mut judged: BTreeMap<Place, Judged> =
            held.into_iter().map(|judged| (judged.place.clone(), judged)).collect();
        let todo: Vec<_> = runs.iter().filter(|(_, place)| !judged.contains_key(place)).cloned().collect();
        let judge = Judge { grid: &grid, share: self.load.share(), seed: output.seed };
        let (made, failures) = judge.all(&todo, journal)?;
        judged.extend(made.into_iter().map(|judged| (judged.place.clone(), judged)));
        // In the order of the grid, whichever core ended first.
        let judged: Vec<Judged> = runs.iter().filter_map(|(_, place)| judged.remove(place)).collect();
        if judged.is_empty() {
            bail!(
                "no run could be made: {}",
                failures.first().map_or("the grid asks for none", String::as_str)
            );
        }
        let seconds = began.elapsed().as_secs_f64();
        let (rows, gaps): (Vec<_>, Vec<_>) = judged
            .into_iter()
            .map(|Judged { place, rows, gaps }| {
                (rows, gaps.into_iter().map(move |gaps| (place.clone(), gaps)))
            })
            .unzip();
        let (rows, gaps) = (rows.concat(), gaps.into_iter().flatten().collect::<Vec<_>>());
        let conditions: Vec<&Condition> = runs.iter().map(|(condition, _)| *condition).collect();
        let others = beside.into_iter().flat_map(|judged| judged.rows).collect();
        let tools = bandwidth::Report::of(&rows, others, &grid, &conditions, output.seed);
        self.tell(&Told { grid: &grid, rows, gaps, tools, failures, seconds }, output)
    }

    fn tell(&self, told: &Told<'_>, output: &Output) -> Result<()> {
        let Told { grid, rows, gaps, tools, failures, seconds } = told;
        let counting: Vec<Row> = rows.iter().filter(|row| row.counts()).cloned().collect();
        let cells = cells::cells(&counting);
        let beside = published::beside(&grid.published, &counting, gaps);
        let agreements = agreement::agreements(&counting, &grid.near_enough());
        // Bandwidth tools have a report of their own, which tells theirs.
        let others: Vec<Row> = rows.iter().filter(|row| row.met.is_none()).cloned().collect();
        let uncarried = uncarried::uncarried(&others);
        let closing = closing(rows.len(), failures, *seconds);
        if output.json {
            let mut document = json!({
                "verb": "eval",
                "dwell": env!("CARGO_PKG_VERSION"),
                "grid": self.grid.display().to_string(),
                "description": grid.description,
                "seed": output.seed,
                "rows": rows,
                "summary": cells,
                "published": beside,
                "uncarried": uncarried,
                "agreement": agreements.iter().map(agreement::Agreement::json).collect::<Vec<_>>(),
                "failures": failures,
                "seconds": seconds,
            });
            if let Some(tools) = tools {
                document["bandwidth"] = tools.json();
            }
            print_json(&document)?;
        } else {
            let repeat = |place: &Place| self.command(place, output);
            print(&show::text(rows, &cells, &beside, self.every_run, &repeat))?;
            if let Some(sheet) = uncarried::sheet(&uncarried) {
                print(&format!("{}\n", sheet.text()))?;
            }
            if let Some(tools) = tools {
                print(&tools.text())?;
            }
            if let Some(text) = agreement::text(&agreements) {
                print(&format!("{text}\n\n"))?;
            }
            closing.iter().try_for_each(|line| print(&format!("{line}\n")))?;
        }
        let made = format!("dwell {}: eval {}", env!("CARGO_PKG_VERSION"), self.grid.display());
        let notes: Vec<String> =
            std::iter::once(format!("{made}, seed {}", output.seed)).chain(closing).collect();
        if let (Some(file), Some(tools)) = (&self.html, tools) {
            picture::keep(file, &tools.page(&grid.description, &notes)?)?;
        }
        if let Some(file) = &output.plot {
            let (title, panels) =
                tools.as_ref().map_or_else(|| chart::panels(&counting, &cells), bandwidth::Report::panels);
            Picture { title, notes, panels }.write(file)?;
        }
        Ok(())
    }

    /// The command that makes one run again.
    fn command(&self, place: &Place, output: &Output) -> String {
        let quoted = |text: String| {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:".contains(letter);
            if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
        };
        let grid = quoted(self.grid.display().to_string());
        let mut command =
            format!("dwell eval {grid} --only {} --seed {}", quoted(place.to_string()), output.seed);
        if let Some(runs) = self.runs {
            command += &format!(" --runs {runs}");
        }
        if self.load.share() != LoadLimit::DEFAULT_SHARE {
            command += &format!(" --max-load {}", self.load.share());
        }
        command
    }
}

/// The last words of every form of the report. A run that failed has no row: who reads only the tables is told so.
fn closing(rows: usize, failures: &[String], seconds: f64) -> Vec<String> {
    let made = format!("{rows} rows in {seconds:.0} s");
    let failed = |first: &String| {
        let runs = counted(failures.len() as u64, "run");
        format!("{runs} could not be made, and are in no figure above; the first: {first}")
    };
    std::iter::once(made).chain(failures.first().map(failed)).collect()
}

#[cfg(test)]
mod tests {
    use super::closing;

    #[test]
    fn runs_that_could_not_be_made_are_told_beside_the_figures() {
        assert_eq!(closing(5, &[], 2.0), ["5 rows in 2 s"]);
        let failures = ["b.0.1: no lab".to_owned(), "b.0.2: no lab".to_owned()];
        let told = closing(5, &failures, 2.0);
        assert_eq!(told[1], "2 runs could not be made, and are in no figure above; the first: b.0.1: no lab");
    }
}
