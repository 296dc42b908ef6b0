//! Packets that were sent evenly and came in batches.

use crate::stream::Passed;
use crate::unit::Nanos;

/// Of trains of so many packets and more, sent evenly (no gap is so many times the mean), it can be told whether they come in batches:
/// where more than half of their gaps are at most this share of the mean. No link brings packets so near to each other, unless it
/// carries so many times as much as they are sent at.
const EVEN: usize = 8;
const EVENLY: f64 = 2.0;
const TOGETHER: f64 = 0.1;

/// What is so many ticks apart at the most may be in batches of the clock's.
const TICKS: f64 = 2.0;

/// How packets that were sent evenly came.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Batches {
    trains: usize,
    gaps: usize,
    /// Of these, those between packets that came together.
    together: usize,
    /// Nanoseconds of those between others.
    between: f64,
    /// Trains of any length, however they were sent, and of these those whose packets all came at one time, with the nanoseconds over
    /// which they had left.
    any: usize,
    at_once: usize,
    left_over: f64,
}

impl Batches {
    /// Sees a train as it came. In another order it shows none.
    pub(super) fn see(&mut self, passed: &[Passed]) {
        let [first, .., last] = passed else { return };
        self.any += 1;
        if passed.iter().all(|one| one.came == first.came) {
            self.at_once += 1;
            self.left_over += last.sent - first.sent;
        }
        let gaps = (passed.len() - 1) as f64;
        let widest = passed.windows(2).map(|two| two[1].sent - two[0].sent).fold(0.0, f64::max);
        let is_even = passed.len() >= EVEN && widest <= EVENLY * (last.sent - first.sent) / gaps;
        let in_order = passed.windows(2).all(|two| two[0].came <= two[1].came);
        if !is_even || !in_order || last.came <= first.came {
            return;
        }
        self.trains += 1;
        let near = TOGETHER * (last.came - first.came) / gaps;
        for came in passed.windows(2).map(|two| two[1].came - two[0].came) {
            self.gaps += 1;
            self.together += usize::from(came <= near);
            self.between += if came <= near { 0.0 } else { came };
        }
    }

    /// The batches that most came in, of stamps that tick so often.
    pub(super) fn described(&self, tick: Nanos) -> Option<String> {
        let over = self.left_over / self.at_once.max(1) as f64;
        if self.at_once * 2 > self.any && over > TICKS * tick.as_f64() {
            return Some(format!(
                "the packets of most trains came at one time, though they left over {}: a NIC or a host gathers them",
                Nanos::from_f64(over)
            ));
        }
        let others = self.gaps - self.together;
        let apart = self.between / others.max(1) as f64;
        let each = (self.gaps + self.trains) as f64 / (others + self.trains).max(1) as f64;
        (self.together * 2 > self.gaps && apart > TICKS * tick.as_f64()).then(|| {
            format!(
                "packets that were sent evenly came in batches of {each:.0}, {} apart: a NIC or a host gathers them",
                Nanos::from_f64(apart)
            )
        })
    }
}
