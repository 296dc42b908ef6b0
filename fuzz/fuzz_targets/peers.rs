//! The file of peers.
#![no_main]

use dwell_net::{Peers, PublicKey};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let _ = PublicKey::from_spki(bytes);
    if let Ok(peers) = Peers::parse(Path::new("peers"), &String::from_utf8_lossy(bytes)) {
        let text: String = peers.iter().map(|(key, comment)| format!("{key} {comment}\n")).collect();
        assert_eq!(Peers::parse(Path::new("peers"), &text).expect("what was read can be written"), peers);
    }
});
