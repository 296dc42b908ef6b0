//! The format of pcapng.

use super::record::{Found, LARGEST_RECORD, Order, Record};
use super::{Captured, LinkType};
use crate::unit::Nanos;

/// What the blocks so far say of the packets that follow.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: Order,
    /// Those of the section.
    interfaces: Vec<Interface>,
    /// The coarsest unit of times of all so far.
    coarsest: Nanos,
}

impl Default for Pcapng {
    fn default() -> Self {
        Self { order: Order::Little, interfaces: Vec::new(), coarsest: Nanos::ZERO }
    }
}

/// How one interface recorded.
#[derive(Copy, Clone, Debug)]
struct Interface {
    link: LinkType,
    scale: Scale,
    /// Nanoseconds to add to its times.
    offset: i128,
}

/// What the units of an interface's times are.
#[derive(Copy, Clone, Debug)]
enum Scale {
    /// So many nanoseconds each.
    Each(u32),
    /// So many to a second.
    Divided(u128),
}

const SECTION: u32 = 0x0a0d_0d0a;
const ENHANCED: u32 = 6;

/// What nearly all captures consist of: packets of the first interface of a section, in the lower order of bytes, with times in units of
/// nanoseconds since 1970.
#[derive(Copy, Clone, Debug)]
pub(super) struct Plain {
    link: LinkType,
    /// Nanoseconds in a unit.
    unit: u32,
}

impl Plain {
    /// The packet that `bytes` begin with, if it is such a one, there whole, and some of it was kept; and what is behind it.
    #[inline(always)]
    pub(super) fn packet<'a>(&self, bytes: &'a [u8]) -> Option<(Captured<'a>, &'a [u8])> {
        let head = bytes.first_chunk::<28>()?;
        let word = |at: usize| Order::Little.word(head, at);
        let (length, kept) = (word(4) as usize, word(20) as usize);
        let is_whole = length.is_multiple_of(4) && length <= LARGEST_RECORD && kept > 0;
        // Behind it are padding, options and the block's length once more.
        if (word(0), word(8)) != (ENHANCED, 0) || !is_whole || 32 + kept > length {
            return None;
        }
        let (block, behind) = bytes.split_at_checked(length)?;
        if Order::Little.word(block, length - 4) as usize != length {
            return None;
        }
        let units = u64::from(word(12)) << 32 | u64::from(word(16));
        let at = i64::try_from(units.checked_mul(self.unit.into())?).ok()?;
        let bytes = &block[28..28 + kept];
        Some((Captured { at: at.into(), link: self.link, bytes, length: word(24) }, behind))
    }
}

impl Pcapng {
    /// The coarsest unit of times of the interfaces so far.
    pub(super) const fn coarsest(&self) -> Nanos {
        self.coarsest
    }

    /// What its packets are, as far as they are such.
    pub(super) fn plain(&self) -> Option<Plain> {
        match (self.order, self.interfaces.first()?) {
            (Order::Little, Interface { link, scale: Scale::Each(unit), offset: 0 }) => {
                Some(Plain { link: *link, unit: *unit })
            }
            _ => None,
        }
    }

    #[inline]
    pub(super) fn record(&mut self, bytes: &[u8]) -> Record {
        let Some(head) = bytes.first_chunk::<12>() else { return Record::Needs(12) };
        // The type of a section's header is the same in both orders, and the order is told behind its length.
        if u32::from_le_bytes([head[0], head[1], head[2], head[3]]) == SECTION {
            self.order = match head[8..12] {
                [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
                [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
                _ => return Record::Damaged,
            };
            self.interfaces.clear();
        }
        let length = self.order.word(head, 4) as usize;
        if !(12..=LARGEST_RECORD).contains(&length) || !length.is_multiple_of(4) {
            return Record::Damaged;
        }
        if bytes.len() < length {
            return Record::Needs(length);
        }
        let block = &bytes[..length];
        if self.order.word(block, length - 4) as usize != length {
            return Record::Damaged;
        }
        let body = &block[8..length - 4];
        match self.order.word(head, 0) {
            ENHANCED => self.enhanced(body, length).unwrap_or(Record::Damaged),
            2 => self.obsolete(body, length).unwrap_or(Record::Damaged),
            3 => Record::Timeless(length),
            1 => match Interface::of(self.order, body) {
                Some(interface) => {
                    self.coarsest = self.coarsest.max(interface.scale.unit());
                    self.interfaces.push(interface);
                    Record::Other(length)
                }
                None => Record::Damaged,
            },
            _ => Record::Other(length),
        }
    }

    /// A packet with all that is known of it.
    #[inline]
    fn enhanced(&self, body: &[u8], length: usize) -> Option<Record> {
        let head = body.first_chunk::<20>()?;
        self.packet(self.order.word(head, 0) as usize, head, length)
    }

    /// A packet as the first drafts had it: a count of drops in half of the interface's place.
    fn obsolete(&self, body: &[u8], length: usize) -> Option<Record> {
        let head = body.first_chunk::<20>()?;
        self.packet(usize::from(self.order.u16([head[0], head[1]])), head, length)
    }

    #[inline]
    fn packet(&self, interface: usize, head: &[u8; 20], length: usize) -> Option<Record> {
        let interface = self.interfaces.get(interface)?;
        let word = |at: usize| self.order.word(head, at);
        let units = u64::from(word(4)) << 32 | u64::from(word(8));
        let to = 28 + word(12) as usize;
        // Behind it are padding, options and the block's length once more.
        (to <= length - 4).then(|| {
            let at = interface.scale.nanos(units) + interface.offset;
            Record::Packet(Found { at, link: interface.link, from: 28, to, length: word(16) }, length)
        })
    }
}

impl Interface {
    /// `None`: not one, or with times finer than any clock's.
    fn of(order: Order, body: &[u8]) -> Option<Self> {
        let link = LinkType(i32::from(order.u16(*body.first_chunk()?)));
        let (mut scale, mut offset) = (Scale::Each(1_000), 0);
        let mut options = body.get(8..)?;
        while let Some([a, b, c, d]) = options.first_chunk::<4>() {
            let (code, length) = (order.u16([*a, *b]), usize::from(order.u16([*c, *d])));
            if code == 0 {
                break;
            }
            let value = options.get(4..4 + length)?;
            match (code, value) {
                (9, [resolution]) => scale = Scale::of(*resolution)?,
                (14, value) => {
                    let seconds = value.first_chunk().map(|bytes| match order {
                        Order::Big => i64::from_be_bytes(*bytes),
                        Order::Little => i64::from_le_bytes(*bytes),
                    });
                    offset = i128::from(seconds?) * 1_000_000_000;
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        Some(Self { link, scale, offset })
    }
}

impl Scale {
    /// Negative powers of ten, or with the upper bit of two.
    fn of(resolution: u8) -> Option<Self> {
        let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
        let units = base.checked_pow(u32::from(resolution & 0x7f)).filter(|units| *units < 1 << 64)?;
        Some(match 1_000_000_000 % units {
            0 => Self::Each((1_000_000_000 / units) as u32),
            _ => Self::Divided(units),
        })
    }

    /// Rounded up.
    fn unit(self) -> Nanos {
        Nanos(match self {
            Self::Each(nanos) => nanos.into(),
            Self::Divided(second) => 1_000_000_000_u128.div_ceil(second) as i64,
        })
    }

    #[inline]
    fn nanos(self, units: u64) -> i128 {
        match self {
            Self::Each(nanos) => (u128::from(units) * u128::from(nanos)) as i128,
            Self::Divided(second) => (u128::from(units) * 1_000_000_000 / second) as i128,
        }
    }
}
