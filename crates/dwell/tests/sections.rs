//! `dwell sections`, from captures and from a warehouse.

use dwell_core::Nanos;
use dwell_core::tcp::{Ending, Endpoint, Flags, Half, Handshake};
use dwell_store::warehouse::{Batch, Day, Minute, Sqlite, Store as _};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn dwell(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dwell")).current_dir(folder).args(arguments).output().expect("dwell")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn lines(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

const SYN: u8 = 2;
const ACK: u8 = 16;

/// A capture of raw IPv4 with nanoseconds.
struct Capture(Vec<u8>);

impl Capture {
    fn new() -> Self {
        let mut bytes = 0xa1b2_3c4du32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0]);
        for word in [0u32, 0, 65_535, 101] {
            bytes.extend(word.to_le_bytes());
        }
        Self(bytes)
    }

    fn segment(&mut self, at: u64, ends: [(u8, u16); 2], flags: u8, sequence: u32, acknowledgment: u32) {
        let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
        for (last, _) in ends {
            packet.extend([192, 0, 2, last]);
        }
        for (_, port) in ends {
            packet.extend(port.to_be_bytes());
        }
        packet.extend(sequence.to_be_bytes());
        packet.extend(acknowledgment.to_be_bytes());
        packet.extend([0x50, flags, 255, 255, 0, 0, 0, 0]);
        for word in [at / 1_000_000_000, at % 1_000_000_000, 40, 40] {
            self.0.extend((word as u32).to_le_bytes());
        }
        self.0.extend(packet);
    }

    /// A handshake, at a place with these halves.
    fn handshake(&mut self, n: u32, at: u64, client: u8, server_half: u64, client_half: u64) {
        let (client, server) = ((client, 10_000 + n as u16), (99, 443));
        self.segment(at, [client, server], SYN, n, 0);
        self.segment(at + server_half, [server, client], SYN | ACK, 7 * n, n + 1);
        self.segment(at + server_half + client_half, [client, server], ACK, n + 1, 7 * n + 1);
    }
}

/// Sections of 1, 2 and 5 ms; the clock of beta is 40 s ahead.
fn captures(folder: &Path, client_at_beta: u8) {
    let (alpha, beta) = seen(client_at_beta);
    fs::write(folder.join("alpha.pcap"), alpha.0).expect("a file");
    fs::write(folder.join("beta.pcap"), beta.0).expect("a file");
}

fn seen(client_at_beta: u8) -> (Capture, Capture) {
    let (mut alpha, mut beta) = (Capture::new(), Capture::new());
    for n in 1..=100u32 {
        let at = 1_000_000_000_000 + u64::from(n) * 10_000_000;
        alpha.handshake(n, at, 1, 7_000_000, 1_000_000);
        beta.handshake(n, at + 40_000_000_000, client_at_beta, 5_000_000, 3_000_300);
    }
    (alpha, beta)
}

#[test]
fn two_captures_make_three_sections() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path(), 1);
    // Given in the wrong order: it is told by the connections.
    let asked =
        ["sections", "beta.pcap", "alpha.pcap", "--json", "--csv", "all.csv", "--parquet", "all.parquet"];
    let output = dwell(folder.path(), &asked);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = lines(&output);
    assert_eq!(lines.len(), 300);
    let three: Vec<[&Value; 6]> = lines[..3]
        .iter()
        .map(|line| {
            ["from", "to", "rtt_ns", "rtt_server_side_ns", "rtt_client_side_ns", "consistency_ns"]
                .map(|key| &line[key])
        })
        .collect();
    let told = |value: &Value| value.to_string();
    let expected = [
        ["\"client\"", "\"alpha\"", "1000000", "null", "1000000", "null"],
        ["\"alpha\"", "\"beta\"", "2000150", "2000000", "2000300", "-300"],
        ["\"beta\"", "\"server\"", "5000000", "5000000", "null", "null"],
    ];
    for (line, expected) in three.iter().zip(expected) {
        assert_eq!(line.map(told), expected);
    }
    assert!(lines.iter().all(|line| line["quality"] == "exact" && line["nat"] == false));
    let csv = fs::read_to_string(folder.path().join("all.csv")).expect("a file");
    assert_eq!(csv.lines().count(), 301);
    assert!(csv.starts_with(
        "client,client_port,server,server_port,isn_client,isn_server,t_first_ns,section,from,to,"
    ));
    // Columns are what JSON says, null included.
    let reader =
        SerializedFileReader::new(fs::File::open(folder.path().join("all.parquet")).expect("a file"));
    let reader = reader.expect("Parquet");
    let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), lines.len());
    for (line, row) in lines.iter().zip(&rows) {
        let columns: BTreeMap<String, String> =
            row.get_column_iter().map(|(name, field)| (name.clone(), field.to_string())).collect();
        let line = line.as_object().expect("an object").iter();
        assert_eq!(columns, line.map(|(name, value)| (name.clone(), value.to_string())).collect());
    }
}

