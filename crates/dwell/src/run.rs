//! One run: measurements one after another on one world, kept in a record as they come.

use crate::figure;
use crate::output::Output;
use crate::screen::Progress;
use crate::verb::{avail, capacity};
use crate::world::World;
use anyhow::Result;
use dwell_core::hop::{HopMethod as _, HopStep, Joined, Walk, count};
use dwell_core::nic::Coalesced;
use dwell_core::truth::Usage;
use dwell_core::{
    BitRate, Circumstances, Effort, Finding, LoadLimit, Method, Nanos, Onlooker, Passage, PathFacts,
    Quantity, Report,
};
use dwell_net::LiveError;
use dwell_net::protocol::Refusal;
use dwell_store::{Ask, Found, Header, Kept, RecordWriter};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The note of a run that was cut short, and says how far it came.
pub(crate) const CUT_SHORT: &str = "cut_short";

/// A run under way.
pub(crate) struct Run {
    world: Box<dyn World>,
    ask: Ask,
    facts: PathFacts,
    share: f64,
    writer: Option<RecordWriter>,
    progress: Progress,
    found: Vec<Found>,
    seen: Vec<Kept>,
    used: BTreeMap<String, Usage>,
    hops: Option<Result<Joined, String>>,
    /// What was noted while looking.
    notes: BTreeMap<String, String>,
}

/// A run that is over.
pub(crate) struct Finished {
    /// What was asked.
    pub(crate) ask: Ask,
    /// Under which circumstances.
    pub(crate) circumstances: Circumstances,
    /// What was known of the path in the end.
    pub(crate) facts: PathFacts,
    /// What was found, measurement by measurement.
    pub(crate) found: Vec<Found>,
    /// All that was seen.
    pub(crate) seen: Vec<Kept>,
    /// What the links carried meanwhile, by their counters, measurement by measurement.
    pub(crate) used: BTreeMap<String, Usage>,
    /// What is known of the path hop by hop, or why nothing is; `None`: it was not looked at.
    pub(crate) hops: Option<Result<Joined, String>>,
}

impl Run {
    /// Begins a run; with `--record`, its record too.
    pub(crate) fn begin(world: Box<dyn World>, ask: Ask, share: f64, output: &Output) -> Result<Self> {
        let facts = world.facts();
        let writer = match &output.record {
            Some(file) => {
                let header = Header::now(ask.clone(), Some(facts), world.circumstances());
                Some(RecordWriter::create(file, &header)?)
            }
            None => None,
        };
        Ok(Self { writer, progress: Progress::start(), ..Self::inner(world, ask, share) })
    }

    /// A run inside a larger one, which keeps no record and shows no progress of its own.
    pub(crate) fn inner(world: Box<dyn World>, ask: Ask, share: f64) -> Self {
        let facts = world.facts();
        let progress = Progress::hidden();
        Self {
            world,
            ask,
            facts,
            share,
            writer: None,
            progress,
            found: Vec::new(),
            seen: Vec::new(),
            used: BTreeMap::new(),
            hops: None,
            notes: BTreeMap::new(),
        }
    }

    /// What is known of the path by now.
    pub(crate) fn facts(&self) -> &PathFacts {
        &self.facts
    }

    /// Seed of everything random.
    pub(crate) fn seed(&self) -> u64 {
        self.ask.seed
    }

    /// The world.
    pub(crate) fn world(&self) -> &dyn World {
        &*self.world
    }

    /// What the measurement `stage` saw.
    pub(crate) fn passages<'a>(&'a self, stage: &'a str) -> impl Iterator<Item = &'a Passage> {
        self.seen.iter().filter(move |kept| kept.stage == stage).map(|kept| &kept.passage)
    }

    /// What the links carried during the measurement `stage`, where they have counters.
    pub(crate) fn used(&self, stage: &str) -> Option<&Usage> {
        self.used.get(stage)
    }

    /// What the measurement `stage` cost.
    pub(crate) fn effort(&self, stage: &str) -> Effort {
        self.found
            .iter()
            .find(|found| found.stage == stage)
            .map_or_else(Effort::default, |found| found.effort)
    }

