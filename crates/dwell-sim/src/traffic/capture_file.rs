//! Packets out of pcap and pcapng files.

use dwell_core::Nanos;
use pcap_parser::pcapng::{Block, OptionCode};
use pcap_parser::{
    InterfaceDescriptionBlock, Linktype, PcapBlockOwned, PcapError, PcapHeader, create_reader,
};
use std::io::{self, Read};
use thiserror::Error;

/// Why a capture is unfit as traffic.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The operating system said so.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// A directory, a pipe or a device.
    #[error("is not a file")]
    NoFile,
    /// Neither pcap nor pcapng.
    #[error("is not a capture in the format of pcap or pcapng")]
    NoCapture,
    /// A capture, perhaps, but packed.
    #[error("is compressed; unpack it first")]
    Compressed,
    /// No packets.
    #[error("holds no packets")]
    Empty,
    /// One packet.
    #[error("holds a single packet, which has no rate")]
    OnePacket,
    /// Many packets at one time.
    #[error("holds packets that all have the same time")]
    NoTime,
    /// The times of pcapng's simple packets are not recorded.
    #[error("holds packets without times (number {number} is one)")]
    Timeless {
        /// Which packet, from 1.
        number: usize,
    },
    /// Time runs backwards.
    #[error(
        "packet {number} comes {by} before the one ahead of it; put the packets into order (reordercap does)"
    )]
    Backwards {
        /// Which packet, from 1.
        number: usize,
        /// How far.
        by: Nanos,
    },
    /// A time beyond all sense.
    #[error("packet {number} comes more than 100 days before or after the first")]
    TooLate {
        /// Which packet, from 1.
        number: usize,
    },
    /// The end is missing.
    #[error(
        "is cut off after {whole} whole packets; cut it at a whole packet (editcap -r FILE NEW 1-{whole} does)"
    )]
    CutOff {
        /// How many packets are whole.
        whole: usize,
    },
    /// A record that is none.
    #[error("is damaged after {whole} whole packets")]
    Damaged {
        /// How many packets are whole.
        whole: usize,
    },
    /// More than we hold in memory.
    #[error("holds more than 10,000,000 packets; cut a part out of it")]
    TooLong,
}

/// Room for a record at first, and at most.
const BUFFER: usize = 1 << 16;
const LARGEST_RECORD: usize = 1 << 24;

/// Calls `take` with the time (in nanoseconds since an epoch) and the size on the wire of each packet of a capture.
pub(super) fn each_packet(
    from: impl Read + Send,
    mut take: impl FnMut(i128, u32) -> Result<(), CaptureError>,
) -> Result<(), CaptureError> {
    let mut from = from;
    // What tells a format must be there with the first read, however little a read may bring.
    let mut start = Vec::new();
    from.by_ref().take(BUFFER as u64).read_to_end(&mut start)?;
    match start.as_slice() {
        [] => return Err(CaptureError::Empty),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0xfd, b'7', b'z', ..] | [b'B', b'Z', b'h', ..] => {
            return Err(CaptureError::Compressed);
        }
        _ => {}
    }
    let mut reader =
        create_reader(BUFFER, io::Cursor::new(start).chain(from)).map_err(|_| CaptureError::NoCapture)?;
    let (mut format, mut whole, mut room) = (Format::default(), 0, BUFFER);
    loop {
        match reader.next() {
            Ok((length, block)) => {
                if let Some((at, size)) = format.packet(block, whole)? {
                    take(at, size)?;
                    whole += 1;
                }
                reader.consume(length);
                continue;
            }
            Err(PcapError::Eof) => return Ok(()),
            Err(PcapError::Incomplete(_)) => {}
            Err(PcapError::BufferTooSmall) if room < LARGEST_RECORD => {
                room *= 2;
                reader.grow(room);
            }
            Err(PcapError::UnexpectedEof) => return Err(CaptureError::CutOff { whole }),
            Err(_) => return Err(CaptureError::Damaged { whole }),
        }
        let held = reader.data().len();
        reader.refill().map_err(|_| CaptureError::Unreadable(io::ErrorKind::Other.into()))?;
        if reader.data().len() == held && !reader.reader_exhausted() {
            return Err(CaptureError::Damaged { whole });
        }
    }
}

