//! Flows: what is sent, and what those read that know them.

use crate::frames::{START, datagram, established, exchange, some, write, write_bytes};
use crate::{dwell, folder, text};
use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The messages that come of a capture.
fn messages(here: &Path, option: &str, asked: &[&str]) -> Vec<Vec<u8>> {
    let collector = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    collector.set_read_timeout(Some(Duration::from_millis(200))).expect("set");
    let to = collector.local_addr().expect("bound").to_string();
    let output = dwell(here, &[&["watch", "a.pcap", option, &to], asked].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    // They wait in the socket.
    let mut message = [0; 2_000];
    let receive = || collector.recv(&mut message).ok().map(|length| message[..length].to_vec());
    std::iter::from_fn(receive).collect()
}

#[test]
fn ipfix_has_the_delays_of_exact_halves_alone() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    let all = messages(here.path(), "--ipfix", &["--probe", "edge"]);
    let [templates, data] = &all[..] else { panic!("{all:?}") };
    for message in [templates, data] {
        assert_eq!(message[..2], [0, 10]);
        assert_eq!(usize::from(u16::from_be_bytes([message[2], message[3]])), message.len());
    }
    let (templates, data) = (&templates[16..], &data[16..]);
    assert_eq!(templates[..2], [0, 2]);
    // Client's delay, microseconds, of ntop: element 83, four bytes, enterprise 35632.
    let element = [0x80, 83, 0, 4, 0, 0, 0x8b, 0x30];
    assert!(templates.windows(8).any(|eight| eight == element));
    // IPv4 with both delays; one record: neither refused nor unanswered connections have one.
    assert_eq!(data[..2], [1, 3]);
    let record = &data[4..];
    assert_eq!(record[..8], [10, 0, 0, 1, 192, 0, 2, 9]);
    assert_eq!(record[8..13], [0x03, 0xe8, 0x01, 0xbb, 6]);
    let milliseconds = |at: usize| u64::from_be_bytes(record[at..at + 8].try_into().expect("eight"));
    assert_eq!(
        (milliseconds(13), milliseconds(21)),
        (u64::from(START) * 1_000, u64::from(START) * 1_000 + 15)
    );
    // SYN and ACK.
    assert_eq!(record[29], 0x12);
    let word = |at: usize| u32::from_be_bytes(record[at..at + 4].try_into().expect("four"));
    assert_eq!([word(30), word(34), word(38), word(42)], [0, 5_000, 0, 10_000]);
    assert_eq!(&record[46..51], b"\x04edge");
    assert!(record.len() < 54, "one record, padded to a word");
}

#[test]
fn that_nobody_takes_flows_is_told() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    // Bound by nobody any more.
    let free = UdpSocket::bind("127.0.0.1:0").expect("a socket").local_addr().expect("bound").to_string();
    let output = dwell(here.path(), &["watch", "a.pcap", "--ipfix", &free]);
    let told = text(&output.stderr);
    assert!(output.status.success() && told.contains(&format!("did not reach {free}: ")), "{told}");
}

#[test]
fn flows_of_a_file_do_not_go_all_at_once() {
    let here = folder();
    let connections = 3_000;
    let frames: Vec<_> =
        (0..connections).flat_map(|n| established(1_000 + n, u32::from(n) * 100_000)).collect();
    write(&here.path().join("a.pcap"), &frames);
    let collector = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = collector.local_addr().expect("bound");
    let taken = thread::spawn(move || {
        let (mut message, mut messages) = ([0; 2_000], 0);
        // The last one is empty.
        while collector.recv(&mut message).expect("received") > 0 {
            messages += 1;
        }
        messages
    });
    let began = Instant::now();
    let output = dwell(here.path(), &["watch", "a.pcap", "--ipfix", &to.to_string()]);
    let took = began.elapsed();
    assert!(output.status.success(), "{}", text(&output.stderr));
    UdpSocket::bind("127.0.0.1:0").expect("a socket").send_to(&[], to).expect("sent");
    let messages = taken.join().expect("counted");
    assert!(messages > 100 && took > Duration::from_millis(messages - 1), "{messages} in {took:?}");
}

/// A connection with a response, which takes 14 ms and 30 more, and others.
fn with_a_response(here: &Path) {
    write(&here.join("a.pcap"), &[some(), exchange(1_000, 300_000_000, 0, 14)].concat());
}

/// What tshark calls ntop's elements 82 to 87: seconds and microseconds of the client's delay, of the server's, and of the
/// application's. Later probes of ntop use these numbers for throughput.
const CLIENT: [&str; 2] =
    ["cflow.pie.ntop.src_to_dst_max_throughput", "cflow.pie.ntop.src_to_dst_min_throughput"];
const SERVER: [&str; 2] =
    ["cflow.pie.ntop.src_to_dst_avg_throughput", "cflow.pie.ntop.dst_to_src_max_throughput"];
const RESPONSE: [&str; 2] =
    ["cflow.pie.ntop.dst_to_src_min_throughput", "cflow.pie.ntop.dst_to_src_avg_throughput"];

