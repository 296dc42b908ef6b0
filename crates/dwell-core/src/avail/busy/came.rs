//! How the trains of a round came: whether all of them fell alike, as behind a token bucket, and what they left waiting, for the next as well.

use crate::bucket::fall::{Fall, fall_of_few};
use crate::bucket::fell_alike;
use crate::stream::Passed;

/// So many trains that fell alike are no accident.
const TWICE: usize = 2;

/// A bucket takes as long to fill once the queue behind it is gone, as that took, at the most: what a train of more than twice what it holds left waiting.
const FILLED: f64 = 2.0;

/// One in so many is no accident: a bucket that takes long to fill may pass the others, until it is empty.
const MANY: usize = 3;

/// Those of one round.
#[derive(Clone, Debug, Default)]
pub(super) struct Came {
    trains: usize,
    falls: Vec<Fall>,
    /// How much longer the last packet of each was on the way than its first, nanoseconds for each packet.
    left: Vec<f64>,
    /// When all that the last one left waiting was gone, and a bucket that it emptied had filled; and how many left before that.
    until: f64,
    early: usize,
}

impl Came {
    /// One of them, whose first packet left at `began`.
    pub(super) fn see(&mut self, passed: &[Passed], began: f64) {
        let Some((first, last)) = passed.first().zip(passed.last()) else { return };
        self.early += usize::from(self.trains > 0 && began < self.until);
        self.trains += 1;
        self.falls.extend(fall_of_few(passed));
        let left = (last.delay() - first.delay()).max(0.0);
        self.left.push(left / passed.len() as f64);
        self.until = began + last.sent - first.sent + FILLED * left;
    }

    /// Whether many left before that, of those that followed another: they tell of each other.
    pub(super) const fn are_crowded(&self) -> bool {
        self.early > 0 && MANY * self.early >= self.trains - 1
    }

    /// How they fell, if all did alike.
    pub(super) fn fell(&self) -> Option<Fall> {
        let all = self.trains >= TWICE && self.falls.len() == self.trains;
        self.falls.first().copied().filter(|_| all && fell_alike(&self.falls))
    }

    /// How long it takes until what such a train leaves waiting is gone, and a token bucket has filled that it emptied: nanoseconds for each of its
    /// packets. The last of those that waited for each other has done so for longest.
    pub(super) fn drained(&self) -> f64 {
        FILLED * self.left.iter().copied().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: f64 = 1e5;

    /// What comes of a train of so many packets, each of which leaves `PACE` behind the last: the first `deep` pass at once, and each that follows takes
    /// three times what the link takes.
    fn emptied(packets: usize, deep: usize) -> Vec<Passed> {
        let passed = |number: usize| {
            let later = number.saturating_sub(deep) as f64 * 2.0 * PACE;
            let sent = number as f64 * PACE;
            Passed { number, sent, came: sent + later }
        };
        (0..packets).map(passed).collect()
    }

    #[test]
    fn trains_fell_alike_where_all_did() {
        let fell = |deep: &[usize]| {
            let mut came = Came::default();
            deep.iter().for_each(|deep| came.see(&emptied(88, *deep), 0.0));
            came.fell().map(|fall| fall.after / PACE)
        };
        assert!(fell(&[20, 20]).is_some_and(|after| (after - 3.0).abs() < 0.01));
        assert_eq!([fell(&[20, 70]), fell(&[20, 88]), fell(&[20]), fell(&[])], [None; 4]);
    }

    #[test]
    fn trains_that_leave_too_soon_tell_of_each_other() {
        let all = |apart: f64| {
            let mut came = Came::default();
            for (number, deep) in [100, 60, 20].into_iter().enumerate() {
                came.see(&emptied(100, deep), apart * PACE * number as f64);
            }
            (came.are_crowded(), came.drained() / PACE)
        };
        // The second leaves eighty packets' time waiting, and takes a hundred to leave.
        let ((near, longest), (far, _)) = (all(250.0), all(300.0));
        assert!(near && !far && (longest - 2.0 * 1.58).abs() < 1e-6, "{near} {far} {longest}");
        assert!(!Came::default().are_crowded() && Came::default().drained() == 0.0);
    }
}
