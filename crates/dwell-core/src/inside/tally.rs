//! A run's journeys, counted: memory that does not grow with the run.

use super::bunches::Bunches;
use super::cause::{Attribution, Cause};
use super::counts::Counts;
use super::distribution::{Differences, Distribution};
use super::event::{Dropped, Event};
use super::journey::{Before, Flow, Journey, Process};
use super::slices::{Share, Slices};
use super::stage::{Point, Stage, Way};
use crate::report::Finding;
use crate::unit::Nanos;

/// One packet, and which of the run's it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    /// Its place in the order of telling, from 1.
    pub number: u64,
    /// Its way.
    pub journey: Journey,
}

/// What speaks for one cause.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// How long each packet waited for it.
    pub(super) waits: Distribution,
    /// Who ran instead, or who was slow.
    pub(super) who: Counts<String>,
    /// Where the readers ran.
    pub(super) cores: Counts<u32>,
    /// How long the core had slept.
    pub(super) slept: Distribution,
    /// Packets that lay in the queue before.
    pub(super) ahead: Counts<u32>,
}

/// All packets in one stage.
#[derive(Clone, Debug, Default)]
struct StageTally {
    spans: Distribution,
    /// How often each point was its first, and its last.
    ends: [[u64; Point::COUNT]; 2],
}

/// All packets of one way.
#[derive(Clone, Debug, Default)]
pub struct WayTally {
    total: Distribution,
    stages: [Option<Box<StageTally>>; Stage::ALL.len()],
    against_stamp: Differences,
    slowest: Vec<Numbered>,
    slices: Slices,
    attribution: Attribution,
    pub(super) evidence: [Evidence; Cause::ALL.len()],
    pub(super) bunches: Bunches,
    processes: Counts<Process>,
    flows: Counts<Flow>,
}

impl WayTally {
    fn add(&mut self, number: u64, journey: Journey, keep: usize) {
        let seen: Vec<Point> = journey.times.seen().map(|(point, _)| point).collect();
        let mut total = Nanos::ZERO;
        for ((stage, span), ends) in journey.stages().zip(seen.windows(2)) {
            let tally = self.stages[stage as usize].get_or_insert_default();
            tally.spans.add(span);
            tally.ends.iter_mut().zip(ends).for_each(|(counts, point)| counts[point.index()] += 1);
            total += span;
        }
        self.total.add(total);
        if let Some(difference) = against_stamp(&journey) {
            self.against_stamp.add(difference);
        }
        let causes = self.attribution.causes(&journey);
        for (cause, wait) in &causes {
            self.evidence[*cause as usize].add(*cause, *wait, &journey);
        }
        self.slices.add(&journey, &causes);
        self.bunches.add(&journey);
        journey.process.iter().for_each(|process| self.processes.add(process));
        self.flows.add(&journey.flow);
        let place = self.slowest.partition_point(|one| one.journey.total() >= total);
        if place < keep {
            self.slowest.insert(place, Numbered { number, journey });
            self.slowest.truncate(keep);
        }
    }

    /// How long packets were in the host.
    #[must_use]
    pub const fn total(&self) -> &Distribution {
        &self.total
    }

    /// How long they were in `stage`; `None`: no packet passed it, or it was not seen.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<&Distribution> {
        self.stages[stage as usize].as_deref().map(|tally| &tally.spans)
    }

    /// The points that most often lay at the ends of `stage`.
    #[must_use]
    pub fn ends(&self, stage: Stage) -> Option<[Point; 2]> {
        let tally = self.stages[stage as usize].as_deref()?;
        let most =
            |counts: &[u64; Point::COUNT]| Point::ALL.into_iter().max_by_key(|point| counts[point.index()]);
        let [from, to] = tally.ends.each_ref().map(most);
        Some([from?, to?])
    }

    /// The share of `stage` in the time of all packets.
    #[must_use]
    pub fn share(&self, stage: Stage) -> Share {
        self.slices.of_stage(stage)
    }

    /// The share that is put down to `cause`.
    #[must_use]
    pub fn share_of(&self, cause: Cause) -> Share {
        self.slices.of_cause(cause)
    }

    /// The sum of a packet's stages less the difference of the kernel's own stamp, at the median.
    #[must_use]
    pub fn against_stamp(&self) -> Finding {
        let few = match self.against_stamp.count() {
            0 => "none of these packets has a stamp of the kernel's beside its points, or their drivers were not seen".to_owned(),
            count => format!("the kernel stamped {count} of these packets only"),
        };
        self.against_stamp.median().unwrap_or(Finding::Unmeasurable { reason: few })
    }

    /// The slowest packets, the slowest first.
    #[must_use]
    pub fn slowest(&self) -> &[Numbered] {
        &self.slowest
    }

    /// The run in slices of time.
    #[must_use]
    pub const fn slices(&self) -> &Slices {
        &self.slices
    }

    /// Packets by the thread that read or sent them.
    #[must_use]
    pub const fn processes(&self) -> &Counts<Process> {
        &self.processes
    }

    /// Packets by flow.
    #[must_use]
    pub const fn flows(&self) -> &Counts<Flow> {
        &self.flows
    }
}

