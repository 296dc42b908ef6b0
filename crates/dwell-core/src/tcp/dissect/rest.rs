//! What is left of a frame behind the headers that were read.

use super::Skipped;

/// What is left of a frame.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rest<'a> {
    /// What was captured of it.
    pub(super) bytes: &'a [u8],
    /// How much of it passed.
    pub(super) length: usize,
}

impl<'a> Rest<'a> {
    pub(super) const fn of(bytes: &'a [u8], length: usize) -> Self {
        Self { bytes, length: if length < bytes.len() { bytes.len() } else { length } }
    }

    /// `N` bytes that begin at `at`.
    pub(super) fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], Skipped> {
        self.bytes.get(at..).and_then(|bytes| bytes.first_chunk().copied()).ok_or(Skipped::CutShort)
    }

    pub(super) fn u8(&self, at: usize) -> Result<u8, Skipped> {
        self.bytes.get(at).copied().ok_or(Skipped::CutShort)
    }

    pub(super) fn u16(&self, at: usize) -> Result<u16, Skipped> {
        self.array(at).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&self, at: usize) -> Result<u32, Skipped> {
        self.array(at).map(u32::from_be_bytes)
    }

    /// Behind the next `count` bytes.
    pub(super) fn behind(self, count: usize) -> Result<Self, Skipped> {
        let bytes = self.bytes.get(count..).ok_or(Skipped::CutShort)?;
        Ok(Self { bytes, length: self.length - count })
    }

    /// The next `length` bytes alone: what follows them is padding. A header that tells of more than passed is
    /// believed: captures are edited more often than headers lie.
    pub(super) fn only(self, length: usize) -> Self {
        Self { bytes: &self.bytes[..self.bytes.len().min(length)], length }
    }
}
