//! Batches as bytes: `DWSPOOL` and a version at the start of a segment, then frames: length, check sum, content.

use super::Reason;
use crate::warehouse::Batch;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// What a segment begins with; the last byte is the version.
pub(super) const MAGIC: [u8; 8] = *b"DWSPOOL\x02";

/// Length and check sum.
pub(super) const HEADER: usize = 12;

/// No batch is longer, in bytes: a length that says more is none.
const MAX_BODY: usize = 16 << 20;

/// A batch, and what the counts of the spool are once it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Records written, up to its own last.
    pub(super) written: u64,
    /// Records of which was told that they were given up, by reason.
    pub(super) told: [u64; Reason::ALL.len()],
    /// The batch.
    pub batch: Batch,
}

/// The start of a frame.
#[derive(Copy, Clone, Debug)]
pub(super) struct FrameHeader {
    /// Of the content, in bytes.
    pub(super) length: usize,
    sum: u64,
}

impl FrameHeader {
    /// `None` of what cannot be one: there, the segment ends.
    pub(super) fn parse(bytes: [u8; HEADER]) -> Option<Self> {
        let [a, b, c, d, sum @ ..] = bytes;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        (1..=MAX_BODY).contains(&length).then_some(Self { length, sum: u64::from_le_bytes(sum) })
    }

    /// The entry in a frame's content; `None` when it is damaged.
    pub(super) fn open(&self, body: &[u8]) -> Option<Entry> {
        if sum(body) != self.sum {
            return None;
        }
        postcard::from_bytes(body).ok()
    }
}

fn sum(body: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(body);
    hasher.finish()
}

impl Entry {
    /// As a frame.
    pub(super) fn to_frame(&self) -> Vec<u8> {
        let mut frame = postcard::to_extend(self, vec![0; HEADER])
            .expect("memory for a batch, which holds nothing that cannot be written");
        let length = (frame.len() - HEADER) as u32;
        let sum = sum(&frame[HEADER..]);
        frame[..4].copy_from_slice(&length.to_le_bytes());
        frame[4..HEADER].copy_from_slice(&sum.to_le_bytes());
        frame
    }

    /// Records written before it.
    pub(super) fn start(&self) -> u64 {
        self.written.saturating_sub(self.batch.records.len() as u64)
    }
}

/// The whole batches of a segment's bytes, and where the last of them ends; `None` when it is no segment. Damaged
/// ones are passed over.
#[must_use]
pub fn parse_segment(bytes: &[u8]) -> Option<(Vec<Entry>, u64)> {
    let mut rest = bytes.strip_prefix(&MAGIC)?;
    let (mut entries, mut end) = (Vec::new(), MAGIC.len() as u64);
    while let Some((start, after)) = rest.split_first_chunk::<HEADER>()
        && let Some(header) = FrameHeader::parse(*start)
        && let Some((body, after)) = after.split_at_checked(header.length)
    {
        rest = after;
        if let Some(entry) = header.open(body) {
            entries.push(entry);
            end = (bytes.len() - rest.len()) as u64;
        }
    }
    Some((entries, end))
}
