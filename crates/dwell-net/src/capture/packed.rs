//! Captures that are packed.

use flate2::bufread::GzDecoder;
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
        [0x1f, 0x8b, ..] => Box::new(Members(Some(GzDecoder::new(from)))),
        start if is_packed(start) => Box::new(Torn(Decoder::with_buffer(from)?)),
        // Reads of more than the buffer holds go past it.
        _ => Box::new(from),
    })
}

/// All members of what is packed with gzip, with zeros behind any of them: what fills a block of a tape or of a disk up, and
/// gzip passes over.
struct Members<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let length = member.read(into)?;
            if length > 0 || into.is_empty() {
                return Ok(length);
            }
            self.0 = self.0.take().map(GzDecoder::into_inner).map_or(Ok(None), next_member)?;
        }
        Ok(0)
    }
}

/// The member behind zeros, if there is one.
fn next_member<R: BufRead>(mut behind: R) -> io::Result<Option<GzDecoder<R>>> {
    loop {
        let next = behind.fill_buf()?;
        if next.is_empty() {
            return Ok(None);
        }
        match next.iter().take_while(|&&byte| byte == 0).count() {
            0 => return Ok(Some(GzDecoder::new(behind))),
            zeros => behind.consume(zeros),
        }
    }
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
