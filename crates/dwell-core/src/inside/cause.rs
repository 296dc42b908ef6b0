//! What the time of a packet is put down to.

use super::journey::{Before, Journey};
use super::stage::{Point, Stage, Way};
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Why packets wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The reader's core ran another thread.
    BusyCore,
    /// The reader's core slept.
    SleepingCore,
    /// The reader had not asked for the packet: it did something else, awake already or once it was woken.
    SlowReader,
    /// The NIC held the packet back, as its own stamps show.
    Held,
    /// It waited between driver and protocol: in receive offload, or in the backlog of a core.
    Backlog,
    /// The queueing discipline held it.
    Discipline,
}

/// A stage that takes less is no waiting, but what the stage itself costs: a switch from one thread to another, or a
/// wake-up of a core in its lightest sleep, takes up to some ten microseconds under a hypervisor.
pub const WAITING: Nanos = Nanos::from_micros(20);

/// Threads whose last wake-up is remembered.
const THREADS: usize = 4_096;

impl Cause {
    /// All.
    pub const ALL: [Self; 6] =
        [Self::BusyCore, Self::SleepingCore, Self::SlowReader, Self::Held, Self::Backlog, Self::Discipline];
}

/// Puts the time of packets down to causes. It remembers each reader's last wake-up: packets that came while their
/// reader waited for a core wait for the core, not for the reader.
#[derive(Clone, Debug, Default)]
pub(super) struct Attribution {
    wakes: HashMap<(bool, u32), Wake>,
}

#[derive(Copy, Clone, Debug)]
struct Wake {
    waking: Nanos,
    running: Nanos,
    cause: Cause,
}

impl Attribution {
    /// What `journey` waited for, and how long; only what is long enough to be waiting.
    pub(super) fn causes(&mut self, journey: &Journey) -> Vec<(Cause, Nanos)> {
        let stage = |stage| journey.stage(stage).unwrap_or_default();
        let mut causes = match journey.way {
            Way::Send => vec![(Cause::Discipline, stage(Stage::Discipline))],
            Way::Answer | Way::Receive => {
                // Where protocol input was not seen, the stage that begins at the driver is more than the backlog.
                let backlog = journey.times.at(Point::Protocol).map_or(Nanos::ZERO, |_| stage(Stage::Driver));
                vec![(Cause::Held, stage(Stage::Nic)), (Cause::Backlog, backlog)]
            }
        };
        causes.extend(self.reader(journey));
        causes.retain(|(_, span)| *span >= WAITING);
        causes
    }

    fn reader(&mut self, journey: &Journey) -> Vec<(Cause, Nanos)> {
        let at = |point| journey.times.at(point);
        let thread = journey.process.as_ref().map(|process| (process.outside, process.tid));
        // It had its core, and did not ask at once.
        let to_asking = journey.stage(Stage::Reader).unwrap_or_default();
        if let (Some(running), Some(before)) = (at(Point::Running), &journey.before) {
            let cause = match before {
                Before::Idle(_) => Cause::SleepingCore,
                Before::Ran(_) => Cause::BusyCore,
            };
            let wake_up = journey.stage(Stage::WakeUp).unwrap_or_default();
            if let Some(thread) = thread {
                if self.wakes.len() >= THREADS {
                    self.wakes.clear();
                }
                self.wakes.insert(
                    thread,
                    Wake { waking: at(Point::Waking).unwrap_or(running - wake_up), running, cause },
                );
            }
            return vec![(cause, wake_up), (Cause::SlowReader, to_asking)];
        }
        let (Some(queued), Some(asked)) = (at(Point::Queue), at(Point::Asked)) else { return Vec::new() };
        let queued_for = journey.stage(Stage::SocketQueue).unwrap_or_default();
        let Some(wake) = thread.and_then(|thread| self.wakes.get(&thread)) else {
            return vec![(Cause::SlowReader, queued_for + to_asking)];
        };
        let for_core = wake.running.min(asked) - wake.waking.max(queued);
        let for_core = for_core.max(Nanos::ZERO).min(queued_for);
        vec![(wake.cause, for_core), (Cause::SlowReader, queued_for - for_core + to_asking)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{after, journey, late, received, sleeper, thread};
    use super::*;

    #[test]
    fn a_core_that_ran_another_thread_was_busy() {
        let journey = after(received(Nanos(0), sleeper(900_000)), Before::Ran(thread("stress", 9)));
        assert_eq!(Attribution::default().causes(&journey), [(Cause::BusyCore, Nanos(900_000))]);
        let journey = after(received(Nanos(0), sleeper(50_000)), Before::Idle(Nanos::from_millis(20)));
        assert_eq!(Attribution::default().causes(&journey), [(Cause::SleepingCore, Nanos(50_000))]);
    }

    #[test]
    fn a_reader_that_was_woken_and_does_something_else_first_is_slow() {
        let points = [
            (Point::Waking, 3_200),
            (Point::Running, 53_200),
            (Point::Asked, 253_200),
            (Point::Read, 254_000),
        ];
        let journey = after(received(Nanos(0), points.to_vec()), Before::Idle(Nanos::from_millis(20)));
        let expected = [(Cause::SleepingCore, Nanos(50_000)), (Cause::SlowReader, Nanos(200_000))];
        assert_eq!(Attribution::default().causes(&journey), expected);
    }

    #[test]
    fn a_mere_switch_is_no_waiting() {
        let journey = after(received(Nanos(0), sleeper(4_000)), Before::Ran(thread("awake", 9)));
        assert_eq!(Attribution::default().causes(&journey), []);
    }

    #[test]
    fn a_wait_that_nothing_was_seen_of_is_put_down_to_nothing() {
        let unseen = journey(Way::Receive, Nanos(0), &[(Point::Driver, 0), (Point::Stamped, 900_000)]);
        assert_eq!(Attribution::default().causes(&unseen), []);
        let seen = journey(Way::Receive, Nanos(0), &[(Point::Driver, 0), (Point::Protocol, 900_000)]);
        assert_eq!(Attribution::default().causes(&seen), [(Cause::Backlog, Nanos(900_000))]);
    }

    #[test]
    fn a_packet_behind_one_that_waits_for_the_core_waits_for_the_core_too() {
        let mut attribution = Attribution::default();
        let first = after(received(Nanos(0), sleeper(900_000)), Before::Ran(thread("stress", 9)));
        attribution.causes(&first);
        // Queued at 503 us; its reader ran at 903.2 us and asked at 953 us.
        let second = received(Nanos(500_000), late(450_000));
        let expected = [(Cause::BusyCore, Nanos(400_200)), (Cause::SlowReader, Nanos(49_800))];
        assert_eq!(attribution.causes(&second), expected);
        assert_eq!(Attribution::default().causes(&second), [(Cause::SlowReader, Nanos(450_000))]);
    }
}
