//! The file of peers, and that of the own key.
#![no_main]

use dwell_net::{Identity, Peers, PublicKey};
use libfuzzer_sys::fuzz_target;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let _ = PublicKey::from_spki(bytes);
    if let Ok(peers) = Peers::parse(Path::new("peers"), &String::from_utf8_lossy(bytes)) {
        let text: String = peers.iter().map(|(key, comment)| format!("{key} {comment}\n")).collect();
        assert_eq!(Peers::parse(Path::new("peers"), &text).expect("what was read can be written"), peers);
    }
    let folder = tempfile::tempdir_in("/dev/shm").expect("room in memory");
    let file = folder.path().join(Identity::FILE);
    fs::write(&file, bytes).expect("room in memory");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a file of our own");
    if let Ok(identity) = Identity::load_or_create(folder.path()) {
        let again = Identity::load_or_create(folder.path()).expect("what was read once");
        assert_eq!(again.public_key(), identity.public_key());
        assert_eq!(fs::read(&file).expect("the file"), bytes, "nobody's key is written over");
    }
});
