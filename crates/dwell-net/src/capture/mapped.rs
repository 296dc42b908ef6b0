//! Memory that stands for what the kernel holds.

use super::guard::Guard;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::fd::AsFd;
use std::ptr::NonNull;

/// Memory that stands for what the kernel holds, until this is dropped.
pub(super) struct Mapped {
    start: NonNull<c_void>,
    length: NonZeroUsize,
}

// SAFETY: it is memory of the process, bound to no thread.
#[allow(unsafe_code)]
unsafe impl Send for Mapped {}

impl Mapped {
    /// The first `length` bytes of what `fd` stands for, shared with the kernel.
    pub(super) fn shared(fd: impl AsFd, length: usize, protection: ProtFlags) -> io::Result<Self> {
        Self::of(fd, 0, length, protection, MapFlags::MAP_SHARED)
    }

    /// `length` bytes of a file from `from` on, to be read; all of them at hand at once, if `at_once`. Else the kernel brings those that
    /// are in memory at hand with the first that is touched, many pages at a time.
    pub(super) fn part(file: &File, from: u64, length: usize, at_once: bool) -> io::Result<Self> {
        let populated = if at_once { MapFlags::MAP_POPULATE } else { MapFlags::empty() };
        let flags = MapFlags::MAP_PRIVATE | populated;
        Self::of(file, from.cast_signed(), length, ProtFlags::PROT_READ, flags)
    }

    fn of(
        fd: impl AsFd,
        from: i64,
        length: usize,
        protection: ProtFlags,
        flags: MapFlags,
    ) -> io::Result<Self> {
        let length = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: the kernel chooses a place where nothing is, and only this value knows of it.
        #[allow(unsafe_code)]
        let start = unsafe { mmap(None, length, protection, flags, fd, from) }?;
        Ok(Self { start, length })
    }

    /// Where it lies.
    pub(super) fn range(&self) -> Range<usize> {
        let start = self.start.addr().get();
        start..start + self.length.get()
    }

    /// The bytes of a part of a file, under guard: where the file has been cut off meanwhile, they are 0.
    pub(super) fn bytes<'a>(&'a self, _: &'a Guard) -> &'a [u8] {
        // SAFETY: the memory is there and readable as long as `self`, whatever becomes of the file: the guard sees to that.
        // Whoever writes to the file meanwhile changes bytes here; they are read as what they are, bytes of any value,
        // with each place checked against the length of the whole.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.start.as_ptr().cast(), self.length.get())
        }
    }

    /// Where the byte `at` is; `None` unless `size` bytes from there on belong to it.
    pub(super) fn place<T>(&self, at: usize, size: usize) -> Option<NonNull<T>> {
        let inside = at.checked_add(size).is_some_and(|end| end <= self.length.get());
        // SAFETY: the offset was just found to be inside.
        #[allow(unsafe_code)]
        let place = inside.then(|| unsafe { self.start.byte_add(at) }.cast::<T>());
        place.filter(|place| place.is_aligned())
    }
}

/// Asks memory for the two lines of the cache that begin so far behind the first of these bytes, and waits for nothing.
#[inline]
pub(super) fn foresee(from: &[u8], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = from.as_ptr().cast::<i8>().wrapping_add(ahead);
        // SAFETY: it reads nothing, whatever is there, and does nothing where no memory is.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line);
            _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(64));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, ahead);
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: what was mapped is unmapped, once; nothing that borrows from it outlives it.
        #[allow(unsafe_code)]
        let _ = unsafe { munmap(self.start, self.length.get()) };
    }
}
