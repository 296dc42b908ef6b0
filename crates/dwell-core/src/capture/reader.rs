//! The packets of a capture, one after the other.

use super::format::{Format, Found, Record, START};
use super::{LinkType, ReadError};
use std::io::{self, Read};

/// A record is at most so long.
pub(super) const LARGEST_RECORD: usize = 1 << 24;

/// What is read at once: enough for a call to the operating system to count for nothing, and little enough to stay in
/// a core's own cache beside the tables of those who look at the packets.
const BLOCK: usize = 1 << 17;

/// A packet as a capture holds it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Nanoseconds since an epoch, on the clock of whoever captured.
    pub at: i128,
    /// Of which link it was taken.
    pub link: LinkType,
    /// What was kept of it, from the link's own header on.
    pub bytes: &'a [u8],
    /// Its length on that link.
    pub length: u32,
}

/// Reads a capture. One and the same reader takes every format, and every source of bytes: in blocks, so that a file
/// that shrinks meanwhile is cut off, where a mapped one would end the process.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    format: Format,
    buffer: Vec<u8>,
    /// What of the buffer is still to be read.
    start: usize,
    end: usize,
    /// Where the packet is that was found last.
    found: Found,
    whole: usize,
    /// Nothing follows what the buffer holds; if it was the source that failed, how.
    ended: Option<Result<(), io::ErrorKind>>,
}

impl<R: Read> Reader<R> {
    /// Reads the header of a capture.
    ///
    /// # Errors
    /// If it cannot be read, or is of no format that is known here.
    pub fn new(from: R) -> Result<Self, ReadError> {
        let mut reader = Self {
            from,
            format: Format::default(),
            buffer: vec![0; BLOCK],
            start: 0,
            end: 0,
            found: Found::default(),
            whole: 0,
            ended: None,
        };
        let mut refused = ReadError::NoCapture;
        for enough in START {
            reader.refill(enough)?;
            match Format::of(&reader.buffer[..reader.end]) {
                Ok((format, header)) => {
                    (reader.format, reader.start) = (format, header);
                    return Ok(reader);
                }
                Err(error) => refused = error,
            }
        }
        // Of what was packed and is cut off or damaged, that is the reason.
        Err(reader.ended.and_then(Result::err).map_or(refused, |kind| reader.torn(kind)))
    }

    /// Goes on to the next packet, and tells its time; `None` at the end. After [`ReadError::Timeless`] it can go on.
    ///
    /// # Errors
    /// If the capture cannot be read any further, or the next packet has no time.
    #[inline]
    pub fn advance(&mut self) -> Result<Option<i128>, ReadError> {
        loop {
            match self.format.record(&self.buffer[self.start..self.end]) {
                Record::Packet(found, length) => {
                    let from = self.start;
                    self.found = Found { from: from + found.from, to: from + found.to, ..found };
                    self.start += length;
                    self.whole += 1;
                    return Ok(Some(found.at));
                }
                Record::Needs(length) if self.refill(length)? => {}
                Record::Needs(_) => return self.finish(),
                Record::Other(length) => self.start += length,
                Record::Timeless(length) => {
                    self.start += length;
                    self.whole += 1;
                    return Err(ReadError::Timeless { number: self.whole });
                }
                Record::Damaged => return Err(ReadError::Damaged { whole: self.whole }),
            }
        }
    }

    /// The packet that [`Self::advance`] went on to.
    #[inline]
    #[must_use]
    pub fn packet(&self) -> Captured<'_> {
        let Found { at, link, from, to, length } = self.found;
        Captured { at, link, bytes: &self.buffer[from..to], length }
    }

    /// Packets so far, with those without times.
    #[must_use]
    pub const fn whole(&self) -> usize {
        self.whole
    }

    /// Reads until `length` bytes are there; `false` when there are no more.
    #[cold]
    fn refill(&mut self, length: usize) -> Result<bool, ReadError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.len() < length {
            self.buffer.resize(length.next_power_of_two(), 0);
        }
        while self.end < length && self.ended.is_none() {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = Some(Ok(())),
                Ok(more) => self.end += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_cut(error.kind()) => self.ended = Some(Err(error.kind())),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.end >= length)
    }

    /// Why there is no next packet.
    #[cold]
    fn finish(&self) -> Result<Option<i128>, ReadError> {
        let whole = self.whole;
        match self.ended {
            Some(Err(kind)) => Err(self.torn(kind)),
            _ if self.start < self.end => Err(ReadError::CutOff { whole }),
            _ => Ok(None),
        }
    }

    /// The source unpacks what is cut off, or damaged.
    const fn torn(&self, kind: io::ErrorKind) -> ReadError {
        match kind {
            io::ErrorKind::UnexpectedEof => ReadError::CutOff { whole: self.whole },
            _ => ReadError::Damaged { whole: self.whole },
        }
    }
}

/// Whether a source failed as one does that unpacks what is cut off or damaged: what came before it is good.
const fn is_cut(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
}

/// Calls `take` with each packet of a capture.
///
/// # Errors
/// That of `take`, or why the capture cannot be read any further: then `take` has got every whole packet before that.
pub fn each_packet<E: From<ReadError>>(
    from: impl Read,
    mut take: impl FnMut(Captured<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::new(from)?;
    while reader.advance()?.is_some() {
        take(reader.packet())?;
    }
    Ok(())
}
