//! Numbers in a file that are kept at every instant: also of a process that is killed between two instructions.

use memmap2::MmapRaw;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// Numbers in a file that is mapped into memory: what is stored in them is in the kernel's keeping at once. One process
/// at a time has them.
#[derive(Debug)]
pub struct LastingNumbers {
    map: MmapRaw,
    count: usize,
    /// Held for its lock.
    _file: Flock<File>,
}

impl LastingNumbers {
    /// Those of a file; zeros where there is none. The file is for this alone.
    ///
    /// # Errors
    /// `ResourceBusy` when another process has them, `InvalidData` when the file holds another count of numbers, which are left
    /// as they are; when it cannot be made or read, or finds no room.
    pub fn open(path: &Path, count: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let file = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| match error {
            nix::Error::EWOULDBLOCK => io::ErrorKind::ResourceBusy.into(),
            error => io::Error::from(error),
        })?;
        let size = count * size_of::<AtomicU64>();
        match file.metadata()?.len() {
            length if length == size as u64 => {}
            // Also what a process left that died while it made the file: zeros, and fewer of them. Others are another version's.
            length if length < size as u64 => {
                let mut left = vec![0; length as usize];
                file.read_exact_at(&mut left, 0)?;
                if left.iter().any(|byte| *byte != 0) {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                // Room is taken now: a mapped page that finds none later kills the process.
                file.write_all_at(&vec![0; size], 0)?;
                file.sync_all()?;
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        let map = MmapRaw::map_raw(&*file)?;
        Ok(Self { map, count, _file: file })
    }

    /// Has them outlive a power cut, too.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn flush(&self) -> io::Result<()> {
        self.map.flush()
    }
}

impl Deref for LastingNumbers {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        let start = self.map.as_mut_ptr().cast::<AtomicU64>();
        // SAFETY: the map begins at a page, so it is aligned; it has `count` numbers of any bits and lives as long as
        // `self`; other processes that write to it in spite of the lock do so under atomics or tear no more than a
        // value. The file is never made shorter by Dwell.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(start, self.count)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn what_was_stored_is_there_again_and_one_alone_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        let numbers = LastingNumbers::open(&path, 3).unwrap();
        assert_eq!(numbers[2].fetch_add(7, Relaxed), 0);
        let busy = LastingNumbers::open(&path, 3).unwrap_err();
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        numbers.flush().unwrap();
        drop(numbers);
        assert_eq!(LastingNumbers::open(&path, 3).unwrap()[2].load(Relaxed), 7);
        for other in [2, 4] {
            assert_eq!(LastingNumbers::open(&path, other).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!(LastingNumbers::open(&path, 3).unwrap()[2].load(Relaxed), 7);
        // What a process left that died while it made the file.
        std::fs::write(&path, [0; 11]).unwrap();
        assert_eq!(LastingNumbers::open(&path, 3).unwrap()[2].load(Relaxed), 0);
    }
}
