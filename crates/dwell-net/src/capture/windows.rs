//! A file of which a part is mapped at a time.

use super::guard::Guard;
use super::mapped::{Mapped, foresee};
use super::packed::is_packed;
use dwell_core::capture::Source;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::libc;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
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
            // The kernel goes through all pages that it brings at hand at once, which takes it longer than to do so as they are
            // touched, unless it has to wait for the disk.
            let is_to_come = !is_in_memory(&self.file, until - 1);
            let mapped = Mapped::part(&self.file, from, (until - from) as usize, is_to_come)?;
            self.guard.watch(mapped.range());
            self.mapped = Some(mapped);
            self.read_on(until);
        }
        Ok(())
    }

    /// Meanwhile the disk reads on from there, if it has to: the kernel would look for each page in memory first.
    fn read_on(&self, next: u64) {
        let last = self.length.min(next + WINDOW).saturating_sub(1);
        if last >= next && !is_in_memory(&self.file, last) {
            let (next, window) = (next.cast_signed(), WINDOW.cast_signed());
            let _ = posix_fadvise(&self.file, next, window, PosixFadviseAdvice::POSIX_FADV_WILLNEED);
        }
    }
}

/// Whether the byte at `at` of a file can be had without its disk: then what is before it came to memory as well, or nearly always.
fn is_in_memory(file: &File, at: u64) -> bool {
    let mut byte = 0_u8;
    let place = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: one byte is written at most, to where one is.
    #[allow(unsafe_code)]
    let read =
        unsafe { libc::preadv2(file.as_raw_fd(), &raw const place, 1, at.cast_signed(), libc::RWF_NOWAIT) };
    read == 1
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