impl Evidence {
    fn add(&mut self, cause: Cause, wait: Nanos, journey: &Journey) {
        self.waits.add(wait);
        journey.reader_core.iter().for_each(|core| self.cores.add(core));
        match (&journey.before, cause) {
            (Some(Before::Ran(process)), Cause::BusyCore) => self.who.add(&process.name),
            (Some(Before::Idle(slept)), Cause::SleepingCore) => self.slept.add(*slept),
            (_, Cause::SlowReader) => {
                journey.process.iter().for_each(|process| self.who.add(&process.name));
                self.ahead.add(&journey.ahead);
            }
            _ => {}
        }
    }
}

/// The stages from the driver on, where the kernel stamps, less the time from the kernel's stamp to the journey's end.
fn against_stamp(journey: &Journey) -> Option<Nanos> {
    let stamp = journey.kernel_stamp?;
    journey.times.at(Point::Driver)?;
    let (_, end) = journey.times.seen().next_back()?;
    let before = journey.stage(Stage::Nic).unwrap_or_default();
    Some(journey.total() - before - (end - stamp))
}

/// A run, counted.
#[derive(Clone, Debug)]
pub struct Tally {
    keep: usize,
    packets: u64,
    ways: [WayTally; Way::ALL.len()],
    dropped: Counts<(Way, String)>,
}

impl Tally {
    /// Nothing yet; of each way the slowest `keep` packets will be kept whole.
    #[must_use]
    pub fn new(keep: usize) -> Self {
        Self { keep, packets: 0, ways: Default::default(), dropped: Counts::default() }
    }

    /// Counts what happened.
    pub fn add(&mut self, event: Event) {
        match event {
            Event::Journey(journey) => {
                self.packets += 1;
                self.ways[journey.way as usize].add(self.packets, *journey, self.keep);
            }
            Event::Dropped(Dropped { way, reason, .. }) => self.dropped.add(&(way, reason)),
        }
    }

    /// Packets of all ways.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// The packets of `way`.
    #[must_use]
    pub const fn way(&self, way: Way) -> &WayTally {
        &self.ways[way as usize]
    }

    /// Packets that the host dropped, by way and the kernel's reason, the most frequent first.
    #[must_use]
    pub const fn dropped(&self) -> &Counts<(Way, String)> {
        &self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{received, sleeper};
    use super::*;

    fn tally(journeys: impl IntoIterator<Item = Journey>) -> Tally {
        let mut tally = Tally::new(3);
        journeys.into_iter().for_each(|journey| tally.add(Event::Journey(Box::new(journey))));
        tally
    }

    #[test]
    fn the_sums_of_the_stages_are_the_sum_of_the_totals() {
        let tally = tally((1..=500).map(|i| received(Nanos::from_millis(i), sleeper(i * 100))));
        let way = tally.way(Way::Receive);
        let stages: Nanos =
            Stage::ALL.iter().filter_map(|stage| way.stage(*stage)).map(Distribution::sum).sum();
        assert_eq!(stages, way.total().sum());
        assert_eq!(way.ends(Stage::WakeUp), Some([Point::Waking, Point::Running]));
        assert!(way.stage(Stage::Application).is_none());
        assert_eq!(way.processes().ranked()[0].1, 500);
        assert_eq!(tally.way(Way::Send).total().count(), 0);
    }

    #[test]
    fn the_slowest_are_kept_with_their_numbers() {
        let wakes = [5_000, 90_000, 1_000, 80_000, 70_000, 60_000];
        let tally = tally(wakes.map(|wake| received(Nanos(0), sleeper(wake))));
        let slowest = tally.way(Way::Receive).slowest();
        assert_eq!(slowest.iter().map(|one| one.number).collect::<Vec<_>>(), [2, 4, 5]);
    }

    #[test]
    fn the_check_is_against_the_kernels_own_stamp() {
        let stamped = |late: i64| {
            let mut journey = received(Nanos(1_000), sleeper(5_000));
            journey.kernel_stamp = Some(Nanos(1_000 - late));
            journey
        };
        let tally = tally((0..200).map(|_| stamped(300)));
        let Finding::Value { value, .. } = tally.way(Way::Receive).against_stamp() else {
            panic!("200 of them")
        };
        assert_eq!(value, -300.0);
        let none = self::tally([received(Nanos(0), sleeper(5_000))]).way(Way::Receive).against_stamp();
        assert!(matches!(none, Finding::Unmeasurable { .. }));
    }
}
