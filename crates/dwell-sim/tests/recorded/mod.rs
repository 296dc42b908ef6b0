//! Tiny captures, written by the tests themselves.

#![allow(dead_code)] // Each test file uses some of it.

use dwell_sim::CaptureSpec;
use std::sync::OnceLock;

/// A little-endian pcap file with nanoseconds: each packet's time and its length with the Ethernet header.
pub(crate) fn pcap(packets: &[(u64, u32)]) -> Vec<u8> {
    let mut bytes = pcap_header(0xa1b2_3c4d, 1);
    for (at, length) in packets {
        // The first 16 bytes of each packet were kept.
        let kept = (*length).min(16);
        for field in [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, kept, *length] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(std::iter::repeat_n(0xab, kept as usize));
    }
    bytes
}

pub(crate) fn pcap_header(magic: u32, link: u32) -> Vec<u8> {
    let mut bytes = magic.to_le_bytes().to_vec();
    bytes.extend([2, 0, 4, 0]);
    for field in [0, 0, 65_535, link] {
        bytes.extend(u32::to_le_bytes(field));
    }
    bytes
}

/// A block of pcapng in either order of bytes.
pub(crate) fn block(big_endian: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let word = |value: u32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let padded = body.len().next_multiple_of(4);
    let length = word(padded as u32 + 12);
    let mut bytes = [word(kind), length].concat();
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes.extend(length);
    bytes
}

/// Four packets within 3 ms.
pub(crate) fn some() -> CaptureSpec {
    static SOME: OnceLock<CaptureSpec> = OnceLock::new();
    let write = || {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("some.pcap");
        std::fs::write(&file, pcap(&[(5_000, 60), (5_000, 1514), (1_000_000, 600), (3_005_000, 60)]))
            .unwrap();
        CaptureSpec::open(&file).unwrap()
    };
    SOME.get_or_init(write).clone()
}
