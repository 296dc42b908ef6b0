//! The gap of packets that left the narrow link one right behind the other.

use super::waiting::HOST;
use crate::stats::quantile::{mean, median, sorted};
use crate::stream::line::Known;

/// Share of all gaps that must lie together.
const TOGETHER: f64 = 0.08;

/// How near to each other they must lie, as a share of themselves.
const NEAR: f64 = 0.01;

/// Gaps below it are not looked at: fewer than this many say nothing.
const ENOUGH: usize = 10;

/// Of a link's own gaps few are shorter than L / C by so much. Where more than one in so many are, and fewer than one in so many lie
/// together, these do so by chance: behind a wide link gaps differ by whole packets of others.
const CHANCE: f64 = 0.05;
const MANY: usize = 4;

/// So many must lie together.
const FEW: usize = 4;

/// A burst comes no faster than the link serves it, so that as much as a whole packet, and no more, comes between two of
/// it at the mean: gaps below this share of the mean are not the link's, but the receiver's, which reads in batches.
const LEAST: f64 = 0.45;

/// So many packets a receiver reads at once, where it reads them in batches: where a third of the gaps of bursts are not
/// the link's.
pub(super) fn batch(gaps: &[f64]) -> Option<usize> {
    let least = LEAST * mean(gaps)?;
    let inside = gaps.iter().filter(|gap| **gap <= least).count();
    (inside * 3 > gaps.len()).then(|| gaps.len().div_ceil((gaps.len() - inside).max(1)))
}

/// What bursts, sent `made` apart and whose packets come `burst` apart at the mean, show of another loaded link beside the
/// one that takes `own`. On one, no more comes between two packets of a burst than it can send in the time between them: so
/// `burst - made` is at most `own`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Another {
    /// More came between packets.
    Parted,
    /// Packets came nearer to each other, as they do where they wait behind that link; or behind what a host is busy with.
    Closer,
    /// By more than hosts make them.
    MuchCloser,
}

/// So much more or less than one link explains is another's doing.
pub(super) const ANOTHER: f64 = 0.1;

/// Packets come nearer to each other by what a host delays them, too: by less than that nothing is made of it, unless it is so
/// much of what one link takes (a link half as fast again as the narrow one lets those that waited come nearer by a third).
const HOSTS: f64 = 0.3;

/// Where so many gaps are shorter, and fewer than so many of bursts are as long as one link makes them (a host's stamps are
/// off now and then, but not at each packet).
const CLOSER: f64 = 0.05;
const ALIKE: f64 = 0.5;

/// `bursts` are their gaps, `paced` those of trains at the pace.
pub(super) fn another(
    bursts: &[f64],
    paced: &[f64],
    own: Option<Known>,
    made: f64,
    burst: f64,
) -> Option<Another> {
    if batch(bursts).is_some() || bursts.len() < ENOUGH {
        return None;
    }
    let own = own.map(|(own, _)| own);
    let least = burst - made;
    // Few of the gaps of bursts hold packets of others, but these are long: the mean is above what most of them are.
    let usual = own.or_else(|| median(bursts))?;
    let served = usual.min(least);
    let closer = |by: fn(f64) -> f64| {
        let shorter = |gap: &&f64| **gap < served - by(served);
        let short = bursts.iter().filter(shorter).count() + paced.iter().filter(shorter).count();
        let alike = bursts.iter().filter(|gap| (**gap - usual).abs() <= by(usual) / 2.0).count();
        short as f64 > CLOSER * (bursts.len() + paced.len()) as f64
            && (alike as f64) < ALIKE * bursts.len() as f64
    };
    if closer(beyond_hosts) {
        return Some(Another::MuchCloser);
    }
    if closer(|gap| ANOTHER * gap) {
        return Some(Another::Closer);
    }
    own.is_some_and(|own| least > own * (1.0 + ANOTHER)).then_some(Another::Parted)
}

/// By how much packets come nearer to each other than the `gap` that one link makes them before it is no host's doing.
pub(super) fn beyond_hosts(gap: f64) -> f64 {
    (ANOTHER * gap).max(HOST.min(HOSTS * gap))
}

