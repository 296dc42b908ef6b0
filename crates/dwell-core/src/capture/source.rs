//! Where a capture's bytes come from.

use std::io::{self, Read};

/// What is read at once: enough for a call to the operating system to count for nothing, and little enough to stay in
/// a core's own cache beside the tables of those who look at the packets.
const BLOCK: usize = 1 << 17;

/// Bytes that are there a window at a time.
pub trait Source {
    /// Those that are there.
    fn window(&self) -> &[u8];

    /// The first `passed` of them are needed no longer; of what follows, `wanted` bytes are to be there at least.
    /// `false` when there are no more.
    ///
    /// # Errors
    /// If they cannot be read.
    fn slide(&mut self, passed: usize, wanted: usize) -> io::Result<bool>;

    /// A record is looked at with which this part of the window begins: what lies some way behind it will soon be needed.
    #[inline]
    fn foresee(&self, _from: &[u8]) {}

    /// Whether the source has become shorter than what is there: then some of that may be 0.
    fn is_cut_off(&self) -> bool {
        false
    }
}

/// What is read block by block: of a pipe, or unpacked.
#[derive(Debug)]
pub struct Blocks<R> {
    from: R,
    buffer: Vec<u8>,
    /// What of the buffer was read.
    end: usize,
}

impl<R: Read> Blocks<R> {
    /// Of this source nothing was read yet.
    pub fn of(from: R) -> Self {
        Self { from, buffer: vec![0; BLOCK], end: 0 }
    }
}

impl<R: Read> Source for Blocks<R> {
    #[inline]
    fn window(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    fn slide(&mut self, passed: usize, wanted: usize) -> io::Result<bool> {
        self.buffer.copy_within(passed..self.end, 0);
        self.end -= passed;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted.next_power_of_two(), 0);
        }
        while self.end < wanted {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(more) => self.end += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