/// What a file says of the packets that follow.
#[derive(Default)]
struct Format {
    big_endian: bool,
    /// One in a pcap file, any number in a section of a pcapng file.
    interfaces: Vec<Interface>,
}

/// How one interface recorded.
#[derive(Copy, Clone)]
struct Interface {
    link: Linktype,
    /// Units of its times in a second.
    resolution: u128,
    /// Seconds to add to its times.
    offset: i64,
}

impl Format {
    /// The time and the size of the packet in `block`, if it is one.
    fn packet(
        &mut self,
        block: PcapBlockOwned<'_>,
        whole: usize,
    ) -> Result<Option<(i128, u32)>, CaptureError> {
        let damaged = CaptureError::Damaged { whole };
        match block {
            PcapBlockOwned::LegacyHeader(header) => self.interfaces = vec![Interface::of_pcap(&header)],
            PcapBlockOwned::Legacy(packet) => {
                let interface = self.interfaces.first().ok_or(damaged)?;
                let fraction = interface.nanos(u128::from(packet.ts_usec));
                let at = i128::from(packet.ts_sec) * 1_000_000_000 + fraction;
                return Ok(Some((at, interface.on_wire(packet.origlen))));
            }
            PcapBlockOwned::NG(Block::SectionHeader(section)) => {
                *self = Self { big_endian: section.big_endian(), interfaces: Vec::new() };
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                self.interfaces.push(Interface::of_pcapng(&interface, self.big_endian).ok_or(damaged)?);
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let interface = self.interfaces.get(packet.if_id as usize).ok_or(damaged)?;
                let units = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
                let at = interface.nanos(units) + i128::from(interface.offset) * 1_000_000_000;
                return Ok(Some((at, interface.on_wire(packet.origlen))));
            }
            PcapBlockOwned::NG(Block::SimplePacket(_)) => {
                return Err(CaptureError::Timeless { number: whole + 1 });
            }
            PcapBlockOwned::NG(_) => {}
        }
        Ok(None)
    }
}

impl Interface {
    fn of_pcap(header: &PcapHeader) -> Self {
        let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
        // The upper half tells of a check sequence, not of the link.
        Self { link: Linktype(header.network.0 & 0xffff), resolution, offset: 0 }
    }

    /// `None`: finer than any clock.
    fn of_pcapng(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Option<Self> {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let base: u128 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        let resolution = base.checked_pow(exponent).filter(|units| *units < 1 << 64)?;
        let offset = block.options.iter().find(|option| option.code == OptionCode::IfTsoffset);
        let offset = offset.and_then(|option| option.value().first_chunk().copied()).map_or(0, |bytes| {
            if big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) }
        });
        Some(Self { link: block.linktype, resolution, offset })
    }

    /// Nanoseconds in so many units of its times; at most 2^64 units a second, and 2^64 of them.
    fn nanos(&self, units: u128) -> i128 {
        (units * 1_000_000_000 / self.resolution) as i128
    }

    /// What a packet of `length` in the capture takes of an Ethernet wire: the header that the capture holds goes,
    /// and 26 bytes of preamble, header and check sequence come. Of links that we do not know, only the length is
    /// used, as if it were Ethernet's.
    fn on_wire(&self, length: u32) -> u32 {
        // Bare IP, BSD's loopback, Linux's cooked capture of both versions, and Ethernet.
        let header = match self.link {
            Linktype(12 | 14 | 101 | 228 | 229) => 0,
            Linktype(0 | 108) => 4,
            Linktype(113) => 16,
            Linktype(276) => 20,
            _ => 14,
        };
        length.saturating_sub(header).saturating_add(26)
    }
}
