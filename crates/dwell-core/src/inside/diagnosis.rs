//! What a run's packets waited for, in sentences.

use super::cause::Cause;
use super::counts::Counts;
use super::settings::Settings;
use super::slices::Share;
use super::stage::Way;
use super::story::grouped;
use super::tally::{Evidence, Tally, WayTally};
use crate::report::{Finding, Unit};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::hash::Hash;

/// What was found.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A socket's queue had no room, and packets were dropped.
    FullSocketQueue,
    /// A core's backlog had no room, and packets were dropped.
    FullBacklog,
    /// A queueing discipline dropped packets.
    FullDiscipline,
    /// The readers' core ran other threads.
    BusyCore,
    /// The readers' core slept.
    SleepingCore,
    /// The readers did something else.
    SlowReader,
    /// Packets are gathered before they reach the driver.
    Coalescing,
    /// Packets wait between driver and protocol.
    Backlog,
    /// A queueing discipline holds packets.
    Discipline,
}

/// One thing that packets waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// What.
    pub kind: Kind,
    /// Packets of which way.
    pub way: Way,
    /// The share of their time in this host that it explains; where packets were dropped, the share of the packets.
    pub share: Finding,
    /// All of it, with the figures that it rests on.
    pub sentence: String,
}

/// Less than this share of the time is not worth a sentence.
const LEAST_SHARE: f64 = 0.1;
/// Fewer packets are an accident.
const LEAST_PACKETS: u64 = 10;

/// The kernel's reasons for a drop that a full queue is behind.
const FULL: [(Kind, &[&str]); 3] = [
    (Kind::FullSocketQueue, &["SOCKET_RCVBUFF", "SOCKET_BACKLOG", "PROTO_MEM"]),
    (Kind::FullBacklog, &["CPU_BACKLOG"]),
    (Kind::FullDiscipline, &["QDISC_DROP", "QDISC_OVERLIMIT", "QDISC_CONGESTED"]),
];

/// What the packets waited for: first what cost some their lives, then by the share of the time that it explains.
///
/// A cause is spoken of where the lower end of its share's 95 % interval reaches a tenth of the time, and ten packets
/// waited for it.
#[must_use]
pub fn diagnose(tally: &Tally, settings: &Settings) -> Vec<Diagnosis> {
    let mut all: Vec<Diagnosis> = Vec::new();
    for way in Way::ALL {
        let seen = tally.way(way);
        all.extend(FULL.iter().filter_map(|(kind, reasons)| full(tally, way, *kind, reasons, settings)));
        all.extend(Cause::ALL.into_iter().filter_map(|cause| waited(seen, way, cause)));
        all.extend(gathered(seen, way, settings));
    }
    all.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    all
}

fn weight(diagnosis: &Diagnosis) -> f64 {
    let lost = matches!(diagnosis.kind, Kind::FullSocketQueue | Kind::FullBacklog | Kind::FullDiscipline);
    let share = match diagnosis.share {
        Finding::Value { value, .. } => value,
        Finding::Bound { bound, .. } => bound,
        Finding::Unmeasurable { .. } => 0.0,
    };
    if lost { 1.0 + share } else { share }
}

fn full(tally: &Tally, way: Way, kind: Kind, reasons: &[&str], settings: &Settings) -> Option<Diagnosis> {
    let dropped = tally.dropped().ranked();
    let ours = dropped.iter().filter(|((one, reason), _)| *one == way && reasons.contains(&reason.as_str()));
    let (names, counts): (Vec<&str>, Vec<u64>) =
        ours.map(|((_, reason), count)| (reason.as_str(), *count)).unzip();
    let lost: u64 = counts.iter().sum();
    if lost == 0 {
        return None;
    }
    let share = lost as f64 / (lost + tally.way(way).total().count()) as f64;
    let (name, where_from) = match kind {
        Kind::FullSocketQueue => ("full socket queue", "a socket's queue had no room"),
        Kind::FullBacklog => ("full backlog", "a core's backlog had no room"),
        _ => ("full queueing discipline", "the queueing discipline had no room"),
    };
    let room = settings.room_default.filter(|_| kind == Kind::FullSocketQueue);
    let room =
        room.map(|room| format!("; a socket that does not ask for more has room for {} B", grouped(room.0)));
    let sentence = format!(
        "{name}: {} dropped because {where_from} ({}), {} of those that came to it{}",
        packets(lost),
        names.join(", "),
        percent(share),
        room.unwrap_or_default(),
    );
    Some(Diagnosis { kind, way, share: Finding::value(share, share, share, Unit::Ratio), sentence })
}

