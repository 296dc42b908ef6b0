//! Frames of every link type: two bytes of link type and one of what was cut off, then the frame.
#![no_main]

use dwell_core::capture::{Captured, LinkType};
use dwell_core::tcp::FlowHash;
use dwell_core::tcp::dissect::{Passing, dissect, midstream};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [a, b, cut, frame @ ..] = bytes else { return };
    let link = LinkType(i32::from(u16::from_le_bytes([*a, *b])));
    let length = frame.len() as u32 + u32::from(*cut);
    let captured = Captured { at: 0, link, bytes: frame, length };
    let found = dissect(&captured);
    // What the first look knows, the closer look knows as well.
    if let (Some(hash), Ok(Passing::Segment(segment))) = (midstream(&captured), found) {
        assert_eq!(hash, FlowHash::of(&segment.from, &segment.to));
    }
});