#[test]
fn what_is_given_by_one_name_is_of_one_place() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path(), 1);
    let alpha = fs::read(folder.path().join("alpha.pcap")).expect("a file");
    // Within a handshake, as a capture that rotates is cut.
    let (header, packets) = alpha.split_at(24);
    let (first, second) = packets.split_at(151 * 56);
    for (name, part) in [("first.pcap", first), ("second.pcap", second)] {
        fs::write(folder.path().join(name), [header, part].concat()).expect("a file");
    }
    let whole = dwell(folder.path(), &["sections", "alpha.pcap", "beta.pcap", "--json"]);
    assert_eq!(lines(&whole).len(), 300);
    let parts = ["sections", "alpha=second.pcap", "beta.pcap", "alpha=first.pcap", "--json"];
    let parts = dwell(folder.path(), &parts);
    assert_eq!(text(&parts.stdout), text(&whole.stdout));
    assert_eq!(text(&parts.stderr), text(&whole.stderr));
}

#[test]
fn the_table_names_the_order_and_who_is_to_blame() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path(), 1);
    let output = dwell(
        folder.path(),
        &["sections", "b=beta.pcap", "a=alpha.pcap", "--by", "prefix", "--plot", "p.svg"],
    );
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(told.contains("order from client to server: a, b (100.0 % of 100 connections agree"), "{told}");
    assert!(told.contains("Blame b to server: 62 % of the median"), "{told}");
    assert!(told.contains("192.0.2.0/24"), "{told}");
    // A terminal of 80 columns breaks no word of its tables.
    let tables = told.split("Blame").next().expect("a part");
    assert!(tables.lines().all(|line| line.chars().count() <= 80), "{told}");
    let picture = fs::read_to_string(folder.path().join("p.svg")).expect("a picture");
    assert!(picture.contains("sum of medians") && picture.contains("client to a"));
    let output = dwell(folder.path(), &["sections", "alpha.pcap", "beta.pcap", "--order", "beta,alpha"]);
    let told = text(&output.stdout);
    let against = ["100 connections run the other way", "client to alpha", "alpha to beta", "beta to server"];
    assert!(against.iter().all(|part| told.contains(part)) && !told.contains("inconsistent"), "{told}");
}

/// Of 1, 2 and 5 ms; each fourth connection is opened from the right, and of one it does not show.
fn both_ways(folder: &Path) {
    let (mut alpha, mut beta) = (Capture::new(), Capture::new());
    for n in 1..=400u32 {
        let at = 1_000_000_000_000 + u64::from(n) * 10_000_000;
        let is_turned = n % 4 == 0;
        for (capture, right, left) in [(&mut alpha, 7_000_000, 1_000_000), (&mut beta, 5_000_000, 3_000_000)]
        {
            let [server_half, client_half] = if is_turned { [left, right] } else { [right, left] };
            capture.handshake(n, at, if is_turned { 2 } else { 1 }, server_half, client_half);
        }
    }
    // Alpha alone saw this one.
    alpha.handshake(500, 1_000_000_000_000, 3, 7_000_000, 1_000_000);
    fs::write(folder.join("alpha.pcap"), alpha.0).expect("a file");
    fs::write(folder.join("beta.pcap"), beta.0).expect("a file");
}

