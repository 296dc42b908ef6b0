//! Flows: what is sent, and what those read that know them.

use crate::frames::{Frame, START, datagram, established, exchange, over_v6, some, write, write_bytes};
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
fn a_half_of_less_than_half_a_microsecond_is_not_told_as_none() {
    let here = folder();
    let at = [0, 400, 2_800];
    let frames: Vec<_> =
        established(1_000, 0).into_iter().zip(at).map(|(one, at)| Frame { at, ..one }).collect();
    write(&here.path().join("a.pcap"), &frames);
    let all = messages(here.path(), "--ipfix", &[]);
    let record = &all[1][20..];
    let word = |at: usize| u32::from_be_bytes(record[at..at + 4].try_into().expect("four"));
    assert_eq!([word(30), word(34), word(38), word(42)], [0, 2, 0, 1]);
}

#[test]
fn messages_are_full_where_records_of_several_templates_alternate() {
    let here = folder();
    let frames: Vec<(u32, Vec<u8>)> = (0..200)
        .flat_map(|n: u16| {
            established(1_000 + n, u32::from(n) * 100_000).into_iter().map(move |one| (n, one))
        })
        .map(|(n, one)| (one.at, if n % 2 == 0 { one.bytes() } else { over_v6(&one) }))
        .collect();
    write_bytes(&here.path().join("a.pcap"), &frames);
    for (option, header) in [("--ipfix", 16), ("--netflow", 20)] {
        let all = messages(here.path(), option, &["--probe", "edge"]);
        // Without the templates.
        let data: Vec<&[u8]> =
            all.iter().map(Vec::as_slice).filter(|one| one[header] == 1 && one.len() <= 1_400).collect();
        assert_eq!(data.len() + 1, all.len());
        assert!(data.len() < 15, "{option}: {} messages", data.len());
        let named = if option == "--ipfix" { 5 } else { 4 };
        let (mut v4, mut v6) = (0, 0);
        for message in data {
            let before = v4 + v6;
            let mut rest = &message[header..];
            while let [a, b, c, d, ..] = *rest {
                let length = usize::from(u16::from_be_bytes([c, d]));
                match u16::from_be_bytes([a, b]) {
                    259 => v4 += (length - 4) / (46 + named),
                    263 => v6 += (length - 4) / (70 + named),
                    other => panic!("{other}"),
                }
                rest = &rest[length..];
            }
            let word = |at: usize| u32::from_be_bytes(message[at..at + 4].try_into().expect("four"));
            if option == "--ipfix" {
                assert_eq!(word(8) as usize, before, "the records before");
            } else {
                assert_eq!(word(0) as u16 as usize, v4 + v6 - before, "the records in it");
            }
        }
        assert_eq!((v4, v6), (100, 100), "{option}");
    }
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
    let frames: Vec<_> =
        (0..).zip(messages).map(|(at, message)| (at, datagram(51_000, PORT, message))).collect();
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
        assert_eq!(told.len(), 2, "templates, and a set of the handshake and one of the response: {told:?}");
        for packet in &told {
            assert_eq!(packet["cflow.version"], version);
            for wrong in ["_ws.malformed", "_ws.expert.message", "cflow.no_template_found"] {
                assert_eq!(packet[wrong], "", "{option}: {packet:?}");
            }
        }
        let packet = &told[1];
        assert_eq!(packet["cflow.flowset_id"], "259,264", "{option}: {packet:?}");
        // Of either record.
        for (field, value) in [
            ("cflow.srcaddr", "10.0.0.1,10.0.0.1"),
            ("cflow.srcport", "1000,1000"),
            ("cflow.dstaddr", "192.0.2.9,192.0.2.9"),
            ("cflow.dstport", "443,443"),
            ("cflow.protocol", "6,6"),
            ("cflow.if_name", "edge,edge"),
        ] {
            assert_eq!(packet[field], value, "{option}: {packet:?}");
        }
        // Of one alone: each has what its template tells, and no more.
        let span = |of: [&str; 2]| of.map(|field| packet[field].as_str());
        assert_eq!(span(CLIENT), ["0", "5000"], "{option}: {told:?}");
        assert_eq!(span(SERVER), ["0", "10000"], "{option}");
        assert_eq!(span(RESPONSE), ["0", "44000"], "{option}: {told:?}");
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
