//! A host that stood still: what it held comes at once when it goes on, which is not the narrow link's doing. A link that is four times as
//! fast does the same where a millisecond of others' packets waits before it, so few trains may be left out for it, and are told.

use crate::stream::Passed;

/// Who is busy with something else, or is given no core, for less is not told from a queue, nanoseconds.
const STILL: f64 = 1e6;

/// Packets that come nearer to each other than this share of what the link takes for each were held behind it.
const AT_ONCE: f64 = 0.25;

/// One train in so many may be left out: where more are held up, it is no accident.
const RARE: usize = 10;

/// Whether a train met that, of whose packets a link takes `own` for each and whose first waited so long: packets came at once behind
/// one that was so late, and when they came through the link is not known: it would part them.
pub(super) fn stood_still(passed: &[Passed], own: f64, waited: f64) -> bool {
    let held = |two: &[Passed]| two[1].delay() - two[0].delay();
    let late = [waited].into_iter().chain(passed.windows(2).map(held)).map(|late| late > STILL);
    let at_once = passed.windows(2).map(|two| two[1].came - two[0].came < AT_ONCE * own);
    late.zip(at_once).any(|(late, at_once)| late && at_once)
}

/// Whether so many trains of all that were seen are few.
pub(super) const fn is_rare(still: usize, seen: usize) -> bool {
    still * RARE <= seen
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: f64 = 123e3;

    fn train(came: &[f64]) -> Vec<Passed> {
        let passed =
            |(number, came): (usize, &f64)| Passed { number, sent: 104e3 * number as f64, came: *came };
        came.iter().enumerate().map(passed).collect()
    }

    #[test]
    fn packets_that_come_at_once_after_a_long_wait_were_held_by_a_host() {
        // As the lab saw it.
        let held = train(&[0.0, 116e3, 6_254e3, 6_281e3, 6_285e3, 6_287e3]);
        assert!(stood_still(&held, OWN, 0.0));
        // A queue of others parts what comes behind it.
        let queue = train(&[0.0, 116e3, 6_254e3, 6_377e3, 6_500e3, 6_623e3]);
        assert!(!stood_still(&queue, OWN, 0.0));
        assert!(!stood_still(&queue, OWN, 8e6));
        // The first may have been held itself; and a short wait may be another link's.
        let behind = train(&[0.0, 3e3, 5e3, 123e3, 246e3]);
        assert!(stood_still(&behind, OWN, 5e6));
        assert!(!stood_still(&behind, OWN, 0.3e6));
    }

    #[test]
    fn one_train_in_ten_is_rare() {
        assert!(is_rare(0, 1) && is_rare(2, 20) && !is_rare(2, 19));
    }
}
