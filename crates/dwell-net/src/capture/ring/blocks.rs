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

/// The blocks, and which of them is filled next.
pub(super) struct Blocks {
    memory: Mapped,
    next: usize,
}

impl Blocks {
    pub(super) const fn new(memory: Mapped) -> Self {
        Self { memory, next: 0 }
    }

    /// How many are full.
    pub(super) fn full(&self) -> usize {
        let blocks = (self.next..BLOCKS).chain(0..self.next);
        blocks.take_while(|block| self.status(*block).load(Ordering::Acquire) & TP_STATUS_USER != 0).count()
    }

    /// Takes the packets of the next block, which is full, with their headers, and gives it back to the kernel.
    pub(super) fn take(&mut self, take: &mut dyn FnMut(&tpacket3_hdr, &[u8])) {
        self.packets(take);
        self.status(self.next).store(TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % BLOCKS;
    }

    fn packets(&self, take: &mut dyn FnMut(&tpacket3_hdr, &[u8])) {
        let start = self.next * BLOCK;
        let Some(block) = self.memory.place::<tpacket_block_desc>(start, BLOCK) else { return };
        // SAFETY: the block is ours until its status is given back, holds a descriptor at its start, and is mapped.
        #[allow(unsafe_code)]
        let head = unsafe { (*block.as_ptr()).hdr.bh1 };
        let mut at = head.offset_to_first_pkt as usize;
        for _ in 0..head.num_pkts {
            let Some(header) = self.within::<tpacket3_hdr>(at, size_of::<tpacket3_hdr>()) else { break };
            // SAFETY: of a block that is ours, the kernel says that a packet's header is here; it is inside, and
            // nobody writes to it.
            #[allow(unsafe_code)]
            let header = unsafe { &*header };
            let (from, length) = (at + usize::from(header.tp_mac), header.tp_snaplen as usize);
            let Some(bytes) = self.within::<u8>(from, length) else { break };
            // SAFETY: as above, of the packet's bytes.
            #[allow(unsafe_code)]
            let bytes = unsafe { slice::from_raw_parts(bytes, length) };
            take(header, bytes);
            at += header.tp_next_offset as usize;
        }
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
