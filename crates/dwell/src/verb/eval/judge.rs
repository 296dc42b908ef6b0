//! Runs of conditions, judged against the truth on all cores.

use super::gaps;
use super::grid::{Condition, EvalWorld, Grid, Of};
use super::ground;
use super::halves::{self, Inside};
use super::journal::{Journal, Judged};
use super::method::{MethodName, MethodSpec};
use super::place::Place;
use super::rows::{Origin, Row};
use super::{bandwidth, echo, fsd, passing, sections};
use crate::run::Run;
use crate::screen::Progress;
use crate::target::Bed;
use crate::verb::coalescence::{self, measure_coalescence};
use crate::verb::{capacity, delay};
use anyhow::Result;
use dwell_core::truth::{Ground, Usage, truths};
use dwell_core::{BitRate, Effort, Finding, PathFacts, Quantity, Report, Vantage};
use dwell_lab::Watched;
use dwell_store::Ask;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How runs are judged.
pub(super) struct Judge<'a> {
    pub(super) grid: &'a Grid,
    pub(super) share: f64,
    pub(super) seed: u64,
}

/// What the runs gave, in the order in which they ended.
struct Kept {
    judged: Vec<Judged>,
    failures: Vec<String>,
    journal: Option<Journal>,
}

impl Judge<'_> {
    /// All of `runs`, and why some could not be made: a run that fails is told of and left out, the others go on.
    /// Simulated ones do not disturb one another, so every core takes its share of them; in the lab there is one at a
    /// time, unless the grid says otherwise. Each is put into the journal as it ends.
    pub(super) fn all(
        &self,
        runs: &[(&Condition, Place)],
        journal: Option<Journal>,
    ) -> Result<(Vec<Judged>, Vec<String>)> {
        let threads = match self.grid.world {
            EvalWorld::Lab => self.grid.together.clamp(1, runs.len().max(1)),
            EvalWorld::Sim => thread::available_parallelism().map_or(1, usize::from).min(runs.len()),
        };
        let (progress, began) = (Progress::start(), Instant::now());
        let next = AtomicUsize::new(0);
        let kept = Mutex::new(Kept { judged: Vec::new(), failures: Vec::new(), journal });
        let work = || {
            // A lab is built once for all runs of its condition.
            let mut bed: Option<(&Place, Bed)> = None;
            while let Some((condition, place)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let same = |of: &Place| of.block == place.block && of.condition == place.condition;
                if !bed.as_ref().is_some_and(|(of, _)| same(of)) {
                    // One lab at a time.
                    bed = None;
                }
                let outcome = match &bed {
                    _ if condition.has_own_labs() => Ok(()),
                    Some(_) => Ok(()),
                    None => match &condition.of {
                        Of::Passing(_) => Ok(()),
                        Of::Scenario(scenario) => {
                            Bed::make(scenario, self.grid.world == EvalWorld::Lab, self.seed)
                                .map(|made| bed = Some((place, made)))
                        }
                    },
                };
                let outcome = outcome.and_then(|()| match (&bed, &condition.of) {
                    (_, Of::Passing(passing)) => {
                        passing::run(passing, condition, place, place.seed(self.seed), |quantity| {
                            self.grid.wants(quantity)
                        })
                    }
                    _ if !condition.echo.is_empty() => {
                        echo::run(condition, place, place.seed(self.seed), |quantity| {
                            self.grid.wants(quantity)
                        })
                    }
                    _ if !condition.fsd.is_empty() => {
                        fsd::run(condition, place, place.seed(self.seed), |quantity| {
                            self.grid.wants(quantity)
                        })
                    }
                    (bed, _) => match (&condition.sections, &condition.bandwidth, bed) {
                        (Some(asked), ..) => {
                            sections::run(condition, asked, place, place.seed(self.seed), threads == 1)
                        }
                        (None, Some(asked), _) => {
                            bandwidth::run(condition, asked, place, place.seed(self.seed), self.grid.world)
                        }
                        (None, None, Some((_, bed))) => self.one(bed, condition, place),
                        (None, None, None) => anyhow::bail!("nothing to measure on"),
                    },
                });
                let mut kept = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if let Err(error) = kept.keep(place, outcome) {
                    // No run is worth making whose rows cannot be kept.
                    next.store(runs.len(), Ordering::Relaxed);
                    return Err(error);
                }
                let done = kept.judged.len() + kept.failures.len();
                progress.say(format!(
                    "{done} of {} runs, {}",
                    runs.len(),
                    left(began.elapsed(), done, runs.len())
                ));
            }
            anyhow::Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let others =
                workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
            others.fold(own, Result::and)
        })?;
        let kept = kept.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok((kept.judged, kept.failures))
    }

    fn one(&self, bed: &Bed, condition: &Condition, place: &Place) -> Result<Judged> {
        let seed = place.seed(self.seed);
        let ask = Ask { verb: "eval".to_owned(), seed, ..Ask::default() };
        let mut witness = Witness {
            judge: self,
            condition,
            ground: ground::of(condition.scenario()?, self.grid.world),
            uncarried: bed.uncarried_nic()?,
            judged: Judged { place: place.clone(), rows: Vec::new(), gaps: Vec::new() },
        };
        if condition.methods.iter().any(|spec| spec.name.request().is_some()) {
            witness.ground = ground::answering(condition.scenario()?, self.grid.world);
            for (spec, request) in
                condition.methods.iter().filter_map(|spec| Some((spec, spec.name.request()?)))
            {
                let mut run = Run::inner(bed.ask(request, seed)?, ask.clone(), self.share);
                let mut method = spec.build(seed, run.facts(), None);
                let (report, took) = run.measure(spec.name.stage(), &mut *method)?;
                witness.ground.least_sent = ground::least_sent(run.passages(spec.name.stage()));
                witness.hears(&run, spec, spec.name.stage(), &report, took);
            }
            return Ok(witness.judged);
        }
        let mut run = Run::inner(bed.open(seed)?, ask, self.share);
        // First of all, for its capacity is what the others build on; judged only where the grid asks.
        let (end_link, took) = capacity::measure_end_link(&mut run)?;
        let mut known = None;
        let mut done: Vec<(&MethodSpec, Duration)> = Vec::new();
        for spec in &condition.methods {
            if spec.name == MethodName::EndLink {
                witness.hears(&run, spec, capacity::STAGE, &end_link, took);
                continue;
            }
            if spec.needs_stage() && !matches!(known, Some(Finding::Value { .. })) {
                let reason = "without a value for the application stage there is nothing to correct by";
                let report = Report::new(spec.name.stage(), spec.stamps)
                    .with(Quantity::OneWayDelay, Finding::unmeasurable(reason));
                witness.hears(&run, spec, &spec.stage(), &report, Duration::ZERO);
                continue;
            }
            if spec.name == MethodName::Coalescence {
                let (report, took) = measure_coalescence(&mut run)?;
                witness.hears(&run, spec, coalescence::STAGE, &report, took);
                continue;
            }
            if spec.name == MethodName::Local {
                let watch = bed.watch()?;
                let mut knee = spec.build(seed, run.facts(), None);
                let (report, took) = run.measure(halves::JOINED, &mut *knee)?;
                witness.hears_halves(&run, &report, &watch.finish()?, took);
                continue;
            }
            let mut method = spec.build(seed, &facts_for(spec, &run), known.as_ref());
            if let Some((other, took)) = done.iter().find(|(other, _)| spec.shares_trains_with(other)) {
                // Both kinds of stamps of the same packets: that is the fairest comparison, and half the probes.
                run.passages(&other.stage()).for_each(|passage| method.see(&passage.observation));
                witness.hears(&run, spec, &other.stage(), &method.report(), *took);
                continue;
            }
            let (report, took) = run.measure(&spec.stage(), &mut *method)?;
            witness.hears(&run, spec, &spec.stage(), &report, took);
            if spec.name == MethodName::Knee && spec.stamps == Vantage::Application {
                known = delay::stage_of(Some(&report));
            }
            done.push((spec, took));
        }
        Ok(witness.judged)
    }
}

