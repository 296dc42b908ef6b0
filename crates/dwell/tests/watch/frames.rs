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
    /// Bytes of payload, all of them zero.
    pub(crate) payload: u16,
}

impl Frame {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let [from, to] = if self.by_client { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
        let [source, destination] = if self.by_client { [self.port, 443] } else { [443, self.port] };
        let mut frame = packet(6, from, to, 20 + self.payload);
        frame.extend(source.to_be_bytes().into_iter().chain(destination.to_be_bytes()));
        frame.extend(self.sequence.to_be_bytes().into_iter().chain(self.acknowledgment.to_be_bytes()));
        frame.extend([0x50, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        frame.resize(frame.len() + usize::from(self.payload), 0);
        frame
    }
}

/// The same segment over IPv6, the addresses being the last parts of those.
pub(crate) fn over_v6(frame: &Frame) -> Vec<u8> {
    let v4 = frame.bytes();
    let mut v6 = v4[..12].to_vec();
    v6.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    v6.extend(((v4.len() - 34) as u16).to_be_bytes());
    v6.extend([6, 64]);
    for address in [&v4[26..30], &v4[30..34]] {
        v6.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0]);
        v6.extend(address);
    }
    v6.extend(&v4[34..]);
    v6
}

/// A packet of this protocol on Ethernet, before its content of `length` bytes.
fn packet(protocol: u8, from: [u8; 4], to: [u8; 4], length: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let [high, low] = (20 + length).to_be_bytes();
    frame.extend([0x45, 0, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
    frame.extend(from.into_iter().chain(to));
    frame
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
        payload: 0,
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
        payload: 0,
    };
    vec![frame(at, true, SYN, 100, 0), frame(at + 2 * MILLISECOND, false, RST | ACK, 0, 101)]
}

/// Never answered.
pub(crate) fn unanswered(port: u16, at: u32) -> Vec<Frame> {
    vec![Frame { at, port, by_client: true, flags: SYN, sequence: 100, acknowledgment: 0, payload: 0 }]
}

/// One of each.
pub(crate) fn some() -> Vec<Frame> {
    [established(1_000, 0), refused(1_001, 100_000_000), unanswered(1_002, 200_000_000)].concat()
}

/// A request of 100 bytes and what follows, in a connection that is there: the server acknowledges after `server` ms and
/// replies 30 ms after that with 200 bytes, which the client acknowledges after 6 ms. Request after request, `nth`.
pub(crate) fn exchange(port: u16, at: u32, nth: u32, server: u32) -> Vec<Frame> {
    let (asked, replied) = (101 + 100 * nth, 901 + 200 * nth);
    let frame = |at, by_client, sequence, acknowledgment, payload| Frame {
        at,
        port,
        by_client,
        flags: ACK,
        sequence,
        acknowledgment,
        payload,
    };
    let heard = at + server * MILLISECOND;
    vec![
        frame(at, true, asked, replied, 100),
        frame(heard, false, replied, asked + 100, 0),
        frame(heard + 30 * MILLISECOND, false, replied, asked + 100, 200),
        frame(heard + 36 * MILLISECOND, true, asked + 100, replied + 200, 0),
    ]
}

/// A datagram from one of this host's ports to another.
pub(crate) fn datagram(from: u16, to: u16, content: &[u8]) -> Vec<u8> {
    let length = 8 + content.len() as u16;
    let mut frame = packet(17, CLIENT, SERVER, length);
    frame.extend([from, to, length, 0].into_iter().flat_map(u16::to_be_bytes));
    frame.extend(content);
    frame
}

/// The first packets of a QUIC connection: the server's half is 8 ms, the client's 3 ms.
pub(crate) fn quic(port: u16) -> Vec<(u32, Vec<u8>)> {
    /// What a client's first datagram has at least.
    const LENGTH: u16 = 1_200;
    // IDs that the client made up, that it gave itself, and the server's.
    let (made_up, client, server): (&[u8], &[u8], &[u8]) = (&[1; 8], &[2; 4], &[3; 8]);
    let packet = |first: u8, to: &[u8], from: &[u8]| {
        let token: &[u8] = if first == 0xc0 { &[0] } else { &[] };
        [&[first, 0, 0, 0, 1, to.len() as u8], to, &[from.len() as u8], from, token, &[1, 7]].concat()
    };
    let datagram = |at: u32, by_client: bool, content: &[u8]| {
        let [from, to] = if by_client { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
        let [source, destination] = if by_client { [port, 443] } else { [443, port] };
        let mut frame = self::packet(17, from, to, 8 + LENGTH);
        frame.extend([source, destination, 8 + LENGTH, 0].into_iter().flat_map(u16::to_be_bytes));
        let end = frame.len() + usize::from(LENGTH);
        frame.extend(content);
        frame.resize(end, 0);
        (at, frame)
    };
    let answer = [packet(0xc0, client, server), packet(0xe0, client, server)].concat();
    vec![
        datagram(0, true, &packet(0xc0, made_up, client)),
        datagram(8 * MILLISECOND, false, &answer),
        datagram(11 * MILLISECOND, true, &packet(0xe0, server, client)),
    ]
}

/// Writes a capture with stamps in nanoseconds.
pub(crate) fn write(file: &Path, frames: &[Frame]) {
    write_bytes(file, &frames.iter().map(|frame| (frame.at, frame.bytes())).collect::<Vec<_>>());
}

/// The same of bytes, each with the nanoseconds since the start.
pub(crate) fn write_bytes(file: &Path, frames: &[(u32, Vec<u8>)]) {
    let mut bytes = Vec::new();
    bytes.extend(0xa1b2_3c4d_u32.to_le_bytes());
    bytes.extend(2_u16.to_le_bytes().into_iter().chain(4_u16.to_le_bytes()));
    for word in [0_u32, 0, 65_535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (at, content) in frames {
        for word in
            [START + at / 1_000_000_000, at % 1_000_000_000, content.len() as u32, content.len() as u32]
        {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(content);
    }
    fs::write(file, bytes).expect("written");
}
