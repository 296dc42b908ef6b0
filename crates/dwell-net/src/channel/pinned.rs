//! Peers that are known by their keys, and our own key, as TLS wants both.

use crate::identity::{Identity, Peers, PublicKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, SignatureScheme};
use std::sync::{Arc, Mutex};

/// Accepts peers by their keys alone, and remembers who came.
#[derive(Debug)]
pub(super) struct Pinned {
    peers: Peers,
    presented: Mutex<Option<PublicKey>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    pub(super) fn new(peers: Peers, provider: &CryptoProvider) -> Arc<Self> {
        let algorithms = provider.signature_verification_algorithms;
        Arc::new(Self { peers, presented: Mutex::default(), algorithms })
    }

    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), rustls::Error> {
        let key = PublicKey::from_spki(certificate);
        *self.presented.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = key;
        match key {
            Some(key) if self.peers.know(&key) => Ok(()),
            _ => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let key = SubjectPublicKeyInfoDer::from(certificate.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }

    pub(super) fn presented(&self) -> Option<PublicKey> {
        *self.presented.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn no_tls12() -> rustls::Error {
    rustls::Error::General("only TLS 1.3 is spoken here".to_owned())
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.check(certificate).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.check(certificate).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// Our key, as TLS wants it.
pub(super) fn certified(identity: &Identity) -> Result<Arc<CertifiedKey>, rustls::Error> {
    let key = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(identity.pkcs8()))?;
    let certificate = CertificateDer::from(identity.public_key().to_spki());
    Ok(Arc::new(CertifiedKey::new(vec![certificate], key)))
}
