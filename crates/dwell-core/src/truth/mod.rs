//! What was really so, and how findings fare against it. Methods never see any of this; judges do.

mod counters;
mod region;
mod score;

pub use counters::{LinkCount, LinkUse, Reading, Usage};
pub use region::{Adapting, Crossed, Ground};
pub use score::{Judgement, MeanInterval, Score, Verdict, mean_interval};

use crate::report::Quantity;
use crate::stats::quantile::{Quartiles, median, quartiles};
use crate::train::{Direction, Observation, PacketTruth, Passage};
use crate::unit::Nanos;
use std::collections::BTreeMap;

/// The truth of every quantity that `passages` can tell, as medians in nanoseconds: of a distribution, the middle
/// is what an estimate is held against.
///
/// Heading packets give the stages of a lone packet. A trailing packet gives S where it waited for the program to
/// be done with the heading one, and L_t where it did not: in between the two are not told apart by anybody.
#[must_use]
pub fn truths<'a>(passages: impl IntoIterator<Item = &'a Passage>) -> BTreeMap<Quantity, f64> {
    let mut seen: BTreeMap<Quantity, Vec<f64>> = BTreeMap::new();
    let mut note = |quantity, span: Nanos| seen.entry(quantity).or_default().push(span.as_f64());
    // Where the clocks run apart, the offset is the one at the start of the run.
    let mut offset = None;
    for passage in passages {
        let Some(truth) = &passage.truth else { continue };
        let heading = truth.first().copied().flatten();
        match passage.observation.direction {
            Direction::Forward => {
                offset = offset.or_else(|| clock_offset(passage));
                if let Some(heading) = heading {
                    lone(&heading, &mut note);
                }
                if let [Some(heading), Some(trailing)] = truth[..] {
                    pair(&heading, &trailing, &mut note);
                }
            }
            Direction::Reverse => {
                if let Some(heading) = heading {
                    note(Quantity::ReverseOneWayDelay, heading.reached_receiver - heading.left_sender);
                }
            }
        }
    }
    let mut truths: BTreeMap<_, _> =
        seen.into_iter().filter_map(|(quantity, spans)| Some((quantity, median(&spans)?))).collect();
    truths.extend(offset.map(|offset| (Quantity::ClockOffset, offset.as_f64())));
    truths
}

/// The receiver's clock minus the sender's, as a packet's stamps and their true times show them.
fn clock_offset(passage: &Passage) -> Option<Nanos> {
    let (fate, truth) = (passage.observation.fates.first()?, passage.truth.as_ref()?.first()?.as_ref()?);
    let receiver = fate.arrival?.stamps.application - truth.stamped;
    Some(receiver - (fate.sent.application - truth.handed_over))
}

fn lone(packet: &PacketTruth, note: &mut impl FnMut(Quantity, Nanos)) {
    note(Quantity::SenderHost, packet.left_sender - packet.handed_over);
    note(Quantity::OneWayDelay, packet.reached_receiver - packet.left_sender);
    note(Quantity::NicHold, packet.held);
    note(Quantity::KernelStage, packet.queued - packet.reached_receiver - packet.held);
    note(Quantity::ApplicationStage, packet.stamped - packet.queued);
    note(Quantity::PptHeading, packet.stamped - packet.reached_receiver - packet.held);
    note(Quantity::ApparentOneWayDelay, packet.stamped - packet.handed_over);
}

fn pair(heading: &PacketTruth, trailing: &PacketTruth, note: &mut impl FnMut(Quantity, Nanos)) {
    if trailing.queued <= heading.stamped {
        note(Quantity::ServiceTime, trailing.stamped - heading.stamped);
    } else {
        let time = |packet: &PacketTruth| packet.stamped - packet.reached_receiver - packet.held;
        let (heading_time, trailing_time) = (time(heading), time(trailing));
        note(Quantity::PptTrailing, trailing_time);
        note(Quantity::DifferentialPpt, trailing_time - heading_time);
        note(Quantity::PptAverage, (trailing_time + heading_time) / 2);
    }
}

/// Quartiles of the time from the receiving kernel's stamp of a heading packet to the program's: the truth that a
/// host can tell of itself. `None` where no kernel stamps were taken.
#[must_use]
pub fn kernel_ppt<'a>(observations: impl IntoIterator<Item = &'a Observation>) -> Option<Quartiles> {
    let spans: Vec<f64> = observations
        .into_iter()
        .filter(|observation| observation.direction == Direction::Forward)
        .filter_map(|observation| observation.fates.first()?.arrival)
        .filter_map(|arrival| Some((arrival.stamps.application - arrival.stamps.kernel?).as_f64()))
        .collect();
    quartiles(&spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(at: i64, stage: i64) -> Option<PacketTruth> {
        Some(PacketTruth {
            handed_over: Nanos(at - 50),
            left_sender: Nanos(at - 40),
            reached_receiver: Nanos(at - 3),
            held: Nanos::ZERO,
            queued: Nanos(at),
            stamped: Nanos(at + stage),
            waited: Nanos::ZERO,
        })
    }

    fn passage(truth: Vec<Option<PacketTruth>>) -> Passage {
        Passage { observation: Observation::default(), truth: Some(truth) }
    }

    #[test]
    fn each_stage_is_read_where_it_is_defined() {
        // The second pair's trailing packet came while the program was busy with the heading one.
        let pairs =
            [passage(vec![packet(0, 100), packet(500, 120)]), passage(vec![packet(0, 100), packet(10, 110)])];
        let truths = truths(&pairs);
        assert_eq!(truths[&Quantity::ApplicationStage], 100.0);
        assert_eq!(truths[&Quantity::KernelStage], 3.0);
        assert_eq!(truths[&Quantity::PptHeading], 103.0);
        assert_eq!(truths[&Quantity::PptTrailing], 123.0);
        assert_eq!(truths[&Quantity::DifferentialPpt], 20.0);
        assert_eq!(truths[&Quantity::PptAverage], 113.0);
        assert_eq!(truths[&Quantity::ServiceTime], 20.0);
        assert_eq!(truths[&Quantity::OneWayDelay], 37.0);
        assert_eq!(truths[&Quantity::SenderHost], 10.0);
        assert_eq!(truths[&Quantity::ApparentOneWayDelay], 150.0);
    }

    #[test]
    fn the_clocks_offset_is_that_of_the_first_packet() {
        use crate::train::{Arrival, Fate, Packet, Stamps};
        use crate::unit::Bytes;
        let stamps = |ns| Stamps { application: Nanos(ns), kernel: None, hardware: None };
        let seen = |offset: i64| {
            let fate = Fate {
                packet: Packet { size: Bytes(72), hold: Nanos::ZERO },
                // True times are -50 and 100; the sender's clock is 7 ahead.
                sent: stamps(-50 + 7),
                arrival: Some(Arrival { stamps: stamps(100 + 7 + offset), order: 0, copies: 1 }),
            };
            let observation = Observation { direction: Direction::Forward, fates: vec![fate], overflowed: 0 };
            Passage { observation, truth: Some(vec![packet(0, 100)]) }
        };
        assert_eq!(truths(&[seen(5_000), seen(5_010)])[&Quantity::ClockOffset], 5_000.0);
    }

    #[test]
    fn lost_packets_and_worlds_without_truth_tell_nothing() {
        let silent = Passage { observation: Observation::default(), truth: None };
        assert!(truths(&[silent, passage(vec![None, None]), passage(vec![])]).is_empty());
    }
}