#[test]
fn connections_from_the_other_side_are_told_by_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    both_ways(folder.path());
    let asked = ["sections", "alpha.pcap", "beta.pcap", "--json", "--prometheus", "a.prom"];
    for order in [&[][..], &["--order", "alpha,beta"]] {
        let output = dwell(folder.path(), &[&asked[..], order].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("100 connections run the other way"),
            "{}",
            text(&output.stderr)
        );
        let lines = lines(&output);
        let told = |client: &str| -> BTreeMap<String, usize> {
            let mut told = BTreeMap::new();
            for line in lines.iter().filter(|line| line["client"] == client && line["quality"] == "exact") {
                let parts = ["section", "from", "to", "rtt_ns", "way"].map(|key| line[key].to_string());
                *told.entry(parts.join(" ").replace('"', "")).or_default() += 1;
            }
            told
        };
        let of = |count, lines: [&str; 3]| lines.into_iter().map(|line| (line.to_owned(), count)).collect();
        let along =
            ["0 client alpha 1000000 along", "1 alpha beta 2000000 along", "2 beta server 5000000 along"];
        let against = [
            "0 client beta 5000000 against",
            "1 beta alpha 2000000 against",
            "2 alpha server 1000000 against",
        ];
        assert_eq!([told("192.0.2.1"), told("192.0.2.2")], [of(300, along), of(100, against)]);
        let unknown = ["0 client alpha 1000000 unknown", "1 alpha server 7000000 unknown"];
        assert_eq!(told("192.0.2.3"), BTreeMap::from(unknown.map(|line| (line.to_owned(), 1))));
        let page = fs::read_to_string(folder.path().join("a.prom")).expect("a page");
        let count = "dwell_section_rtt_seconds_count{from=\"client\",to=\"beta\",way=\"against\",network=\"192.0.2.0/24\"} 100";
        assert!(page.lines().any(|line| line == count), "{page}");
    }
    let output =
        dwell(folder.path(), &["sections", "alpha.pcap", "beta.pcap", "--by", "minute", "--plot", "p.svg"]);
    let told = text(&output.stdout);
    let (along, against) = told.split_once("the other way:\n").expect("a heading");
    assert!(along.contains("client to alpha") && !along.contains("client to beta"), "{told}");
    let (against, unknown) = against.split_once("one way or the other:\n").expect("a heading");
    assert!(against.contains("client to beta") && !against.contains("client to alpha"), "{told}");
    assert!(unknown.contains("client to alpha") && unknown.contains("alpha to server"), "{told}");
    assert!(told.contains("it does not show which way 1 connection went"), "{told}");
    assert!(
        told.contains("order from client to server: alpha, beta (100.0 % of 400 connections agree"),
        "{told}"
    );
    // Of those alone that run along the order: 5 of 8 ms.
    assert!(told.contains("Blame beta to server: 62 % of the median (5.0 ms of 8.0 ms)"), "{told}");
    let picture = fs::read_to_string(folder.path().join("p.svg")).expect("a picture");
    assert!(picture.contains("The other way") && picture.contains("beta to alpha"));
}

/// Of a connection alpha alone saw one, and five minutes later beta another with its ports and numbers.
#[test]
fn the_same_numbers_later_are_another_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut alpha, mut beta) = seen(1);
    alpha.handshake(200, 1_002_000_000_000, 1, 7_000_000, 1_000_000);
    beta.handshake(200, 1_342_000_000_000, 1, 5_000_000, 3_000_000);
    for (name, capture) in [("alpha.pcap", alpha), ("beta.pcap", beta)] {
        fs::write(folder.path().join(name), capture.0).expect("a file");
    }
    let lines = lines(&dwell(folder.path(), &["sections", "alpha.pcap", "beta.pcap", "--json"]));
    let told: Vec<String> = lines
        .iter()
        .filter(|line| line["isn_client"] == 200)
        .map(|line| format!("{} to {}: {}", line["from"], line["to"], line["rtt_ns"]).replace('"', ""))
        .collect();
    let apart = ["client to alpha: 1000000", "alpha to server: 7000000"].into_iter();
    let apart = apart.chain(["client to beta: 3000000", "beta to server: 5000000"]);
    assert_eq!(told, apart.collect::<Vec<_>>());
}

