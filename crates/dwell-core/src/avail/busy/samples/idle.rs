//! What trains that waited for nothing show of the narrow link, whatever bursts made of it.
//!
//! Bursts are few and come soon one after another: all of them may meet a burst of others, whose even packets between ours are then taken
//! for L / C, which is too long; or wait behind a faster link, which lets them go on nearer to each other than the narrow one did.

use super::Samples;
use crate::avail::busy::unparted::{ANOTHER, beyond_hosts};
use crate::avail::busy::waiting::{HOST, unqueued};
use crate::stats::share::wilson;
use crate::stream::sample::Sample;

/// Gaps within so much of each other are alike.
const ALIKE: f64 = 0.02;

/// So many trains that came nearer are no accident, and so many that came alike.
const SOONER: usize = 2;
const SHOWN: usize = 3;

impl Samples {
    /// Trains at the pace, if read one by one, before which nothing waited.
    fn unwaited(&self) -> Vec<Sample> {
        let Some(least) = unqueued(&self.firsts).filter(|_| self.batch.is_none()) else {
            return Vec::new();
        };
        let waited = |(sent, delay): &(f64, f64)| delay - least.at(*sent);
        let nothing = |began: &Option<(f64, f64)>| began.is_some_and(|began| waited(&began) < HOST);
        self.sent
            .iter()
            .zip(&self.began)
            .filter(|(_, began)| nothing(began))
            .map(|(sample, _)| *sample)
            .collect()
    }

    /// In which share of the time all links of the path are idle, at the least: so many trains at the pace waited for nothing, and nothing
    /// came between their packets. (On fast links a host makes packets wait as long as others would; those between ours show all the same.)
    pub(in crate::avail::busy) fn idle_share(&self) -> f64 {
        let Some(pace) = self.fastest() else { return 0.0 };
        let alone = |sample: &&Sample| sample.output < sample.input.max(pace) * (1.0 + ANOTHER);
        let (found, all) = (self.unwaited().iter().filter(alone).count() as f64, self.sent.len() as f64);
        if all > 0.0 { wilson(found / all, all).0 } else { 0.0 }
    }

    /// Whether such trains came nearer to each other than L / C, as they cannot on the narrow link: what seemed to be L / C is others'.
    pub(in crate::avail::busy) fn is_refuted(&self) -> bool {
        let Some((own, _)) = self.own() else { return false };
        let sooner = |sample: &&Sample| sample.output < own - beyond_hosts(own);
        self.unwaited().iter().filter(sooner).count() >= SOONER
    }

    /// Takes what such trains show for L / C: all packets of several came equally far apart, further than that, and none of the others
    /// nearer; and what bursts came nearer by they had waited before, which a faster link makes of them.
    pub(in crate::avail::busy) fn see_idle(&mut self) {
        let Some(made) = self.made().filter(|_| self.shown.is_none()) else { return };
        let own = self.own().map_or(0.0, |(own, _)| own);
        let unwaited = self.unwaited();
        let Some(least) = unwaited.iter().map(|sample| sample.output).reduce(f64::min) else { return };
        let alike = |sample: &&Sample| {
            sample.output < least * (1.0 + ALIKE) && (sample.scatter * sample.gaps).sqrt() < least * ALIKE
        };
        let is_shown = unwaited.iter().filter(alike).count() >= SHOWN;
        if is_shown && made < least && least > own * (1.0 + ANOTHER) && self.have_waited(least) {
            self.shown = Some((least, least * ALIKE / 2.0));
            self.read_bursts(self.shown.map(|(own, _)| own));
        }
    }

