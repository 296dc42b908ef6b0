//! Who this installation is, and whom it knows.

use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// An installation's public key. As text: `ed25519:` and 64 hexadecimal digits.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PublicKey([u8; 32]);

/// What stands before every Ed25519 public key in its X.509 form, SubjectPublicKeyInfo (RFC 8410).
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

const TEXT_PREFIX: &str = "ed25519:";

impl PublicKey {
    /// The key of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// As SubjectPublicKeyInfo, the form of raw public keys in TLS (RFC 7250).
    #[must_use]
    pub fn to_spki(self) -> Vec<u8> {
        [&SPKI_PREFIX[..], &self.0].concat()
    }

    /// From SubjectPublicKeyInfo; `None` of anything but an Ed25519 key.
    #[must_use]
    pub fn from_spki(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.strip_prefix(&SPKI_PREFIX)?.try_into().ok()?))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TEXT_PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is not a public key: expected `ed25519:` and 64 hexadecimal digits")]
pub struct KeyTextError {
    /// The text, cut to a readable length.
    found: String,
}

impl FromStr for PublicKey {
    type Err = KeyTextError;

    fn from_str(text: &str) -> Result<Self, KeyTextError> {
        let parse = || {
            let digits = text.strip_prefix(TEXT_PREFIX)?.as_bytes();
            let mut key = [0; 32];
            if digits.len() != 64 {
                return None;
            }
            for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
                let digit = |at: usize| char::from(pair[at]).to_digit(16);
                *byte = (digit(0)? * 16 + digit(1)?) as u8;
            }
            Some(Self(key))
        };
        parse().ok_or_else(|| KeyTextError { found: text.chars().take(80).collect() })
    }
}

/// Something about a key or a file of keys is wrong.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// The identity's file holds something else.
    #[error("{path}: not an Ed25519 key that Dwell wrote; move it away, and a new identity is made")]
    NotAKey {
        /// Which file.
        path: PathBuf,
    },
    /// Others can read the private key.
    #[error("{path}: others can read this private key (mode {mode:03o}); run `chmod 600 {path}`")]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A line of the file of peers is wrong.
    #[error("{path}:{line}: {source}")]
    Peer {
        /// Which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: KeyTextError,
    },
    /// No key could be made.
    #[error("the operating system gives no random bytes for a key")]
    NoRandomness,
}

/// The identity of an installation: its private key.
#[derive(Clone)]
pub struct Identity {
    pkcs8: Vec<u8>,
    public: PublicKey,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.public).finish()
    }
}

impl Identity {
    /// Name of the private key's file.
    pub const FILE: &'static str = "identity.key";

    /// A new one, kept nowhere.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn generate() -> Result<Self, IdentityError> {
        let document =
            Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| IdentityError::NoRandomness)?;
        Self::from_pkcs8(document.as_ref()).ok_or(IdentityError::NoRandomness)
    }

    /// The one kept in `directory`; made there, with the directory, at the first call.
    ///
    /// # Errors
    /// When the file cannot be read or made, holds something else, or can be read by others.
    pub fn load_or_create(directory: &Path) -> Result<Self, IdentityError> {
        let path = directory.join(Self::FILE);
        match fs::read(&path) {
            Ok(bytes) => Self::check(&path, &bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(directory, &path),
            Err(source) => Err(IdentityError::File { path, source }),
        }
    }

    fn check(path: &Path, bytes: &[u8]) -> Result<Self, IdentityError> {
        let data =
            fs::metadata(path).map_err(|source| IdentityError::File { path: path.to_owned(), source })?;
        let mode = data.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(IdentityError::Exposed { path: path.to_owned(), mode });
        }
        Self::from_pkcs8(bytes).ok_or_else(|| IdentityError::NotAKey { path: path.to_owned() })
    }

    /// Writes the whole key under another name, then gives it the right one: of two that start at once, one wins, and
    /// nobody ever sees half a key.
    fn create(directory: &Path, path: &Path) -> Result<Self, IdentityError> {
        let identity = Self::generate()?;
        let temporary = directory.join(format!(".{}.{}", Self::FILE, identity.public));
        let write = || {
            fs::create_dir_all(directory)?;
            let mut file =
                fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            file.write_all(&identity.pkcs8)?;
            file.sync_all()?;
            match fs::hard_link(&temporary, path) {
                // A file system without links: then the last of two wins.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(&temporary, path),
                linked => fs::remove_file(&temporary).and(linked),
            }
        };
        match write() {
            Ok(()) => Ok(identity),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::load_or_create(directory),
            Err(source) => Err(IdentityError::File { path: path.to_owned(), source }),
        }
    }

    fn from_pkcs8(bytes: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(bytes).ok()?;
        let public = PublicKey(pair.public_key().as_ref().try_into().ok()?);
        Some(Self { pkcs8: bytes.to_vec(), public })
    }

    /// What others know it by.
    #[must_use]
    pub const fn public_key(&self) -> PublicKey {
        self.public
    }

    /// The private key in PKCS #8 form.
    #[must_use]
    pub(crate) fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }
}