#[test]
fn rewritten_addresses_are_joined_by_their_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path(), 77);
    let output = dwell(folder.path(), &["sections", "alpha.pcap", "beta.pcap", "--json"]);
    let lines = lines(&output);
    assert_eq!(lines.len(), 300);
    assert!(lines.iter().all(|line| line["nat"] == true && line["client"] == "192.0.2.1"));
    assert!(text(&output.stderr).contains("100 of them joined by their sequence numbers alone"));
}

/// The client is called as where it is, by whichever names the places go.
#[test]
fn the_client_is_the_one_next_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path(), 77);
    for places in [["a=alpha.pcap", "b=beta.pcap"], ["z=alpha.pcap", "b=beta.pcap"]] {
        let lines = lines(&dwell(folder.path(), &["sections", places[0], places[1], "--json"]));
        assert!(lines.len() == 300 && lines.iter().all(|line| line["client"] == "192.0.2.1"), "{places:?}");
    }
}

#[test]
fn a_warehouse_tells_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Sqlite::create(&folder.path().join("store")).expect("a warehouse");
    for (probe, server, client) in
        [("in", 9_000_000, 1_000_000), ("mid", 6_000_000, 4_000_000), ("out", 1_000_000, 9_000_000)]
    {
        let records = (0..50u32)
            .map(|n| handshake(n, server, client))
            .filter(|one| probe != "mid" || one.isn_client % 2 == 0);
        let given_up = BTreeMap::from([("spool full".to_owned(), 3)]);
        let dropped = BTreeMap::from([(Minute(20_778 * 1_440 + 720), 17)]);
        let (probe, records) = (probe.to_owned(), records.collect());
        let batch = Batch { probe, epoch: 1, serial: 1, records, given_up, dropped };
        store.keep(&batch).expect("kept");
    }
    let output = dwell(folder.path(), &["sections", "--store", "store", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = text(&output.stderr);
    assert!(told.contains("in, mid, out") && told.contains("in gave up 3 records: spool full"), "{told}");
    let dropped = "mid missed packets at 2026-11-21 12:00: the kernel dropped 17; connections may be missing";
    assert!(told.contains(dropped), "{told}");
    let lines = lines(&output);
    assert_eq!(lines.len(), 25 * 4 + 25 * 3);
    let spanning: Vec<&Value> =
        lines.iter().filter(|line| line["from"] == "in" && line["to"] == "out").collect();
    assert_eq!(spanning.len(), 25);
    assert!(spanning.iter().all(|line| line["rtt_ns"] == 8_000_000));
    let output =
        dwell(folder.path(), &["sections", "--store", "store", "--order", "in,out", "--by", "minute"]);
    let told = text(&output.stdout);
    assert!(
        told.contains("in to out") && !told.contains("mid") && told.contains("2026-11-21 12:00"),
        "{told}"
    );
    assert!(told.contains(" minute, UTC "), "{told}");
    // What was given up days before the last minute is no matter.
    let output = dwell(folder.path(), &["sections", "--store", "store", "--last", "60"]);
    let told = text(&output.stdout);
    assert!(told.contains("0 connections") && !told.contains("gave up"), "{told}");
}

#[test]
fn networks_are_told_with_the_most_connections_first_and_are_a_bounded_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Sqlite::create(&folder.path().join("store")).expect("a warehouse");
    for (probe, server, client) in [("in", 9_000_000, 1_000_000), ("out", 1_000_000, 9_000_000)] {
        let of = |n: u32| {
            // The last ones are all of one network, which is not the first by name.
            let [_, high, low, _] = (n.min(700) << 8).to_be_bytes();
            let end = Endpoint { address: [10, high, low, 1].into(), port: 10_000 + n as u16 };
            Handshake { client: end, ..handshake(n, server, client) }
        };
        let rest = (10_000..11_500u32).map(|n| {
            let [_, _, high, low] = n.to_be_bytes();
            let end = Endpoint { address: [11, high, low, 1].into(), port: n as u16 };
            Handshake { client: end, ..handshake(n, server, client) }
        });
        let (probe, records) = (probe.to_owned(), (0..710).map(of).chain(rest).collect());
        let (given_up, dropped) = (BTreeMap::new(), BTreeMap::new());
        let batch = Batch { probe, epoch: 1, serial: 1, records, given_up, dropped };
        store.keep(&batch).expect("kept");
    }
    let told = text(&dwell(folder.path(), &["sections", "--store", "store", "--by", "prefix"]).stdout);
    let rows: Vec<Vec<&str>> = told
        .lines()
        .filter(|line| line.contains("client to in"))
        .skip(1)
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    let busy = rows.iter().position(|row| row[0] == "10.2.188.0/24").map(|place| (place, &rows[place]));
    // A warehouse tells connections in no order, and the first thousand networks have a row each, the server's among them.
    if let Some((place, row)) = busy {
        assert_eq!((place, row[2]), (0, "10"), "{told}");
    }
    let counts: Vec<u64> = rows.iter().map(|row| row[2].replace(' ', "").parse().expect("a count")).collect();
    assert_eq!((rows.len(), rows[999][0]), (1_000, "other"));
    assert!(counts[..999].is_sorted_by(|one, next| one >= next), "{counts:?}");
    assert_eq!(counts.iter().sum::<u64>(), 2_210);
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as i64
}

