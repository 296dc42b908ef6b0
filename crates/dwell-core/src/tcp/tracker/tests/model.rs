//! A small world that obeys Linux' rules, with losses on both sides of the probe: no exact figure is wrong.

use super::*;
use proptest::prelude::*;

/// Microseconds from the probe to either end, one way.
const TO_SERVER: i64 = 3_000;
const TO_CLIENT: i64 = 2_000;
const SECOND: i64 = 1_000_000;

/// What may be lost, segment by segment in the order of sending.
#[derive(Clone, Debug)]
struct Losses {
    before: Vec<bool>,
    behind: Vec<bool>,
}

impl Losses {
    fn next(&mut self) -> (bool, bool) {
        (self.before.pop().unwrap_or(false), self.behind.pop().unwrap_or(false))
    }
}

/// A SYN/ACK, or an ACK, as the probe sees it, and when that passed which caused it; `None` if a timer did, or if that
/// did not pass.
#[derive(Copy, Clone, Debug)]
struct Caused {
    segment: Segment,
    by: Option<i64>,
}

struct World {
    losses: Losses,
    stamps: bool,
    /// What passed the probe: (when, segment, cause).
    passed: Vec<Caused>,
}

impl World {
    fn with_stamps(&self, segment: Segment, sent: i64, offset: u32, echo: u32) -> Segment {
        if self.stamps { stamped(segment, offset + (sent / 1_000) as u32, echo) } else { segment }
    }

    /// Sends a segment; tells when it arrives.
    fn send(
        &mut self,
        segment: Segment,
        sent: i64,
        near: i64,
        far: i64,
        by: Option<i64>,
    ) -> Option<(i64, i64)> {
        let (lost_before, lost_behind) = self.losses.next();
        if lost_before {
            return None;
        }
        let passes = sent + near;
        self.passed.push(Caused { segment: Segment { at: us(passes), ..segment }, by });
        (!lost_behind).then_some((passes, passes + far))
    }

    /// Client and server, until the server has the client's ACK or nobody tries any longer.
    fn run(&mut self) {
        // The client repeats its SYN after 1, 2 and 4 s.
        let syns: Vec<(i64, Option<(i64, i64)>)> = [0, 1, 3, 7]
            .map(|second| {
                let sent = second * SECOND;
                let segment = self.with_stamps(syn(0), sent, 100, 0);
                (sent, self.send(segment, sent, TO_CLIENT, TO_SERVER, None))
            })
            .to_vec();
        let arrived: Vec<(i64, i64, i64)> = syns
            .iter()
            .filter_map(|(sent, way)| way.map(|(passed, arrived)| (arrived, passed, *sent)))
            .collect();
        let Some((created, _, first_sent)) = arrived.first().copied() else { return };
        // Each SYN is answered at once, with the first one's TSval; timers repeat that after 1 and 3 s.
        let echo = 100 + (first_sent / 1_000) as u32;
        let mut asked: Vec<(i64, Option<i64>)> =
            arrived.iter().map(|(arrived, passed, _)| (*arrived, Some(*passed))).collect();
        asked.extend([1, 3].map(|second| (created + second * SECOND + 400, None)));
        asked.sort();
        let mut first_heard: Option<(i64, u32)> = None;
        let mut done = i64::MAX;
        for (sent, by) in asked {
            if sent > done {
                break;
            }
            let segment = self.with_stamps(syn_ack(0), sent, 9_000, echo);
            let Some((passed, arrived)) = self.send(segment, sent, TO_SERVER, TO_CLIENT, by) else {
                continue;
            };
            let value = 9_000 + (sent / 1_000) as u32;
            let (_, named) = *first_heard.get_or_insert((arrived, value));
            let segment = self.with_stamps(ack(0), arrived, 100, named);
            if let Some((_, arrived)) = self.send(segment, arrived, TO_CLIENT, TO_SERVER, Some(passed)) {
                done = done.min(arrived);
            }
        }
        // A request right after, and again until it has come.
        if let Some((heard, _)) = first_heard {
            for later in [100, 300_000, 900_000] {
                let segment = with_data(self.with_stamps(ack(0), heard + later, 100, 0), 50);
                if self.send(segment, heard + later, TO_CLIENT, TO_SERVER, None).is_some() {
                    break;
                }
            }
            // Once it has been answered, the client sends no SYN.
            self.passed.retain(|caused| {
                caused.segment.flags != TcpFlags::SYN || caused.segment.at <= us(heard + TO_CLIENT)
            });
        }
        self.passed.sort_by_key(|caused| caused.segment.at);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn no_exact_figure_is_wrong(
        before in proptest::collection::vec(proptest::bool::weighted(0.3), 16),
        behind in proptest::collection::vec(proptest::bool::weighted(0.3), 16),
        stamps: bool,
    ) {
        let mut world = World { losses: Losses { before, behind }, stamps, passed: Vec::new() };
        world.run();
        let segments: Vec<Segment> = world.passed.iter().map(|caused| caused.segment).collect();
        let told = told(&segments);
        if segments.is_empty() {
            prop_assert!(told.is_empty());
            return Ok(());
        }
        prop_assert_eq!(told.len(), 1);
        let by = |is: &dyn Fn(&Segment) -> bool| world.passed.iter().find(|caused| is(&caused.segment)).copied();
        let answer = by(&|segment| segment.flags.has(TcpFlags::SYN.with(TcpFlags::ACK)));
        let truth = |caused: Caused| Some(caused.segment.at - us(caused.by?));
        match told[0].server_half {
            Half::Exact(value) => prop_assert_eq!(Some(value), answer.and_then(truth)),
            Half::AtMost(value) => prop_assert!(value >= us(2 * TO_SERVER)),
            Half::OneOf(one, other) => {
                let truth = answer.and_then(truth);
                prop_assert!(truth.is_none_or(|truth| one <= truth && truth <= other));
            }
            Half::Unknown => prop_assert!(answer.is_none() || told[0].syns == 0, "{:?}", told[0]),
        }
        let third = by(&|segment| segment.flags == TcpFlags::ACK);
        match told[0].client_half {
            Half::Exact(value) => prop_assert_eq!(Some(value), third.and_then(truth)),
            Half::AtMost(value) => prop_assert!(value >= us(2 * TO_CLIENT)),
            Half::OneOf(one, other) => {
                let truth = third.and_then(truth);
                prop_assert!(truth.is_none_or(|truth| one <= truth && truth <= other));
            }
            Half::Unknown => prop_assert!(third.is_none() || answer.is_none()),
        }
    }
}