/// The smallest gap at which gaps of bursts crowd: packets that nothing came between are all served in the same time.
/// (Others may crowd above it, where traffic is regular.) One link serves no packet sooner than `least`, what bursts come apart
/// less what they were sent apart; hosts' stamps may make a few gaps alike that are a little shorter. So where as many crowd above
/// that, and it is no more than a tenth above the smallest (else several links are loaded), those are the link's. `None` where they
/// crowd nowhere.
pub(super) fn unparted(gaps: &[f64], least: f64) -> Option<Known> {
    let inside = LEAST * mean(gaps)?;
    if gaps.len() < ENOUGH || batch(gaps).is_some() {
        return None;
    }
    let gaps = sorted(gaps);
    let count = ((gaps.len() as f64 * TOGETHER).ceil() as usize).max(FEW);
    let crowd = |from: f64| {
        let gaps = &gaps[gaps.partition_point(|gap| *gap < from)..];
        let first = gaps.windows(count).position(|crowd| crowd[count - 1] - crowd[0] <= NEAR * crowd[0])?;
        let gaps = &gaps[first..];
        Some(&gaps[..gaps.partition_point(|gap| *gap <= gaps[0] * (1.0 + NEAR))])
    };
    let smallest = crowd(inside)?;
    let served = least * (1.0 - NEAR);
    let is_one_link = least <= smallest[0] * (1.0 + ANOTHER);
    let above = crowd(served.max(inside)).filter(|above| is_one_link && above.len() >= smallest.len());
    let crowd = above.unwrap_or(smallest);
    let (middle, width) = (crowd[crowd.len() / 2], crowd.last()? - crowd[0]);
    let below = gaps.partition_point(|gap| *gap < middle * (1.0 - CHANCE));
    if below * MANY > gaps.len() && crowd.len() * MANY < gaps.len() {
        return None;
    }
    let error = (width / 2.0).max(middle * 1e-4) / (crowd.len() as f64).sqrt();
    Some((middle, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unparted_gaps_crowd() {
        let mut gaps = vec![123.0; 6];
        gaps.extend((0..14).map(|i| 123.0 + 17.3 * f64::from(i + 1)));
        assert_eq!(unparted(&gaps, 120.0).unwrap().0, 123.0);
    }

    #[test]
    fn another_link_parts_packets_or_lets_them_come_nearer() {
        // Microseconds.
        let us = |gaps: &[f64]| gaps.iter().map(|gap| gap * 1e3).collect::<Vec<_>>();
        let told =
            |gaps: &[f64], burst: f64| another(&us(gaps), &[], Some((120e3, 100.0)), 12e3, burst * 1e3);
        let even = [120.0; 30];
        assert_eq!(told(&even, 120.0), None);
        // What one link may send between two packets of a burst, and more than that.
        assert_eq!(told(&even, 131.0), None);
        assert_eq!(told(&even, 180.0), Some(Another::Parted));
        let jostled: Vec<f64> = (0..30).map(|i| 75.0 + 3.0 * f64::from(i)).collect();
        assert_eq!(told(&jostled, 120.0), Some(Another::MuchCloser));
        let jostled: Vec<f64> = (0..30).map(|i| 95.0 + 1.5 * f64::from(i)).collect();
        assert_eq!(told(&jostled, 120.0), Some(Another::Closer));
        // A host whose stamps are late now and then.
        let late = [even.as_slice(), &[170.0, 70.0, 170.0, 70.0]].concat();
        assert_eq!(told(&late, 121.0), None);
        // One whose stamps are late by up to 9 us, never twice alike.
        let delay = |place: usize| (place * 7 % 10) as f64;
        let uneven: Vec<f64> = (0..30).map(|place| 120.0 + delay(place + 1) - delay(place)).collect();
        assert_eq!(told(&uneven, 120.0), None);
    }

    #[test]
    fn a_few_that_a_host_makes_shorter_are_not_the_links() {
        // Microseconds, of this machine's kernel: the last of each burst is stamped 7 us sooner than the others.
        let burst = [122.0, 121.6, 123.5, 122.2, 121.1, 122.8, 122.5, 123.1, 122.3, 115.2];
        let gaps = burst.map(|gap| [gap, gap + 0.1, gap - 0.1, gap + 0.2]).concat();
        assert_eq!(unparted(&gaps, 0.0).unwrap().0.round(), 115.0);
        assert_eq!(unparted(&gaps, 118.0).unwrap().0.round(), 122.0);
        // Where bursts come that much further apart, others are between their packets: the shortest may be the link's.
        assert_eq!(unparted(&gaps, 130.0).unwrap().0.round(), 115.0);
    }

    #[test]
    fn few_that_are_alike_among_many_shorter_ones_are_so_by_chance() {
        let jostled: Vec<f64> = (0..24).map(|i| 80.0 + 3.1 * f64::from(i)).collect();
        let crowded = |alike: usize| [jostled.clone(), vec![134.0; alike]].concat();
        assert_eq!(unparted(&crowded(5), 100.0), None);
        assert_eq!(unparted(&crowded(10), 100.0).unwrap().0, 134.0);
    }

    #[test]
    fn others_do_not() {
        let spread: Vec<f64> = (0..40).map(|i| 123.0 + 7.0 * f64::from(i)).collect();
        assert_eq!(unparted(&spread, 120.0), None);
        // Regular traffic parts most of them alike: the others count.
        let mut regular = vec![131.8; 40];
        regular.extend([123.0; 5]);
        assert_eq!(unparted(&regular, 120.0).unwrap().0, 123.0);
        // A host that reads in batches: most gaps are next to nothing.
        let mut batches: Vec<f64> = (0..30).map(|i| 1.0 + 0.1 * f64::from(i)).collect();
        batches.extend([250.0; 12]);
        assert_eq!(unparted(&batches, 120.0), None);
        assert_eq!(unparted(&[5.0; 3], 1.0), None);
    }
}
