//! A capture file.

use super::bytes::Bytes;
use dwell_core::Nanos;
use dwell_core::capture::{Captured, ReadError, Reader};
use std::io::{self, Read};
use std::path::Path;

/// A capture file of any format, packed with gzip or zstd or not at all.
pub struct File {
    reader: Reader<Bytes>,
    timeless: u64,
}

/// How the reading of a capture ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Where the capture ends.
    Whole,
    /// Within a packet: the end is missing.
    CutOff,
    /// Before something that is no record.
    Damaged,
    /// Before its first packet: when its turn came among others, it was gone, or was another capture.
    Replaced,
}

/// What was read of a capture.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Whole packets, with those without times.
    pub packets: u64,
    /// Packets whose times were not recorded, or cannot be, and which are of no use.
    pub timeless: u64,
    /// The coarsest unit in which times of packets are written: no half is more exact.
    pub coarsest: Nanos,
    /// How it ended.
    pub end: End,
}

impl File {
    /// Opens a capture; `-` is standard input. What is no file but a pipe is read as it comes.
    ///
    /// # Errors
    /// If it cannot be opened, or is no capture.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            return Self::of(io::stdin());
        }
        let file = std::fs::File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        Ok(Self { reader: Reader::of(Bytes::of_file(file)?)?, timeless: 0 })
    }

    /// A capture out of any source of bytes.
    ///
    /// # Errors
    /// If it cannot be read, or is no capture.
    pub fn of(from: impl Read + Send + 'static) -> Result<Self, ReadError> {
        Ok(Self { reader: Reader::of(Bytes::of(from)?)?, timeless: 0 })
    }

    /// Calls `take` with each packet, and tells how far it came: what is cut off or damaged is good up to there.
    ///
    /// # Errors
    /// If it cannot be read any further for another reason than what it holds.
    #[inline]
    pub fn each(&mut self, take: &mut impl FnMut(Captured<'_>)) -> Result<Account, ReadError> {
        loop {
            let ended = match self.reader.each(take) {
                Ok(()) => End::Whole,
                Err(error) => match self.ended(error)? {
                    Some(end) => end,
                    None => continue,
                },
            };
            return Ok(self.account(ended));
        }
    }

    /// Goes on to the next packet that has a time, and tells that; or that there is none.
    pub(super) fn advance(&mut self) -> Result<Result<i128, End>, ReadError> {
        loop {
            match self.reader.advance() {
                Ok(Some(at)) => return Ok(Ok(at)),
                Ok(None) => return Ok(Err(End::Whole)),
                Err(error) => {
                    if let Some(end) = self.ended(error)? {
                        return Ok(Err(end));
                    }
                }
            }
        }
    }

    /// The packet that [`Self::advance`] went on to.
    pub(super) fn packet(&self) -> Captured<'_> {
        self.reader.packet()
    }

    /// How it ends by what the reader says; `None`: not yet.
    #[cold]
    fn ended(&mut self, error: ReadError) -> Result<Option<End>, ReadError> {
        match error {
            ReadError::Timeless { .. } => {
                self.timeless += 1;
                Ok(None)
            }
            ReadError::CutOff { .. } => Ok(Some(End::CutOff)),
            ReadError::Damaged { .. } => Ok(Some(End::Damaged)),
            error => Err(error),
        }
    }

    pub(super) fn account(&self, end: End) -> Account {
        let (packets, coarsest) = (self.reader.whole() as u64, self.reader.coarsest());
        Account { packets, timeless: self.timeless, coarsest, end }
    }
}
