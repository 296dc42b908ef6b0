//! Segments of a spool, with and without their first bytes, cut and damaged; and with right check sums, so that what is in them is
//! read.
#![no_main]

use dwell_store::spool::parse_segment;
use libfuzzer_sys::fuzz_target;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

const MAGIC: &[u8] = b"DWSPOOL\x02";

/// Tells how many batches a segment has, and that what is whole stays whole where the rest is cut off.
fn hold(bytes: &[u8]) -> usize {
    let Some((entries, end)) = parse_segment(bytes) else { return 0 };
    assert!(end as usize <= bytes.len());
    let (again, same) = parse_segment(&bytes[..end as usize]).expect("a segment");
    assert_eq!((&again, same), (&entries, end));
    entries.len()
}

/// Contents one after the other, two bytes of length before each, as a segment; and how many there are.
fn framed(mut contents: &[u8]) -> (Vec<u8>, usize) {
    let (mut segment, mut frames) = (MAGIC.to_vec(), 0);
    while let Some((length, rest)) = contents.split_first_chunk() {
        let (content, behind) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
        let mut sum = SipHasher13::new();
        sum.write(content);
        segment.extend((content.len() as u32).to_le_bytes());
        segment.extend(sum.finish().to_le_bytes());
        segment.extend(content);
        (contents, frames) = (behind, frames + 1);
    }
    (segment, frames)
}

fuzz_target!(|bytes: &[u8]| {
    hold(bytes);
    hold(&[MAGIC, bytes].concat());
    let (segment, frames) = framed(bytes);
    assert!(hold(&segment) <= frames);
});
