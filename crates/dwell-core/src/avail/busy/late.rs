//! Gaps that are the sender's own: where a packet was late, the link may have idled for want of it, and what came apart then
//! is no traffic of others.

use crate::stream::Passed;

/// What leaves so much later than planned is late: no sender is more punctual.
const LATE: f64 = 1.1;

/// Of each gap of a train whose packets were to leave `holds` apart (one for each packet, the first of no use), whether it tells
/// what came between its packets on a link that takes `own` a packet.
///
/// A packet that comes before the one before it is through finds the link busy, and leaves it `own` after what came since. All
/// gaps do in which packets left as planned: the spacing is made for that. From the first late one on, which may have found
/// nothing left waiting, only those count that surely do. When the one before was through is seen; that depends on what came
/// before it alone, so no gap is chosen by what it shows itself.
pub(super) fn busy(passed: &[Passed], holds: &[f64], own: f64) -> Vec<bool> {
    let mut punctual = true;
    let busy = |(two, hold): (&[Passed], &f64)| {
        // The first waited for nothing or for something: sure is what came after it.
        let waits = two[1].sent <= two[0].came + own;
        punctual &= waits || two[1].sent - two[0].sent <= (LATE * hold).max(own);
        punctual || waits
    };
    passed.windows(2).zip(holds.iter().skip(1)).map(busy).collect()
}

/// The train as it would have come had it kept the link busy in those gaps too that `busy` leaves out: a packet that came when the one
/// before it was through waited for what came since, if for anything.
pub(super) fn kept_busy(passed: &[Passed], busy: &[bool], own: f64) -> Vec<Passed> {
    let mut came = passed.first().map_or(0.0, |first| first.came);
    let each = passed.windows(2).zip(busy).map(|(two, busy)| {
        came += if *busy { two[1].came - two[0].came } else { own + two[1].delay().max(0.0) };
        Passed { came, ..two[1] }
    });
    passed.first().copied().into_iter().chain(each).collect()
}

/// How long a link that lets a train's packets through `gap` apart still had work when the last came, where these left as they
/// did: a train whose sender was late and caught up, or too quick, comes longer than it was sent by that, though all it asked
/// for is free.
pub(super) fn left(passed: &[Passed], gap: f64) -> f64 {
    let gaps = passed.windows(2).map(|two| two[1].sent - two[0].sent);
    gaps.fold(0.0, |left: f64, sent| (left + gap - sent).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: f64 = 100.0;

    /// Packets that leave `gaps` apart and find a link on which others bring `between` them.
    fn train(gaps: &[f64], between: f64) -> Vec<Passed> {
        let (mut sent, mut free) = (0.0, 0.0_f64);
        let mut pass = |number: usize, gap: f64| {
            sent += gap;
            free = free.max(sent) + OWN + if number > 0 { between } else { 0.0 };
            Passed { number, sent, came: free - OWN }
        };
        let first = pass(0, 0.0);
        [first].into_iter().chain(gaps.iter().enumerate().map(|(i, gap)| pass(i + 1, *gap))).collect()
    }

    fn holds(gaps: &[f64]) -> Vec<f64> {
        [0.0].into_iter().chain(gaps.iter().copied()).collect()
    }

    #[test]
    fn who_leaves_as_planned_keeps_the_link_busy() {
        for gap in [85.0, 130.0, 400.0] {
            let gaps = [gap; 20];
            assert_eq!(busy(&train(&gaps, 10.0), &holds(&gaps), OWN), [true; 20]);
        }
    }

    #[test]
    fn a_late_packet_that_finds_nothing_waiting_costs_the_gaps_that_are_not_sure_any_more() {
        let planned = holds(&[85.0; 6]);
        // After the third nothing is left; the next catches up and is sure again.
        let late = [85.0, 85.0, 300.0, 30.0, 85.0, 130.0];
        assert_eq!(busy(&train(&late, 0.0), &planned, OWN), [true, true, false, true, true, true]);
        // What others left waiting covers it.
        let covered = [85.0, 85.0, 240.0, 85.0, 85.0, 85.0];
        assert_eq!(busy(&train(&covered, 60.0), &planned, OWN), [true; 6]);
        // A sender that is slower than the link all the time.
        assert_eq!(busy(&train(&[150.0; 6], 0.0), &planned, OWN), [false; 6]);
    }

    #[test]
    fn of_a_link_that_idled_all_gaps_count_as_if_it_had_not() {
        let read = |gaps: &[f64], between: f64| -> Vec<f64> {
            let train = train(gaps, between);
            let kept = kept_busy(&train, &busy(&train, &holds(&[85.0; 6]), OWN), OWN);
            kept.windows(2).map(|two| two[1].came - two[0].came).collect()
        };
        let late = [85.0, 85.0, 300.0, 30.0, 85.0, 130.0];
        assert_eq!(read(&late, 0.0), [OWN; 6]);
        // What others left waiting is told whole where it surely waited, and else as far as it did.
        assert_eq!(read(&[85.0; 6], 60.0), [160.0; 6]);
        assert_eq!(read(&[85.0, 85.0, 400.0, 85.0], 60.0), [160.0, 160.0, 160.0, 160.0]);
    }

    #[test]
    fn who_catches_up_leaves_work_behind() {
        assert_eq!(left(&train(&[130.0; 8], 0.0), 130.0), 0.0);
        assert_eq!(left(&train(&[200.0, 60.0, 130.0], 0.0), 130.0), 70.0);
        assert_eq!(left(&train(&[60.0, 200.0, 130.0], 0.0), 130.0), 0.0);
        assert_eq!(left(&train(&[120.0; 5], 0.0), 130.0), 50.0);
    }
}
