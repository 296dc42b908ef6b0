//! What goes wrong is told in one line, or counted; no file is lost by it, and no figure is wrong.

use crate::frames::{Frame, datagram, established, some, write, write_bytes};
use crate::{dwell, folder, lines, text};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// The reason, where there is one and nothing else.
fn reason(here: &Path, asked: &[&str], status: i32) -> String {
    let output = dwell(here, &[&["watch"], asked].concat());
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{asked:?}: {told}");
    assert_eq!(told.lines().count(), 1, "{asked:?}: {told}");
    told
}

#[test]
fn an_output_that_cannot_be_is_told_and_nothing_is_read() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    for option in ["--csv", "--parquet"] {
        let told = reason(here.path(), &["a.pcap", option, "none/there"], 1);
        assert!(told.contains("cannot write none/there"), "{told}");
    }
    let told = reason(here.path(), &["a.pcap", "--prometheus", "none/there.prom"], 1);
    assert!(told.contains("cannot write none/there.prom"), "{told}");
    let told = reason(here.path(), &["a.pcap", "--prometheus", "203.0.113.1:9464"], 1);
    assert!(told.contains("cannot serve at 203.0.113.1:9464"), "{told}");
    for option in ["--ipfix", "--netflow"] {
        let told = reason(here.path(), &["a.pcap", option, "nowhere.invalid:4739"], 1);
        assert!(told.contains("cannot send flows to nowhere.invalid:4739"), "{told}");
    }
    for wrong in [
        &["--ipfix", "127.0.0.1"][..],
        &["--netflow", "127.0.0.1:99999"],
        &["--ipfix", ":4739"],
        &["--probe", ""],
        &["--probe", "here and there"],
        &["--probe", "client"],
        &["--probe", "server"],
        &["--probe", "."],
        &["--probe", ".."],
        &["--identity", "keys"],
        &["--to", "dwell://127.0.0.1", "--from", "nolo"],
        &["--csv", "-"],
    ] {
        let output = dwell(here.path(), &[&["watch", "a.pcap"][..], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_full_disk_is_told_by_the_name_of_the_file() {
    let here = folder();
    let frames: Vec<Frame> =
        (0..3_000).flat_map(|port| established(1_000 + port, u32::from(port) * 100_000)).collect();
    write(&here.path().join("a.pcap"), &frames);
    for option in ["--csv", "--parquet"] {
        let told = reason(here.path(), &["a.pcap", option, "/dev/full"], 1);
        assert!(told.contains("/dev/full") && told.contains("No space left"), "{told}");
    }
    // Which of the two files it is.
    symlink("/dev/full", here.path().join("b.round-trips.csv")).expect("linked");
    let told = reason(here.path(), &["a.pcap", "--continuous", "--csv", "b.csv"], 1);
    assert!(told.contains("cannot write b.round-trips.csv: No space left"), "{told}");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    let output = command.args(["watch", "a.pcap", "--json"]).current_dir(here.path()).stdout(full).output();
    let output = output.expect("the command runs");
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("No space left"), "{told}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let here = folder();
    let frames: Vec<Frame> =
        (0..3_000).flat_map(|port| established(1_000 + port, u32::from(port) * 100_000)).collect();
    write(&here.path().join("a.pcap"), &frames);
    for asked in [&["watch", "a.pcap", "--json"][..], &["watch", "a.pcap"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
        command.args(asked).current_dir(here.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ended");
        assert_eq!(output.status.code(), Some(0), "{asked:?}: {}", text(&output.stderr));
    }
}

#[test]
fn nothing_that_is_read_or_written_is_overwritten() {
    let here = folder();
    let capture = here.path().join("a.pcap");
    write(&capture, &some());
    let before = fs::read(&capture).expect("read");
    fs::write(here.path().join("kept.csv"), "kept").expect("written");
    fs::write(here.path().join("text"), "no capture at all").expect("written");
    fs::copy(&capture, here.path().join("other.pcap")).expect("copied");
    let cases: [(&[&str], i32, &str); 6] = [
        (&["a.pcap", "--csv", "other.pcap"], 2, "other.pcap is a capture and would be overwritten"),
        (&["a.pcap", "--csv", "a.pcap"], 2, "a.pcap is a capture and would be overwritten"),
        (&["a.pcap", "--parquet", "./a.pcap"], 2, "./a.pcap is a capture and would be overwritten"),
        (&["a.pcap", "--csv", "one", "--parquet", "one"], 2, "one would be overwritten"),
        (&["a.pcap", "--csv", "one.prom", "--prometheus", "one.prom"], 2, "one.prom would be overwritten"),
        // Of a run that cannot be, no file is touched.
        (&["text", "--csv", "kept.csv"], 2, "text"),
    ];
    for (asked, status, part) in cases {
        let told = reason(here.path(), asked, status);
        assert!(told.contains(part), "{asked:?}: {told}");
    }
    assert_eq!(fs::read(&capture).expect("read"), before);
    assert_eq!(fs::read_to_string(here.path().join("kept.csv")).expect("read"), "kept");
}

#[test]
fn cut_at_any_byte_it_tells_what_is_whole_and_nothing_else() {
    let here = folder();
    let file = here.path().join("a.pcap");
    write(&file, &[established(1_000, 0), established(1_001, 50_000_000)].concat());
    let whole = fs::read(&file).expect("read");
    // The halves of whole handshakes, and never others.
    for kept in (0..whole.len()).step_by(7) {
        fs::write(&file, &whole[..kept]).expect("written");
        let output = dwell(here.path(), &["watch", "a.pcap", "--json", "--continuous"]);
        let (told, account) = (lines(&output), text(&output.stderr));
        let status = output.status.code().expect("no signal");
        // What has not even a whole header is no capture.
        let expected = if (1..24).contains(&kept) { 2 } else { i32::from(told.is_empty()) };
        assert!(status == expected && !account.is_empty(), "{kept}: {status}: {account}");
        let exact: Vec<&Value> = told.iter().filter(|line| line["quality"] == "exact").collect();
        let packets = kept.saturating_sub(24) / (16 + 54);
        assert_eq!(exact.len(), packets / 3, "{kept} bytes: {told:?}");
        for line in exact {
            assert_eq!(
                (line["server_half_ns"].as_i64(), line["rtt_ns"].as_i64()),
                (Some(10_000_001), Some(15_000_001))
            );
        }
    }
}

#[test]
fn a_clock_that_runs_backwards_makes_no_half() {
    let here = folder();
    let mut frames = established(1_000, 100_000_000);
    frames[1].at -= 50_000_000;
    write(&here.path().join("a.pcap"), &[frames, established(1_001, 200_000_000)].concat());
    let output = dwell(here.path(), &["watch", "a.pcap", "--json", "--continuous", "--csv", "a.csv"]);
    let told = lines(&output);
    let line = told.iter().find(|line| line["client_port"] == 1_000).expect("told");
    assert!(line["server_half_ns"].is_null(), "{line}");
    for line in &told {
        for key in ["server_half_ns", "client_half_ns", "rtt_ns", "least_ns"] {
            assert!(line[key].as_i64().is_none_or(|ns| ns >= 0), "{line}");
        }
    }
    assert!(text(&output.stderr).contains("clock stepped"), "{}", text(&output.stderr));
}

#[test]
fn packets_of_no_bytes_and_of_64_kib_are_counted() {
    let here = folder();
    let (small, large) = (Vec::new(), datagram(7, 9, &vec![0xc0; 65_535 - 28]));
    let frames = [(0, small), (1, large), (2, vec![0; 65_535])];
    write_bytes(&here.path().join("a.pcap"), &frames);
    write(&here.path().join("b.pcap"), &established(1_000, 0));
    let output = dwell(here.path(), &["watch", "a.pcap", "b.pcap", "--json", "--continuous"]);
    let (told, account) = (lines(&output), text(&output.stderr));
    assert_eq!((told.len(), &told[0]["rtt_ns"]), (1, &15_000_001.into()), "{account}");
    assert!(account.contains("6 packets looked at, skipped: "), "{account}");
    assert!(account.contains("1 malformed"), "{account}");
}

#[test]
fn links_that_are_not_known_are_told_by_their_numbers() {
    let here = folder();
    let file = here.path().join("a.pcap");
    write(&file, &established(1_000, 0));
    let mut bytes = fs::read(&file).expect("read");
    bytes[20..24].copy_from_slice(&147_u32.to_le_bytes());
    fs::write(&file, bytes).expect("written");
    let told = reason(here.path(), &["a.pcap"], 1);
    assert!(told.contains("3 unknown-link (type 147)"), "{told}");
}

#[test]
fn a_file_of_nothing_is_no_capture() {
    let here = folder();
    fs::write(here.path().join("empty"), "").expect("written");
    let told = reason(here.path(), &["empty"], 1);
    assert!(told.contains("empty"), "{told}");
    assert!(reason(here.path(), &["."], 2).contains('.'));
}

#[test]
fn interfaces_are_watched_by_themselves_and_once() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    for (asked, why) in [
        (&["lo", "a.pcap"][..], "lo is an interface, which is not watched together with captures"),
        (&["a.pcap", "lo"], "lo is an interface, which is not watched together with captures"),
        (&["lo", "lo"], "lo is given twice"),
        (&["lo", "none0"], "\"none0\" is neither a file nor an interface"),
    ] {
        let told = reason(here.path(), asked, 2);
        assert!(told.contains(why), "{told}");
    }
}
