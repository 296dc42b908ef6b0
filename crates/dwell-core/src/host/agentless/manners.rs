//! How often a host is asked that did not agree to be measured.

use crate::train::{Departure, Fleet, Observation};
use crate::unit::Nanos;
use std::collections::VecDeque;

/// So many requests without an answer, one after another, are a host that limits its answers and no chance.
const LIMITED: usize = 4;
/// So many are a host that is gone.
const GONE: usize = 200;
/// The rate is halved down to so many pairs a second.
const SLOWEST: f64 = 0.6;
/// Answers are looked at so often.
const LOOK: Nanos = Nanos::from_secs(1);
/// A train that a host did not answer is sent at half its length, down to so many packets.
const SHORTEST: usize = 40;

/// The rate of requests, and what the host made of them so far.
#[derive(Clone, Debug)]
pub(super) struct Manners {
    pairs_per_second: f64,
    /// How often the rate was halved.
    pub(super) halved: u32,
    /// Requests since the last answer, and whether there were too many of them since the last look.
    silent: usize,
    limits: bool,
    /// Time that trains took with the pauses before them.
    pub(super) spent: Nanos,
}

impl Manners {
    pub(super) fn new(pairs_per_second: f64) -> Self {
        Self { pairs_per_second, halved: 0, silent: 0, limits: false, spent: Nanos::ZERO }
    }

    /// Pairs a second now.
    pub(super) fn rate(&self) -> f64 {
        self.pairs_per_second
    }

    /// The least time that a train and the pause before it take together: its packets count as so many halves of a pair.
    fn due(&self, packets: usize) -> Nanos {
        Nanos::from_f64(packets as f64 / (2.0 * self.pairs_per_second) * 1e9)
    }

    /// The next trains of `waiting`, with the pauses that they take.
    pub(super) fn next(&mut self, waiting: &mut VecDeque<Departure>) -> Fleet {
        if std::mem::take(&mut self.limits) && self.pairs_per_second / 2.0 >= SLOWEST {
            self.pairs_per_second /= 2.0;
            self.halved += 1;
            for Departure { train, .. } in waiting.iter_mut() {
                if train.packets.len() >= 2 * SHORTEST {
                    train.packets.truncate(train.packets.len() / 2);
                }
            }
        }
        let (mut fleet, mut span) = (Fleet::new(), Nanos::ZERO);
        while span < LOOK
            && let Some(Departure { pause, train }) = waiting.pop_front()
        {
            let pause = pause.max(self.due(train.packets.len()));
            span += pause;
            fleet.push(Departure { pause, train });
        }
        self.spent += span;
        fleet
    }

    /// Notes which requests were answered.
    pub(super) fn see(&mut self, observation: &Observation) {
        for fate in &observation.fates {
            self.silent = if fate.arrival.is_some() { 0 } else { self.silent + 1 };
            self.limits |= self.silent >= LIMITED;
        }
    }

    /// Whether nothing answers any more.
    pub(super) fn gone(&self) -> bool {
        self.silent >= GONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{Arrival, Fate, Packet, Stamps, Train};
    use crate::unit::Bytes;

    fn trains(count: usize, packets: usize) -> VecDeque<Departure> {
        let pause = Nanos::from_millis(4);
        let train = Train::burst(Bytes(72), packets);
        vec![Departure { pause, train }; count].into()
    }

    fn seen(answered: &[bool]) -> Observation {
        let stamps = Stamps { application: Nanos(0), kernel: None, hardware: None };
        let fate = |(order, answered): (usize, &bool)| Fate {
            packet: Packet { size: Bytes(72), hold: Nanos::ZERO },
            sent: stamps,
            arrival: answered.then_some(Arrival { stamps, order: order as u32, copies: 1 }),
        };
        Observation { fates: answered.iter().enumerate().map(fate).collect(), ..Observation::default() }
    }

    #[test]
    fn packets_count_as_halves_of_a_pair() {
        let mut manners = Manners::new(10.0);
        let fleet = manners.next(&mut trains(20, 3));
        assert_eq!(fleet.len(), 7, "a second's worth");
        assert!(fleet.iter().all(|departure| departure.pause == Nanos::from_millis(150)));
        let long = manners.next(&mut trains(2, 160));
        assert_eq!(long[0].pause, Nanos::from_secs(8));
    }

    #[test]
    fn silence_halves_the_rate_and_the_long_trains() {
        let mut manners = Manners::new(10.0);
        manners.see(&seen(&[true, false, false, false, true, false]));
        manners.next(&mut trains(1, 3));
        assert_eq!((manners.halved, manners.rate()), (0, 10.0));
        manners.see(&seen(&[false, false, false, true]));
        let mut waiting = trains(2, 160);
        let fleet = manners.next(&mut waiting);
        assert_eq!((manners.halved, manners.rate(), fleet[0].train.packets.len()), (1, 5.0, 80));
        (0..60).for_each(|_| manners.see(&seen(&[false; 4])));
        assert!(manners.gone());
        for _ in 0..9 {
            manners.next(&mut waiting);
            manners.see(&seen(&[false; 4]));
        }
        assert!(manners.rate() >= SLOWEST);
    }
}
