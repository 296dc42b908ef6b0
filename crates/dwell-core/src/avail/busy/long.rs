//! Long trains, which a token bucket shows that passed all others, or a link that carries so much that shorter ones are hardly held up.

use super::Busy;
use super::plan::LEAST_PAUSE;
use super::round::{NOTHING, Round};
use super::strain;
use crate::avail::search::Verdict;
use crate::bucket::fall::Fall;
use crate::bucket::{At, Bucket, drained};
use crate::train::Departure;
use crate::unit::Nanos;

/// A long train at what seems free has at least so many packets and at most so many; before it a token bucket has so long to fill where there is time for
/// that, and all is over in so many times what a measurement should take, unless more was asked before.
pub(super) const LONG: usize = 96;
const LONGEST_LONG: usize = 4_096;
const FILLING: Nanos = Nanos::from_millis(500);
const LASTING: i64 = 2;

/// Behind a fleet of a search that fell it has so many times as many packets as passed at once, if that is more.
const BEYOND: f64 = 4.0;

impl Busy {
    /// Whether nothing was met, on a link that is too slow for a long train beside all others.
    pub(super) fn is_at_rest(&self) -> bool {
        self.samples.idle() && self.samples.pace().is_some_and(|pace| self.spare(pace) < LONG)
    }

    /// Packets that a measurement leaves for a long train on a link that takes `pace` nanoseconds for each.
    fn spare(&self, pace: f64) -> usize {
        self.room(self.config.lasting * LASTING, pace).saturating_sub(self.config.budget(pace))
    }

    /// Packets that may be sent in so long a time on such a link.
    fn room(&self, lasting: Nanos, pace: f64) -> usize {
        (self.config.most * lasting.as_f64() / pace) as usize
    }

    /// A long train at `rate`, which a token bucket may have passed that is deeper than all trains so far: of the packets that are left, unless
    /// the link is too slow for one, and others are on it: where nothing was met it takes the place of the test. Where more was sent than a
    /// measurement should need, the pause before it is so long that half as many are left as otherwise: a bucket that is deeper than the train would not show.
    pub(super) fn long(&mut self, rate: f64) -> (Round, Option<Vec<Departure>>) {
        let end = (Round::Over, None);
        let Some(pace) = self.samples.pace().filter(|pace| rate * pace > NOTHING) else { return end };
        let (sent, gone) = (self.sending.packets, self.sending.pauses);
        let lasting = |packets: usize| Nanos::from_f64(packets as f64 * pace / self.config.most);
        let left = (self.config.lasting * LASTING - gone).max(Nanos::ZERO);
        let filling = FILLING.min(left).max(LEAST_PAUSE);
        let usual = self.spare(pace);
        let (packets, pause) = if usual >= LONG {
            let pause = (lasting(sent + LONG.max(usual / 2)) - gone).max(filling);
            ((self.room(gone + pause, pace) - sent).min(LONGEST_LONG), pause)
        } else if self.samples.idle() {
            // What comes through it is free.
            self.trial.at(rate, 1);
            (LONG, filling)
        } else {
            return end;
        };
        let bucket = Bucket::new(At::Free, 1.0 / rate, packets);
        self.bucket = Some(bucket.among_bursts(self.samples.bursty()));
        self.emptied(pause)
    }

    /// Long trains at the rate of a search at which its trains fell so, as behind a token bucket: however slow the link is, and several times as
    /// long as what such a bucket holds.
    pub(super) fn long_of_search(&mut self, fall: &Fall) -> (Round, Option<Vec<Departure>>) {
        let packets = LONG.max((BEYOND * fall.passed) as usize).min(LONGEST_LONG);
        let bucket =
            Bucket::new(At::Free, 1.0 / self.trial.rate(), packets).among_bursts(self.samples.bursty());
        self.aside = self.bucket.replace(bucket);
        self.emptied(drained(fall, packets))
    }

    /// The next train that looks for such a bucket.
    pub(super) fn emptied(&mut self, pause: Nanos) -> (Round, Option<Vec<Departure>>) {
        let next = self.bucket.as_mut().and_then(|bucket| bucket.next(self.sending.size));
        match next {
            Some((train, drained)) => (Round::Bucket, Some(self.sending.beside(train, pause.max(drained)))),
            None => (Round::Over, None),
        }
    }

    /// Whether a long train was held up from its beginning to its end: another link has less free, which carries so much that shorter ones
    /// do not show it.
    pub(super) fn is_held_up(&self) -> bool {
        self.held_up() == Some(Verdict::Above)
    }

