//! The load itself: a header, and as many bytes after it as the rate wants.

use super::Action;
use super::wire::{Garbage, Reader, Stamp, Writer};

const LOAD: u16 = 0xbeef;

/// The header of a load PDU.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Whether the test goes on.
    pub action: Action,
    /// Whether the sender hears nothing any more.
    pub deaf: bool,
    /// Its number, from 1.
    pub sequence: u32,
    /// Bytes of the whole UDP payload.
    pub payload: u16,
    /// Status PDUs that the sender missed.
    pub missed: u16,
    /// When the last status PDU that the sender has was sent.
    pub status: Stamp,
    /// When this one was.
    pub sent: Stamp,
    /// How long, in milliseconds, the sender had that status PDU already.
    pub held: u16,
}

impl Load {
    /// Its length: no load PDU is shorter.
    pub const LENGTH: usize = 32;

    /// Its bytes.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        let begin = Writer::default().u16(LOAD).u8(self.action.code()).u8(self.deaf.into());
        let numbers = begin.u32(self.sequence).u16(self.payload).u16(self.missed);
        numbers.stamp(self.status).stamp(self.sent).u16(self.held).u16(0).0
    }

    /// Reads it from the start of a packet.
    ///
    /// # Errors
    /// When the bytes are no such PDU.
    pub fn parse(bytes: &[u8]) -> Result<Self, Garbage> {
        let mut read = Reader::open(bytes, Self::LENGTH, false, LOAD)?;
        Ok(Self {
            action: Action::of(read.u8()).ok_or(Garbage::Field("action"))?,
            deaf: read.u8() != 0,
            sequence: read.u32(),
            payload: read.u16(),
            missed: read.u16(),
            status: read.stamp(),
            sent: read.stamp(),
            held: read.u16(),
        })
    }
}
