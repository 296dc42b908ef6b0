//! What is told of captures.

use crate::frames::{Frame, established, refused, unanswered, write, write_bytes};
use crate::{dwell, folder, lines, text};
use serde_json::json;

#[test]
fn each_connection_is_an_object_a_line() {
    let here = folder();
    let frames =
        [established(1_000, 0), refused(1_001, 100_000_000), unanswered(1_002, 200_000_000)].concat();
    write(&here.path().join("a.pcap"), &frames);
    let output = dwell(here.path(), &["watch", "a.pcap", "--json", "--probe", "border"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = lines(&output);
    let of = |port: u16| told.iter().find(|line| line["client_port"] == port).expect("told");
    let whole = of(1_000);
    let expected = json!({
        "probe": "border",
        "client": "10.0.0.1",
        "client_port": 1000,
        "server": "192.0.2.9",
        "server_port": 443,
        "isn_client": 100,
        "isn_server": 900,
        "t_syn_ns": 1_700_000_000_000_000_000_i64,
        "server_half_ns": 10_000_001,
        "client_half_ns": 5_000_000,
        "rtt_ns": 15_000_001,
        "quality": "exact",
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&whole[key], value, "{key}");
    }
    assert_eq!(whole["flags"], json!(["no-timestamps"]));
    // Refused: the host's answer, and no round trip of a connection.
    let refused = of(1_001);
    assert_eq!((&refused["quality"], &refused["server_half_ns"]), (&json!("refused"), &json!(2_000_000)));
    // What is not known is null, never 0.
    let unanswered = of(1_002);
    assert_eq!(unanswered["quality"], "unfinished");
    for key in ["server_half_ns", "client_half_ns", "rtt_ns", "isn_server", "server_half_candidates_ns"] {
        assert!(unanswered[key].is_null(), "{key}: {}", unanswered[key]);
    }
    assert!(refused["client_half_ns"].is_null() && refused["rtt_ns"].is_null(), "{refused}");
    assert_eq!(told.len(), 3);
    let account = text(&output.stderr);
    assert!(account.contains("6 packets looked at, none skipped"), "{account}");
    assert!(account.contains("out of the ordinary: 1 cut off"), "{account}");
}

#[test]
fn several_captures_of_one_place_are_merged_by_time() {
    let here = folder();
    // The SYN in one file, the answers in another.
    let mut first = established(1_000, 0);
    let second = first.split_off(1);
    write(&here.path().join("second.pcap"), &second);
    write(&here.path().join("first.pcap"), &first);
    let output = dwell(here.path(), &["watch", "second.pcap", "first.pcap", "--json"]);
    let told = lines(&output);
    assert_eq!(told.len(), 1, "{}", text(&output.stderr));
    assert_eq!((&told[0]["rtt_ns"], &told[0]["probe"]), (&json!(15_000_001), &json!("second.pcap")));
}

#[test]
fn a_person_gets_a_table_and_the_counts() {
    let here = folder();
    let frames: Vec<_> = (0..20).flat_map(|n| established(2_000 + n, u32::from(n) * 20_000_000)).collect();
    write(&here.path().join("a.pcap"), &frames);
    let output = dwell(here.path(), &["watch", "a.pcap", "--plot", "a.svg"]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for part in ["20 TCP handshakes seen at a.pcap", "20 exact", "192.0.2.0/24", "60 packets looked at"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(told.lines().all(|line| line.chars().count() <= 110), "{told}");
    let picture = std::fs::read_to_string(here.path().join("a.svg")).expect("a picture");
    assert!(picture.contains("server half (20)") && picture.contains("round trip (20)"));
}

#[test]
fn what_cannot_be_watched_is_told_on_one_line() {
    let here = folder();
    write(&here.path().join("empty.pcap"), &[]);
    std::fs::write(here.path().join("text"), "no capture at all").expect("written");
    let cases = [
        (&["watch", "nowhere0"][..], 2, "neither a file nor an interface"),
        (&["watch", "empty.pcap", "--seconds", "1"][..], 2, "for interfaces"),
        (&["watch", "empty.pcap", "--record", "r"][..], 2, "keeps no record"),
        (&["watch", "text", "text"][..], 2, "twice"),
        (&["watch", "text"][..], 2, "text"),
        (&["watch", "empty.pcap"][..], 1, "no TCP handshake"),
    ];
    for (arguments, status, part) in cases {
        let output = dwell(here.path(), arguments);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {told}");
        assert!(told.contains(part) && told.lines().count() == 1, "{arguments:?}: {told}");
    }
}

#[test]
fn a_capture_that_is_cut_off_is_good_up_to_there_and_says_so() {
    let here = folder();
    let file = here.path().join("a.pcap");
    write(&file, &[established(1_000, 0), established(1_001, 50_000_000)].concat());
    let whole = std::fs::read(&file).expect("read");
    std::fs::write(&file, &whole[..whole.len() - 30]).expect("written");
    let output = dwell(here.path(), &["watch", "a.pcap", "--json"]);
    assert_eq!(lines(&output).iter().filter(|line| line["quality"] == "exact").count(), 1);
    assert!(text(&output.stderr).contains("cut off after 5 whole packets"), "{}", text(&output.stderr));
}

#[test]
fn a_coarse_clock_is_told() {
    let here = folder();
    let file = here.path().join("a.pcapng");
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let section = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
    // Ethernet, in milliseconds.
    let interface = words(&[1, 32, 1, 0, 9 | 1 << 16, 3, 0, 32]);
    std::fs::write(&file, [section, interface].concat()).expect("written");
    let told = text(&dwell(here.path(), &["watch", "a.pcapng"]).stderr);
    assert!(
        told.contains("a.pcapng has times in units of 1.0 ms: each half can be off by as much"),
        "{told}"
    );
}

/// The same connection to a server of this network.
fn to_network(network: [u8; 3], frames: Vec<Frame>) -> impl Iterator<Item = (u32, Vec<u8>)> {
    frames.into_iter().map(move |frame| {
        let mut bytes = frame.bytes();
        let at = if frame.by_client { 30 } else { 26 };
        bytes[at..at + 3].copy_from_slice(&network);
        (frame.at, bytes)
    })
}

#[test]
fn a_network_that_comes_when_all_have_their_places_is_told_and_the_others_are_a_row() {
    let here = folder();
    let of = |n: u16, network| to_network(network, established(1_000 + n, u32::from(n) * 500_000));
    let early = |count: u16| (0..count).flat_map(move |n| of(n, [11, (n >> 8) as u8, n as u8]));
    let late = (1_500..1_700).flat_map(|n| of(n, [99, 9, 9]));
    write_bytes(&here.path().join("a.pcap"), &Vec::from_iter(early(1_500).chain(late)));
    let told = text(&dwell(here.path(), &["watch", "a.pcap"]).stdout);
    let rows: Vec<Vec<&str>> = told
        .lines()
        .skip_while(|line| !line.contains("network of servers"))
        .skip(2)
        .take_while(|line| line.starts_with(' '))
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(rows[0], ["99.9.9.0/24", "at least 200", "200", "10.0 ms", "10.0 ms"], "{told}");
    assert_eq!(rows[10][..3], ["at least 991 others", "1 491", "1 491"], "{told}");
    assert!(told.contains("at least: 1 000 networks are told apart at a time"), "{told}");
    // As long as each has a place, all is known.
    write_bytes(&here.path().join("a.pcap"), &Vec::from_iter(early(12)));
    let told = text(&dwell(here.path(), &["watch", "a.pcap"]).stdout);
    assert!(told.contains(" 2 others") && !told.contains("at least"), "{told}");
}
