//! Several captures as one.

use super::{Account, File};
use dwell_core::capture::{Captured, ReadError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Several captures of one place, in the order of their packets' times.
pub struct Merged {
    files: Vec<File>,
}

impl Merged {
    /// Of these captures.
    #[must_use]
    pub fn of(files: Vec<File>) -> Self {
        Self { files }
    }

    /// Calls `take` with each packet of all of them, the oldest first, and of two of the same time that of the first
    /// capture; tells how far it came in each.
    ///
    /// # Errors
    /// Which of them (from 0) cannot be read any further, and why.
    pub fn each(&mut self, take: &mut impl FnMut(Captured<'_>)) -> Result<Vec<Account>, (usize, ReadError)> {
        let mut accounts = vec![None; self.files.len()];
        let mut heads = BinaryHeap::with_capacity(self.files.len());
        let mut next = (0..self.files.len()).collect::<Vec<_>>();
        loop {
            for index in next.drain(..) {
                match self.files[index].advance().map_err(|error| (index, error))? {
                    Ok(at) => heads.push(Reverse((at, index))),
                    Err(end) => accounts[index] = Some(self.files[index].account(end)),
                }
            }
            let Some(Reverse((_, index))) = heads.pop() else { break };
            take(self.files[index].packet());
            next.push(index);
        }
        Ok(accounts.into_iter().flatten().collect())
    }
}
