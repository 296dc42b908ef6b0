//! The table of sending rates (RFC 9097, section 8.1; TR-471): steps of 1 Mb/s of IP up to 1 Gb/s, and of 100 Mb/s above.

use super::wire::{Reader, Writer};
use crate::unit::{BitRate, Bytes};

/// Headers of UDP and IPv4.
pub const HEADERS: u64 = 28;
/// IP packets of full size here have this many bytes, so that tunnels have room.
const PACKET: u32 = 1_250;
const PAYLOAD: u32 = PACKET - HEADERS as u32;
/// Interval of the first transmitter, in microseconds.
const SHORT: u32 = 100;
/// Of the second one.
const LONG: u32 = 1_000;
/// Rows in all.
const ROWS: usize = 1_153;
/// The last row of the fine steps.
pub const FINE: usize = 1_000;
/// The most packets in one burst.
const BURST: u32 = 100;
/// The header of IPv6 has so many bytes more than that of IPv4.
const LONGER: u32 = 20;
/// Payloads that have no room for that are left as they are.
const LEAST_SHORTENED: u32 = super::Load::LENGTH as u32 + LONGER;
/// A size with this bit is the most of a random one.
const RANDOM: u32 = 1 << 31;

/// One rate: two transmitters, each sending a burst every interval.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Interval in microseconds, payload in bytes and packets of a burst.
    pub first: [u32; 3],
    /// The same of the second transmitter.
    pub second: [u32; 3],
    /// Payload of one packet more with each of its bursts; 0: none.
    pub addition: u32,
}

impl Row {
    pub(super) fn write(&self, to: Writer) -> Writer {
        let fields = self.first.into_iter().chain(self.second).chain([self.addition]);
        fields.fold(to, Writer::u32)
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Self {
        let first = std::array::from_fn(|_| from.u32());
        let second = std::array::from_fn(|_| from.u32());
        Self { first, second, addition: from.u32() }
    }

    /// The bursts of one transmitter: interval in microseconds and the payloads, each in its bounds whatever a server
    /// says. `None`: it sends nothing.
    #[must_use]
    pub fn burst(&self, second: bool) -> Option<(u32, Vec<u16>)> {
        let [interval, payload, count] = if second { self.second } else { self.first };
        let addition = if second { self.addition } else { 0 };
        // A random size is sent at its most: what is not to be compressed is random anyway.
        let size = |payload: u32| (payload & !RANDOM).clamp(super::Load::LENGTH as u32, 65_000) as u16;
        let mut payloads = vec![size(payload); if payload == 0 { 0 } else { count.min(BURST) as usize }];
        payloads.extend((addition != 0).then(|| size(addition)));
        (interval > 0 && !payloads.is_empty()).then_some((interval.max(SHORT), payloads))
    }

    /// The same row for IPv6: the payloads give way to its longer header, so that packets are as long as over IPv4.
    #[must_use]
    pub fn over_ipv6(self) -> Self {
        let less = |payload: u32| payload - if payload & !RANDOM >= LEAST_SHORTENED { LONGER } else { 0 };
        let of = |[interval, payload, count]: [u32; 3]| [interval, less(payload), count];
        Self { first: of(self.first), second: of(self.second), addition: less(self.addition) }
    }

    /// The rate in IP packets over IPv4.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        let of = |second| {
            self.burst(second).map_or(0.0, |(interval, payloads)| {
                let bytes: u64 = payloads.iter().map(|payload| u64::from(*payload) + HEADERS).sum();
                Bytes(bytes).bits() as f64 * 1e6 / f64::from(interval)
            })
        };
        BitRate((of(false) + of(true)) as u64)
    }
}

/// The row of this index; past the end, the last.
#[must_use]
pub fn row(index: usize) -> Row {
    let index = index.min(ROWS - 1);
    if index == 0 {
        return Row { first: [0; 3], second: [50_000, 0, 0], addition: PAYLOAD | RANDOM };
    }
    if index > FINE {
        let burst = ((index - FINE) as u32 + 10).min(BURST);
        return Row { first: [SHORT, PAYLOAD, burst], second: [0; 3], addition: 0 };
    }
    // Hundreds, tens and ones of Mb/s.
    let (hundreds, tens, ones) = ((index / 100) as u32, (index / 10 % 10) as u32, (index % 10) as u32);
    let first = if hundreds > 0 { [SHORT, PAYLOAD, hundreds] } else { [0; 3] };
    let addition = if ones > 0 { ones * 125 - HEADERS as u32 } else { 0 };
    let second = match (tens, ones) {
        (0, 0) => [0; 3],
        (0, _) => [LONG, 0, 0],
        _ => [LONG, PAYLOAD, tens],
    };
    Row { first, second, addition }
}

/// Rows of the table.
#[must_use]
pub const fn rows() -> usize {
    ROWS
}
