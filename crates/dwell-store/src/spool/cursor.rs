//! Reads a spool from its beginning to its end, while that grows.

use super::entry::{FrameHeader, HEADER, MAGIC};
use super::{Entry, SpoolError};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A segment as it is now.
#[derive(Copy, Clone, Debug)]
pub(super) struct Place<'a> {
    pub(super) number: u64,
    pub(super) path: &'a Path,
    pub(super) length: u64,
}

/// How far was read.
#[derive(Debug)]
pub(super) struct Cursor {
    segment: u64,
    offset: u64,
    file: Option<File>,
}

impl Cursor {
    /// At the beginning of a segment.
    pub(super) const fn at(segment: u64) -> Self {
        Self { segment, offset: MAGIC.len() as u64, file: None }
    }

    /// The segment.
    pub(super) const fn segment(&self) -> u64 {
        self.segment
    }

    /// Lets go of a removed segment's file: open, it would take its room on the disk as before.
    pub(super) fn close(&mut self, segment: u64) {
        if self.segment == segment {
            self.file = None;
        }
    }

    /// The next batch of this segment, and where it ends; `None` when there is no more. Passes over what is damaged, also
    /// where somebody took the file away or cut it: what comes after that need not wait for it.
    pub(super) fn read(&mut self, place: Place<'_>) -> Result<Option<(Entry, u64)>, SpoolError> {
        if place.number != self.segment {
            *self = Self::at(place.number);
        }
        match self.look(place) {
            Err(error) if [ErrorKind::NotFound, ErrorKind::UnexpectedEof].contains(&error.kind()) => {
                self.offset = place.length;
                Ok(None)
            }
            found => found.map_err(SpoolError::io(place.path, "read")),
        }
    }

    fn look(&mut self, place: Place<'_>) -> io::Result<Option<(Entry, u64)>> {
        while self.offset + HEADER as u64 <= place.length {
            let file = match &mut self.file {
                Some(file) => file,
                None => self.file.insert(File::open(place.path)?),
            };
            let mut start = [0; HEADER];
            file.read_exact_at(&mut start, self.offset)?;
            let body = self.offset + HEADER as u64;
            let fits = |header: &FrameHeader| body + header.length as u64 <= place.length;
            let Some(header) = FrameHeader::parse(start).filter(fits) else {
                self.offset = place.length;
                break;
            };
            let mut bytes = vec![0; header.length];
            file.read_exact_at(&mut bytes, body)?;
            self.offset = body + header.length as u64;
            if let Some(entry) = header.open(&bytes) {
                return Ok(Some((entry, self.offset)));
            }
        }
        Ok(None)
    }

    /// Whether all of this segment was read.
    pub(super) fn is_through(&self, place: Place<'_>) -> bool {
        self.segment == place.number && self.offset >= place.length
    }
}
