//! Fleets at rates that may be free: a test of one, and a search where that one is not.

use super::belief::{Belief, belief};
use super::late::left;
use super::strain;
use crate::avail::search::Verdict;
use crate::stats::Estimate;
use crate::stream::Passed;
use crate::stream::sample::Sample;

/// Trains of the test, of one that left doubts, and of each fleet of a search.
pub(super) const TEST: usize = 2;
pub(super) const DOUBTED: usize = 8;
pub(super) const FLEET: usize = 2;

/// The search goes on until what is free is known so well, as a share of what the narrow link carries, or after so many
/// fleets, where the tight link may be that one or carries no more than it; twice as many where even then it is not known nearly as well.
const RESOLUTION: f64 = 0.12;
const COARSE: f64 = 0.25;
const FLEETS: f64 = 12.0;

/// Trains of a search are by so much of the narrow link faster than what seems free, in turns: the nearer ones show what is free, the
/// others what the tight link carries.
const ABOVE: [f64; 3] = [0.1, 0.2, -0.1];

/// But no faster than so much of it, at which it parts them itself.
const MOST: f64 = 0.96;
const LEAST: f64 = 0.03;

/// What is taken for free before a search shows anything.
pub(super) const UNKNOWN: f64 = 0.5;

/// A tight link that carries more than the narrow one holds trains up by less, in proportion: they are up to so many times as far from what
/// is free. Where it seems to be another that surely carries more, up to the square of it as many follow: the mean of so many is as much surer.
const WIDER: f64 = 2.0;

/// What trains at rates that may be free showed. Rates are packets of ours a nanosecond.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    fleets: Vec<Vec<Sample>>,
    rate: f64,
    /// Trains that were sent at it, of which some may have been lost.
    asked: usize,
    /// Fleets of the search, of which some may have been lost.
    searched: usize,
    pub(super) searching: bool,
    /// The first fleet was the test.
    tested: bool,
    /// What all fleets tell.
    pub(super) told: Option<Belief>,
}

impl Trial {
    /// So many trains at `rate` follow.
    pub(super) fn at(&mut self, rate: f64, count: usize) {
        self.tested |= !self.searching;
        if rate != self.rate {
            self.fleets.push(Vec::new());
            self.asked = 0;
        }
        self.rate = rate;
        self.asked += count;
    }

    /// One of them. What counts is whether as much as was meant came through, whenever its packets left.
    pub(super) fn see(&mut self, passed: &[Passed], sample: Option<Sample>) {
        let late = left(passed, 1.0 / self.rate);
        let sample = sample.map(|sample| Sample { input: sample.input + late / sample.gaps, ..sample });
        if let Some(fleet) = self.fleets.last_mut() {
            fleet.extend(sample);
        }
    }

    /// Whether the last fleet, the test, came through as it was sent, where the cross traffic's work is as [`Line::noise`](crate::stream::line::Line) says;
    /// `None`: too few trains to tell.
    pub(super) fn passed(&self, noise: f64) -> Option<bool> {
        let fleet = self.fleets.last()?;
        match strain::verdict(fleet, noise) {
            Verdict::Below => Some(true),
            _ if !self.doubted() => None,
            Verdict::Above => Some(false),
            Verdict::Grey => Some(true),
        }
    }

    /// What the last fleet was sent at.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether as many trains were sent as where a test left doubts.
    pub(super) const fn doubted(&self) -> bool {
        self.asked >= DOUBTED
    }

    /// The strain of the test, over what may show of a rate that is free; `None` before there was one, or where all of it was lost.
    pub(super) fn strained(&self, noise: f64) -> Option<f64> {
        let test = self.fleets.first().filter(|_| self.tested)?;
        Some(strain::held(test)? / strain::allowed(test, noise))
    }

