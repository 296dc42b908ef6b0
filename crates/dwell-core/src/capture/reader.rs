//! The packets of a capture, one after the other.

use super::format::{Format, START};
use super::record::{Found, Record};
use super::source::{Blocks, Source};
use super::{LinkType, ReadError};
use crate::unit::Nanos;
use std::io::{self, Read};

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

/// Reads a capture. One and the same reader takes every format, and every source of bytes.
#[derive(Debug)]
pub struct Reader<S> {
    from: S,
    format: Format,
    /// Where in the source's window begins what is still to be read.
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
            let is_all = reader.ended == Some(Ok(()));
            // No more than that, even where more is there: however the bytes come, the same is found.
            let start = reader.from.window();
            match Format::of(&start[..enough.min(start.len())], is_all) {
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

    /// The next packet; `None` at the end. After [`ReadError::Timeless`] it can go on.
    ///
    /// # Errors
    /// If the capture cannot be read any further, or the next packet has no time.
    #[inline(always)]
    pub fn read(&mut self) -> Result<Option<Captured<'_>>, ReadError> {
        Ok(self.find()?.map(|found| found.within(self.from.window())))
    }

    /// Calls `take` with each packet that [`Self::read`] would find, one after the other.
    ///
    /// # Errors
    /// As there; it can go on as there.
    #[inline]
    pub fn each(&mut self, take: &mut impl FnMut(Captured<'_>)) -> Result<(), ReadError> {
        while self.advance()?.is_some() {
            seldom(take, self.packet());
            // Of most captures: while packets are there whole, nothing changes but where the next one is.
            let Some(usual) = self.format.usual() else { continue };
            let bytes = self.from.window();
            let (mut rest, mut whole) = (&bytes[self.start..], self.whole);
            while let Some((packet, behind)) = usual.packet(rest) {
                self.from.foresee(rest);
                take(packet);
                rest = behind;
                whole += 1;
            }
            (self.start, self.whole) = (bytes.len() - rest.len(), whole);
        }
        Ok(())
    }

    /// Goes on to the next packet as [`Self::read`] does, and tells its time.
    ///
    /// # Errors
    /// As there.
    pub fn advance(&mut self) -> Result<Option<i128>, ReadError> {
        let found = self.find()?;
        self.found = found.unwrap_or_default();
        Ok(found.map(|found| found.at))
    }

    /// The coarsest unit in which times of packets are written, so far. Only pcapng has any but micro- and nanoseconds (ERF:
    /// parts of a nanosecond), and says so of each interface.
    #[must_use]
    pub const fn coarsest(&self) -> Nanos {
        match &self.format {
            Format::Pcapng(pcapng) => pcapng.coarsest(),
            Format::Pcap(_) | Format::Snoop(_) | Format::Erf(_) => Nanos::from_micros(1),
        }
    }

    /// The packet that [`Self::advance`] went on to.
    #[must_use]
    pub fn packet(&self) -> Captured<'_> {
        self.found.within(self.from.window())
    }

    /// Where the next packet is. What is found goes from hand to hand and not by way of memory: from there it comes late.
    #[inline(always)]
    fn find(&mut self) -> Result<Option<Found>, ReadError> {
        loop {
            let bytes = &self.from.window()[self.start..];
            self.from.foresee(bytes);
            let next = match &mut self.format {
                Format::Pcap(pcap) => {
                    let record = pcap.record(bytes);
                    self.pass(record)
                }
                others => {
                    let record = others.record(bytes);
                    self.pass(record)
                }
            };
            if let Some(next) = next {
                return next;
            }
        }
    }

    /// Goes on behind a record, and tells what [`Self::find`] does of it, if anything.
    #[inline(always)]
    fn pass(&mut self, record: Record) -> Option<Result<Option<Found>, ReadError>> {
        match record {
            // Of a source that was cut off the rest is 0, which looks like packets of no bytes.
            Record::Packet(found, _) if found.from == found.to && self.from.is_cut_off() => {
                Some(Err(ReadError::CutOff { whole: self.whole }))
            }
            Record::Packet(found, length) => {
                let from = self.start;
                self.start += length;
                self.whole += 1;
                Some(Ok(Some(found.behind(from))))
            }
            Record::Needs(length) => self.needs(length),
            Record::Other(length) => {
                self.start += length;
                None
            }
            Record::Timeless(length) => {
                self.start += length;
                self.whole += 1;
                Some(Err(ReadError::Timeless { number: self.whole }))
            }
            Record::Damaged if self.from.is_cut_off() => Some(Err(ReadError::CutOff { whole: self.whole })),
            Record::Damaged => Some(Err(ReadError::Damaged { whole: self.whole })),
        }
    }

    /// Reads so many bytes, or tells why there are no more.
    #[cold]
    fn needs(&mut self, length: usize) -> Option<Result<Option<Found>, ReadError>> {
        match self.refill(length) {
            Ok(true) => None,
            Ok(false) => Some(self.finish()),
            Err(error) => Some(Err(error)),
        }
    }

    /// Packets so far, with those without times.
    #[must_use]
    pub const fn whole(&self) -> usize {
        self.whole
    }

    /// Goes on until `length` bytes are there; `false` when there are no more.
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
    fn finish(&self) -> Result<Option<Found>, ReadError> {
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

/// Calls `take` with a packet of which nothing is known, apart from those of which more is.
#[inline(never)]
fn seldom(take: &mut impl FnMut(Captured<'_>), packet: Captured<'_>) {
    take(packet);
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
    while let Some(packet) = reader.read()? {
        take(packet)?;
    }
    Ok(())
}
