//! `dwell echo` as a user meets it.

mod captures;
mod fsd;

use std::path::Path;
use std::process::{Command, Output};

fn dwell(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dwell"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the command runs")
}

/// The status, and standard error, which is one line where it is not 0.
fn failed(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = dwell(folder, arguments);
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(text.lines().count(), 1, "one line of reason: {text}");
    (output.status.code().expect("a status"), text)
}

/// A pcap file of nanoseconds with packets of a link: Ethernet gets its header.
fn pcap(link: u32, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, link]);
    for (at, packet) in packets {
        let mut bytes = if link == 1 { [[2; 12].as_slice(), &[8, 0]].concat() } else { Vec::new() };
        bytes.extend(packet);
        let length = bytes.len() as u32;
        file.extend(words(&[(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, length, length]));
        file.extend(bytes);
    }
    file
}
