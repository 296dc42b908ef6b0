//! The outputs beside JSON: each holds what JSON says.

use crate::frames::{Frame, START, established, refused, unanswered, write};
use crate::{dwell, folder, text};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

fn some() -> Vec<Frame> {
    [established(1_000, 0), refused(1_001, 100_000_000), unanswered(1_002, 200_000_000)].concat()
}

#[test]
fn csv_has_a_line_of_names_and_empty_cells_for_what_is_not_known() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    let output = dwell(here.path(), &["watch", "a.pcap", "--csv", "a.csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut reader = csv::Reader::from_path(here.path().join("a.csv")).expect("a table");
    let names = reader.headers().expect("names").clone();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("lines");
    let of = |port: &str, name: &str| {
        let [at, key] = ["client_port", name].map(|key| names.iter().position(|one| one == key).expect(key));
        rows.iter().find(|row| &row[at] == port).expect("told")[key].to_owned()
    };
    assert_eq!(
        (of("1000", "server_half_ns"), of("1000", "client_half_ns")),
        ("10000001".into(), "5000000".into())
    );
    assert_eq!((of("1000", "rtt_ns"), of("1000", "quality")), ("15000001".into(), "exact".into()));
    assert_eq!((of("1002", "rtt_ns"), of("1002", "isn_server")), (String::new(), String::new()));
}

#[test]
fn parquet_has_the_same_with_nulls() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    let output = dwell(here.path(), &["watch", "a.pcap", "--parquet", "a.parquet", "--probe", "edge"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let reader = SerializedFileReader::new(File::open(here.path().join("a.parquet")).expect("a file"));
    let reader = reader.expect("Parquet");
    let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 3);
    let port = |row: &parquet::record::Row| row.get_ushort(2).expect("a port");
    let row = |wanted: u16| rows.iter().find(|row| port(row) == wanted).expect("told");
    let whole = row(1_000);
    assert_eq!(whole.get_string(0).expect("a name"), "edge");
    assert_eq!(whole.get_string(1).expect("an address"), "10.0.0.1");
    assert_eq!(whole.get_long(7).expect("a time"), i64::from(START) * 1_000_000_000);
    assert_eq!(
        [8, 9, 10].map(|place| whole.get_long(place).expect("a span")),
        [10_000_001, 5_000_000, 15_000_001]
    );
    assert_eq!(whole.get_string(11).expect("a quality"), "exact");
    assert!(row(1_002).get_long(8).is_err(), "null is no number");
}

#[test]
fn ipfix_has_the_delays_of_exact_halves_alone() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    let collector = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    collector.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    let to = collector.local_addr().expect("bound").to_string();
    let output = dwell(here.path(), &["watch", "a.pcap", "--ipfix", &to, "--probe", "edge"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut message = [0; 2_000];
    let mut receive = || {
        let length = collector.recv(&mut message).expect("a message");
        assert_eq!(message[..2], [0, 10]);
        assert_eq!(usize::from(u16::from_be_bytes([message[2], message[3]])), length);
        message[16..length].to_vec()
    };
    let templates = receive();
    assert_eq!(templates[..2], [0, 2]);
    // Client's delay, microseconds, of ntop: element 83, four bytes, enterprise 35632.
    let element = [0x80, 83, 0, 4, 0, 0, 0x8b, 0x30];
    assert!(templates.windows(8).any(|eight| eight == element));
    let data = receive();
    // IPv4 with both delays; one record: neither refused nor unanswered connections have one.
    assert_eq!(data[..2], [1, 3]);
    let record = &data[4..];
    assert_eq!(record[..8], [10, 0, 0, 1, 192, 0, 2, 9]);
    assert_eq!(record[8..14], [0x03, 0xe8, 0x01, 0xbb, 6, 0x12]);
    let milliseconds = |at: usize| u64::from_be_bytes(record[at..at + 8].try_into().expect("eight"));
    assert_eq!(
        (milliseconds(14), milliseconds(22)),
        (u64::from(START) * 1_000, u64::from(START) * 1_000 + 15)
    );
    let word = |at: usize| u32::from_be_bytes(record[at..at + 4].try_into().expect("four"));
    assert_eq!([word(30), word(34), word(38), word(42)], [0, 5_000, 0, 10_000]);
    assert_eq!(&record[46..51], b"\x04edge");
    assert!(record.len() < 54, "one record, padded to a word");
}

/// nfcapd listens for what the command sends by `option`; what nfdump then says.
fn collected(option: &str, here: &Path, format: &str) -> Option<String> {
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
    let output = dwell(here, &["watch", "a.pcap", option, &format!("127.0.0.1:{port}")]);
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
    let Some(told) = collected("--netflow", here.path(), "fmt:%sa %sp %da %dp %cl %sl") else { return };
    let words: Vec<&str> = told.split_whitespace().collect();
    assert_eq!(words, ["10.0.0.1", "1000", "192.0.2.9", "443", "5.000", "10.000"], "{told}");
}

#[test]
fn nfdump_reads_the_flows_of_ipfix() {
    let here = folder();
    write(&here.path().join("a.pcap"), &some());
    let Some(told) = collected("--ipfix", here.path(), "fmt:%sa %sp %da %dp %pr") else { return };
    let words: Vec<&str> = told.split_whitespace().collect();
    assert_eq!(words, ["10.0.0.1", "1000", "192.0.2.9", "443", "TCP"], "{told}");
}