    /// Makes one measurement and returns its report and the time that it took by the clock on the wall.
    pub(crate) fn measure(&mut self, stage: &str, method: &mut dyn Method) -> Result<(Report, Duration)> {
        let began = Instant::now();
        let limit = self.facts.end_link.map(|capacity| LoadLimit { share: self.share, capacity });
        let (writer, seen, progress) = (&mut self.writer, &mut self.seen, &self.progress);
        let mut unwritten = None;
        let (mut counted, mut onlooker) = (Effort::default(), Onlooker::default());
        progress.say(format!("{stage}: first probes"));
        let before = self.world.reading()?;
        let outcome = self.world.measure(stage, method, limit, &mut |passage: Passage| {
            counted.count(Nanos::ZERO, &passage.observation);
            onlooker.see(&passage.observation);
            progress.say(format!("{stage}: {}", figure::counted(counted.probes, "probe")));
            if let (Some(writer), None) = (writer.as_mut(), &unwritten) {
                unwritten = writer.push(stage, passage.clone()).err();
            }
            seen.push(Kept { stage: stage.to_owned(), passage });
        });
        // What an agent will not take is no reason to forget what it took. The pauses between trains are not counted then.
        let (effort, refused) = match outcome {
            Ok(effort) => (effort, None),
            Err(error) if counted.probes > 0 && is_load(&error) => (counted, Some(error)),
            Err(error) => return Err(error),
        };
        let after = self.world.reading()?;
        let used = before.zip(after).and_then(|(before, after)| before.until(&after));
        let used = used.or_else(|| self.world.used(stage));
        if let Some(error) = unwritten {
            return Err(error.into());
        }
        let mut report = onlooker.judge(method.report(), &self.facts);
        report
            .warnings
            .extend(refused.map(|error| {
                format!("the measurement ended early, and tells what it knew by then: {error}")
            }));
        let kept = used.clone().map(|used| (used.span, used.links));
        self.found.push(Found { stage: stage.to_owned(), report: report.clone(), effort, used: kept });
        self.used.extend(used.map(|used| (stage.to_owned(), used)));
        Ok((report, began.elapsed()))
    }

    /// Has the report of a measurement say what another one showed.
    pub(crate) fn revise(&mut self, stage: &str, by: &str, revised: impl FnOnce(Report, &Report) -> Report) {
        let place = |stage: &str| self.found.iter().position(|found| found.stage == stage);
        if let (Some(place), Some(by)) = (place(stage), place(by)) {
            self.found[place].report = revised(self.found[place].report.clone(), &self.found[by].report);
        }
    }

    /// Looks at the path hop by hop. That nothing can be seen is a result; what the record cannot take is an error.
    pub(crate) fn walk(&mut self) -> Result<()> {
        let mut hops = match self.world.hops() {
            Ok(hops) => hops,
            Err(error) => {
                self.hops = Some(Err(error.to_string()));
                return Ok(());
            }
        };
        let mut walk = Walk::new(hops.facts(), Walk::PATIENCE);
        let mut effort = Effort::default();
        let mut failed = None;
        while let HopStep::Fire(round) = walk.next() {
            self.progress.say(format!("{}: {}", walk.stage(), figure::counted(effort.packets, "probe")));
            let sightings = match hops.fire(&round) {
                Ok(Some(sightings)) => sightings,
                Ok(None) => break,
                Err(error) => {
                    failed = Some(error.to_string());
                    break;
                }
            };
            for (volley, sighting) in round.iter().zip(sightings) {
                count(&mut effort, volley.pause, &sighting);
                walk.see(&sighting);
                if let Some(writer) = &mut self.writer {
                    writer.push_volley(sighting)?;
                }
            }
        }
        let report =
            |stage: &str| self.found.iter().find(|found| found.stage == stage).map(|found| &found.report);
        let mut joined = walk.joined();
        if let (Some(capacity), Some(free)) = (report(capacity::NARROW_STAGE), report(avail::STAGE)) {
            joined = joined.within(capacity, free);
        }
        joined.warnings.extend(failed.map(|why| format!("the look at the hops ended early: {why}")));
        self.notes = hops.circumstances().notes;
        let report = crate::verb::path::hops::report(&joined);
        self.found.push(Found { stage: Walk::NAME.to_owned(), report, effort, used: None });
        self.hops = Some(Ok(joined));
        Ok(())
    }

    /// Takes over the capacities of end link and narrowest link from a report, for the methods that follow and for the
    /// probing load.
    pub(crate) fn learn_end_link(&mut self, report: &Report) {
        let known = |quantity| match report.finding(quantity) {
            Finding::Value { value, .. } if value >= 1.0 => Some(BitRate(value.round() as u64)),
            // A bound from below is a capacity that is there.
            Finding::Bound { bound, side: dwell_core::Side::Lower, .. } if bound >= 1.0 => {
                Some(BitRate(bound.round() as u64))
            }
            _ => None,
        };
        self.facts.end_link = known(Quantity::EndLinkCapacity).or(self.facts.end_link);
        self.facts.narrow_link = known(Quantity::NarrowLinkCapacity).or(self.facts.narrow_link);
    }

    /// What is known of the path without capacities of which only a bound was found: a method that calculates with one would
    /// take the bound for it.
    pub(crate) fn facts_that_are_values(&self) -> PathFacts {
        let is_bound = |quantity| {
            let found = |found: &Found| matches!(found.report.finding(quantity), Finding::Bound { .. });
            self.found.iter().any(found)
        };
        let PathFacts { end_link, narrow_link, .. } = self.facts;
        PathFacts {
            end_link: end_link.filter(|_| !is_bound(Quantity::EndLinkCapacity)),
            narrow_link: narrow_link.filter(|_| !is_bound(Quantity::NarrowLinkCapacity)),
            ..self.facts
        }
    }

