//! Frames of every link type: two bytes of link type and one of what was cut off, then the frame.
#![no_main]

use dwell_core::capture::{Captured, LinkType};
use dwell_core::tcp::dissect::{Passing, Straight, dissect};
use dwell_core::tcp::{FlowSeed, TcpFlags};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SEED: LazyLock<FlowSeed> = LazyLock::new(FlowSeed::random);

fuzz_target!(|bytes: &[u8]| {
    let [a, b, cut, frame @ ..] = bytes else { return };
    let link = LinkType(i32::from(u16::from_le_bytes([*a, *b])));
    let length = frame.len() as u32 + u32::from(*cut);
    let captured = Captured { at: 0, link, bytes: frame, length };
    let found = dissect(&captured);
    let Some(straight) = Straight::of(&captured) else { return };
    // The long way, behind more tags than the straight one knows, leads to the same segment.
    if link == LinkType::ETHERNET {
        let (addresses, rest) = frame.split_at(12);
        let tagged = [addresses, &[0x81, 0, 0, 7].repeat(3), rest].concat();
        let captured = Captured { bytes: &tagged, length: length + 12, ..captured };
        assert!(Straight::of(&captured).is_none());
        assert_eq!(dissect(&captured), found);
    }
    if let Ok(Passing::Segment(segment)) = found {
        assert_eq!(straight.flow(&SEED), SEED.of(&segment.from, &segment.to));
        assert_eq!(straight.glance(&SEED), SEED.glance(&segment.from, &segment.to));
        let opens = segment.flags.has(TcpFlags::SYN) || segment.flags.has(TcpFlags::RST);
        assert_eq!(straight.is_midstream(), !opens);
    }
});
