//! A file of which a part is mapped at a time.

use super::guard::Guard;
use super::mapped::{Mapped, foresee};
use super::packed::is_packed;
use dwell_core::capture::Source;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// What is mapped at once: enough for the calls to count for nothing, and little enough to count for no memory.
const WINDOW: u64 = 4 << 20;

/// So far ahead memory is asked for what will be looked at: it takes as long to come as some dozens of packets of headers
/// take to be looked at, and the processor foresees nothing beyond the end of a page.
const AHEAD: usize = 1 << 12;

/// Windows begin where pages do, of whatever size up to this.
const PAGE: u64 = 1 << 16;

/// A plain file, of which a part is mapped at a time.
pub(super) struct Windows {
    file: File,
    /// As long as it was when last looked at.
    length: u64,
    /// Lets go before what it watches over does.
    guard: Guard,
    mapped: Option<Mapped>,
    /// Where in the file the first byte is that is still needed, and how far behind the beginning of what is mapped.
    at: u64,
    skipped: usize,
}

impl Windows {
    /// Over a file from its beginning; gives it back if it has to be read: if it is no plain file, or packed, or there is
    /// no guard left.
    pub(super) fn over(file: File) -> io::Result<Result<Self, File>> {
        let facts = file.metadata()?;
        let mut start = [0; 4];
        let is_plain = facts.is_file() && facts.len() > 0;
        let read = if is_plain { file.read_at(&mut start, 0)? } else { 0 };
        if read == 0 || is_packed(&start[..read]) {
            return Ok(Err(file));
        }
        let Some(guard) = Guard::free()? else { return Ok(Err(file)) };
        // Advice that is not taken changes nothing but the time.
        let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_SEQUENTIAL);
        let mut windows = Self { file, length: facts.len(), guard, mapped: None, at: 0, skipped: 0 };
        Ok(match windows.map(1) {
            Ok(()) => Ok(windows),
            Err(_) => Err(windows.file),
        })
    }

    fn unmap(&mut self) {
        self.guard.watch(0..0);
        self.mapped = None;
    }

    /// Maps what begins at `at` and has `wanted` bytes at least, if the file has so many.
    fn map(&mut self, wanted: u64) -> io::Result<()> {
        let from = self.at - self.at % PAGE;
        self.skipped = (self.at - from) as usize;
        let until = self.length.min(self.at.saturating_add(wanted).max(from + WINDOW));
        // What was mapped goes first, and takes no memory beside what comes.
        self.unmap();
        if until > from {
            let mapped = Mapped::part(&self.file, from, (until - from) as usize)?;
            self.guard.watch(mapped.range());
            self.mapped = Some(mapped);
            // Meanwhile the disk reads on.
            let (next, window) = (until.cast_signed(), WINDOW.cast_signed());
            let _ = posix_fadvise(&self.file, next, window, PosixFadviseAdvice::POSIX_FADV_WILLNEED);
        }
        Ok(())
    }
}

impl Source for Windows {
    #[inline]
    fn window(&self) -> &[u8] {
        let mapped = self.mapped.as_ref().map(|mapped| mapped.bytes(&self.guard));
        mapped.and_then(|bytes| bytes.get(self.skipped..)).unwrap_or_default()
    }

    fn slide(&mut self, passed: usize, wanted: usize) -> io::Result<bool> {
        if self.is_cut_off() {
            self.unmap();
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += passed as u64;
        self.length = self.file.metadata()?.len();
        self.map(wanted as u64)?;
        Ok(self.window().len() >= wanted)
    }

    #[inline]
    fn foresee(&self, from: &[u8]) {
        foresee(from, AHEAD);
    }

    #[cold]
    fn is_cut_off(&self) -> bool {
        // Of a page that is cut off within, the rest is 0, and nothing faults.
        self.guard.is_torn() || self.file.metadata().map_or(true, |now| now.len() < self.length)
    }
}
