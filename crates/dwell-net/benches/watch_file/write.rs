//! Writes the packets that pass a probe as a capture.

use dwell_core::tcp::{Endpoint, Segment, TcpFlags};
use dwell_sim::passing::{Passed, Population, Seen, Told};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::IpAddr;
use std::path::Path;

/// What was written.
#[derive(Default)]
pub(super) struct Wrote {
    pub(super) packets: u64,
    pub(super) connections: u64,
    pub(super) bytes: u64,
}

/// The format of a capture.
#[derive(Copy, Clone)]
pub(super) enum Format {
    Pcap,
    /// One section with one interface, and enhanced packets without options.
    Pcapng,
}

impl Format {
    fn header(self) -> Vec<u8> {
        let words: &[u32] = match self {
            Self::Pcap => &[0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, 1],
            // Nanoseconds (option 9).
            Self::Pcapng => &[
                0x0a0d_0d0a,
                28,
                0x1a2b_3c4d,
                1,
                u32::MAX,
                u32::MAX,
                28,
                1,
                32,
                1,
                65_535,
                0x0001_0009,
                9,
                0,
                32,
            ],
        };
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// A packet of this time, of which these bytes were kept.
    fn packet(self, at: u64, kept: &[u8], length: usize) -> Vec<u8> {
        let (captured, length) = (kept.len() as u32, length as u32);
        let padded = captured.next_multiple_of(4);
        let (before, behind) = match self {
            Self::Pcap => {
                let times = [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32];
                (vec![times[0], times[1], captured, length], None)
            }
            Self::Pcapng => {
                let block = padded + 32;
                (vec![6, block, 0, (at >> 32) as u32, at as u32, captured, length], Some(block))
            }
        };
        let mut packet: Vec<u8> = before.into_iter().flat_map(u32::to_le_bytes).collect();
        packet.extend(kept);
        if let Some(block) = behind {
            packet.resize(28 + padded as usize, 0);
            packet.extend(block.to_le_bytes());
        }
        packet
    }
}

/// Writes a capture with nanoseconds of Ethernet frames, `kept` bytes of each at most.
pub(super) fn write(path: &Path, population: Population, kept: usize, format: Format) -> Wrote {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).expect("room for a capture"));
    let mut put = |bytes: &[u8]| {
        file.write_all(bytes).expect("room for a capture");
        bytes.len() as u64
    };
    let mut wrote = Wrote { bytes: put(&format.header()), ..Wrote::default() };
    let mut frame = Vec::new();
    for told in population.passings() {
        let Told::Passed(Passed { what, .. }) = told else {
            wrote.connections += 1;
            continue;
        };
        let at = match what {
            Seen::Segment(segment) => {
                ethernet(&segment, &mut frame);
                segment.at.0.unsigned_abs()
            }
            // There are few, and they take no part in the figures.
            Seen::Unreachable(_) => continue,
        };
        wrote.packets += 1;
        wrote.bytes += put(&format.packet(at, &frame[..frame.len().min(kept)], frame.len()));
    }
    file.flush().expect("room for a capture");
    wrote
}

fn ethernet(segment: &Segment, frame: &mut Vec<u8>) {
    let mut options = Vec::new();
    if segment.flags.has(TcpFlags::SYN) {
        options.extend([2, 4, 5, 0xb4]);
    }
    if let Some(stamps) = segment.options.timestamps {
        options.extend([1, 1, 8, 10]);
        options.extend(stamps.value.to_be_bytes());
        options.extend(stamps.echo.to_be_bytes());
    }
    if segment.options.fast_open {
        options.extend([34, 2, 1, 1]);
    }
    if segment.options.mptcp {
        options.extend([30, 4, 0, 1]);
    }
    let length = 20 + options.len() + segment.payload as usize;
    frame.clear();
    frame.extend([2; 12]);
    ip(&segment.from, &segment.to, length, frame);
    frame.extend(segment.from.port.to_be_bytes());
    frame.extend(segment.to.port.to_be_bytes());
    frame.extend(segment.sequence.to_be_bytes());
    frame.extend(segment.acknowledgment.to_be_bytes());
    let words = (20 + options.len()) as u16 / 4;
    frame.extend((words << 12 | segment.flags.0).to_be_bytes());
    frame.extend([0xff, 0xff, 0, 0, 0, 0]);
    frame.extend(&options);
    frame.resize(frame.len() + segment.payload as usize, 7);
}

fn ip(from: &Endpoint, to: &Endpoint, length: usize, frame: &mut Vec<u8>) {
    if let (IpAddr::V4(from), IpAddr::V4(to)) = (from.address, to.address) {
        frame.extend([8, 0, 0x45, 0]);
        frame.extend((length as u16 + 20).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame.extend(from.octets());
        frame.extend(to.octets());
    } else {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend((length as u16).to_be_bytes());
        frame.extend([6, 64]);
        frame.extend(from.octets());
        frame.extend(to.octets());
    }
}