fn waited(seen: &WayTally, way: Way, cause: Cause) -> Option<Diagnosis> {
    let evidence = &seen.evidence[cause as usize];
    let share = seen.share_of(cause);
    if evidence.waits.count() < LEAST_PACKETS || share.low < LEAST_SHARE {
        return None;
    }
    let part = format!(
        "{} ({} to {}) of the packets' time here",
        percent(share.share),
        percent(share.low),
        percent(share.high)
    );
    let figures = figures(seen, evidence);
    let cores = most(&evidence.cores).map(|(core, _)| format!(" (mostly core {core})")).unwrap_or_default();
    let who = most(&evidence.who);
    let named =
        |before: &str| who.as_ref().map(|(name, share)| format!("{before}`{name}` ({})", percent(*share)));
    let (kind, sentence) = match cause {
        Cause::BusyCore => {
            let ran = named(", mostly ").unwrap_or_default();
            let text = format!(
                "busy core: {part} was between waking of the reader and its running, while its core{cores} ran another thread{ran}; {figures}"
            );
            (Kind::BusyCore, text)
        }
        Cause::SleepingCore => {
            let slept = evidence
                .slept
                .quantile(0.5)
                .map(|slept| format!(" for {slept} at the median"))
                .unwrap_or_default();
            let text = format!(
                "sleeping core: {part} was between waking of the reader and its running, on a core{cores} that had slept{slept}; {figures}"
            );
            (Kind::SleepingCore, text)
        }
        Cause::SlowReader => {
            let reader = named("").unwrap_or_else(|| "the reader".to_owned());
            let behind = evidence.ahead.sum() - count_of(&evidence.ahead, 0);
            let text = format!(
                "slow reader: {part} was in the socket's queue, before {reader} asked for the packet; {figures}, {} of them behind others",
                grouped(behind)
            );
            (Kind::SlowReader, text)
        }
        Cause::Held => (
            Kind::Coalescing,
            format!("interrupt coalescing: {part} was between the NIC's own stamp and the driver; {figures}"),
        ),
        Cause::Backlog => {
            let text = format!(
                "backlog: {part} was between driver and protocol input, in receive offload or in the backlog of a core; {figures}"
            );
            (Kind::Backlog, text)
        }
        Cause::Discipline => (
            Kind::Discipline,
            format!("queueing discipline: {part} was in the queueing discipline of the interface; {figures}"),
        ),
    };
    let Share { share, low, high } = share;
    Some(Diagnosis { kind, way, share: Finding::value(share, low, high, Unit::Ratio), sentence })
}

/// What the driver's times alone tell of gathering: bunches, and their pace. The wait itself lies before the first
/// time that was seen.
fn gathered(seen: &WayTally, way: Way, settings: &Settings) -> Option<Diagnosis> {
    if seen.stage(super::Stage::Nic).is_some() {
        return None;
    }
    let pace = seen.bunches.pace()?;
    let came = format!(
        "coalescing: packets came to the driver in {} bunches of {:.1} on average, one each {} at the median",
        grouped(pace.bunches),
        pace.size,
        pace.spacing
    );
    let unseen = "how long a packet was held cannot be seen without the NIC's own stamps";
    let gathers = settings.gathers();
    let agrees = gathers.filter(|set| *set * 2 >= pace.spacing && *set <= pace.spacing * 2);
    let (share, why) = match (agrees, gathers) {
        (Some(set), _) => {
            let mean = seen.total().sum().as_f64() / seen.total().count().max(1) as f64;
            let most = set.as_f64() / (set.as_f64() + mean);
            let share = Finding::at_most(most, Unit::Ratio, format!("{unseen}; it is set to gather for {set}"));
            (share, format!("which its setting explains: it gathers for {set}"))
        }
        (None, Some(Nanos::ZERO)) => (
            Finding::unmeasurable(unseen),
            "and its settings do not gather: something below it does (a hypervisor, a switch), or they were sent so".to_owned(),
        ),
        (None, Some(set)) => (
            Finding::unmeasurable(unseen),
            format!("which its setting of {set} does not explain: something below it gathers, or they were sent so"),
        ),
        (None, None) => (
            Finding::unmeasurable(unseen),
            "whose settings could not be read: its NIC gathers them, or something below it, or they were sent so".to_owned(),
        ),
    };
    Some(Diagnosis { kind: Kind::Coalescing, way, share, sentence: format!("{came}, {why}; {unseen}") })
}

fn figures(seen: &WayTally, evidence: &Evidence) -> String {
    let median = evidence.waits.quantile(0.5).unwrap_or_default();
    let (some, all) = (grouped(evidence.waits.count()), packets(seen.total().count()));
    format!("{some} of {all}, {median} at the median and {} at most", evidence.waits.max())
}

fn packets(count: u64) -> String {
    if count == 1 { "1 packet".to_owned() } else { format!("{} packets", grouped(count)) }
}

/// The most frequent, and its share.
fn most<T: Eq + Hash + Ord + Clone>(counts: &Counts<T>) -> Option<(T, f64)> {
    let (thing, count) = counts.ranked().into_iter().next()?;
    Some((thing, count as f64 / counts.sum() as f64))
}

