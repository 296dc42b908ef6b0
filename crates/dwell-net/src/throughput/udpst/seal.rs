//! Authentication of control PDUs: HMAC-SHA-256 with keys that both ends derive from the shared secret and the time of
//! the setup request (RFC 9946, section 4.3; NIST SP 800-108 in counter mode).

use dwell_core::throughput::udpst::{sealed_part, set_digest};
use ring::hmac::{HMAC_SHA256, Key, sign, verify};

/// The mode of authentication that is done here: of control PDUs.
pub(super) const MODE: u8 = 1;

/// The keys of one test.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) client: Key,
    pub(super) server: Key,
}

impl Keys {
    /// From the secret and the time of the setup request, in seconds since 1970.
    pub(super) fn derive(secret: &[u8], time: u32) -> Self {
        let key = Key::new(HMAC_SHA256, secret);
        let part = |counter: u32| {
            let mut said = counter.to_be_bytes().to_vec();
            said.extend(b"UDPSTP\0");
            said.extend(time.to_string().as_bytes());
            // Bits of both keys together.
            said.extend(512u32.to_be_bytes());
            Key::new(HMAC_SHA256, sign(&key, &said).as_ref())
        };
        Self { client: part(1), server: part(2) }
    }
}

/// Enters the digest into a packed PDU whose mode and time are set.
pub(super) fn seal(pdu: &mut [u8], key: &Key) {
    if let Some(part) = sealed_part(pdu)
        && let Ok(digest) = sign(key, &part).as_ref().try_into()
    {
        set_digest(pdu, digest);
    }
}

/// Whether a PDU has the digest that this key makes.
pub(super) fn genuine(pdu: &[u8], key: &Key) -> bool {
    let digest = pdu.len().checked_sub(36).and_then(|from| pdu.get(from..pdu.len() - 4));
    let part = sealed_part(pdu);
    part.zip(digest).is_some_and(|(part, digest)| verify(key, &part, digest).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::throughput::udpst::{Auth, Setup};

    #[test]
    fn a_sealed_pdu_is_genuine_until_a_bit_of_it_changes() {
        let keys = Keys::derive(b"secret", 1_700_000_000);
        let auth = Auth { mode: MODE, time: 1_700_000_000, ..Auth::default() };
        let mut pdu = Setup { auth, ..Setup::request(7) }.pack();
        seal(&mut pdu, &keys.client);
        assert!(genuine(&pdu, &keys.client));
        assert!(!genuine(&pdu, &keys.server));
        assert!(!genuine(&pdu, &Keys::derive(b"secret", 1_700_000_001).client));
        pdu[5] ^= 1;
        assert!(!genuine(&pdu, &keys.client));
        assert!(!genuine(&[1, 2, 3], &keys.client));
    }
}