/// Two probes' batches of connections that began now.
fn ship(store: &mut Sqlite, serial: u64, numbers: std::ops::Range<u32>) {
    let now = now();
    for (probe, server, client) in [("in", 9_000_000, 1_000_000), ("out", 1_000_000, 9_000_000)] {
        let of = |n| Handshake { first_at: Nanos(now), ..handshake(n, server, client) };
        let (probe, records) = (probe.to_owned(), numbers.clone().map(of).collect());
        let (given_up, dropped) = (BTreeMap::new(), BTreeMap::new());
        store.keep(&Batch { probe, epoch: 1, serial, records, given_up, dropped }).expect("kept");
    }
}

#[test]
fn following_ends_quietly_where_its_reader_went_away() {
    for asked in [&["--json"][..], &[]] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Sqlite::create(&folder.path().join("store")).expect("a warehouse");
        let mut ship = |serial, numbers| ship(&mut store, serial, numbers);
        ship(1, 0..40);
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
        command.current_dir(folder.path()).args(["sections", "--store", "store", "--follow"]).args(asked);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("dwell");
        let mut told = BufReader::new(child.stdout.take().expect("piped"));
        told.read_line(&mut String::new()).expect("a line");
        drop(told);
        // That nobody reads shows where something more is told.
        let patience = Instant::now();
        let mut ended = None;
        for serial in 2.. {
            ended = child.try_wait().expect("a child");
            if ended.is_some() || patience.elapsed() > Duration::from_secs(20) {
                break;
            }
            ship(serial, serial as u32 * 100..serial as u32 * 100 + 1);
            sleep(Duration::from_millis(200));
        }
        child.kill().expect("over");
        let said = text(&child.wait_with_output().expect("an end").stderr);
        assert_eq!(ended.and_then(|status| status.code()), Some(0), "{asked:?}: {said}");
        assert!(!said.contains("Broken pipe"), "{said}");
    }
}

#[test]
fn following_goes_on_where_nothing_is_new_and_ends_with_the_table_when_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Sqlite::create(&folder.path().join("store")).expect("a warehouse");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as i64;
    for (probe, server, client, seen) in [("in", 9_000_000, 1_000_000, 41), ("out", 1_000_000, 9_000_000, 40)]
    {
        // The last of them waits for the other probe.
        let records = (0..seen).map(|n| Handshake { first_at: Nanos(now), ..handshake(n, server, client) });
        let batch = Batch {
            probe: probe.to_owned(),
            epoch: 1,
            serial: 1,
            records: records.collect(),
            given_up: BTreeMap::new(),
            dropped: BTreeMap::new(),
        };
        store.keep(&batch).expect("kept");
    }
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dwell"))
            .current_dir(folder.path())
            .args(["sections", "--store", "store", "--follow", "--csv", "told.csv"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("dwell");
        let file = folder.path().join("told.csv");
        let told = || fs::read_to_string(&file).map_or(0, |text| text.lines().count());
        let patience = Instant::now();
        while told() < 1 + 40 * 3 && patience.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(20));
        }
        sleep(Duration::from_millis(1_200));
        assert_eq!((told(), child.try_wait().expect("a child")), (1 + 40 * 3, None));
        kill(Pid::from_raw(child.id() as i32), signal).expect("told to end");
        let output = child.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(
            text(&output.stdout)
                .ends_with("41 connections, 0 of them joined by their sequence numbers alone (NAT)\n")
        );
        assert_eq!(told(), 1 + 40 * 3 + 2);
        fs::remove_file(&file).expect("removed");
    }
}