/// What `spec` is told of the path. The published methods reckon with the end link's rate (gamma, the step between their
/// sizes), and their authors knew it: they are told the true one, so that they are judged at their best and not by
/// what `end-link` found.
fn facts_for(spec: &MethodSpec, run: &Run) -> PathFacts {
    let facts = *run.facts();
    if !spec.is_published() {
        return facts;
    }
    let truth = run.world().truths().get(&Quantity::EndLinkCapacity).map(|bps| BitRate(bps.round() as u64));
    PathFacts { end_link: truth.or(facts.end_link), ..facts }
}

impl Kept {
    fn keep(&mut self, place: &Place, outcome: Result<Judged>) -> Result<()> {
        match outcome {
            Ok(judged) => {
                if let Some(journal) = &mut self.journal {
                    journal.push(&judged)?;
                }
                self.judged.push(judged);
            }
            Err(error) => {
                let failure = format!("{place}: {error:#}");
                eprintln!("dwell: {failure}");
                self.failures.push(failure);
            }
        }
        Ok(())
    }
}

/// Hears the reports of one run and holds them against what was really so.
struct Witness<'a> {
    judge: &'a Judge<'a>,
    condition: &'a Condition,
    ground: Ground,
    /// What the lab's NIC was seen to do instead of what it was asked for.
    uncarried: Option<String>,
    judged: Judged,
}

/// Of these the truth is what the NIC was asked for, and not what came of it packet by packet.
const ASKED_OF_THE_NIC: [Quantity; 3] =
    [Quantity::CoalescencePresent, Quantity::CoalescenceKind, Quantity::CoalescencePeriod];

