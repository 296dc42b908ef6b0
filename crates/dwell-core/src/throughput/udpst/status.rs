//! Status feedback: what the receiver of load saw.

use super::Action;
use super::rates::Row;
use super::wire::{Auth, Garbage, Reader, Stamp, Writer};
use serde::{Deserialize, Serialize};

const STATUS: u16 = 0xfeed;

/// What came in one sub-interval.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubInterval {
    /// Packets.
    pub packets: u32,
    /// Their UDP payload.
    pub bytes: u64,
    /// How long it was, in microseconds.
    pub micros: u32,
    /// Packets lost, reordered, doubled.
    pub troubles: [u32; 3],
    /// Variation of one-way delay in milliseconds: least, most, sum, count.
    pub variation: [u32; 4],
    /// Variation of the round trip in milliseconds: least and most.
    pub round_trip: [u32; 2],
    /// From the beginning of the test to its end, in milliseconds.
    pub until: u32,
}

/// What came in one trial interval.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Packets lost, reordered, doubled.
    pub troubles: [u32; 3],
    /// The least difference of the clocks, in milliseconds.
    pub clock: i32,
    /// Variation of one-way delay in milliseconds: least, most, sum, count.
    pub variation: [u32; 4],
    /// The least round trip in milliseconds, and the last one's excess over it.
    pub round_trip: [u32; 2],
    /// Whether one of the least figures is new.
    pub fresh: bool,
    /// How long it was, in microseconds.
    pub micros: u32,
    /// Packets.
    pub packets: u32,
    /// Their UDP payload.
    pub bytes: u32,
}

/// No delay was seen.
pub(super) const NONE: u32 = u32::MAX;

impl Default for SubInterval {
    fn default() -> Self {
        Self {
            packets: 0,
            bytes: 0,
            micros: 0,
            troubles: [0; 3],
            variation: [NONE, 0, 0, 0],
            round_trip: [NONE, 0],
            until: 0,
        }
    }
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            troubles: [0; 3],
            clock: 0,
            variation: [NONE, 0, 0, 0],
            round_trip: [NONE; 2],
            fresh: false,
            micros: 0,
            packets: 0,
            bytes: 0,
        }
    }
}

/// A status PDU.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether the test goes on.
    pub action: Action,
    /// Whether no load comes any more.
    pub deaf: bool,
    /// Its number, from 1.
    pub sequence: u32,
    /// The rate that the client is to send at, where it does.
    pub row: Row,
    /// The number of the last sub-interval that is over.
    pub sub_interval: u32,
    /// What came in it.
    pub last: SubInterval,
    /// What came since the status PDU before.
    pub trial: Trial,
    /// When it was sent.
    pub sent: Stamp,
    /// Its protection.
    pub auth: Auth,
}

fn all<const N: usize>(to: Writer, figures: [u32; N]) -> Writer {
    figures.into_iter().fold(to, Writer::u32)
}

impl Status {
    /// Its length.
    pub const LENGTH: usize = 204;

    /// Its bytes.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        let (last, trial) = (&self.last, &self.trial);
        let begin = Writer::default().u16(STATUS).u8(self.action.code()).u8(self.deaf.into());
        let begin = self.row.write(begin.u32(self.sequence)).u32(self.sub_interval);
        let saved = all(begin.u32(last.packets).u64(last.bytes).u32(last.micros), last.troubles);
        let saved = all(all(saved, last.variation), last.round_trip).u32(last.until);
        let now = all(all(saved, trial.troubles).u32(trial.clock as u32), trial.variation);
        let now = all(now, trial.round_trip).u8(trial.fresh.into()).u8(0).u16(0);
        let now = now.u32(trial.micros).u32(trial.packets).u32(trial.bytes);
        now.stamp(self.sent).u16(0).u8(0).auth(&self.auth)
    }

    /// Reads it.
    ///
    /// # Errors
    /// When the bytes are no such PDU.
    pub fn parse(bytes: &[u8]) -> Result<Self, Garbage> {
        let mut read = Reader::open(bytes, Self::LENGTH, true, STATUS)?;
        let action = Action::of(read.u8()).ok_or(Garbage::Field("action"))?;
        let (deaf, sequence, row) = (read.u8() != 0, read.u32(), Row::read(&mut read));
        fn next<const N: usize>(read: &mut Reader<'_>) -> [u32; N] {
            std::array::from_fn(|_| read.u32())
        }
        let sub_interval = read.u32();
        let last = SubInterval {
            packets: read.u32(),
            bytes: read.u64(),
            micros: read.u32(),
            troubles: next(&mut read),
            variation: next(&mut read),
            round_trip: next(&mut read),
            until: read.u32(),
        };
        let (troubles, clock, variation) = (next(&mut read), read.u32() as i32, next(&mut read));
        let (round_trip, fresh) = (next(&mut read), read.u8() != 0);
        (read.u8(), read.u16());
        let (micros, packets, bytes) = (read.u32(), read.u32(), read.u32());
        let trial = Trial { troubles, clock, variation, round_trip, fresh, micros, packets, bytes };
        let sent = read.stamp();
        (read.u16(), read.u8());
        Ok(Self { action, deaf, sequence, row, sub_interval, last, trial, sent, auth: read.auth() })
    }
}