#[test]
fn what_cannot_be_is_told_on_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path(), 1);
    fs::write(folder.path().join("none.pcap"), Capture::new().0).expect("a file");
    fs::write(folder.path().join("void.pcap"), Capture::new().0).expect("a file");
    fs::hard_link(folder.path().join("alpha.pcap"), folder.path().join("same.pcap")).expect("a link");
    Sqlite::create(&folder.path().join("empty")).expect("a warehouse");
    fs::write(folder.path().join("junk.pcap"), b"no capture at all").expect("a file");
    let cases: [(&[&str], i32, &str); 17] = [
        (&["sections", "alpha.pcap"], 2, "one place has no sections"),
        (&["sections", "alpha.pcap", "alpha.pcap"], 2, "alpha.pcap is given twice"),
        (&["sections", "alpha.pcap", "alpha=beta.pcap"], 2, "two places are called \"alpha\""),
        (&["sections", "a=alpha.pcap", "a=beta.pcap"], 2, "one place has no sections"),
        (&["sections", "alpha.pcap", "missing.pcap"], 2, "missing.pcap"),
        (&["sections", "alpha.pcap", "b="], 2, "b= names no file"),
        (&["sections", "alpha.pcap", "server=beta.pcap"], 2, "no place between them is called \"server\""),
        (&["sections", "alpha.pcap", "beta.pcap", "--order", "beta"], 2, "--order names beta alone"),
        (&["sections", "alpha.pcap", "junk.pcap"], 2, "junk.pcap is not a capture"),
        (&["sections", "alpha.pcap", "beta.pcap", "--order", "alpha,gamma"], 2, "no probe \"gamma\""),
        (&["sections", "--store", "nowhere"], 2, "there is no warehouse here"),
        (&["sections", "--store", "http://127.0.0.1:1/x"], 1, "DWELL_CLICKHOUSE_USER is not set"),
        (&["sections", "--store", "."], 2, ".: there is no warehouse here"),
        (&["sections", "--store", ".", "--follow"], 2, ".: there is no warehouse here"),
        (&["sections", "--store", "empty"], 1, "no probe has sent anything yet"),
        (&["sections", "a=none.pcap", "b=void.pcap"], 1, "no section could be measured"),
        (&["sections", "alpha.pcap", "same.pcap"], 2, "same.pcap is given twice, as alpha.pcap as well"),
    ];
    for (arguments, status, why) in cases {
        let output = dwell(folder.path(), arguments);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{arguments:?}: {told}");
        assert!(told.contains(why), "{arguments:?}: {told}");
    }
}

#[test]
fn an_output_that_fails_is_told_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path(), 1);
    for (option, file, why) in [
        ("--csv", "/dev/full", "cannot write /dev/full: No space left"),
        ("--parquet", "/dev/full", "cannot write /dev/full: "),
        ("--csv", "none/there", "cannot write none/there: No such file"),
        ("--parquet", "none/there", "cannot write none/there: No such file"),
        ("--prometheus", "none/there.prom", "cannot write none/there.prom: No such file"),
        ("--prometheus", "203.0.113.1:9464", "cannot serve at 203.0.113.1:9464: "),
    ] {
        let output = dwell(folder.path(), &["sections", "alpha.pcap", "beta.pcap", option, file]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{option} {file}: {told}");
        assert!(told.contains(why) && told.lines().count() == 1, "{option} {file}: {told}");
    }
}