impl Witness<'_> {
    /// One row for each quantity that the method looks for, by the truth of the measurement `stage`.
    fn hears(&mut self, run: &Run, spec: &MethodSpec, stage: &str, report: &Report, took: Duration) {
        let mut truth = truths(run.passages(stage));
        truth.extend(run.world().truths());
        truth.extend(run.used(stage).into_iter().flat_map(Usage::truths));
        let effort = run.effort(stage);
        self.ground.span = effort.span;
        self.ground.stage = truth.get(&Quantity::ApplicationStage).copied().or(self.ground.stage);
        let origin = self.origin(spec.name.stage(), report, effort, took);
        self.note(&origin, report, &truth, Ground::outside);
        if spec.is_published() {
            let gaps = gaps::of(run.passages(stage), spec.name.stage(), spec.stamps, &self.ground);
            self.judged.gaps.extend(gaps);
        }
    }

    /// Rows of what `knee` and an observer in the host say together, and of what the observer alone says.
    fn hears_halves(&mut self, run: &Run, knee: &Report, watched: &Watched, took: Duration) {
        let passages = || run.passages(halves::JOINED);
        let (inside, effort) = (Inside::of(passages(), watched), run.effort(halves::JOINED));
        self.ground.span = effort.span;
        let (report, truth) = inside.joined(knee);
        self.ground.stage = truth.get(&Quantity::ApplicationStage).copied().or(self.ground.stage);
        let origin = self.origin(halves::JOINED, &report, effort, took);
        // What is missing to the whole is had inside; the stage is as hard to see as ever.
        self.note(&origin, &report, &truth, |ground, _| ground.outside(Quantity::ApplicationStage));
        let by_stamps = truths(passages()).get(&Quantity::PptHeading).copied();
        let (report, truth) = inside.local(by_stamps);
        let origin = self.origin(halves::LOCAL, &report, effort, took);
        self.note(&origin, &report, &truth, |_, _| None);
    }

    fn origin(&self, method: &str, report: &Report, effort: Effort, took: Duration) -> Origin {
        let world = self.judge.grid.world;
        Origin {
            world,
            place: self.judged.place.clone(),
            condition: self.condition.settings.clone(),
            method: method.to_owned(),
            stamps: report.stamps,
            effort,
            // Virtual time costs nothing: what a run in the simulator would have taken is its probes' span.
            seconds: match world {
                EvalWorld::Lab => took.as_secs_f64(),
                EvalWorld::Sim => effort.span.as_secs_f64(),
            },
        }
    }

    fn note(
        &mut self,
        origin: &Origin,
        report: &Report,
        truth: &BTreeMap<Quantity, f64>,
        outside: impl Fn(&Ground, Quantity) -> Option<String>,
    ) {
        for (quantity, finding) in &report.findings {
            if self.judge.grid.wants(*quantity) {
                let (truth, outside) = (truth.get(quantity).copied(), outside(&self.ground, *quantity));
                let mut row = Row::new(origin, *quantity, finding, truth, outside);
                row.uncarried = self.uncarried.clone().filter(|_| ASKED_OF_THE_NIC.contains(quantity));
                self.judged.rows.push(row);
            }
        }
    }
}

/// How long the rest will take, by what was done so far.
fn left(elapsed: Duration, done: usize, all: usize) -> String {
    let rest = elapsed.mul_f64(all.saturating_sub(done) as f64 / done.max(1) as f64);
    match rest.as_secs() {
        seconds @ 0..120 => format!("about {seconds} s left"),
        seconds => format!("about {} min left", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::Unit;

    #[test]
    fn what_the_nic_did_instead_takes_from_its_own_figures_what_they_are_judged_by() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/eval/coalescence-lab.toml");
        let grid = Grid::load(std::path::Path::new(file)).unwrap();
        let conditions = grid.conditions(1).unwrap();
        let (condition, place) = grid.runs(&conditions, None).unwrap().swap_remove(0);
        let judge = Judge { grid: &grid, share: 0.02, seed: 1 };
        let report = [
            (Quantity::CoalescencePresent, Finding::flag(true)),
            (Quantity::CoalescenceKind, Finding::unmeasurable("too few")),
            (Quantity::CoalescencePeriod, Finding::at_most(31_000.0, Unit::Ns, "dispersion")),
            (Quantity::ApplicationStage, Finding::nanos(50.0, 45.0, 55.0)),
        ]
        .into_iter()
        .fold(Report::new("coalescence", Vantage::Capture), |report, (quantity, finding)| {
            report.with(quantity, finding)
        });
        let left_out = |uncarried: Option<&str>| {
            let mut witness = Witness {
                judge: &judge,
                condition,
                ground: ground::of(condition.scenario().unwrap(), grid.world),
                uncarried: uncarried.map(str::to_owned),
                judged: Judged { place: place.clone(), rows: Vec::new(), gaps: Vec::new() },
            };
            let origin = witness.origin("coalescence", &report, Effort::default(), Duration::ZERO);
            witness.note(&origin, &report, &BTreeMap::new(), |_, _| None);
            assert_eq!(witness.judged.rows.len(), 4);
            let rows = witness.judged.rows.into_iter().filter(|row| !row.counts());
            rows.map(|row| row.quantity).collect::<Vec<_>>()
        };
        assert_eq!(left_out(None), []);
        // The stage is judged by the kernel's stamps of the packets themselves.
        assert_eq!(left_out(Some("held wrongly")), ASKED_OF_THE_NIC);
    }
}