fn count_of(counts: &Counts<u32>, thing: u32) -> u64 {
    counts.ranked().into_iter().find(|(one, _)| *one == thing).map_or(0, |(_, count)| count)
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Dropped, Event};
    use super::super::journey::{Before, Journey};
    use super::super::made::{after, journey, late, received, sleeper, thread};
    use super::super::stage::Point;
    use super::*;
    use proptest::prelude::*;

    fn tally(journeys: impl IntoIterator<Item = Journey>) -> Tally {
        let mut tally = Tally::new(3);
        journeys.into_iter().for_each(|journey| tally.add(Event::Journey(Box::new(journey))));
        tally
    }

    fn kinds(tally: &Tally) -> Vec<Kind> {
        diagnose(tally, &Settings::default()).into_iter().map(|diagnosis| diagnosis.kind).collect()
    }

    /// 500 packets, one each 2 ms.
    fn packets(each: impl Fn(i64, Nanos) -> Journey) -> Tally {
        tally((0..500).map(|packet| each(packet, Nanos::from_millis(2 * packet))))
    }

    #[test]
    fn a_busy_core() {
        let tally = packets(|packet, at| {
            after(received(at, sleeper(300_000 + packet * 1_000)), Before::Ran(thread("stress", 9)))
        });
        let told = diagnose(&tally, &Settings::default());
        assert_eq!(told.len(), 1);
        let sentence = &told[0].sentence;
        assert!(sentence.starts_with("busy core: 99 %"), "{sentence}");
        assert!(
            sentence.contains("`stress` (100 %)") && sentence.contains("500 of 500 packets"),
            "{sentence}"
        );
    }

    #[test]
    fn a_sleeping_core() {
        let slept = Before::Idle(Nanos::from_millis(19));
        let tally = packets(|packet, at| after(received(at, sleeper(40_000 + packet * 10)), slept.clone()));
        assert_eq!(kinds(&tally), [Kind::SleepingCore]);
        assert!(diagnose(&tally, &Settings::default())[0].sentence.contains("slept for 19.0 ms"));
    }

    #[test]
    fn a_slow_reader_and_its_full_queue() {
        let mut tally = packets(|packet, at| match packet % 60 {
            busy @ 1..40 => received(at, late((40 - busy) * 500_000)),
            _ => after(received(at, sleeper(3_000)), Before::Ran(thread("awake", 9))),
        });
        assert_eq!(kinds(&tally), [Kind::SlowReader]);
        for _ in 0..50 {
            let (way, reason) = (Way::Receive, "SOCKET_RCVBUFF".to_owned());
            tally.add(Event::Dropped(Dropped { at: Nanos(0), way, flow: None, reason }));
        }
        assert_eq!(kinds(&tally), [Kind::FullSocketQueue, Kind::SlowReader]);
        let share = diagnose(&tally, &Settings::default())[0].share.estimate().unwrap();
        assert!((share - 50.0 / 550.0).abs() < 1e-12);
    }

    #[test]
    fn bunches_are_evidence_and_a_setting_makes_them_a_bound() {
        let tally = tally((0..100).flat_map(|poll| {
            (0..10).map(move |packet| received(Nanos(poll * 500_000 + packet * 900), sleeper(3_000)))
        }));
        let told = diagnose(&tally, &Settings::default());
        assert!(matches!(told[0].share, Finding::Unmeasurable { .. }));
        assert!(told[0].sentence.contains("or they were sent so"), "{}", told[0].sentence);
        let settings = Settings { gro_flush_timeout: Some(Nanos(500_000)), ..Settings::default() };
        let told = diagnose(&tally, &settings);
        assert!(matches!(told[0].share, Finding::Bound { bound, .. } if bound > 0.9 && bound < 1.0));
        assert_eq!(told.len(), 1);
    }

    #[test]
    fn a_nic_that_stamps_shows_what_it_held() {
        let tally = packets(|packet, at| {
            let held = 50_000 + packet * 10;
            let points = [(Point::Nic, 0), (Point::Driver, held), (Point::Protocol, held + 1_000)];
            journey(Way::Receive, at, &points)
        });
        assert_eq!(kinds(&tally), [Kind::Coalescing]);
    }

    #[test]
    fn what_holds_on_the_way_out() {
        let tally = packets(|packet, at| {
            let held = 80_000 + packet * 10;
            let points = [(Point::Called, 0), (Point::Discipline, 2_000), (Point::Xmit, 2_000 + held)];
            journey(Way::Send, at, &points)
        });
        assert_eq!(kinds(&tally), [Kind::Discipline]);
    }

    proptest! {
        #[test]
        fn a_healthy_host_is_told_nothing(
            wakes in prop::collection::vec(500_i64..12_000, 40..300),
            every in 100_000_i64..5_000_000,
            late_each in 2_usize..9,
            rare in 0_usize..40,
        ) {
            let tally = tally(wakes.iter().enumerate().map(|(packet, wake)| {
                let at = Nanos(packet as i64 * every);
                match packet {
                    // A few are hit by something: an accident, no cause.
                    _ if packet == rare => after(received(at, sleeper(3_000_000)), Before::Ran(thread("kworker", 3))),
                    _ if packet % late_each == 0 => received(at, late(*wake)),
                    _ => after(received(at, sleeper(*wake)), Before::Idle(Nanos(every))),
                }
            }));
            prop_assert_eq!(kinds(&tally), []);
        }
    }
}