    /// The rate to look at next in a search on a path whose narrow link takes `pace` a packet and seems to have `narrow_free` at the least;
    /// `None`: it is over. What all tell is judged when all turns have been taken, for that takes a while.
    pub(super) fn next(&mut self, waited: Option<f64>, pace: f64, narrow_free: f64) -> Option<f64> {
        self.searching = true;
        let turn = self.searched % ABOVE.len();
        if turn == 0 {
            self.told = belief(&self.fleets, waited, pace);
        }
        let free = self.told.map_or(UNKNOWN, |told| told.free.value);
        let wider = |carries: fn(Estimate) -> f64| {
            self.told.map_or(1.0, |told| carries(told.carries)).clamp(1.0, WIDER)
        };
        let known = |to: f64| self.told.is_some_and(|told| told.free.high - told.free.low < to);
        let another = |told: Belief| told.free.value < narrow_free * pace;
        let surer = if self.told.is_some_and(another) { wider(|carries| carries.low) } else { 1.0 };
        let times = surer.powi(2).max(if known(COARSE) { 1.0 } else { 2.0 });
        if turn == 0 && (self.searched as f64 >= FLEETS * times || known(RESOLUTION)) {
            return None;
        }
        self.searched += 1;
        let above = ABOVE[turn] * wider(|carries| carries.value);
        Some((free + above).clamp(LEAST, MOST) / pace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: f64 = 1e5;

    /// A link that carries as much as the narrow one, of which half is free, whatever the time.
    fn sent(trial: &mut Trial, rate: f64, count: usize) {
        trial.at(rate, count);
        for _ in 0..count {
            let input = 1.0 / rate;
            let output = input + ((rate * PACE - 0.5) * input).max(0.0);
            trial.see(&[], Some(Sample { input, output, gaps: 87.0, blur: 0.0, scatter: 0.0 }));
        }
    }

    #[test]
    fn a_test_that_is_in_doubt_goes_on() {
        let mut trial = Trial::default();
        sent(&mut trial, 0.4 / PACE, TEST);
        assert_eq!(trial.passed(0.0), Some(true));
        sent(&mut trial, 0.6 / PACE, TEST);
        assert_eq!(trial.passed(0.0), None);
        sent(&mut trial, 0.6 / PACE, DOUBTED);
        assert_eq!(trial.passed(0.0), Some(false));
    }

    #[test]
    fn a_test_of_which_all_is_lost_does_not_go_on_for_ever() {
        let mut trial = Trial::default();
        trial.at(0.4 / PACE, TEST);
        assert_eq!(trial.passed(0.0), None);
        trial.at(0.4 / PACE, DOUBTED);
        assert_eq!(trial.passed(0.0), Some(false));
    }

    /// How many fleets a search takes behind a link that carries so many times the narrow one, of which so much is free, with half of that
    /// one free, whose traffic makes trains differ by three gaps of the narrow one to either side; and what it told. No queue makes trains
    /// so even: they say what the link carries, not what is free.
    fn searched(carries: f64, narrow_free: f64) -> (usize, Belief) {
        let (mut trial, mut fleets) = (Trial::default(), 0);
        while let Some(rate) = trial.next(None, PACE, narrow_free / PACE) {
            assert!((LEAST..=MOST).contains(&(rate * PACE)));
            trial.at(rate, FLEET);
            for differs in [-3.0, 3.0] {
                let input = 1.0 / rate;
                let longer = (rate * PACE - 0.5).max(0.0) / carries * input + differs * PACE / 87.0;
                trial.see(
                    &[],
                    Some(Sample { input, output: input + longer, gaps: 87.0, blur: 0.0, scatter: 0.0 }),
                );
            }
            fleets += 1;
        }
        (fleets, trial.told.unwrap())
    }

    #[test]
    fn a_search_goes_on_for_longer_where_the_tight_link_is_another_and_carries_more() {
        let ((few, alike), (many, wider)) = (searched(1.0, 1.0), searched(10.0, 1.0));
        assert!(few as f64 <= FLEETS && many as f64 > 2.0 * FLEETS, "{few} {many}");
        assert!(alike.carries.low < 1.5 && wider.carries.low > 1.5, "{alike:?} {wider:?}");
    }

    #[test]
    fn a_search_goes_on_for_twice_as_long_where_little_is_known() {
        let wide = |told: Belief| told.free.high - told.free.low;
        let ((few, near), (many, wider)) = (searched(1.0, 0.3), searched(10.0, 0.3));
        assert!(few as f64 <= FLEETS && wide(near) < COARSE, "{few} {near:?}");
        assert!(many as f64 == 2.0 * FLEETS && wide(wider) > COARSE, "{many} {wider:?}");
    }

    #[test]
    fn a_search_ends_where_what_is_free_is_known() {
        let (mut trial, mut fleets) = (Trial::default(), 0);
        while let Some(rate) = trial.next(None, PACE, 1.0 / PACE) {
            assert!((LEAST..=MOST).contains(&(rate * PACE)));
            sent(&mut trial, rate, FLEET);
            fleets += 1;
        }
        let told = trial.told.unwrap().free;
        assert!(
            fleets as f64 <= FLEETS && told.holds(0.5) && told.high - told.low < 2.0 * RESOLUTION,
            "{fleets} {told:?}"
        );
    }
}