    /// The same, or that it may have been; `None` where no such train came whole and alone.
    pub(super) fn held_up(&self) -> Option<Verdict> {
        let (bucket, line) = (self.bucket.as_ref()?, self.samples.line()?);
        let parts = bucket.parts();
        let tell = self.samples.batch.is_none() && !parts.is_empty();
        tell.then(|| strain::verdict(parts, line.noise))
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{OWN, seen};
    use super::super::plan::{BURST, BURSTS};
    use super::*;
    use crate::method::Method as _;
    use crate::stream::Passed;
    use crate::stream::sample::Sample;

    fn long(later: impl Fn(usize) -> f64) -> Vec<Passed> {
        let passed = |number: usize| {
            let sent = OWN / 0.65 * number as f64;
            Passed { number, sent, came: sent + later(number) }
        };
        (0..801).map(passed).collect()
    }

    /// What the line says is free is 0.7 of the link.
    fn after_long_train(later: impl Fn(usize) -> f64) -> Busy {
        let mut busy = seen(|_| OWN, 0.3, 40e3);
        let mut bucket = Bucket::new(At::Free, OWN / 0.65, 801);
        bucket.next(busy.sending.size).unwrap();
        bucket.see(&long(later));
        (busy.bucket, busy.round) = (Some(bucket), Round::Bucket);
        busy
    }

    #[test]
    fn a_long_train_that_is_held_up_throughout_tells_of_a_wide_link() {
        let searched = |later: fn(usize) -> f64| {
            let mut busy = after_long_train(later);
            busy.after();
            busy.trial.searching
        };
        assert!(searched(|number| 0.05 * OWN * number as f64));
        assert!(!searched(|number| OWN * (number % 3) as f64));
        // A burst of others holds up its end.
        assert!(!searched(|number| 0.4 * OWN * number.saturating_sub(700) as f64));
    }

    #[test]
    fn where_no_search_tells_more_a_long_train_that_was_held_up_is_a_warning() {
        let warned = |later: fn(usize) -> f64| {
            let report = after_long_train(later).report();
            report.warnings.iter().any(|warning| warning.contains("held up throughout"))
        };
        assert!(warned(in_doubt) && warned(|number| 0.05 * OWN * number as f64));
        assert!(!warned(|_| 0.0));
    }

    /// Now more, now less: it may be held up throughout, or not.
    fn in_doubt(number: usize) -> f64 {
        let (whole, rest) = (number / 200, (number % 200) as f64);
        OWN / 0.65 * (4.0 * whole as f64 + 0.05 * rest.min(100.0) - 0.01 * (rest - 100.0).max(0.0))
    }

    #[test]
    fn a_long_train_that_leaves_doubt_is_followed_by_another_and_both_tell() {
        let after_both = |second: fn(usize) -> f64| {
            let mut busy = after_long_train(in_doubt);
            assert_eq!(busy.held_up(), Some(Verdict::Grey));
            let (round, trains) = busy.after();
            let train = &trains.unwrap()[0].train;
            assert!(round == Round::Bucket && !busy.trial.searching && train.packets.len() == 801);
            busy.bucket.as_mut().unwrap().see(&long(second));
            busy.after();
            busy.trial.searching
        };
        assert!(after_both(|number| 0.05 * OWN * number as f64));
        assert!(!after_both(|number| -0.01 * OWN * number as f64));
        // Nor is it told for free what both leave in doubt.
        assert!(after_both(in_doubt));
    }

    #[test]
    fn on_a_slow_link_a_long_train_is_the_test_where_nothing_was_met() {
        let mut idle = seen(|_| OWN, 0.0, 0.0);
        let look = Sample { input: 0.85 * OWN, output: OWN, ..idle.samples.full[0] };
        idle.samples.full = vec![look; 40];
        idle.samples.near.clear();
        idle.samples.firsts.iter_mut().for_each(|first| first.1 = 0.0);
        idle.round = Round::More(1);
        let (round, trains) = idle.after();
        assert_eq!((round, trains.unwrap()[0].train.packets.len()), (Round::Bucket, LONG));
        idle.round = Round::Full;
        let (round, trains) = idle.after();
        // With the first bursts, eight looks and that train no more than 300.
        let looks: usize = trains.unwrap().iter().map(|look| look.train.packets.len()).sum();
        assert!(round == Round::More(1) && BURST * BURSTS + 8 * 6 + looks + LONG <= 300, "{looks}");
        let mut loaded = seen(|_| OWN, 0.3, 40e3);
        assert_eq!(loaded.long(0.6 / OWN).0, Round::Over);
    }
}
