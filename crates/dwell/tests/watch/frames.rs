//! Captures made by hand: what passes, and when, is known.

use std::fs;
use std::path::Path;

pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// Of each connection the client is 10.0.0.1 and the server 192.0.2.9, port 443.
pub(crate) const SERVER: [u8; 4] = [192, 0, 2, 9];
const CLIENT: [u8; 4] = [10, 0, 0, 1];

/// Seconds since the epoch at which each capture begins.
pub(crate) const START: u32 = 1_700_000_000;

/// A segment of the connection from the client's port.
#[derive(Clone)]
pub(crate) struct Frame {
    /// Nanoseconds since the start.
    pub(crate) at: u32,
    pub(crate) port: u16,
    pub(crate) by_client: bool,
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    pub(crate) acknowledgment: u32,
}

impl Frame {
    fn bytes(&self) -> Vec<u8> {
        let [from, to] = if self.by_client { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
        let [source, destination] = if self.by_client { [self.port, 443] } else { [443, self.port] };
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend([0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame.extend(from.into_iter().chain(to));
        frame.extend(source.to_be_bytes().into_iter().chain(destination.to_be_bytes()));
        frame.extend(self.sequence.to_be_bytes().into_iter().chain(self.acknowledgment.to_be_bytes()));
        frame.extend([0x50, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        frame
    }
}

const MILLISECOND: u32 = 1_000_000;

/// A whole handshake from this port: the server's half is 10 ms and 1 ns, the client's 5 ms.
pub(crate) fn established(port: u16, at: u32) -> Vec<Frame> {
    let frame = |at, by_client, flags, sequence, acknowledgment| Frame {
        at,
        port,
        by_client,
        flags,
        sequence,
        acknowledgment,
    };
    let answered = at + 10 * MILLISECOND + 1;
    vec![
        frame(at, true, SYN, 100, 0),
        frame(answered, false, SYN | ACK, 900, 101),
        frame(answered + 5 * MILLISECOND, true, ACK, 101, 901),
    ]
}

/// Refused after 2 ms.
pub(crate) fn refused(port: u16, at: u32) -> Vec<Frame> {
    let frame = |at, by_client, flags, sequence, acknowledgment| Frame {
        at,
        port,
        by_client,
        flags,
        sequence,
        acknowledgment,
    };
    vec![frame(at, true, SYN, 100, 0), frame(at + 2 * MILLISECOND, false, RST | ACK, 0, 101)]
}

/// Never answered.
pub(crate) fn unanswered(port: u16, at: u32) -> Vec<Frame> {
    vec![Frame { at, port, by_client: true, flags: SYN, sequence: 100, acknowledgment: 0 }]
}

/// Writes a capture with stamps in nanoseconds.
pub(crate) fn write(file: &Path, frames: &[Frame]) {
    let mut bytes = Vec::new();
    bytes.extend(0xa1b2_3c4d_u32.to_le_bytes());
    bytes.extend(2_u16.to_le_bytes().into_iter().chain(4_u16.to_le_bytes()));
    for word in [0_u32, 0, 65_535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for frame in frames {
        let content = frame.bytes();
        for word in [START, frame.at, content.len() as u32, content.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(content);
    }
    fs::write(file, bytes).expect("written");
}
