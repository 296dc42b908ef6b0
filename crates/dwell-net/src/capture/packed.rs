//! Captures that are packed.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use zstd::stream::read::Decoder;

/// What is read of a packed file at once.
const BLOCK: usize = 1 << 16;

/// Whether a capture that begins so is to be unpacked: with gzip; with zstd, by a frame, or by one that is to be skipped,
/// as parallel packers write them first.
pub(super) const fn is_packed(start: &[u8]) -> bool {
    matches!(start, [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// The bytes of a capture, unpacked if its first bytes tell that it is packed with gzip or zstd.
pub(super) fn unpacked(from: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut from = BufReader::with_capacity(BLOCK, from);
    Ok(match from.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(from)),
        start if is_packed(start) => Box::new(Torn(Decoder::with_buffer(from)?)),
        // Reads of more than the buffer holds go past it.
        _ => Box::new(from),
    })
}

/// Tells what zstd cannot read by the name that other unpackers have for it.
struct Torn<R>(R);

impl<R: Read> Read for Torn<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into).map_err(|error| match error.kind() {
            io::ErrorKind::Other => io::Error::new(io::ErrorKind::InvalidData, error),
            _ => error,
        })
    }
}
