//! The formats pcap and pcapng.

use crate::passing::Passed;
use dwell_core::Nanos;
use std::io::{self, Write};

/// How packets are written down.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CaptureFormat {
    /// pcapng instead of pcap.
    pub next_generation: bool,
    /// Times to the nanosecond instead of the microsecond.
    pub nanoseconds: bool,
    /// The file's numbers have their high bytes first.
    pub big_endian: bool,
    /// The link that it was taken of.
    pub link: CaptureLink,
    /// So much of a packet is kept.
    pub snap: usize,
    /// No connection runs through tunnels, tags or fragments.
    pub bare: bool,
}

impl Default for CaptureFormat {
    fn default() -> Self {
        Self {
            next_generation: false,
            nanoseconds: true,
            big_endian: false,
            link: CaptureLink::Ethernet,
            snap: 160,
            bare: false,
        }
    }
}

/// Kinds of links.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CaptureLink {
    /// Ethernet, with all its ways to wrap a packet.
    Ethernet,
    /// IP alone.
    Raw,
    /// Linux's cooked capture.
    Cooked,
    /// Its second version.
    Cooked2,
    /// BSD's loopback.
    Loopback,
}

impl CaptureLink {
    /// Its number in the registry of pcap.
    const fn number(self) -> u16 {
        match self {
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Cooked => 113,
            Self::Cooked2 => 276,
            Self::Loopback => 0,
        }
    }
}

/// A capture that is being written.
pub struct CaptureFile<W> {
    out: W,
    format: CaptureFormat,
    packets: u64,
}

impl<W: Write> CaptureFile<W> {
    /// Begins one.
    ///
    /// # Errors
    /// When nothing can be written to `out`.
    pub fn new(out: W, format: CaptureFormat) -> io::Result<Self> {
        let mut file = Self { out, format, packets: 0 };
        let CaptureFormat { nanoseconds, link, snap, .. } = format;
        if format.next_generation {
            file.block(
                0x0a0d_0d0a,
                &[Part::Word(0x1a2b_3c4d), Part::Half(1), Part::Half(0), Part::Bytes(&[0xff; 8])],
            )?;
            let resolution = [if nanoseconds { 9 } else { 6 }, 0, 0, 0];
            file.block(
                1,
                &[
                    Part::Half(link.number()),
                    Part::Half(0),
                    Part::Word(snap as u32),
                    Part::Half(9),
                    Part::Half(1),
                    Part::Bytes(&resolution),
                    Part::Word(0),
                ],
            )?;
        } else {
            let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
            let version = [Part::Half(2), Part::Half(4), Part::Word(0), Part::Word(0)];
            file.parts(&[Part::Word(magic)])?;
            file.parts(&version)?;
            file.parts(&[Part::Word(snap as u32), Part::Word(link.number().into())])?;
        }
        Ok(file)
    }

    /// Adds what passed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, passed: &Passed) -> io::Result<()> {
        let CaptureFormat { link, bare, .. } = self.format;
        for frame in link.frames(passed, bare) {
            self.frame(passed.what.at(), &frame.headers, frame.headers.len() + frame.zeros)?;
        }
        Ok(())
    }

    /// Adds a frame as it was heard, headers of its link and all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_frame(&mut self, at: Nanos, bytes: &[u8]) -> io::Result<()> {
        self.frame(at, bytes, bytes.len())
    }

    /// A frame of `length` bytes, of which those beyond `bytes` are zero.
    fn frame(&mut self, Nanos(at): Nanos, bytes: &[u8], length: usize) -> io::Result<()> {
        let CaptureFormat { next_generation, nanoseconds, snap, .. } = self.format;
        let kept = length.min(snap);
        let mut bytes = bytes.to_vec();
        bytes.resize(kept, 0);
        let lengths = [Part::Word(kept as u32), Part::Word(length as u32), Part::Bytes(&bytes)];
        let fraction = if nanoseconds { at % 1_000_000_000 } else { at % 1_000_000_000 / 1_000 };
        if next_generation {
            let ticks = if nanoseconds { at } else { at / 1_000 } as u64;
            let stamp = [Part::Word(0), Part::Word((ticks >> 32) as u32), Part::Word(ticks as u32)];
            let padding = &[0; 3][..kept.next_multiple_of(4) - kept];
            let [one, two, three] = stamp;
            let [four, five, six] = lengths;
            self.block(6, &[one, two, three, four, five, six, Part::Bytes(padding)])?;
        } else {
            self.parts(&[Part::Word((at / 1_000_000_000) as u32), Part::Word(fraction as u32)])?;
            self.parts(&lengths)?;
        }
        self.packets += 1;
        Ok(())
    }

    /// Packets written so far.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Ends it, and gives back what it was written to.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// A block of pcapng.
    fn block(&mut self, kind: u32, parts: &[Part<'_>]) -> io::Result<()> {
        let length = Part::Word(12 + parts.iter().map(|part| part.length()).sum::<usize>() as u32);
        self.parts(&[Part::Word(kind), length])?;
        self.parts(parts)?;
        self.parts(&[length])
    }

    fn parts(&mut self, parts: &[Part<'_>]) -> io::Result<()> {
        let big = self.format.big_endian;
        parts.iter().try_for_each(|part| match part {
            Part::Word(word) => {
                self.out.write_all(&if big { word.to_be_bytes() } else { word.to_le_bytes() })
            }
            Part::Half(half) => {
                self.out.write_all(&if big { half.to_be_bytes() } else { half.to_le_bytes() })
            }
            Part::Bytes(bytes) => self.out.write_all(bytes),
        })
    }
}

/// A part of a record.
#[derive(Copy, Clone)]
enum Part<'a> {
    Word(u32),
    Half(u16),
    Bytes(&'a [u8]),
}

impl Part<'_> {
    const fn length(&self) -> usize {
        match self {
            Self::Word(_) => 4,
            Self::Half(_) => 2,
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}
