//! The bytes of a capture, as they can be had.

use super::packed::unpacked;
use super::windows::Windows;
use dwell_core::capture::{Blocks, Source};
use std::fs::File;
use std::io::{self, Read};

/// The bytes of a capture: a plain file's are mapped, all others are read block by block.
pub(super) enum Bytes {
    Mapped(Windows),
    Read(Blocks<Box<dyn Read + Send>>),
}

impl Bytes {
    pub(super) fn of(from: impl Read + Send + 'static) -> io::Result<Self> {
        Ok(Self::Read(Blocks::of(unpacked(from)?)))
    }

    pub(super) fn of_file(file: File) -> io::Result<Self> {
        match Windows::over(file)? {
            Ok(windows) => Ok(Self::Mapped(windows)),
            Err(file) => Self::of(file),
        }
    }
}

impl Source for Bytes {
    #[inline]
    fn window(&self) -> &[u8] {
        match self {
            Self::Mapped(windows) => windows.window(),
            Self::Read(blocks) => blocks.window(),
        }
    }

    fn slide(&mut self, passed: usize, wanted: usize) -> io::Result<bool> {
        match self {
            Self::Mapped(windows) => windows.slide(passed, wanted),
            Self::Read(blocks) => blocks.slide(passed, wanted),
        }
    }

    #[inline]
    fn foresee(&self, from: &[u8]) {
        if let Self::Mapped(windows) = self {
            windows.foresee(from);
        }
    }

    fn is_cut_off(&self) -> bool {
        match self {
            Self::Mapped(windows) => windows.is_cut_off(),
            Self::Read(blocks) => blocks.is_cut_off(),
        }
    }
}