#[test]
fn following_waits_for_probes_and_takes_them_up_until_something_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Sqlite::create(&folder.path().join("store")).expect("a warehouse");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as i64;
    // The second batch of a probe is of the time that is looked at, the first of an hour before.
    let mut ship = |probe: &str, serial, [server, client]: [i64; 2]| {
        let first_at = Nanos(if serial == 1 { now - 3_600_000_000_000 } else { now });
        let records = (0..40).map(|n| Handshake { first_at, ..handshake(n, server, client) }).collect();
        let (probe, given_up, dropped) = (probe.to_owned(), BTreeMap::new(), BTreeMap::new());
        store.keep(&Batch { probe, epoch: 1, serial, records, given_up, dropped }).expect("kept");
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.current_dir(folder.path()).args(["sections", "--store", "store", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("dwell");
    let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut says = |part: &str| {
        let line = said.next().expect("a line").expect("text");
        assert!(line.contains(part), "{part}: {line}");
    };
    let mut told = BufReader::new(child.stdout.take().expect("piped")).lines();
    says("no probe has sent anything yet");
    ship("mid", 1, [5_000_000, 5_000_000]);
    says("only mid has sent anything");
    ship("in", 1, [9_000_000, 1_000_000]);
    says("waiting for connections that tell the order");
    ship("mid", 2, [5_000_000, 5_000_000]);
    ship("out", 2, [1_000_000, 9_000_000]);
    // They may come from `in` too.
    says("waiting for connections");
    ship("in", 2, [9_000_000, 1_000_000]);
    let line: Value = serde_json::from_str(&told.next().expect("a line").expect("text")).expect("JSON");
    assert_eq!((&line["from"], &line["to"]), (&"client".into(), &"in".into()));
    ship("late", 2, [3_000_000, 7_000_000]);
    says("late began to send when sections had been told without it");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("told to end");
    assert!(child.wait().expect("an end").success());
    assert!(said.any(|line| line.expect("text").contains("order from client to server: in, mid, out")));
}

#[test]
fn following_outlives_a_warehouse_that_cannot_be_read_for_a_while() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("store");
    let mut store = Sqlite::create(&place).expect("a warehouse");
    let mut ship = |serial, numbers| ship(&mut store, serial, numbers);
    ship(1, 0..40);
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.current_dir(folder.path()).args(["sections", "--store", "store", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("dwell");
    let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut told = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert_eq!(told.by_ref().take(40 * 3).filter(Result::is_ok).count(), 40 * 3);
    // No file of a day, whatever its name says.
    let tomorrow = format!("{}.sqlite", Day(Day::of(Nanos(now())).0 + 1));
    let odd = place.join(&tomorrow);
    fs::create_dir(&odd).expect("made");
    let line = said.next().expect("a line").expect("text");
    assert!(line.starts_with("waiting: ") && line.contains(&format!("{tomorrow}: cannot open it")), "{line}");
    ship(2, 40..41);
    fs::remove_dir(&odd).expect("removed");
    assert_eq!(told.by_ref().take(3).filter(Result::is_ok).count(), 3);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("told to end");
    assert!(child.wait().expect("an end").success());
    assert!(said.any(|line| line.expect("text").starts_with("41 connections, ")));
}

fn handshake(n: u32, server: i64, client: i64) -> Handshake {
    let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
    let at = Nanos((20_778 * 86_400 + 43_200) * 1_000_000_000 + i64::from(n));
    Handshake {
        client: end(1, 10_000 + n as u16),
        server: end(9, 443),
        isn_client: n,
        isn_server: Some(n + 1),
        first_at: at,
        syn_at: Some(at),
        server_half: Half::Exact(Nanos(server)),
        client_half: Half::Exact(Nanos(client)),
        total: Half::Exact(Nanos(server + client)),
        ending: Ending::Established,
        syns: 1,
        syn_acks: 1,
        flags: Flags::default(),
    }
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    captures(here, 1);
    fs::rename(here.join("beta.pcap"), here.join("beta.svg")).expect("renamed");
    let mut store = Sqlite::create(&here.join("wh")).expect("a warehouse");
    let (given_up, dropped) = (BTreeMap::new(), BTreeMap::new());
    let records = vec![handshake(1, 2, 3)];
    store
        .keep(&Batch { probe: "in".to_owned(), epoch: 1, serial: 1, records, given_up, dropped })
        .expect("kept");
    let day = fs::read_dir(here.join("wh")).expect("a folder").next().expect("a day").expect("read").path();
    let day = day.to_str().expect("text");
    let kept = ["alpha.pcap", "beta.svg", day].map(|file| fs::read(here.join(file)).expect("read"));
    let cases: [&[&str]; 9] = [
        &["sections", "alpha.pcap", "beta.svg", "--csv", "alpha.pcap"],
        &["sections", "alpha.pcap", "beta.svg", "--parquet", "alpha.pcap"],
        &["sections", "a=alpha.pcap", "beta.svg", "--csv", "./alpha.pcap"],
        &["sections", "alpha.pcap", "beta.svg", "--plot", "beta.svg"],
        &["sections", "alpha.pcap", "beta.svg", "--csv", "new.svg", "--plot", "new.svg"],
        &["sections", "--store", "wh", "--csv", day],
        &["echo", "--tap", "beta.svg", "--plot", "beta.svg"],
        &["replay", "beta.svg", "--plot", "beta.svg"],
        &["generate", "capture", "--connections", "1", "--out", "new.pcap", "--truth", "new.pcap"],
    ];
    for arguments in cases {
        let output = dwell(here, arguments);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains("would be overwritten"), "{arguments:?}: {told}");
    }
    assert_eq!(["alpha.pcap", "beta.svg", day].map(|file| fs::read(here.join(file)).expect("read")), kept);
    assert!(!here.join("new.pcap").exists() && !here.join("new.svg").exists());
}

#[test]
fn the_order_is_the_same_in_whichever_order_captures_are_given() {
    let folder = tempfile::tempdir().expect("a folder");
    // Each connection passes two neighbours alone; 10, 20 and 30 tell the three pairs apart.
    let mut places = ["a", "b", "c", "d"].map(|_| Capture::new());
    let mut n = 0;
    for nearer in 0..3 {
        for _ in 0..10 * (nearer + 1) {
            n += 1;
            let at = 1_000_000_000_000 + u64::from(n) * 10_000_000;
            for place in [nearer, nearer + 1] {
                let towards_client = 1_000_000 * (place as u64 + 1);
                places[place].handshake(n, at, 1, 9_000_000 - towards_client, towards_client);
            }
        }
    }
    for (name, capture) in ["a", "b", "c", "d"].iter().zip(places) {
        fs::write(folder.path().join(format!("{name}.pcap")), capture.0).expect("a file");
    }
    for given in [["a", "b", "c", "d"], ["a", "c", "b", "d"], ["d", "b", "a", "c"], ["d", "c", "b", "a"]] {
        let given = given.map(|name| format!("{name}.pcap"));
        let arguments: Vec<&str> =
            std::iter::once("sections").chain(given.iter().map(String::as_str)).collect();
        let told = text(&dwell(folder.path(), &arguments).stdout);
        let order = "order from client to server: a, b, c, d (100.0 % of 10 connections agree";
        assert!(told.contains(order), "{given:?}: {told}");
    }
}

#[test]
fn prometheus_has_a_histogram_of_each_section_and_network() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path(), 1);
    let here = folder.path();
    let output = dwell(here, &["sections", "alpha.pcap", "beta.pcap", "--prometheus", "a.prom"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = fs::read_to_string(here.join("a.prom")).expect("a page");
    for (from, to, seconds) in [("client", "alpha", 0.1), ("alpha", "beta", 0.2), ("beta", "server", 0.5)] {
        let labels = format!("{{from=\"{from}\",to=\"{to}\",way=\"along\",network=\"192.0.2.0/24\"}}");
        let told = |what: &str| -> f64 {
            let name = format!("dwell_section_rtt_seconds_{what}{labels} ");
            let line = page.lines().find_map(|line| line.strip_prefix(&name));
            line.unwrap_or_else(|| panic!("{name} in {page}")).parse().expect("a number")
        };
        // A hundred connections of so many milliseconds each.
        assert!(told("count") == 100.0 && (told("sum") - seconds).abs() < 1e-3, "{page}");
    }
    let output = dwell(here, &["sections", "alpha.pcap", "beta.pcap", "--prometheus", "a.txt"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}
