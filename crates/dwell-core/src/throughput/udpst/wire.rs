//! Big-endian fields one after another, and what every control PDU ends in.

/// The version of the protocol that is spoken here.
pub const PROTOCOL: u16 = 20;

/// Why bytes are no PDU.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// Of another length than any such PDU.
    Length(usize),
    /// Another kind of PDU.
    Kind(u16),
    /// Its checksum is wrong.
    Checksum,
    /// A field has a value that means nothing.
    Field(&'static str),
}

impl std::fmt::Display for Garbage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length(length) => write!(f, "a PDU of {length} bytes"),
            Self::Kind(kind) => write!(f, "a PDU of kind {kind:#06x}"),
            Self::Checksum => f.write_str("a PDU with a wrong checksum"),
            Self::Field(name) => write!(f, "a PDU with a senseless {name}"),
        }
    }
}

/// A time on a wall clock, as PDUs carry it; zero: none.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Seconds since 1970, modulo 2^32.
    pub seconds: u32,
    /// And nanoseconds.
    pub nanos: u32,
}

impl Stamp {
    /// Of a time since 1970.
    #[must_use]
    pub fn of(time: crate::Nanos) -> Self {
        let second = 1_000_000_000;
        Self { seconds: time.0.div_euclid(second) as u32, nanos: time.0.rem_euclid(second) as u32 }
    }

    /// Milliseconds from `earlier` to this, to the nearest.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> i64 {
        let seconds = i64::from(self.seconds.wrapping_sub(earlier.seconds) as i32);
        let nanos = i64::from(self.nanos) - i64::from(earlier.nanos);
        (seconds * 1_000_000_000 + nanos + 500_000).div_euclid(1_000_000)
    }
}

/// What protects a PDU; nothing by default.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Auth {
    /// 0: nothing; 1: HMAC-SHA-256 of control PDUs.
    pub mode: u8,
    /// When it was made, in seconds since 1970.
    pub time: u32,
    /// The HMAC.
    pub digest: [u8; 32],
    /// Which of the shared keys.
    pub key: u8,
}

/// The PDU as its digest is taken: the digest itself and the checksum zero. `None` of what is too short for one.
#[must_use]
pub fn sealed_part(pdu: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = pdu.to_vec();
    let end = bytes.len();
    bytes.get_mut(end.checked_sub(36)?..end - 4)?.fill(0);
    bytes[end - 2..].fill(0);
    Some(bytes)
}

/// Enters the digest into a packed PDU.
pub fn set_digest(pdu: &mut [u8], digest: &[u8; 32]) {
    let end = pdu.len();
    if let Some(place) = end.checked_sub(36).and_then(|from| pdu.get_mut(from..end - 4)) {
        place.copy_from_slice(digest);
    }
}

/// The Internet checksum: zero of whatever holds its own.
pub(super) fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum = words.fold(0u64, |sum, word| sum + u64::from(word));
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Writes fields.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn stamp(self, stamp: Stamp) -> Self {
        self.u32(stamp.seconds).u32(stamp.nanos)
    }

    /// The last 41 bytes, from the mode on.
    pub(super) fn auth(mut self, auth: &Auth) -> Vec<u8> {
        self = self.u8(auth.mode).u32(auth.time);
        self.0.extend(auth.digest);
        self.u8(auth.key).u8(0).u16(0).0
    }
}

/// Reads fields of a PDU whose length was checked: past its end there is nothing but zeros.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Of a PDU of this kind, of at least or, where `exact`, just this length; its last two bytes hold its checksum, or
    /// nothing.
    pub(super) fn open(bytes: &'a [u8], length: usize, exact: bool, kind: u16) -> Result<Self, Garbage> {
        if bytes.len() < length || (exact && bytes.len() > length) {
            return Err(Garbage::Length(bytes.len()));
        }
        let bytes = &bytes[..length];
        let mut reader = Self(bytes);
        match reader.u16() {
            found if found != kind => Err(Garbage::Kind(found)),
            _ if bytes[length - 2..] != [0, 0] && checksum(bytes) != 0 => Err(Garbage::Checksum),
            _ => Ok(reader),
        }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let (read, rest) = self.0.split_at(N.min(self.0.len()));
        bytes[..read.len()].copy_from_slice(read);
        self.0 = rest;
        bytes
    }

    pub(super) fn u8(&mut self) -> u8 {
        u8::from_be_bytes(self.take())
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take())
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }

    pub(super) fn stamp(&mut self) -> Stamp {
        Stamp { seconds: self.u32(), nanos: self.u32() }
    }

    pub(super) fn auth(&mut self) -> Auth {
        Auth { mode: self.u8(), time: self.u32(), digest: self.take(), key: self.u8() }
    }
}
