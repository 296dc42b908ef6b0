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
    use dwell_core::throughput::udpst::{Answer, Auth, Null, Setup};

    fn bytes(hex: &str) -> Vec<u8> {
        let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }

    /// Set-up between client and server of the Broadband Forum's program (9.0.0(Dev8), with OpenSSL's key derivation), as
    /// it went over the loopback: `-u -t 5 -a a_secret_of_ours -y 3`.
    #[test]
    fn the_other_program_s_pdus_are_genuine() {
        let request = bytes(
            "ace100140001384c01000000000001016b032718dad2995318fbc3837454118d621b2f91cba35ae3e19febd1f3fbcc6b\
             be4b2ffc03000000",
        );
        let response = bytes(
            "ace100140001384c02010000ec9401016b032718c89d56ae1a38b42d6c46f692e2e5d1f90b89f09732e22dd9ed50aaf3\
             87f5f4a803000000",
        );
        let null = bytes(
            "dead0014010000016b0327187785d743c41668ef9df9ae409c319b4a5d069e1d524cba8518a20b489712e82303000000",
        );
        let asked = Setup::parse(&request).unwrap();
        assert_eq!((asked.auth.mode, asked.auth.key, asked.modifiers), (MODE, 3, Setup::JUMBO));
        let keys = Keys::derive(b"a_secret_of_ours", asked.auth.time);
        assert!(genuine(&request, &keys.client) && !genuine(&request, &keys.server));
        let answered = Setup::parse(&response).unwrap();
        assert_eq!((answered.answer, answered.port), (Answer::ACKNOWLEDGED, 0xec94));
        assert!(genuine(&response, &keys.server) && !genuine(&response, &keys.client));
        assert!(Null::parse(&null).is_ok() && genuine(&null, &keys.server));
    }

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
