//! Trains a little slower than what was found: whether others' packets, in every run alike, hold up these too.

use super::train::Seen;
use crate::stats::quantile::{mean, standard_deviation};

/// So much slower than what was found they are to be.
pub(super) const SLOWER: f64 = 1.01;

/// By so much more a sender may be late. Of trains slower than that others may be in every run, and not hold up these.
const LATE: f64 = 0.01;

/// Slower trains that come slower by no more than this passed.
const STRAIN: f64 = 0.01;

/// A random source's packets differ in number from train to train, by the root of it. Where they differ by less than this share of
/// that, others come in step, into all trains alike.
const IN_STEP: f64 = 0.5;

/// The slower trains, as they came.
#[derive(Clone, Debug)]
pub(super) struct Strained {
    /// Nanoseconds between packets by what was found.
    gap: f64,
    trains: Vec<Train>,
}

#[derive(Copy, Clone, Debug)]
struct Train {
    /// How far apart its packets were sent, in those gaps.
    sent: f64,
    /// By what factor it came slower than that.
    strain: f64,
}

/// Others' packets that may be in every run.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Others {
    /// Their share of the narrow link, at the most.
    pub(super) load: f64,
    /// The slower trains show them; else these were too slow to.
    pub(super) are_shown: bool,
}

impl Strained {
    /// None came yet.
    pub(super) const fn new(gap: f64) -> Self {
        Self { gap, trains: Vec::new() }
    }

    pub(super) fn see(&mut self, seen: &Seen) {
        let sent = seen.sent / self.gap;
        self.trains.extend(seen.strain().map(|strain| Train { sent, strain }));
    }

    /// Means of how far apart packets were sent, and of the strain, and the strain's standard deviation.
    fn summary(&self) -> Option<(f64, f64, f64)> {
        let of = |what: fn(&Train) -> f64| self.trains.iter().map(what).collect::<Vec<f64>>();
        let strains = of(|train| train.strain);
        Some((mean(&of(|train| train.sent))?, mean(&strains)?, standard_deviation(&strains)?))
    }

    /// Whether what held up these trains, of so many packets, is the same in each of them.
    pub(super) fn in_step(&self, packets: usize) -> bool {
        let Some((_, strain, deviation)) = self.summary() else { return false };
        // Packets of others in a train, of the same size: each makes it so much slower.
        let others = (strain - 1.0) * packets as f64;
        deviation * others.sqrt() < IN_STEP * (strain - 1.0)
    }

    /// The load that others may have put between the packets of every run, where trains a little slower than what was found
    /// came slower still, or were sent too slowly for that.
    ///
    /// At worst the link before the narrow one is no faster: packets enter L / C apart and leave (1 + rho) L / C apart, which
    /// was found. Those sent f times that apart then leave L / C + rho f (1 + rho) L / C apart; the strain is that over what
    /// they were sent at.
    pub(super) fn others(&self) -> Option<Others> {
        let (sent, strain, deviation) = self.summary()?;
        let chance = 2.0 * deviation / (self.trains.len() as f64).sqrt();
        let are_shown = strain - 1.0 > STRAIN + chance;
        (are_shown || sent > SLOWER + LATE).then(|| {
            let strain = if are_shown { strain } else { strain.max(1.0) + chance };
            // strain = 1 / (f (1 + rho)) + rho, which is rho^2 + (1 - strain) rho + 1 / f - strain = 0.
            let (half, rest) = ((strain - 1.0) / 2.0, strain - 1.0 / sent.max(SLOWER));
            Others { load: half + (half * half + rest).sqrt(), are_shown }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 100;

    /// Trains that were sent so far apart and came so many times that.
    fn strained(sent: f64, strains: &[f64]) -> Strained {
        let trains = strains.iter().map(|strain| Train { sent, strain: *strain }).collect();
        Strained { gap: 1e5, trains }
    }

    #[test]
    fn others_come_in_step_where_each_train_meets_as_many_of_them() {
        // Of so many packets of others in a train a random source makes them differ by the root.
        let longest = PACKETS as f64;
        let others = 0.3 * longest;
        let differing = |by: f64| {
            let strains: Vec<f64> =
                [-1.0, 1.0].repeat(4).iter().map(|side| 1.3 + side * by / longest).collect();
            strained(SLOWER, &strains)
        };
        assert!(!differing(others.sqrt()).in_step(PACKETS));
        assert!(differing(0.2 * others.sqrt()).in_step(PACKETS));
        assert!(strained(SLOWER, &[1.3; 8]).in_step(PACKETS) && !strained(SLOWER, &[]).in_step(PACKETS));
        // Trains that passed as they were sent tell of no load, others of the one that makes them so much slower.
        assert_eq!(strained(SLOWER, &[1.0; 8]).others(), None);
        let Others { load, are_shown } = strained(SLOWER, &[1.3; 8]).others().unwrap();
        assert!(are_shown && (1.0 / (SLOWER * (1.0 + load)) + load - 1.3).abs() < 1e-9, "{load}");
    }

    #[test]
    fn trains_that_a_late_sender_sent_too_slowly_do_not_tell_that_there_are_no_others() {
        // Others take a fifth: all runs show 1 / 1.2 of the link, and trains at 1.06 times that gap pass as they were sent.
        let Others { load, are_shown } = strained(1.06, &[1.0; 8]).others().unwrap();
        assert!(!are_shown && load > 0.2, "{load}");
        assert_eq!(strained(SLOWER + LATE / 2.0, &[1.0; 8]).others(), None);
        assert_eq!(strained(1.06, &[]).others(), None);
    }
}
