//! Test activation: what the client wants, and what the server makes of it.

use super::algorithm::Algorithm;
use super::rates::Row;
use super::wire::{Auth, Garbage, PROTOCOL, Reader, Writer};
use crate::train::Direction;

const ACTIVATION: u16 = 0xace2;

/// How a test is to be made; the defaults are those of RFC 9097 and of the Broadband Forum's program.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Up to this variation of delay, in milliseconds, the rate grows.
    pub low: u16,
    /// Above this one it shrinks.
    pub upper: u16,
    /// From one status PDU to the next, in milliseconds.
    pub trial: u16,
    /// The whole test, in seconds.
    pub test: u16,
    /// One sub-interval, in milliseconds.
    pub sub_interval: u16,
    /// A fixed row, or where `starts` the first; `u16::MAX`: neither.
    pub row: u16,
    /// Whether `row` is where the search begins.
    pub starts: bool,
    /// Whether variation of one-way delay counts, not that of round trips.
    pub one_way: bool,
    /// Rows of a fast step.
    pub step: u8,
    /// Troubles in a row after which steps are slow.
    pub slow_after: u16,
    /// Lost packets of a trial that are no trouble.
    pub tolerated: u16,
    /// Whether reordered and doubled packets are no trouble at all.
    pub ignore_reordering: bool,
    /// How the rate is moved.
    pub algorithm: Algorithm,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            low: 30,
            upper: 90,
            trial: 50,
            test: 10,
            sub_interval: 1_000,
            row: u16::MAX,
            starts: false,
            one_way: false,
            step: 10,
            slow_after: 3,
            tolerated: 10,
            ignore_reordering: true,
            algorithm: Algorithm::B,
        }
    }
}

/// A test activation request or its response.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// Version of the protocol.
    pub version: u16,
    /// Which way the load goes; forward is from client to server.
    pub direction: Direction,
    /// 0: a request; 1: the server agrees; 2: it does not.
    pub answer: u8,
    /// How.
    pub parameters: Parameters,
    /// The rate to begin with, where the client sends.
    pub row: Row,
    /// Its protection.
    pub auth: Auth,
}

impl Activation {
    /// Its length.
    pub const LENGTH: usize = 104;
    const STARTS: u8 = 1;

    /// A request.
    #[must_use]
    pub fn request(direction: Direction, parameters: Parameters) -> Self {
        let (row, auth) = (Row::default(), Auth::default());
        Self { version: PROTOCOL, direction, answer: 0, parameters, row, auth }
    }

    /// Its bytes.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        let how = &self.parameters;
        let command = if self.direction == Direction::Forward { 1 } else { 2 };
        let begin = Writer::default().u16(ACTIVATION).u16(self.version).u8(command).u8(self.answer);
        let times = begin.u16(how.low).u16(how.upper).u16(how.trial).u16(how.test).u8(0).u8(0);
        let steps = times.u16(how.row).u8(how.one_way.into()).u8(how.step).u16(how.slow_after);
        let rest = steps.u16(how.tolerated).u8(how.ignore_reordering.into());
        let rest = rest.u8(if how.starts { Self::STARTS } else { 0 }).u8(how.algorithm.code()).u8(0);
        self.row.write(rest).u16(how.sub_interval).u16(0).u16(0).u8(0).auth(&self.auth)
    }

    /// Reads it.
    ///
    /// # Errors
    /// When the bytes are no such PDU.
    pub fn parse(bytes: &[u8]) -> Result<Self, Garbage> {
        let mut read = Reader::open(bytes, Self::LENGTH, true, ACTIVATION)?;
        let version = read.u16();
        let direction = match read.u8() {
            1 => Direction::Forward,
            2 => Direction::Reverse,
            _ => return Err(Garbage::Field("command")),
        };
        let answer = read.u8();
        let (low, upper, trial, test) = (read.u16(), read.u16(), read.u16(), read.u16());
        // Reserved, and the byte for DSCP and ECN, which is not asked for here.
        read.u16();
        let (row, one_way, step, slow_after) = (read.u16(), read.u8() != 0, read.u8(), read.u16());
        let (tolerated, ignore_reordering) = (read.u16(), read.u8() != 0);
        let starts = read.u8() & Self::STARTS != 0;
        let algorithm = Algorithm::of(read.u8()).ok_or(Garbage::Field("algorithm"))?;
        read.u8();
        let first = Row::read(&mut read);
        let sub_interval = read.u16();
        read.u32();
        read.u8();
        let parameters = Parameters {
            low,
            upper,
            trial,
            test,
            sub_interval,
            row,
            starts,
            one_way,
            step,
            slow_after,
            tolerated,
            ignore_reordering,
            algorithm,
        };
        Ok(Self { version, direction, answer, parameters, row: first, auth: read.auth() })
    }
}
