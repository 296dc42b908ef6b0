//! Several captures as one.

use super::{Account, End, File};
use dwell_core::Nanos;
use dwell_core::capture::{Captured, ReadError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Several captures of one place, in the order of their packets' times. Of a thousand that follow each other, as a rotating
/// capture's do, one is open at a time.
pub struct Merged {
    captures: Vec<Capture>,
}

enum Capture {
    /// Not begun: when its first packet passed.
    Waiting { path: PathBuf, first: i128 },
    /// Being read.
    Open(File),
    /// Nothing is left of it.
    Over(Account),
}

impl Merged {
    /// Of these captures; `-` is standard input.
    ///
    /// # Errors
    /// Which of them (from 0) cannot be opened, is no capture, or cannot be read to its first packet, and why.
    pub fn open(paths: &[PathBuf]) -> Result<Self, (usize, ReadError)> {
        let is_one = paths.len() == 1;
        let open = |(index, path): (usize, &PathBuf)| {
            let open = || if is_one { File::open(path).map(Capture::Open) } else { Capture::of(path) };
            open().map_err(|error| (index, error))
        };
        Ok(Self { captures: paths.iter().enumerate().map(open).collect::<Result<_, _>>()? })
    }

    /// Calls `take` with each packet of all of them, the oldest first, and of two of the same time that of the first
    /// capture; tells how far it came in each.
    ///
    /// # Errors
    /// Which of them (from 0) cannot be read any further, and why.
    pub fn each(mut self, take: &mut impl FnMut(Captured<'_>)) -> Result<Vec<Account>, (usize, ReadError)> {
        if let [Capture::Open(one)] = &mut self.captures[..] {
            return Ok(vec![one.each(take).map_err(|error| (0, error))?]);
        }
        let mut heads = BinaryHeap::with_capacity(self.captures.len());
        for (index, capture) in self.captures.iter_mut().enumerate() {
            let head = capture.head().map_err(|error| (index, error))?;
            heads.extend(head.map(|at| Reverse((at, index))));
        }
        while let Some(Reverse((_, index))) = heads.pop() {
            let capture = &mut self.captures[index];
            if let Capture::Open(file) = capture {
                take(file.packet());
            }
            let next = capture.advance().map_err(|error| (index, error))?;
            heads.extend(next.map(|at| Reverse((at, index))));
        }
        let over = |capture| if let Capture::Over(account) = capture { Some(account) } else { None };
        Ok(self.captures.into_iter().filter_map(over).collect())
    }
}

impl Capture {
    /// Sees when its first packet passed, and closes it until its turn, if it can be opened again.
    fn of(path: &Path) -> Result<Self, ReadError> {
        let mut this = Self::Open(File::open(path)?);
        let lasts = path.as_os_str() != "-" && fs::metadata(path)?.is_file();
        Ok(match if lasts { this.advance()? } else { None } {
            Some(first) => Self::Waiting { path: path.to_owned(), first },
            None => this,
        })
    }

    /// When the first packet passed, if there is one.
    fn head(&mut self) -> Result<Option<i128>, ReadError> {
        match self {
            Self::Waiting { first, .. } => Ok(Some(*first)),
            Self::Open(_) => self.advance(),
            Self::Over(_) => Ok(None),
        }
    }

    /// Goes on to the next packet that has a time, and tells that; `None`: it is over.
    fn advance(&mut self) -> Result<Option<i128>, ReadError> {
        match self {
            Self::Waiting { path, first } => {
                let first = *first;
                *self = Self::again(path, first)?;
                Ok(matches!(self, Self::Open(_)).then_some(first))
            }
            Self::Open(file) => match file.advance()? {
                Ok(at) => Ok(Some(at)),
                Err(end) => {
                    *self = Self::Over(file.account(end));
                    Ok(None)
                }
            },
            Self::Over(_) => Ok(None),
        }
    }

    /// Opens one whose first packet is due, up to that. What rotates may be gone by then, or begun anew under its name: that is told,
    /// and the others are read.
    fn again(path: &Path, first: i128) -> Result<Self, ReadError> {
        let replaced = Account { packets: 0, timeless: 0, coarsest: Nanos::ZERO, end: End::Replaced };
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(ReadError::Unreadable(error)) if error.kind() != ErrorKind::NotFound => {
                return Err(error.into());
            }
            Err(_) => return Ok(Self::Over(replaced)),
        };
        let is_the_same = file.advance()?.ok() == Some(first);
        Ok(if is_the_same { Self::Open(file) } else { Self::Over(replaced) })
    }
}
