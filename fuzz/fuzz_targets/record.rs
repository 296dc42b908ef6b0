//! Records, whole and cut short.
#![no_main]

use dwell_store::Record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), bytes).expect("room for it");
    let _ = Record::load(file.path());
    let _ = Record::load_partial(file.path());
});