    /// Whether bursts had waited, before their first packets, for as long as their packets came nearer to each other than `own`.
    fn have_waited(&self, own: f64) -> bool {
        let firsts: Vec<(f64, f64)> =
            self.firsts.iter().chain(self.read_began.iter().flatten()).copied().collect();
        let Some(least) = unqueued(&firsts) else { return false };
        self.read.iter().zip(&self.read_began).all(|(burst, began)| {
            let nearer: f64 = burst.windows(2).map(|two| (own - (two[1].came - two[0].came)).max(0.0)).sum();
            began.is_some_and(|(sent, delay)| nearer < delay - least.at(sent) + HOST)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Passed;

    const OWN: f64 = 123e3;
    const MADE: f64 = 1.2e3;

    /// A train whose packets leave and come so far apart.
    fn train(packets: usize, sent: f64, came: f64) -> Vec<Passed> {
        (0..packets)
            .map(|number| Passed { number, sent: sent * number as f64, came: came * number as f64 })
            .collect()
    }

    /// Bursts whose packets came `apart`, after the first of each had waited so long; then trains at their pace, of which `idle` waited for
    /// nothing and came `alone` apart, and the others waited 5 ms and came as bursts did.
    fn seen(apart: f64, waited: f64, idle: usize, alone: f64) -> Samples {
        let mut samples = Samples::default();
        let mut at = 0.0;
        let mut began = |wait: f64| {
            at += 40e6;
            Some((at, wait))
        };
        for _ in 0..3 {
            samples.see_burst(&train(11, MADE, apart), began(waited));
        }
        for look in 0..8 {
            let (wait, came) = if look < idle { (0.0, alone) } else { (5e6, apart) };
            let (began, passed) = (began(wait), train(6, 0.85 * apart, came));
            samples.firsts.extend(began);
            samples.see_full(&passed, began, &[true; 5]);
        }
        samples
    }

    #[test]
    fn what_comes_nearer_without_waiting_refutes_bursts() {
        // Three packets of others between any two of a burst, on whatever link.
        let others = seen(4.0 * OWN, 0.0, 3, 3.4 * OWN);
        assert!(others.is_refuted());
        // One train may be off.
        assert!(!seen(4.0 * OWN, 0.0, 1, 3.4 * OWN).is_refuted());
        assert!(!seen(OWN, 0.0, 3, OWN).is_refuted());
    }

    #[test]
    fn what_waited_for_nothing_shows_the_narrow_link() {
        // Bursts waited behind a link five times as fast, for as long as that makes them come nearer.
        let mut behind = seen(OWN / 5.0, 2e6, 3, OWN);
        behind.see_idle();
        assert!((behind.own().unwrap().0 - OWN).abs() < 1.0, "{:?}", behind.own());
        // They had not waited: what takes longer of slower trains is others'.
        let mut loaded = seen(OWN / 5.0, 0.0, 3, OWN);
        loaded.see_idle();
        assert!((loaded.own().unwrap().0 - OWN / 5.0).abs() < 1.0);
        // Nor do two trains show it, or any that a receiver reads in batches.
        let mut few = seen(OWN / 5.0, 2e6, 2, OWN);
        few.see_idle();
        assert!((few.own().unwrap().0 - OWN / 5.0).abs() < 1.0);
        let mut batches = Samples { batch: Some(4), ..seen(OWN / 5.0, 2e6, 3, OWN) };
        batches.see_idle();
        assert!(batches.shown.is_none());
    }

    #[test]
    fn idle_is_what_no_train_met_anything_in() {
        // Three of eight: at the least 0.137 (Wilson).
        let share = seen(OWN, 0.0, 3, OWN).idle_share();
        assert!((share - 0.137).abs() < 1e-3, "{share}");
        // Packets of others between those of trains that did not wait.
        assert!(seen(OWN, 0.0, 3, 1.5 * OWN).idle_share() < 1e-9);
        assert_eq!(Samples::default().idle_share(), 0.0);
    }

    #[test]
    fn most_trains_must_be_read_in_batches() {
        let mut gaps = vec![0.0];
        (0..10).for_each(|gap| gaps.push(gaps[gap] + if gap % 5 < 3 { 1e3 } else { 200e3 }));
        let batched: Vec<Passed> =
            gaps.iter().enumerate().map(|(number, came)| Passed { number, sent: 0.0, came: *came }).collect();
        let read = |trains: &[bool]| {
            let mut samples = Samples::default();
            for in_batches in trains {
                samples.see_batches(if *in_batches { &batched } else { &[] });
            }
            samples.batch
        };
        assert!(read(&[true, true, false]).is_some());
        assert_eq!(read(&[true]), None);
        assert_eq!(read(&[false, true, false]), None);
    }
}
