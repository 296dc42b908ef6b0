//! Setup request and response, and the null request.

use super::wire::{Auth, Garbage, PROTOCOL, Reader, Writer};

const SETUP: u16 = 0xace1;
const NULL: u16 = 0xdead;

/// What a server answers to a setup request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Answer(pub u8);

impl Answer {
    /// Nothing yet: a request.
    pub const NONE: Self = Self(0);
    /// Yes.
    pub const ACKNOWLEDGED: Self = Self(1);
    /// The version is none that it speaks.
    pub const BAD_VERSION: Self = Self(2);
    /// Its setting for jumbo datagrams is another.
    pub const OTHER_JUMBO: Self = Self(3);
    /// It wants a key.
    pub const KEY_NEEDED: Self = Self(5);
    /// It does not do this mode of authentication.
    pub const WRONG_MODE: Self = Self(6);
    /// The digest is wrong.
    pub const WRONG_KEY: Self = Self(7);
    /// Its setting for packets of 1500 bytes is another.
    pub const OTHER_SIZE: Self = Self(11);

    /// What it means, and what to do.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self.0 {
            1 => "it agrees",
            2 => "it speaks another version of the protocol",
            3 => "its setting for jumbo datagrams is another",
            4 => "it has no keys, and was given one",
            5 => "it wants a key",
            6 => "it does not do this kind of authentication",
            7 => "the key is wrong",
            8 => "the two clocks are too far apart for its authentication",
            9 => "it wants to be told the bandwidth that is needed",
            10 => "it has no bandwidth left",
            11 => "its setting for packets of 1500 bytes is another",
            12 => "it does not like the number of connections",
            13 => "it has no room for another test",
            _ => "it gives a reason that is not known here",
        }
    }
}

/// A setup request or its response.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Version of the protocol.
    pub version: u16,
    /// Whether it is the response.
    pub response: bool,
    /// Which of several connections, of how many, and of whose.
    pub connection: (u8, u8, u16),
    /// The answer.
    pub answer: Answer,
    /// Needed bandwidth in Mb/s, with the highest bit set if it is towards the server; 0: not told.
    pub bandwidth: u16,
    /// Where the server wants the test.
    pub port: u16,
    /// Datagrams may be larger than Ethernet's, and have 1500 bytes: bits 0 and 1.
    pub modifiers: u8,
    /// Its protection.
    pub auth: Auth,
}

impl Setup {
    /// Its length.
    pub const LENGTH: usize = 56;
    /// Larger datagrams than Ethernet's; a server's and a client's setting must agree.
    pub const JUMBO: u8 = 1;
    /// Packets of 1500 bytes rather than of 1250; these settings must agree as well.
    pub const TRADITIONAL: u8 = 2;

    /// A request for one connection.
    #[must_use]
    pub fn request(identity: u16) -> Self {
        Self {
            version: PROTOCOL,
            response: false,
            connection: (0, 1, identity),
            answer: Answer::NONE,
            bandwidth: 0,
            port: 0,
            modifiers: Self::JUMBO,
            auth: Auth::default(),
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        let (index, count, identity) = self.connection;
        let begin = Writer::default().u16(SETUP).u16(self.version).u8(index).u8(count).u16(identity);
        let middle = begin.u8(if self.response { 2 } else { 1 }).u8(self.answer.0).u16(self.bandwidth);
        middle.u16(self.port).u8(self.modifiers).auth(&self.auth)
    }

    /// Reads it.
    ///
    /// # Errors
    /// When the bytes are no such PDU.
    pub fn parse(bytes: &[u8]) -> Result<Self, Garbage> {
        let mut read = Reader::open(bytes, Self::LENGTH, true, SETUP)?;
        Ok(Self {
            version: read.u16(),
            connection: (read.u8(), read.u8(), read.u16()),
            response: match read.u8() {
                1 => false,
                2 => true,
                _ => return Err(Garbage::Field("command")),
            },
            answer: Answer(read.u8()),
            bandwidth: read.u16(),
            port: read.u16(),
            modifiers: read.u8(),
            auth: read.auth(),
        })
    }
}

/// The null request: a server's first packet from the test's port, which opens its firewall.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Null {
    /// Version of the protocol.
    pub version: u16,
    /// Its protection.
    pub auth: Auth,
}

impl Null {
    /// Its length.
    pub const LENGTH: usize = 48;

    /// Its bytes.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        Writer::default().u16(NULL).u16(self.version).u8(1).u8(0).u8(0).auth(&self.auth)
    }

    /// Reads it.
    ///
    /// # Errors
    /// When the bytes are no such PDU.
    pub fn parse(bytes: &[u8]) -> Result<Self, Garbage> {
        let mut read = Reader::open(bytes, Self::LENGTH, true, NULL)?;
        let version = read.u16();
        if (read.u8(), read.u8()) != (1, 0) {
            return Err(Garbage::Field("command"));
        }
        read.u8();
        Ok(Self { version, auth: read.auth() })
    }
}
