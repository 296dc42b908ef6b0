//! The probe packet: 16 bytes of header, so that the smallest Ethernet frame is possible, then zeros.
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | session, big endian |
//! | 4..8 | sequence, big endian: a fleet's announcement says which train and packet it stands for |
//! | 8..16 | SipHash-2-4 over session, sequence, length and direction, keyed with the session's key |

use dwell_core::{Bytes, Direction, unit};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::net::IpAddr;

/// Bytes of the header.
pub const HEADER: usize = 16;

/// The sequence of the packet that tells the agent from where a session's probes come. Fleets leave it out.
pub const HELLO: u32 = u32::MAX;

/// What one IP version adds around a UDP payload: the size on the wire differs from the payload's by a constant, and
/// has a smallest value.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Framing {
    overhead: u64,
    min_payload: usize,
}

impl Framing {
    /// Of packets to `address`.
    #[must_use]
    pub const fn of(address: IpAddr) -> Self {
        match address {
            // 18 bytes of payload make the frame of 64 bytes; a shorter one would be padded to the same length.
            IpAddr::V4(_) => Self { overhead: unit::ETHERNET_OVERHEAD.0 + 28, min_payload: 18 },
            IpAddr::V6(_) => Self { overhead: unit::ETHERNET_OVERHEAD.0 + 48, min_payload: HEADER },
        }
    }

    /// The smallest probe on the wire.
    #[must_use]
    pub const fn min_size(self) -> Bytes {
        Bytes(self.min_payload as u64 + self.overhead)
    }

    /// The size on the wire of an IP packet of `mtu` bytes.
    #[must_use]
    pub const fn size_of_mtu(self, mtu: u64) -> Bytes {
        Bytes(mtu + unit::ETHERNET_OVERHEAD.0)
    }

    /// The size on the wire of a UDP payload.
    #[must_use]
    pub const fn size(self, payload: usize) -> Bytes {
        Bytes(payload as u64 + self.overhead)
    }

    /// The UDP payload that makes a packet of `size` on the wire; `None` where no probe has that size.
    #[must_use]
    pub fn payload(self, size: Bytes) -> Option<usize> {
        let payload = usize::try_from(size.0.checked_sub(self.overhead)?).ok()?;
        (self.min_payload..=MAX_PAYLOAD).contains(&payload).then_some(payload)
    }
}

/// The largest UDP payload over IPv4; IPv6 would allow twenty bytes more.
pub const MAX_PAYLOAD: usize = 65_507;

/// What binds probes to a session: its number and its secret.
#[derive(Clone)]
pub struct Seal {
    session: u32,
    hasher: SipHasher24,
}

impl Seal {
    /// Of one session.
    #[must_use]
    pub fn new(session: u32, key: &[u8; 16]) -> Self {
        Self { session, hasher: SipHasher24::new_with_key(key) }
    }

    fn tag(&self, sequence: u32, length: usize, direction: Direction) -> u64 {
        let mut hasher = self.hasher;
        let mut said = [0; 16];
        said[..4].copy_from_slice(&self.session.to_be_bytes());
        said[4..8].copy_from_slice(&sequence.to_be_bytes());
        said[8..12].copy_from_slice(&(length as u32).to_be_bytes());
        // So that nobody can send a packet back to where it came from as if it were ours.
        said[12] = u8::from(direction == Direction::Reverse);
        hasher.write(&said);
        hasher.finish()
    }

    /// Writes the header of a packet that is as long as `packet`.
    ///
    /// # Panics
    /// When `packet` has no room for the header.
    pub fn write(&self, packet: &mut [u8], sequence: u32, direction: Direction) {
        let tag = self.tag(sequence, packet.len(), direction);
        packet[..4].copy_from_slice(&self.session.to_be_bytes());
        packet[4..8].copy_from_slice(&sequence.to_be_bytes());
        packet[8..16].copy_from_slice(&tag.to_be_bytes());
    }

    /// The sequence of a packet of this session and direction, given its first bytes and its true length; `None` of
    /// any other packet.
    #[must_use]
    pub fn open(&self, start: &[u8], length: usize, direction: Direction) -> Option<u32> {
        let sequence = u32::from_be_bytes(start.get(4..8)?.try_into().ok()?);
        let tag = u64::from_be_bytes(start.get(8..HEADER)?.try_into().ok()?);
        let genuine = session_of(start)? == self.session && tag == self.tag(sequence, length, direction);
        genuine.then_some(sequence)
    }
}

/// The session that a packet claims to belong to.
#[must_use]
pub fn session_of(start: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(start.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_those_of_the_wire() {
        let v4 = Framing::of(IpAddr::from([10, 0, 0, 1]));
        assert_eq!(v4.min_size(), unit::ETHERNET_MIN);
        assert_eq!(v4.payload(Bytes(72)), Some(18));
        assert_eq!(v4.payload(Bytes(71)), None);
        assert_eq!(v4.size_of_mtu(1500), v4.size(1472));
        let v6 = Framing::of(IpAddr::from([0u16; 8]));
        assert_eq!(v6.min_size(), Bytes(90));
        assert_eq!(v6.size_of_mtu(1500), v6.size(1452));
    }

    proptest! {
        #[test]
        fn opens_what_it_wrote_and_nothing_else(
            key: [u8; 16], session: u32, sequence: u32, length in HEADER..2000, flip in 0..HEADER * 8,
        ) {
            let seal = Seal::new(session, &key);
            let mut packet = vec![0; length];
            seal.write(&mut packet, sequence, Direction::Forward);
            prop_assert_eq!(seal.open(&packet, length, Direction::Forward), Some(sequence));
            prop_assert_eq!(seal.open(&packet, length, Direction::Reverse), None);
            prop_assert_eq!(seal.open(&packet, length + 1, Direction::Forward), None);
            packet[flip / 8] ^= 1 << (flip % 8);
            prop_assert_eq!(seal.open(&packet, length, Direction::Forward), None);
        }

        #[test]
        fn never_panics_on_any_bytes(bytes: Vec<u8>, length: usize) {
            let seal = Seal::new(7, &[0; 16]);
            let _ = seal.open(&bytes, length, Direction::Forward);
            let _ = session_of(&bytes);
        }
    }
}
