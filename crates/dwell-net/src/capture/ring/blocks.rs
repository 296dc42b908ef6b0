//! The blocks of a ring: the kernel fills one while another is read.

use crate::capture::mapped::Mapped;
use nix::libc::{TP_STATUS_KERNEL, TP_STATUS_USER, tpacket_block_desc, tpacket_hdr_v1, tpacket3_hdr};
use std::mem::offset_of;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a block, and how many there are: 16 MiB, some 100,000 headers.
pub(super) const BLOCK: usize = 1 << 18;
pub(super) const BLOCKS: usize = 64;

/// Where a block's status lies in it.
const STATUS: usize = offset_of!(tpacket_block_desc, hdr) + offset_of!(tpacket_hdr_v1, block_status);

/// The blocks, and how far they are read: packet by packet, and a block goes back to the kernel with its last.
pub(super) struct Blocks {
    memory: Mapped,
    next: usize,
    /// How many, from the next one on, were full at the last look.
    full: usize,
    open: Option<Open>,
}

/// Where the next packet of a block lies in it, and how many there are from there on.
#[derive(Copy, Clone)]
struct Open {
    at: usize,
    left: u32,
}

impl Blocks {
    pub(super) const fn new(memory: Mapped) -> Self {
        Self { memory, next: 0, full: 0, open: None }
    }

    /// Sees which blocks are full: what is in these can be read. How many they are, with one that was read in part.
    pub(super) fn look(&mut self) -> usize {
        let blocks = (self.next..BLOCKS).chain(0..self.next);
        self.full = blocks
            .take_while(|block| self.status(*block).load(Ordering::Acquire) & TP_STATUS_USER != 0)
            .count();
        self.full
    }

    /// Whether of what was full at the last look something is left.
    pub(super) const fn holds(&self) -> bool {
        self.full > 0
    }

    /// When the last packet of the full block of this number (from 0) was stamped.
    pub(super) fn last_of(&self, number: usize) -> Option<i128> {
        let block = (number < self.full).then_some((self.next + number) % BLOCKS)?;
        let last = self.description(block)?.ts_last_pkt;
        Some(nanoseconds(last.ts_sec, last.ts_usec))
    }

    /// When the next packet was stamped; `None` where no full block has any more.
    pub(super) fn next_at(&mut self) -> Option<i128> {
        while self.full > 0 {
            if let Some(header) = self.header() {
                return Some(nanoseconds(header.tp_sec, header.tp_nsec));
            }
            match (self.open, self.description(self.next)) {
                (None, Some(block)) => {
                    self.open = Some(Open { at: block.offset_to_first_pkt as usize, left: block.num_pkts });
                }
                _ => self.give_back(),
            }
        }
        None
    }

    /// The next packet, if [`Self::next_at`] has found one.
    pub(super) fn packet(&self) -> Option<(&tpacket3_hdr, &[u8])> {
        let (header, open) = (self.header()?, self.open?);
        let (from, length) = (open.at + usize::from(header.tp_mac), header.tp_snaplen as usize);
        let bytes = self.within::<u8>(from, length)?;
        // SAFETY: as with the header, of the packet's bytes.
        #[allow(unsafe_code)]
        Some((header, unsafe { slice::from_raw_parts(bytes, length) }))
    }

    /// Leaves the next packet behind.
    pub(super) fn advance(&mut self) {
        let further = self.header().map(|header| header.tp_next_offset as usize);
        if let (Some(open), Some(further)) = (&mut self.open, further) {
            (open.at, open.left) = (open.at + further, open.left - 1);
        }
    }

    /// The next packet's, if there is one in the block that is open.
    fn header(&self) -> Option<&tpacket3_hdr> {
        let open = self.open.filter(|open| open.left > 0)?;
        let header = self.within::<tpacket3_hdr>(open.at, size_of::<tpacket3_hdr>())?;
        // SAFETY: of a block that is ours, the kernel says that a packet's header is here; it is inside, and nobody
        // writes to it.
        #[allow(unsafe_code)]
        Some(unsafe { &*header })
    }

    fn give_back(&mut self) {
        self.status(self.next).store(TP_STATUS_KERNEL, Ordering::Release);
        (self.next, self.full, self.open) = ((self.next + 1) % BLOCKS, self.full - 1, None);
    }

    /// Of a block that is full.
    fn description(&self, block: usize) -> Option<tpacket_hdr_v1> {
        let block = self.memory.place::<tpacket_block_desc>(block * BLOCK, BLOCK)?;
        // SAFETY: the block is ours until its status is given back, holds a descriptor at its start, and is mapped.
        #[allow(unsafe_code)]
        Some(unsafe { (*block.as_ptr()).hdr.bh1 })
    }

    /// The place `at` in the next block, if `size` bytes from there on are in it.
    fn within<T>(&self, at: usize, size: usize) -> Option<*const T> {
        let inside = at.checked_add(size).is_some_and(|end| end <= BLOCK);
        let place = inside.then(|| self.memory.place::<T>(self.next * BLOCK + at, size)).flatten();
        place.map(|place| place.as_ptr().cast_const())
    }

    fn status(&self, block: usize) -> &AtomicU32 {
        static NEVER: AtomicU32 = AtomicU32::new(TP_STATUS_KERNEL);
        match self.memory.place::<AtomicU32>(block * BLOCK + STATUS, size_of::<AtomicU32>()) {
            // SAFETY: it is inside, aligned, and whoever writes to it does so atomically.
            #[allow(unsafe_code)]
            Some(place) => unsafe { place.as_ref() },
            None => &NEVER,
        }
    }
}

/// A stamp of the kernel's.
fn nanoseconds(seconds: u32, more: u32) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(more)
}
