//! `dwell eval`: methods over conditions, against the truth.

mod grid;
mod rows;
mod show;

use crate::cli::Output;
use crate::failure::bad_argument;
use crate::picture::Picture;
use crate::run::Run;
use crate::screen::{Progress, print, print_json};
use crate::target::Bed;
use crate::verb::{capacity, delay};
use anyhow::{Result, anyhow, bail};
use clap::Args;
use dwell_core::truth::{Judgement, truths};
use dwell_core::{Report, Vantage};
use dwell_store::Ask;
use grid::{Condition, EvalWorld, Grid, MethodName, MethodSpec};
use rows::{Origin, Row};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Judge methods against the truth, on the simulator or in the lab
#[derive(Args)]
#[command(after_help = "Examples:
  dwell eval scenarios/eval/host-delay-sim.toml
  dwell eval scenarios/eval/host-delay-lab.toml --json > lab.json
  dwell eval scenarios/eval/host-delay-lab.toml --plot lab.svg --runs 2 --block 'end link'")]
pub(crate) struct EvalArgs {
    /// A grid of conditions, runs and methods, as TOML
    #[arg(value_name = "GRID")]
    grid: PathBuf,

    /// Runs of each condition, instead of the grid's
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,

    /// Only the conditions of this block
    #[arg(long, value_name = "NAME")]
    block: Option<String>,

    #[command(flatten)]
    load: crate::target::Load,
}

impl EvalArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if let Some(file) = &output.record {
            let error = anyhow!("{}: an evaluation is many runs, and keeps no record", file.display());
            return Err(bad_argument(error));
        }
        let mut grid = Grid::load(&self.grid)?;
        grid.runs = self.runs.unwrap_or(grid.runs);
        let conditions = grid.conditions(self.block.as_deref(), output.seed)?;
        if grid.world == EvalWorld::Lab {
            crate::target::allow_labs()?;
        }
        let began = Instant::now();
        let mut judge =
            Judge { grid: &grid, share: self.load.max_load, rows: Vec::new(), failures: Vec::new() };
        judge.all(&conditions, output.seed)?;
        let Judge { rows, failures, .. } = judge;
        if rows.is_empty() {
            bail!(
                "no run could be made: {}",
                failures.first().map_or("the grid asks for none", String::as_str)
            );
        }
        let cells = rows::cells(&rows);
        if output.json {
            print_json(&json!({
                "verb": "eval",
                "dwell": env!("CARGO_PKG_VERSION"),
                "grid": self.grid.display().to_string(),
                "description": grid.description,
                "seed": output.seed,
                "rows": rows,
                "summary": cells,
                "failures": failures,
                "seconds": began.elapsed().as_secs_f64(),
            }))?;
        } else {
            print(&show::text(&rows, &cells, began.elapsed()))?;
        }
        if let Some(file) = &output.plot {
            let notes = vec![
                format!(
                    "dwell {}: eval {}, seed {}",
                    env!("CARGO_PKG_VERSION"),
                    self.grid.display(),
                    output.seed
                ),
                format!("{} runs in {:.0} s", rows.len(), began.elapsed().as_secs_f64()),
            ];
            let (title, panels) = show::panels(&rows);
            Picture { title, notes, panels }.write(file)?;
        }
        Ok(())
    }
}

/// An evaluation under way.
struct Judge<'a> {
    grid: &'a Grid,
    share: f64,
    rows: Vec<Row>,
    failures: Vec<String>,
}

impl Judge<'_> {
    /// Every run of every condition. A run that fails is told of and left out; the others go on.
    fn all(&mut self, conditions: &[Condition], seed: u64) -> Result<()> {
        let progress = Progress::start();
        let began = Instant::now();
        for (place, condition) in conditions.iter().enumerate() {
            let bed = Bed::make(&condition.scenario, self.grid.world == EvalWorld::Lab, seed)?;
            for run in 0..self.grid.runs {
                progress.say(format!(
                    "condition {} of {}, run {} of {}, {}",
                    place + 1,
                    conditions.len(),
                    run + 1,
                    self.grid.runs,
                    left(
                        began.elapsed(),
                        place as u32 * self.grid.runs + run,
                        conditions.len() as u32 * self.grid.runs
                    ),
                ));
                // Different in every run of every condition, and the same in every evaluation.
                let own_seed =
                    seed.wrapping_mul(1_000_003).wrapping_add(place as u64 * 10_007 + u64::from(run));
                if let Err(error) = self.one(&bed, condition, run, own_seed) {
                    let failure = format!("condition {}, run {}: {error:#}", place + 1, run + 1);
                    eprintln!("dwell: {failure}");
                    self.failures.push(failure);
                }
            }
        }
        Ok(())
    }

    fn one(&mut self, bed: &Bed, condition: &Condition, run_number: u32, seed: u64) -> Result<()> {
        let ask = Ask { verb: "eval".to_owned(), seed, ..Ask::default() };
        let mut run = Run::inner(bed.open(seed)?, ask, self.share);
        // First of all, for its capacity is what the others build on; judged only where the grid asks.
        let (report, took) = capacity::measure_end_link(&mut run)?;
        let mut known = None;
        let mut done: Vec<(&MethodSpec, Duration)> = Vec::new();
        for spec in &self.grid.methods {
            let origin = Origin {
                world: self.grid.world.name(),
                condition: condition.settings.clone(),
                run: run_number,
                method: spec.name.stage().to_owned(),
            };
            if spec.name == MethodName::EndLink {
                self.judge(&origin, &run, capacity::STAGE, &report, took);
                continue;
            }
            let mut method = spec.build(seed, run.facts(), known.as_ref());
            if let Some((other, took)) = done.iter().find(|(other, _)| spec.shares_trains_with(other)) {
                // Both kinds of stamps of the same packets: that is the fairest comparison, and half the probes.
                run.passages(&other.stage()).for_each(|passage| method.see(&passage.observation));
                self.judge(&origin, &run, &other.stage(), &method.report(), *took);
                continue;
            }
            let (report, took) = run.measure(&spec.stage(), &mut *method)?;
            self.judge(&origin, &run, &spec.stage(), &report, took);
            if spec.name == MethodName::Knee && spec.stamps == Vantage::Application {
                known = delay::stage_of(Some(&report));
            }
            done.push((spec, took));
        }
        Ok(())
    }

    /// One row for each quantity that the method looks for.
    fn judge(&mut self, origin: &Origin, run: &Run, stage: &str, report: &Report, took: Duration) {
        let mut truth = truths(run.passages(stage));
        truth.extend(run.world().truths());
        let effort = run.effort(stage);
        // Virtual time costs nothing: what a run in the simulator would have taken is its probes' span.
        let seconds = match self.grid.world {
            EvalWorld::Lab => took.as_secs_f64(),
            EvalWorld::Sim => effort.span.as_secs_f64(),
        };
        for (quantity, finding) in &report.findings {
            if self.grid.wants(*quantity) {
                let judgement = Judgement { truth: truth.get(quantity).copied(), finding: finding.clone() };
                self.rows.push(Row::new(origin, report.stamps, *quantity, judgement, effort, seconds));
            }
        }
    }
}

/// How long the rest will take, by what was done so far.
fn left(elapsed: Duration, done: u32, all: u32) -> String {
    if done == 0 {
        return "just begun".to_owned();
    }
    let rest = elapsed.mul_f64(f64::from(all - done) / f64::from(done));
    format!("about {} s left", rest.as_secs())
}
