//! Memory that is shared with the kernel.

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;

/// Memory that is shared with the kernel, until this is dropped.
pub(super) struct Mapped {
    start: NonNull<c_void>,
    length: NonZeroUsize,
}

// SAFETY: it is memory of the process, bound to no thread.
#[allow(unsafe_code)]
unsafe impl Send for Mapped {}

impl Mapped {
    /// The first `length` bytes of what `fd` stands for.
    pub(super) fn new(fd: impl AsFd, length: usize, protection: ProtFlags) -> io::Result<Self> {
        let length = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: the kernel chooses a place where nothing is, and only this value knows of it.
        #[allow(unsafe_code)]
        let start = unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, fd, 0) }?;
        Ok(Self { start, length })
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

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: what was mapped is unmapped, once; nothing that borrows from it outlives it.
        #[allow(unsafe_code)]
        let _ = unsafe { munmap(self.start, self.length.get()) };
    }
}
