//! What of a datagram is there for everyone to read (RFC 9000, 17.2 and 17.3; RFC 9369).

/// The versions whose headers are known: 1 (RFC 9000) and 2 (RFC 9369).
const VERSIONS: [u32; 2] = [1, 0x6b33_43cf];

/// So long is a connection ID at most (RFC 9000, 17.2).
const LONGEST: usize = 20;

/// A connection ID.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Id {
    length: u8,
    bytes: [u8; LONGEST],
}

impl Id {
    fn of(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(Self { length: id.len() as u8, bytes })
    }

    /// Bytes of it.
    pub(super) const fn length(&self) -> usize {
        self.length as usize
    }
}

/// What a packet with a long header is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Initial,
    /// Data of a client that remembers the server.
    ZeroRtt,
    Handshake,
    Retry,
    /// It negotiates a version.
    Negotiation,
}

/// Of version 1, by their number; in version 2 each has the next one.
const KINDS: [Kind; 4] = [Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::Retry];

/// Packets of the handshake in one datagram, as far as they were captured.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Long {
    /// Connection IDs of who is to have it, and of who sends. All packets of one datagram have the same (12.2).
    pub(super) to: Id,
    pub(super) from: Id,
    /// A bit for each kind.
    kinds: u8,
}

impl Long {
    pub(super) const fn has(&self, kind: Kind) -> bool {
        self.kinds >> kind as u8 & 1 != 0
    }
}

/// What a datagram's first bytes say.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// Packets of the handshake, of a known version or that negotiate one.
    Long(Long),
    /// A packet of a connection that is there, with its spin bit.
    Short { spin: bool },
}

impl Header {
    /// The bit that version 1 fixed tells nothing: ends that agree to (RFC 9287) set it at random.
    pub(super) fn of(payload: &[u8]) -> Option<Self> {
        let first = *payload.first()?;
        if first & 0x80 == 0 {
            return Some(Self::Short { spin: first & 0x20 != 0 });
        }
        let (kind, [to, from], mut rest) = packet(payload)?;
        let mut kinds = 1 << kind as u8;
        while let Some((kind, _, next)) = packet(rest) {
            kinds |= 1 << kind as u8;
            rest = next;
        }
        Some(Self::Long(Long { to, from, kinds }))
    }
}

/// The packet with a long header that these bytes begin with, its connection IDs, and what was captured behind it.
fn packet(bytes: &[u8]) -> Option<(Kind, [Id; 2], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (version, rest) = rest.split_first_chunk()?;
    let version = u32::from_be_bytes(*version);
    let kind = match VERSIONS.iter().position(|known| *known == version) {
        _ if first & 0x80 == 0 => return None,
        Some(place) => KINDS[(usize::from(first >> 4) + KINDS.len() - place) % KINDS.len()],
        None if version == 0 => Kind::Negotiation,
        None => return None,
    };
    let (to, rest) = id(rest)?;
    let (from, rest) = id(rest)?;
    let after_token = if kind == Kind::Initial { beyond(rest) } else { Some(rest) };
    // These two have no length: nothing is behind them.
    let is_last = matches!(kind, Kind::Retry | Kind::Negotiation);
    let next = after_token.filter(|_| !is_last).and_then(beyond).unwrap_or_default();
    Some((kind, [to, from], next))
}

fn id(bytes: &[u8]) -> Option<(Id, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (id, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((Id::of(id)?, rest))
}

/// What follows a length (RFC 9000, 16) and so many bytes.
fn beyond(bytes: &[u8]) -> Option<&[u8]> {
    let size = 1 << (bytes.first()? >> 6);
    let (length, rest) = bytes.split_at_checked(size)?;
    let length = length.iter().fold(0, |length, byte| length << 8 | u64::from(*byte));
    // All but the two bits that told the size.
    let length = length & (u64::MAX >> (66 - 8 * size));
    rest.get(usize::try_from(length).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A packet of this first byte and version, with what comes after its connection IDs.
    fn long(first: u8, version: u32, behind: &[u8]) -> Vec<u8> {
        let ids = [2, 7, 8, 1, 9];
        [&[first], &version.to_be_bytes()[..], &ids, behind].concat()
    }

    fn kinds(payload: &[u8]) -> Vec<Kind> {
        let Some(Header::Long(long)) = Header::of(payload) else { panic!("{payload:?}") };
        assert_eq!((long.to, long.from), (Id::of(&[7, 8]).expect("short"), Id::of(&[9]).expect("short")));
        let all = KINDS.into_iter().chain([Kind::Negotiation]);
        all.filter(|kind| long.has(*kind)).collect()
    }

    #[test]
    fn all_packets_of_a_datagram_count() {
        // An Initial with a token of two bytes and a length of one byte and of two, and a Handshake behind it.
        let initial = long(0xc0, 1, &[2, 0, 0, 1, 5]);
        let handshake = long(0xe0, 1, &[0x40, 1, 5]);
        assert_eq!(kinds(&[&initial[..], &handshake].concat()), [Kind::Initial, Kind::Handshake]);
        assert_eq!(kinds(&[&handshake[..], &[0x40; 30]].concat()), [Kind::Handshake]);
        // What is not there is not made up.
        assert_eq!(kinds(&long(0xc0, 1, &[0, 0x44, 0xb0, 5])), [Kind::Initial]);
        assert_eq!(kinds(&long(0xf0, 1, &handshake)), [Kind::Retry]);
        assert_eq!(kinds(&long(0xc0, 0, &handshake)), [Kind::Negotiation]);
        let second = [0xd0, 0xe0, 0xf0, 0xc0].map(|first| kinds(&long(first, VERSIONS[1], &[0, 0])));
        assert_eq!(second.concat(), KINDS);
        assert_eq!(Header::of(&long(0xc0, 7, &[])), None);
    }

    proptest! {
        #[test]
        fn anything_is_read_without_harm(
            version in prop_oneof![Just(0_u32), Just(1), Just(VERSIONS[1]), any::<u32>()],
            first: u8,
            rest in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            let payload = [&[first], &version.to_be_bytes()[..], &rest].concat();
            (0..=payload.len()).for_each(|cut| { Header::of(&payload[..cut]); });
        }
    }
}