    /// Takes over how the receiver coalesces interrupts, for the methods that follow.
    pub(crate) fn learn_coalescence(&mut self, found: Option<Coalesced>) {
        self.facts.coalescence = found;
    }

    /// Ends the run and closes its record.
    pub(crate) fn finish(mut self) -> Result<Finished> {
        if let Some(writer) = self.writer.take() {
            writer.finish(&self.found)?;
        }
        let mut circumstances = self.world.circumstances();
        circumstances.note_idle(self.seen.iter().map(|kept| &kept.passage.observation));
        for (name, note) in self.notes {
            circumstances.notes.entry(name).or_insert(note);
        }
        let Self { ask, facts, found, seen, used, hops, .. } = self;
        Ok(Finished { ask, circumstances, facts, found, seen, used, hops })
    }
}

/// Whether an agent refused trains that are more load than it allows.
fn is_load(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(LiveError::Refused(Refusal::Load(_))))
}

impl Finished {
    /// What the whole run cost.
    pub(crate) fn effort(&self) -> Effort {
        self.found.iter().fold(Effort::default(), |sum, found| sum.plus(found.effort))
    }

    /// Whether the run came to its end: only then it left an account of what it cost.
    pub(crate) fn is_whole(&self) -> bool {
        !self.circumstances.notes.contains_key(CUT_SHORT)
    }

    /// The report of the measurement `stage`.
    pub(crate) fn report(&self, stage: &str) -> Option<&Report> {
        self.found.iter().find(|found| found.stage == stage).map(|found| &found.report)
    }

    /// What the measurement `stage` saw.
    pub(crate) fn passages<'a>(&'a self, stage: &'a str) -> impl Iterator<Item = &'a Passage> {
        self.seen.iter().filter(move |kept| kept.stage == stage).map(|kept| &kept.passage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hops::HopWorld;
    use crate::world::Keep;
    use anyhow::bail;
    use dwell_core::capacity::{PacketPair, packet_pair};
    use dwell_core::{Bytes, Fate, Observation, Packet, Stamps, Unit, Vantage};

    /// An agent that takes one train, and then no more.
    struct Refusing;

    impl World for Refusing {
        fn facts(&self) -> PathFacts {
            PathFacts {
                max_size: Bytes(1_526),
                min_size: Bytes(96),
                resolution: Nanos(1),
                end_link: None,
                narrow_link: None,
                coalescence: None,
            }
        }

        fn circumstances(&self) -> Circumstances {
            Circumstances::default()
        }

        fn measure(
            &mut self,
            _stage: &str,
            _method: &mut dyn Method,
            _limit: Option<LoadLimit>,
            keep: Keep<'_>,
        ) -> Result<Effort> {
            let sent = Stamps { application: Nanos::ZERO, kernel: None, hardware: None };
            let packet = Packet { size: Bytes(1_526), hold: Nanos::ZERO };
            let fates = vec![Fate { packet, sent, arrival: None }; 2];
            keep(Passage { observation: Observation { fates, ..Observation::default() }, truth: None });
            Err(LiveError::Refused(Refusal::Load("too much".to_owned())).into())
        }

        fn hops(&mut self) -> Result<Box<dyn HopWorld>> {
            bail!("none")
        }
    }

    #[test]
    fn what_was_measured_before_an_agent_refused_is_told() {
        let mut run = Run::inner(Box::new(Refusing), Ask::default(), 1.0);
        let mut method = PacketPair::new(packet_pair::Config::default(), run.facts());
        let (report, _) = run.measure("capacity", &mut method).expect("a report");
        assert!(report.warnings.iter().any(|warning| warning.contains("too much")), "{report:?}");
        assert_eq!(run.effort("capacity").packets, 2);
    }

    #[test]
    fn what_calculates_with_a_capacity_is_told_no_bound_of_it() {
        let told = |finding: Finding| {
            let mut run = Run::inner(Box::new(Refusing), Ask::default(), 1.0);
            let report = Report::new("end-link", Vantage::Capture)
                .with(Quantity::EndLinkCapacity, finding.clone())
                .with(Quantity::NarrowLinkCapacity, finding);
            run.learn_end_link(&report);
            run.found.push(Found {
                stage: "end-link".to_owned(),
                report,
                effort: Effort::default(),
                used: None,
            });
            let of = |facts: PathFacts| [facts.end_link, facts.narrow_link];
            (of(*run.facts()), of(run.facts_that_are_values()))
        };
        let known = [Some(BitRate::from_mbps(50)); 2];
        assert_eq!(told(Finding::value(50e6, 49e6, 51e6, Unit::Bps)), (known, known));
        // It is a capacity that is there, and no more than that.
        assert_eq!(told(Finding::at_least(50e6, Unit::Bps, "more may pass")), (known, [None; 2]));
    }
}