/// What tshark says of the messages, packet by packet: each of these fields with all of its values.
fn dissected(here: &Path, messages: &[Vec<u8>], fields: &[&str]) -> Option<Vec<BTreeMap<String, String>>> {
    const PORT: u16 = 4_739;
    let frames: Vec<_> = (0..).zip(messages).map(|(at, message)| (at, datagram(9, PORT, message))).collect();
    write_bytes(&here.join("messages.pcap"), &frames);
    let mut command = Command::new("tshark");
    command.args(["-r", "messages.pcap", "-d", &format!("udp.port=={PORT},cflow"), "-T", "fields"]);
    command.args(fields.iter().flat_map(|field| ["-e", field])).current_dir(here).env("HOME", here);
    let Ok(output) = command.stderr(Stdio::null()).output() else {
        eprintln!("left out: tshark is not installed");
        return None;
    };
    let told = text(&output.stdout);
    let packet = |line: &str| -> BTreeMap<String, String> {
        fields.iter().map(|field| (*field).to_owned()).zip(line.split('\t').map(str::to_owned)).collect()
    };
    Some(told.lines().map(packet).collect())
}

#[test]
fn tshark_reads_every_value_and_finds_nothing_wrong() {
    for (option, version) in [("--ipfix", "10"), ("--netflow", "9")] {
        let here = folder();
        with_a_response(here.path());
        let sent = messages(here.path(), option, &["--continuous", "--probe", "edge"]);
        const FIELDS: [&str; 17] = [
            "cflow.version",
            "cflow.srcaddr",
            "cflow.dstaddr",
            "cflow.srcport",
            "cflow.dstport",
            "cflow.protocol",
            CLIENT[0],
            CLIENT[1],
            SERVER[0],
            SERVER[1],
            RESPONSE[0],
            RESPONSE[1],
            "cflow.if_name",
            "cflow.flowset_id",
            "cflow.no_template_found",
            "_ws.malformed",
            "_ws.expert.message",
        ];
        let Some(told) = dissected(here.path(), &sent, &FIELDS) else { return };
        assert_eq!(told.len(), 3, "templates, the handshake, the response: {told:?}");
        for packet in &told {
            assert_eq!(packet["cflow.version"], version);
            for wrong in ["_ws.malformed", "_ws.expert.message", "cflow.no_template_found"] {
                assert_eq!(packet[wrong], "", "{option}: {packet:?}");
            }
        }
        for packet in &told[1..] {
            let ends = ["cflow.srcaddr", "cflow.srcport", "cflow.dstaddr", "cflow.dstport", "cflow.protocol"];
            let ends = ends.map(|field| packet[field].as_str());
            assert_eq!(ends, ["10.0.0.1", "1000", "192.0.2.9", "443", "6"], "{option}: {packet:?}");
            assert_eq!(packet["cflow.if_name"], "edge", "{option}: {packet:?}");
        }
        let span = |packet: usize, of: [&str; 2]| of.map(|field| told[packet][field].as_str());
        assert_eq!(span(1, CLIENT), ["0", "5000"], "{option}: {told:?}");
        assert_eq!(span(1, SERVER), ["0", "10000"], "{option}");
        assert_eq!(span(2, RESPONSE), ["0", "44000"], "{option}: {told:?}");
        assert_eq!(span(2, CLIENT), ["", ""], "{option}");
    }
}

/// nfcapd listens for what the command sends by `option`; what nfdump then says.
fn collected(option: &str, here: &Path, asked: &[&str], format: &str) -> Option<String> {
    let free = UdpSocket::bind("127.0.0.1:0").expect("a socket").local_addr().expect("bound").port();
    let port = free.to_string();
    let flows = here.join("flows");
    fs::create_dir(&flows).expect("a folder");
    let listening = Command::new("nfcapd")
        .args(["-b", "127.0.0.1", "-p", &port, "-w"])
        .arg(&flows)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut listening) = listening else {
        eprintln!("left out: nfcapd is not installed");
        return None;
    };
    // The kernel tells who listens where.
    let bound = |table: String| table.lines().any(|line| line.contains(&format!(":{free:04X} ")));
    for _ in 0..100 {
        if bound(fs::read_to_string("/proc/net/udp").expect("a table")) {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let output = dwell(here, &[&["watch", "a.pcap", option, &format!("127.0.0.1:{port}")], asked].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    thread::sleep(Duration::from_millis(300));
    let id = nix::unistd::Pid::from_raw(listening.id() as i32);
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).expect("told to end");
    listening.wait().expect("ended");
    let told =
        Command::new("nfdump").arg("-R").arg(&flows).args(["-q", "-o", format]).output().expect("nfdump");
    Some(text(&told.stdout))
}

#[test]
fn nfdump_reads_the_delays() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    let Some(told) = collected("--netflow", here.path(), &[], "fmt:%sa %sp %da %dp %cl %sl") else { return };
    let words: Vec<&str> = told.split_whitespace().collect();
    assert_eq!(words, ["10.0.0.1", "1000", "192.0.2.9", "443", "5.000", "10.000"], "{told}");
}

#[test]
fn nfdump_reads_responses() {
    let here = folder();
    with_a_response(here.path());
    let format = "fmt:%sa %sp %da %dp %cl %sl %al";
    let Some(told) = collected("--netflow", here.path(), &["--continuous"], format) else { return };
    let flows: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
    let with = |delays: [&'static str; 3]| [&["10.0.0.1", "1000", "192.0.2.9", "443"], &delays[..]].concat();
    assert_eq!(flows, [with(["5.000", "10.000", "0.000"]), with(["0.000", "0.000", "44.000"])], "{told}");
}

#[test]
fn nfdump_reads_the_flows_of_ipfix() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    let Some(told) = collected("--ipfix", here.path(), &[], "fmt:%sa %sp %da %dp %pr") else { return };
    let words: Vec<&str> = told.split_whitespace().collect();
    assert_eq!(words, ["10.0.0.1", "1000", "192.0.2.9", "443", "TCP"], "{told}");
}
