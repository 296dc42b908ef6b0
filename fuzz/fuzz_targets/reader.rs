//! A capture is the same in one piece and in many, mapped, plain and packed.
#![no_main]

use dwell_core::capture::{Captured, ReadError, Reader};
use dwell_net::capture::{Account, End, File};
use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Read, Write};

/// Larger ones are packed too slowly.
const MOST: usize = 1 << 14;

/// Gives a few bytes at a time, as a pipe may.
struct Pieces<'a> {
    bytes: &'a [u8],
    state: u32,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (size, largest) = (into.len(), 1 + (self.state >> 24) as usize);
        self.bytes.read(&mut into[..size.min(largest)])
    }
}

/// A packet, kept.
type Kept = (i128, i32, u32, Vec<u8>);

fn kept(packet: &Captured<'_>) -> Kept {
    (packet.at, packet.link.0, packet.length, packet.bytes.to_vec())
}

fn all(from: impl Read) -> (Vec<Kept>, String) {
    let mut packets = Vec::new();
    let mut reader = match Reader::new(from) {
        Ok(reader) => reader,
        Err(error) => return (packets, format!("{error:?}")),
    };
    loop {
        match reader.advance() {
            Ok(Some(_)) => packets.push(kept(&reader.packet())),
            Err(ReadError::Timeless { .. }) => {}
            end => return (packets, format!("{end:?}")),
        }
    }
}

fn file(bytes: Vec<u8>) -> Result<(Vec<Kept>, Account), String> {
    each(File::of(Cursor::new(bytes)))
}

/// What lies on a disk is mapped.
fn mapped(bytes: &[u8]) -> Result<(Vec<Kept>, Account), String> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("room for it");
    each(File::open(file.path()))
}

fn each(file: Result<File, ReadError>) -> Result<(Vec<Kept>, Account), String> {
    let mut packets = Vec::new();
    let mut file = file.map_err(|error| format!("{error:?}"))?;
    let account =
        file.each(&mut |packet| packets.push(kept(&packet))).map_err(|error| format!("{error:?}"))?;
    Ok((packets, account))
}

fuzz_target!(|bytes: &[u8]| {
    let [state, bytes @ ..] = bytes else { return };
    let bytes = &bytes[..bytes.len().min(MOST)];
    let whole = all(bytes);
    assert_eq!(all(Pieces { bytes, state: (*state).into() }), whole);

    let plain = file(bytes.to_vec());
    assert_eq!(mapped(bytes), plain);
    if let Ok((packets, account)) = &plain {
        let used = account.packets - account.timeless;
        assert_eq!(packets.len() as u64, used);
        // Packed bytes are read as what they hold.
        if !matches!(bytes, [0x1f, 0x8b, ..] | [_, 0xb5 | 0x2a, ..]) {
            assert_eq!(packets, &whole.0);
        }
    }
    // What is packed twice is no capture.
    if matches!(bytes, [0x1f, 0x8b, ..] | [0x28 | 0x50..=0x5f, 0xb5 | 0x2a, ..]) {
        return;
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("memory");
    let gzip = gzip.finish().expect("memory");
    assert_eq!(file(gzip.clone()), plain);
    assert_eq!(file(zstd::encode_all(bytes, 1).expect("memory")), plain);
    // Of one that is torn off, what came before is good.
    let torn = gzip[..gzip.len() * usize::from(*state) / 256].to_vec();
    if let (Ok((packets, account)), Ok((all, _))) = (file(torn), &plain) {
        assert!(account.end != End::Whole && all.starts_with(&packets));
    }
});