/// Whom this installation knows: public keys, each with a comment.
///
/// As a file: one key a line, a comment after it; empty lines, and lines that begin with `#`, mean nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers(BTreeMap<PublicKey, String>);

impl Peers {
    /// Those of a file.
    ///
    /// # Errors
    /// When it cannot be read; names the line that is wrong.
    pub fn load(path: &Path) -> Result<Self, IdentityError> {
        let file = |source| IdentityError::File { path: path.to_owned(), source };
        let bytes = fs::read(path).map_err(file)?;
        Self::parse(path, &String::from_utf8_lossy(&bytes))
    }

    /// Those of a file's text; `path` is for errors.
    ///
    /// # Errors
    /// Names the line that is wrong.
    pub fn parse(path: &Path, text: &str) -> Result<Self, IdentityError> {
        let mut peers = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, comment) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let key = key.parse().map_err(|source| IdentityError::Peer {
                path: path.to_owned(),
                line: index + 1,
                source,
            })?;
            peers.0.insert(key, comment.trim().to_owned());
        }
        Ok(peers)
    }

    /// Just one.
    #[must_use]
    pub fn only(key: PublicKey) -> Self {
        Self(BTreeMap::from([(key, String::new())]))
    }

    /// Adds one.
    pub fn add(&mut self, key: PublicKey, comment: &str) {
        self.0.insert(key, comment.to_owned());
    }

    /// Whether `key` is one of them.
    #[must_use]
    pub fn know(&self, key: &PublicKey) -> bool {
        self.0.contains_key(key)
    }

    /// What is said of one of them; `None` of one that is unknown.
    #[must_use]
    pub fn comment(&self, key: &PublicKey) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Keys and comments.
    pub fn iter(&self) -> impl Iterator<Item = (&PublicKey, &str)> {
        self.0.iter().map(|(key, comment)| (key, comment.as_str()))
    }
}

impl FromIterator<PublicKey> for Peers {
    fn from_iter<I: IntoIterator<Item = PublicKey>>(keys: I) -> Self {
        Self(keys.into_iter().map(|key| (key, String::new())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn is_made_once_and_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("a/b");
        let first = Identity::load_or_create(&home).unwrap();
        assert_eq!(Identity::load_or_create(&home).unwrap().public_key(), first.public_key());
        let path = home.join(Identity::FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&home).unwrap().count(), 1);

        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = Identity::load_or_create(&home).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, b"cut short").unwrap();
        assert!(matches!(Identity::load_or_create(&home), Err(IdentityError::NotAKey { .. })));
    }

    #[test]
    fn of_many_that_start_at_once_all_are_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let load = || Identity::load_or_create(directory.path()).unwrap().public_key();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn peers_are_read_and_the_wrong_line_is_named() {
        let (a, b) = (PublicKey([1; 32]), PublicKey([0xab; 32]));
        let text = format!("# my peers\n\n{a} the machine in the cellar\n  {b}\n");
        let peers = Peers::parse(Path::new("peers"), &text).unwrap();
        assert!(peers.know(&a) && peers.know(&b));
        assert_eq!(peers.iter().next().unwrap().1, "the machine in the cellar");
        let error = Peers::parse(Path::new("peers"), &format!("{text}ed25519:12 short\n")).unwrap_err();
        assert!(error.to_string().starts_with("peers:5: \"ed25519:12\" is not a public key"), "{error}");
    }

    proptest! {
        #[test]
        fn keys_survive_their_forms(bytes: [u8; 32]) {
            let key = PublicKey(bytes);
            prop_assert_eq!(key.to_string().parse::<PublicKey>().unwrap(), key);
            prop_assert_eq!(PublicKey::from_spki(&key.to_spki()), Some(key));
        }

        #[test]
        fn never_panics_on_any_text(text: String, bytes: Vec<u8>) {
            let _ = Peers::parse(Path::new("peers"), &text);
            let _ = Peers::parse(Path::new("peers"), &format!("ed25519:{text}"));
            let _ = PublicKey::from_spki(&bytes);
        }
    }
}
