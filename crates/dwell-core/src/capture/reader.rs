//! The packets of a capture, one after the other.

use super::format::{Format, Found, Record, START};
use super::source::{Blocks, Source};
use super::{LinkType, ReadError};
use std::io::{self, Read};

/// A record is at most so long.
pub(super) const LARGEST_RECORD: usize = 1 << 24;

/// So many packets are given out together at most.
const TOGETHER: usize = 32;

/// A packet as a capture holds it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
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

/// Reads a capture. One and the same reader takes every format, and every source of bytes.
#[derive(Debug)]
pub struct Reader<S> {
    from: S,
    format: Format,
    /// What of the source's window is still to be read.
    start: usize,
    /// Where the packet is that was found last.
    found: Found,
    whole: usize,
    /// Nothing follows what the window holds; if it was the source that failed, how.
    ended: Option<Result<(), io::ErrorKind>>,
}

impl<R: Read> Reader<Blocks<R>> {
    /// Reads the header of a capture.
    ///
    /// # Errors
    /// If it cannot be read, or is of no format that is known here.
    pub fn new(from: R) -> Result<Self, ReadError> {
        Self::of(Blocks::of(from))
    }
}

impl<S: Source> Reader<S> {
    /// Reads the header of a capture from any source.
    ///
    /// # Errors
    /// If it cannot be read, or is of no format that is known here.
    pub fn of(from: S) -> Result<Self, ReadError> {
        let (format, found) = (Format::default(), Found::default());
        let mut reader = Self { from, format, start: 0, found, whole: 0, ended: None };
        let mut refused = ReadError::NoCapture;
        for enough in START {
            reader.refill(enough)?;
            match Format::of(reader.from.window()) {
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
            match self.format.record(&self.from.window()[self.start..]) {
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
                Record::Damaged => {
                    self.from.intact()?;
                    return Err(ReadError::Damaged { whole: self.whole });
                }
            }
        }
    }

    /// The packet that [`Self::advance`] went on to.
    #[inline]
    #[must_use]
    pub fn packet(&self) -> Captured<'_> {
        let Found { at, link, from, to, length } = self.found;
        Captured { at, link, bytes: &self.from.window()[from..to], length }
    }

    /// Calls `take` with the next packets that are at hand, and tells how many there are: none where
    /// [`Self::advance`] has to look further.
    #[inline]
    pub fn at_hand(&mut self, take: &mut impl FnMut(&[Captured<'_>])) -> usize {
        let bytes = &self.from.window()[self.start..];
        let mut packets = [Captured::default(); TOGETHER];
        let (count, passed) = match &mut self.format {
            Format::Pcap(format) => gather(bytes, &mut packets, |bytes| format.record(bytes)),
            Format::Pcapng(format) => gather(bytes, &mut packets, |bytes| format.record(bytes)),
            Format::Snoop(format) => gather(bytes, &mut packets, |bytes| format.record(bytes)),
            Format::Erf(format) => gather(bytes, &mut packets, |bytes| format.record(bytes)),
        };
        self.start += passed;
        self.whole += count;
        if count > 0 {
            take(&packets[..count]);
        }
        count
    }

    /// Packets so far, with those without times.
    #[must_use]
    pub const fn whole(&self) -> usize {
        self.whole
    }

    /// Goes on until `length` bytes are there; `false` when there are no more.
    #[cold]
    fn refill(&mut self, length: usize) -> Result<bool, ReadError> {
        if self.ended.is_none() {
            let passed = std::mem::take(&mut self.start);
            match self.from.slide(passed, length) {
                Ok(true) => {}
                Ok(false) => self.ended = Some(Ok(())),
                Err(error) if is_cut(error.kind()) => self.ended = Some(Err(error.kind())),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.from.window().len() - self.start >= length)
    }

    /// Why there is no next packet.
    #[cold]
    fn finish(&self) -> Result<Option<i128>, ReadError> {
        self.from.intact()?;
        let whole = self.whole;
        match self.ended {
            Some(Err(kind)) => Err(self.torn(kind)),
            _ if self.start < self.from.window().len() => Err(ReadError::CutOff { whole }),
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

/// Takes packets from the beginning of `bytes` until there are enough, or what comes is none. Tells how many, and the
/// bytes that they take.
#[inline(always)]
fn gather<'a>(
    bytes: &'a [u8],
    packets: &mut [Captured<'a>; TOGETHER],
    mut record: impl FnMut(&[u8]) -> Record,
) -> (usize, usize) {
    let (mut count, mut at) = (0, 0);
    while count < TOGETHER {
        let bytes = &bytes[at..];
        match record(bytes) {
            Record::Packet(Found { at: time, link, from, to, length }, passed) => {
                packets[count] = Captured { at: time, link, bytes: &bytes[from..to], length };
                count += 1;
                at += passed;
            }
            Record::Other(passed) => at += passed,
            _ => break,
        }
    }
    (count, at)
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
