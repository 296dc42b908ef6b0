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
use dwell_core::{Finding, Quantity, Report, Vantage};
use dwell_store::Ask;
use grid::{Condition, EvalWorld, Grid, MethodName, MethodSpec};
use rows::{Origin, Row};
use serde_json::json;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
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
        let judge = Judge { grid: &grid, share: self.load.max_load, seed: output.seed };
        let (rows, failures) = judge.all(&conditions)?;
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
                format!("{} rows in {:.0} s", rows.len(), began.elapsed().as_secs_f64()),
            ];
            let (title, panels) = show::panels(&rows, &cells);
            Picture { title, notes, panels }.write(file)?;
        }
        Ok(())
    }
}

/// How conditions are judged.
struct Judge<'a> {
    grid: &'a Grid,
    share: f64,
    seed: u64,
}

/// Rows, and the runs that could not be made.
type Judged = (Vec<Row>, Vec<String>);

impl Judge<'_> {
    /// All conditions. Simulated ones do not disturb one another, so every core takes its share of them; in the lab
    /// there is one at a time.
    fn all(&self, conditions: &[Condition]) -> Result<Judged> {
        let threads = match self.grid.world {
            EvalWorld::Lab => 1,
            EvalWorld::Sim => thread::available_parallelism().map_or(1, usize::from).min(conditions.len()),
        };
        let (progress, began) = (Progress::start(), Instant::now());
        let runs = conditions.len() as u32 * self.grid.runs;
        let (next, done) = (AtomicUsize::new(0), AtomicU32::new(0));
        let tell = || {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress.say(format!("{done} of {runs} runs, {}", left(began.elapsed(), done, runs)));
        };
        let work = || {
            let mut judged: Vec<(usize, Judged)> = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(condition) = conditions.get(place) else { return anyhow::Ok(judged) };
                judged.push((place, self.condition(place, condition, &tell)?));
            }
        };
        let mut judged: Vec<(usize, Judged)> = thread::scope(|scope| {
            let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut all = work()?;
            for worker in workers {
                all.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            }
            anyhow::Ok(all)
        })?;
        judged.sort_by_key(|(place, _)| *place);
        let (rows, failures): (Vec<_>, Vec<_>) = judged.into_iter().map(|(_, judged)| judged).unzip();
        Ok((rows.concat(), failures.concat()))
    }

    /// Every run of a condition. A run that fails is told of and left out; the others go on.
    fn condition(&self, place: usize, condition: &Condition, tell: &dyn Fn()) -> Result<Judged> {
        let bed = Bed::make(&condition.scenario, self.grid.world == EvalWorld::Lab, self.seed)?;
        let (mut rows, mut failures) = (Vec::new(), Vec::new());
        for run in 0..self.grid.runs {
            // Different in every run of every condition, and the same in every evaluation.
            let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(place as u64 * 10_007 + u64::from(run));
            match self.one(&bed, condition, run, seed) {
                Ok(found) => rows.extend(found),
                Err(error) => {
                    let failure = format!("condition {}, run {}: {error:#}", place + 1, run + 1);
                    eprintln!("dwell: {failure}");
                    failures.push(failure);
                }
            }
            tell();
        }
        Ok((rows, failures))
    }

    fn one(&self, bed: &Bed, condition: &Condition, run_number: u32, seed: u64) -> Result<Vec<Row>> {
        let ask = Ask { verb: "eval".to_owned(), seed, ..Ask::default() };
        let mut run = Run::inner(bed.open(seed)?, ask, self.share);
        // First of all, for its capacity is what the others build on; judged only where the grid asks.
        let (report, took) = capacity::measure_end_link(&mut run)?;
        let mut rows = Vec::new();
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
                rows.extend(self.rows(&origin, &run, capacity::STAGE, &report, took));
                continue;
            }
            if spec.needs_stage() && !matches!(known, Some(Finding::Value { .. })) {
                let reason = "without a value for the application stage there is nothing to correct by";
                let report = Report::new(spec.name.stage(), spec.stamps)
                    .with(Quantity::OneWayDelay, Finding::unmeasurable(reason));
                rows.extend(self.rows(&origin, &run, &spec.stage(), &report, Duration::ZERO));
                continue;
            }
            let mut method = spec.build(seed, run.facts(), known.as_ref());
            if let Some((other, took)) = done.iter().find(|(other, _)| spec.shares_trains_with(other)) {
                // Both kinds of stamps of the same packets: that is the fairest comparison, and half the probes.
                run.passages(&other.stage()).for_each(|passage| method.see(&passage.observation));
                rows.extend(self.rows(&origin, &run, &other.stage(), &method.report(), *took));
                continue;
            }
            let (report, took) = run.measure(&spec.stage(), &mut *method)?;
            rows.extend(self.rows(&origin, &run, &spec.stage(), &report, took));
            if spec.name == MethodName::Knee && spec.stamps == Vantage::Application {
                known = delay::stage_of(Some(&report));
            }
            done.push((spec, took));
        }
        Ok(rows)
    }

    /// One row for each quantity that the method looks for.
    fn rows(&self, origin: &Origin, run: &Run, stage: &str, report: &Report, took: Duration) -> Vec<Row> {
        let mut truth = truths(run.passages(stage));
        truth.extend(run.world().truths());
        let effort = run.effort(stage);
        // Virtual time costs nothing: what a run in the simulator would have taken is its probes' span.
        let seconds = match self.grid.world {
            EvalWorld::Lab => took.as_secs_f64(),
            EvalWorld::Sim => effort.span.as_secs_f64(),
        };
        let wanted = report.findings.iter().filter(|(quantity, _)| self.grid.wants(**quantity));
        let row = |(quantity, finding): (&Quantity, &Finding)| {
            let judgement = Judgement { truth: truth.get(quantity).copied(), finding: finding.clone() };
            Row::new(origin, report.stamps, *quantity, judgement, effort, seconds)
        };
        wanted.map(row).collect()
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
