//! The search for the rate (RFC 9097, section 8.1, and its type C; ITU-T Y.1540 annexes A and B): rows of the table up
//! and down, by what a trial interval showed.

use super::activation::Parameters;
use super::algorithm::Algorithm;
use super::rates::{FINE, rows};
use super::status::{NONE, Trial};

/// A fast step back is so many forward.
const BACK: usize = 3;
/// Slow steps after which type C tries a fast one; each time so many more.
const RETRY: u32 = 5;

/// What a trial says of the rate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Says {
    /// More can come.
    More,
    /// It is enough.
    Enough,
    /// It is too much.
    Less,
}

/// The search under way.
#[derive(Clone, Debug)]
pub struct Search {
    how: Parameters,
    index: usize,
    /// Troubles since the last fast step.
    troubles: u32,
    /// Of type C: whether this step multiplies, slow steps so far, and how many it takes for a fast one.
    multiplies: bool,
    waited: u32,
    patience: u32,
}

impl Search {
    /// Begins.
    #[must_use]
    pub fn new(how: Parameters) -> Self {
        let index = if how.row == u16::MAX { 0 } else { usize::from(how.row).min(rows() - 1) };
        Self { how, index, troubles: 0, multiplies: false, waited: 0, patience: RETRY }
    }

    /// The row to send at.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// Sees a trial interval.
    pub fn see(&mut self, trial: &Trial) {
        // A fixed row.
        if self.how.row != u16::MAX && !self.how.starts {
            return;
        }
        match (self.says(trial), self.how.algorithm) {
            (Says::More, Algorithm::B) => self.more(),
            (Says::More, Algorithm::C) => self.multiply(),
            (Says::Enough, _) => {}
            (Says::Less, algorithm) => self.less(algorithm),
        }
    }

    fn says(&self, trial: &Trial) -> Says {
        let [lost, reordered, doubled] = trial.troubles;
        let disorder = if self.how.ignore_reordering { 0 } else { reordered.saturating_add(doubled) };
        let troubles = lost.saturating_add(disorder);
        let [_, _, sum, count] = trial.variation;
        let delay = if self.how.one_way {
            // To the nearest millisecond.
            (u64::from(sum) * 10).checked_div(count.into()).map(|tenths| (tenths as u32 + 5) / 10)
        } else {
            (trial.round_trip[1] != NONE).then_some(trial.round_trip[1])
        };
        // Where nothing is known of the delay, it gives no reason for a change.
        let delay = delay.unwrap_or(self.how.low.into());
        if troubles <= self.how.tolerated.into() && delay < self.how.low.into() {
            Says::More
        } else if troubles > self.how.tolerated.into() || delay > self.how.upper.into() {
            Says::Less
        } else {
            Says::Enough
        }
    }

    fn fast(&self) -> bool {
        self.index < FINE && self.troubles < u32::from(self.how.slow_after)
    }

    fn slow_up(&mut self) -> bool {
        let room = self.index < rows() - 1;
        self.index += usize::from(room);
        room
    }

    fn more(&mut self) {
        if self.fast() {
            self.index = (self.index + usize::from(self.how.step)).min(FINE);
            self.troubles = 0;
        } else {
            self.slow_up();
        }
    }

    fn multiply(&mut self) {
        if self.fast() {
            if self.index * 2 > FINE {
                self.index = FINE;
            } else {
                self.index = self.index.max(1);
                // Every second trial, for the effect of a step is to be seen first.
                if self.multiplies {
                    self.index *= 2;
                }
                self.multiplies = !self.multiplies;
            }
            self.troubles = 0;
            return;
        }
        self.waited += u32::from(self.slow_up());
        if self.waited >= self.patience {
            (self.troubles, self.waited) = (0, 0);
            self.patience += RETRY;
        }
    }

    fn less(&mut self, algorithm: Algorithm) {
        self.troubles = self.troubles.saturating_add(1);
        if self.index < FINE && self.troubles == u32::from(self.how.slow_after) {
            let back = usize::from(self.how.step) * BACK;
            self.index = self.index.saturating_sub(back);
        } else if self.index > 0 {
            self.index -= 1;
            if algorithm == Algorithm::C {
                self.waited += 1;
                if self.waited >= self.patience {
                    (self.troubles, self.waited) = (0, 0);
                }
            }
        }
    }
}
