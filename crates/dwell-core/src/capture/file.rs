//! Packets out of pcap and pcapng files.

use super::LinkType;
use pcap_parser::pcapng::{Block, OptionCode};
use pcap_parser::{InterfaceDescriptionBlock, PcapBlockOwned, PcapError, PcapHeader, create_reader};
use std::io::{self, Read};
use thiserror::Error;

/// Why a capture cannot be read, or not to its end.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system said so.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Neither pcap nor pcapng.
    #[error("is not a capture in the format of pcap or pcapng")]
    NoCapture,
    /// A capture, perhaps, but packed.
    #[error("is compressed; unpack it first")]
    Compressed,
    /// No packets.
    #[error("holds no packets")]
    Empty,
    /// The times of pcapng's simple packets are not recorded.
    #[error("holds packets without times (number {number} is one)")]
    Timeless {
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
}

/// Room for a record at first, and at most.
const BUFFER: usize = 1 << 16;
const LARGEST_RECORD: usize = 1 << 24;

/// A packet as a capture holds it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Nanoseconds since an epoch, on the clock of whoever captured.
    pub at: i128,
    /// Of which link it was taken.
    pub link: LinkType,
    /// What was kept of it, from the link's own header on.
    pub bytes: &'a [u8],
    /// Its length on that link.
    pub length: u32,
}

/// Calls `take` with each packet of a capture in the format of pcap or pcapng.
///
/// # Errors
/// That of `take`, or why the capture cannot be read any further: then `take` has got every whole packet before that.
pub fn each_packet<E: From<ReadError>>(
    from: impl Read + Send,
    mut take: impl FnMut(Captured<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut from = from;
    // What tells a format must be there with the first read, however little a read may bring.
    let mut start = Vec::new();
    from.by_ref().take(BUFFER as u64).read_to_end(&mut start).map_err(ReadError::Unreadable)?;
    match start.as_slice() {
        [] => return Err(ReadError::Empty.into()),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0xfd, b'7', b'z', ..] | [b'B', b'Z', b'h', ..] => {
            return Err(ReadError::Compressed.into());
        }
        _ => {}
    }
    let mut reader =
        create_reader(BUFFER, io::Cursor::new(start).chain(from)).map_err(|_| ReadError::NoCapture)?;
    let (mut format, mut whole, mut room) = (Format::default(), 0, BUFFER);
    loop {
        match reader.next() {
            Ok((length, block)) => {
                if let Some(packet) = format.packet(block, whole)? {
                    take(packet)?;
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
            Err(PcapError::UnexpectedEof) => return Err(ReadError::CutOff { whole }.into()),
            Err(_) => return Err(ReadError::Damaged { whole }.into()),
        }
        let held = reader.data().len();
        reader.refill().map_err(|_| ReadError::Unreadable(io::ErrorKind::Other.into()))?;
        if reader.data().len() == held && !reader.reader_exhausted() {
            return Err(ReadError::Damaged { whole }.into());
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
    link: LinkType,
    /// Units of its times in a second.
    resolution: u128,
    /// Seconds to add to its times.
    offset: i64,
}

impl Format {
    /// The packet in `block`, if it is one.
    fn packet<'a>(
        &mut self,
        block: PcapBlockOwned<'a>,
        whole: usize,
    ) -> Result<Option<Captured<'a>>, ReadError> {
        let damaged = ReadError::Damaged { whole };
        match block {
            PcapBlockOwned::LegacyHeader(header) => self.interfaces = vec![Interface::of_pcap(&header)],
            PcapBlockOwned::Legacy(packet) => {
                let interface = self.interfaces.first().ok_or(damaged)?;
                let fraction = interface.nanos(u128::from(packet.ts_usec));
                let at = i128::from(packet.ts_sec) * 1_000_000_000 + fraction;
                return Ok(Some(Captured {
                    at,
                    link: interface.link,
                    bytes: packet.data,
                    length: packet.origlen,
                }));
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
                // Of what a block holds, padding is no part of the packet.
                let bytes = packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
                return Ok(Some(Captured { at, link: interface.link, bytes, length: packet.origlen }));
            }
            PcapBlockOwned::NG(Block::SimplePacket(_)) => {
                return Err(ReadError::Timeless { number: whole + 1 });
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
        Self { link: LinkType(header.network.0 & 0xffff), resolution, offset: 0 }
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
        Some(Self { link: LinkType(block.linktype.0), resolution, offset })
    }

    /// Nanoseconds in so many units of its times; at most 2^64 units a second, and 2^64 of them.
    fn nanos(&self, units: u128) -> i128 {
        (units * 1_000_000_000 / self.resolution) as i128
    }
}
