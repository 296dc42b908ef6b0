//! Recorded traffic.

use crate::framing::Framing;
use dwell_core::capture::{ReadError, each_packet};
use dwell_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why a capture is unfit as traffic.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// It cannot be read to its end.
    #[error(transparent)]
    Unread(#[from] ReadError),
    /// A directory, a pipe or a device.
    #[error("is not a file")]
    NoFile,
    /// One packet.
    #[error("holds a single packet, which has no rate")]
    OnePacket,
    /// Many packets at one time.
    #[error("holds packets that all have the same time")]
    NoTime,
    /// Time runs backwards.
    #[error(
        "packet {number} comes {by} before the one ahead of it; put the packets into order (reordercap does)"
    )]
    Backwards {
        /// Which packet, from 1.
        number: usize,
        /// How far.
        by: Nanos,
    },
    /// A time beyond all sense.
    #[error("packet {number} comes more than 100 days before or after the first")]
    TooLate {
        /// Which packet, from 1.
        number: usize,
    },
    /// More than we hold in memory.
    #[error("holds more than 10,000,000 packets; cut a part out of it")]
    TooLong,
}

/// A recorded capture as traffic. What serde reads names the file only; [`crate::Scenario::parse`] reads the file.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(description = "A recorded capture as traffic.")]
pub struct CaptureSpec {
    /// The file, in pcap or pcapng; a relative path starts at the scenario file's folder.
    file: String,
    /// Shared by all that replay it.
    #[serde(skip)]
    trace: Arc<Trace>,
}

/// Captures that were read already, by their paths.
pub(crate) type Read = HashMap<PathBuf, Arc<Trace>>;

impl CaptureSpec {
    /// The capture in `file`.
    ///
    /// # Errors
    /// If it cannot be read, or is unfit as traffic.
    pub fn open(file: &Path) -> Result<Self, CaptureError> {
        let trace = Arc::new(Trace::open(file)?);
        Ok(Self { file: file.display().to_string(), trace })
    }

    /// Reads the file, unless it is among those that were `read`.
    pub(crate) fn read(&mut self, folder: &Path, read: &mut Read) -> Result<(), CaptureError> {
        let path = folder.join(&self.file);
        self.trace = match read.get(&path) {
            Some(trace) => Arc::clone(trace),
            None => Arc::new(Trace::open(&path)?),
        };
        read.insert(path, Arc::clone(&self.trace));
        Ok(())
    }

    /// Its file, as the scenario names it.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Its packets.
    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }
}

/// Times and sizes of recorded packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Since the first packet.
    times: Vec<Nanos>,
    /// On the wire. A packet of 4 GiB is none.
    sizes: Vec<u32>,
}

impl Trace {
    /// Reads a pcap or pcapng file.
    ///
    /// # Errors
    /// If it cannot be read, or is unfit as traffic.
    pub fn open(file: &Path) -> Result<Self, CaptureError> {
        // A pipe or a device might never end.
        if !std::fs::metadata(file).map_err(ReadError::from)?.is_file() {
            return Err(CaptureError::NoFile);
        }
        Self::read(std::fs::File::open(file).map_err(ReadError::from)?)
    }

    /// Reads a capture of any format that is known.
    ///
    /// # Errors
    /// If it cannot be read, or is unfit as traffic.
    pub fn read(from: impl std::io::Read + Send) -> Result<Self, CaptureError> {
        let mut trace = Self::default();
        let (mut first, mut last) = (None, Nanos::ZERO);
        each_packet(from, |packet| {
            let number = trace.times.len() + 1;
            if number > MOST_PACKETS {
                return Err(CaptureError::TooLong);
            }
            let since = packet.at - *first.get_or_insert(packet.at);
            let since = i64::try_from(since).map(Nanos).ok().filter(|since| *since <= LONGEST);
            let since = since.ok_or(CaptureError::TooLate { number })?;
            if since < last {
                return Err(CaptureError::Backwards { number, by: last - since });
            }
            last = since;
            trace.times.push(since);
            let size = packet.link.on_wire(packet.length);
            trace.sizes.push(u32::try_from(size.0).unwrap_or(u32::MAX));
            Ok(())
        })?;
        match trace.times.len() {
            0 => Err(ReadError::Empty.into()),
            1 => Err(CaptureError::OnePacket),
            _ if last == Nanos::ZERO => Err(CaptureError::NoTime),
            _ => Ok(trace),
        }
    }

    /// How many packets it holds.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.times.len()
    }

    /// When packet `index` comes after the first, and its size on the wire.
    #[must_use]
    pub fn packet(&self, index: usize) -> (Nanos, Bytes) {
        (self.times[index], Bytes(u64::from(self.sizes[index])))
    }

    /// From a first packet to the same one in the next round: a mean gap follows the last packet.
    #[must_use]
    pub fn round(&self) -> Nanos {
        let span = self.times.last().map_or(0.0, |last| last.as_f64());
        let gaps = self.times.len().saturating_sub(1).max(1) as f64;
        Nanos::from_f64(span * self.times.len() as f64 / gaps)
    }

    /// Mean bits per second as recorded, if each packet takes what `framing` adds.
    #[must_use]
    pub fn bits_per_second(&self, framing: Framing) -> f64 {
        let bits = |size: &u32| framing.occupied(Bytes(u64::from(*size))).bits() as f64;
        let total: f64 = self.sizes.iter().map(bits).sum();
        if self.times.is_empty() { 0.0 } else { total * 1e9 / self.round().as_f64() }
    }

    /// The largest packet.
    pub(crate) fn largest(&self) -> Bytes {
        Bytes(u64::from(self.sizes.iter().copied().max().unwrap_or(0)))
    }

    /// The first packet that comes at `time` after the first, or later.
    pub(crate) fn first_from(&self, time: Nanos) -> usize {
        self.times.partition_point(|at| *at < time)
    }
}

/// As long as the engine's clock lasts.
const LONGEST: Nanos = Nanos::from_secs(100 * 86_400);

/// 120 MB of memory.
const MOST_PACKETS: usize = 10_000_000;
