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

/// Writes a capture with nanoseconds of Ethernet frames, `kept` bytes of each at most.
pub(super) fn write(path: &Path, population: Population, kept: usize) -> Wrote {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).expect("room for a capture"));
    let mut put = |bytes: &[u8]| file.write_all(bytes).expect("room for a capture");
    put(&[0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat());
    let mut wrote = Wrote { bytes: 24, ..Wrote::default() };
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
        let captured = frame.len().min(kept);
        let times = [at / 1_000_000_000, at % 1_000_000_000, captured as u64, frame.len() as u64];
        put(&times.map(|field| (field as u32).to_le_bytes()).concat());
        put(&frame[..captured]);
        wrote.packets += 1;
        wrote.bytes += 16 + captured as u64;
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
