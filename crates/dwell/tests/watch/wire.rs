//! On interfaces.

use crate::frames::established;
use crate::running::{apart, end, start, status, wait_until_it_watches};
use crate::{dwell, folder, lines, text};
use dwell_net::PacketSocket;
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, listen, socket};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 50;

fn connect(listener: &TcpListener) {
    let port = listener.local_addr().expect("bound").port();
    for _ in 0..CONNECTIONS {
        let mut ours = TcpStream::connect(("127.0.0.1", port)).expect("connected");
        let (mut theirs, _) = listener.accept().expect("accepted");
        ours.write_all(b"a question").expect("asked");
        theirs.read_exact(&mut [0; 10]).expect("heard");
    }
}

/// Of the network next to that of the connections that are counted, which whoever asks would be one more of.
const ASKED: &str = "127.0.1.1";

fn page(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect((ASKED, port)).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").expect("asked");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("answered");
    page
}

/// What a line of the page says that begins so.
fn figure(page: &str, name: &str) -> Option<usize> {
    page.lines().find_map(|line| line.strip_prefix(name)?.parse().ok())
}

#[test]
fn every_connection_is_seen_without_privileges_and_counted_for_prometheus() {
    apart(|| {
        let here = folder();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let port = TcpListener::bind((ASKED, 0)).expect("a socket").local_addr().expect("bound").port();
        let asked = ["watch", "lo", "--json", "--probe", "p", "--prometheus", &format!("{ASKED}:{port}")];
        let child = start(here.path(), &asked);
        wait_until_it_watches(&child);
        assert!(status(&child).contains("NoNewPrivs:\t1"), "{}", status(&child));
        connect(&listener);
        // What was seen is told within a second or two.
        let spans = |metrics: &str, network: &str| {
            figure(metrics, &format!("dwell_rtt_seconds_count{{probe=\"p\",network=\"{network}\"}} "))
        };
        let until = Instant::now() + Duration::from_secs(20);
        let metrics = loop {
            thread::sleep(Duration::from_secs(2));
            let metrics = page(port, "/metrics");
            if spans(&metrics, "127.0.0.0/24") == Some(CONNECTIONS) || Instant::now() > until {
                break metrics;
            }
        };
        assert!(page(port, "/").starts_with("HTTP/1.1 404 "));
        let output = end(child);
        let told = lines(&output);
        let server = listener.local_addr().expect("bound").port();
        let ours: Vec<_> = told.iter().filter(|line| line["server_port"] == server).collect();
        assert_eq!(ours.len(), CONNECTIONS, "{}", text(&output.stderr));
        for line in &ours {
            assert_eq!((&line["quality"], &line["probe"]), (&"exact".into(), &"p".into()), "{line}");
            let half = |key: &str| line[key].as_i64().expect("known");
            let [server, client] = ["server_half_ns", "client_half_ns"].map(half);
            assert!(server > 0 && client > 0 && server + client == half("rtt_ns"), "{line}");
        }
        let account = text(&output.stderr);
        assert!(account.contains(" 0 dropped by the kernel"), "{account}");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(spans(&metrics, "127.0.0.0/24"), Some(CONNECTIONS), "{metrics}");
        let all = CONNECTIONS + spans(&metrics, "127.0.1.0/24").unwrap_or(0);
        let exact = figure(&metrics, "dwell_handshakes_total{probe=\"p\",quality=\"exact\"} ");
        assert_eq!(exact, Some(all), "{metrics}");
    });
}

#[test]
fn several_cores_see_the_same() {
    apart(|| {
        let here = folder();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let child = start(here.path(), &["watch", "lo", "--json", "--cores", "2"]);
        wait_until_it_watches(&child);
        connect(&listener);
        let output = end(child);
        let told = lines(&output);
        assert_eq!(told.len(), CONNECTIONS, "{}", text(&output.stderr));
        assert!(told.iter().all(|line| line["quality"] == "exact"));
        // And each packet once, though on a loopback it leaves and comes.
        assert!(text(&output.stderr).contains("out of the ordinary: nothing"), "{}", text(&output.stderr));
    });
}

#[test]
fn the_two_directions_of_a_tap_are_one_place() {
    apart(|| {
        let here = folder();
        let wires = ["tap0", "tap1"].map(|near| {
            let far = format!("far-{near}");
            let made = format!("link add {near} type veth peer name {far}");
            for asked in [made, format!("link set {near} up"), format!("link set {far} up")] {
                assert!(Command::new("ip").args(asked.split(' ')).status().expect("ip runs").success());
            }
            PacketSocket::open(&far).expect("a socket")
        });
        let child = start(here.path(), &["watch", "tap0", "tap1", "--json"]);
        wait_until_it_watches(&child);
        for port in 0..CONNECTIONS {
            for frame in established(2_000 + port as u16, 0) {
                // The taps hear the client and the server each by its own line.
                assert!(wires[usize::from(!frame.by_client)].send(&frame.bytes()).expect("sent"));
            }
        }
        let output = end(child);
        let (told, account) = (lines(&output), text(&output.stderr));
        assert_eq!(told.len(), CONNECTIONS, "{account}");
        for line in &told {
            assert_eq!((&line["quality"], &line["probe"]), (&"exact".into(), &"tap0-tap1".into()), "{line}");
        }
        assert!(account.contains("out of the ordinary: nothing"), "{account}");
    });
}

#[test]
fn without_a_filter_in_the_kernel_the_same_is_seen_and_it_says_so() {
    apart(|| {
        let here = folder();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-all,+net_raw", "--inh-caps=-all", env!("CARGO_BIN_EXE_dwell")]);
        command.args(["watch", "lo", "--json"]).current_dir(here.path()).env("HOME", here.path());
        let Ok(child) = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
            eprintln!("left out: setpriv is not installed");
            return;
        };
        // It begins as another program, which has privileges still, too.
        wait_until_it_watches(&child);
        connect(&listener);
        let output = end(child);
        let account = text(&output.stderr);
        assert!(account.contains("the kernel ran no filter"), "{account}");
        let exact = lines(&output).iter().filter(|line| line["quality"] == "exact").count();
        assert_eq!(exact, CONNECTIONS, "{account}");
    });
}

#[test]
fn an_interface_that_vanishes_ends_it_with_the_reason() {
    apart(|| {
        let here = folder();
        let child = start(here.path(), &["watch", "other"]);
        wait_until_it_watches(&child);
        let deleted = Command::new("ip").args(["link", "delete", "other"]).status().expect("ip runs");
        assert!(deleted.success());
        let output = child.wait_with_output().expect("ended");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("interface other is gone") && told.lines().count() == 1, "{told}");
    });
}

#[test]
fn an_interface_that_goes_down_is_waited_for() {
    apart(|| {
        let here = folder();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let mut child = start(here.path(), &["watch", "lo", "--json", "--cores", "2"]);
        wait_until_it_watches(&child);
        let set = |to: &str| {
            assert!(Command::new("ip").args(["link", "set", "lo", to]).status().expect("ip runs").success());
        };
        connect(&listener);
        let mut told = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut next = || told.next().expect("told").expect("text");
        set("down");
        assert_eq!(next(), "lo went down; nothing passes until it is up again");
        set("up");
        assert_eq!(next(), "lo is up again");
        connect(&listener);
        let output = end(child);
        let exact = lines(&output).iter().filter(|line| line["quality"] == "exact").count();
        let account = next();
        assert_eq!(exact, 2 * CONNECTIONS, "{account}");
        assert!(account.contains(", an interface went down 1 time in "), "{account}");
        assert_eq!(output.status.code(), Some(0));
    });
}

#[test]
fn an_interface_that_is_down_is_told() {
    apart(|| {
        let here = folder();
        let output = dwell(here.path(), &["watch", "peer", "--seconds", "1"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("interface peer is down"), "{}", text(&output.stderr));
    });
}

#[test]
fn who_may_not_capture_is_told_what_it_takes() {
    const NOBODY: u32 = 65_534;
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(["watch", "lo", "--seconds", "1"]).current_dir("/");
    if nix::unistd::getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let Ok(output) = command.output() else {
        eprintln!("left out: nobody may not run the command from where it lies");
        return;
    };
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("CAP_NET_RAW") && told.lines().count() == 1, "{told}");
}

#[test]
fn round_trips_throughout_connections_are_told_live() {
    apart(|| {
        const EXCHANGES: usize = 40;
        let here = folder();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let child = start(here.path(), &["watch", "lo", "--json", "--continuous", "--every", "0.2"]);
        wait_until_it_watches(&child);
        let address = listener.local_addr().expect("bound");
        let mut ours = TcpStream::connect(address).expect("connected");
        let (mut theirs, _) = listener.accept().expect("accepted");
        for _ in 0..EXCHANGES {
            ours.write_all(b"a question").expect("asked");
            theirs.read_exact(&mut [0; 10]).expect("heard");
            // A program that takes its time.
            thread::sleep(Duration::from_millis(20));
            theirs.write_all(b"an answer").expect("replied");
            ours.read_exact(&mut [0; 9]).expect("heard");
        }
        let output = end(child);
        let told = lines(&output);
        let of = |end: &str, by: &str| -> Vec<_> {
            let is_it = |line: &&serde_json::Value| line["end"] == end && line["by"] == by;
            told.iter().filter(is_it).map(|line| line["least_ns"].as_i64().expect("exact")).collect()
        };
        let responses = of("server", "response");
        // 0.8 s and more are four intervals at least; of a program that sleeps, none is shorter than its sleep.
        assert!(responses.len() >= 4, "{told:?}");
        assert!(responses.iter().all(|ns| *ns >= 20_000_000), "{responses:?}");
        for end in ["server", "client"] {
            // Of some interval the kernel's acknowledgment is faster than the program by far.
            let network = of(end, "acknowledgment").into_iter().chain(of(end, "timestamps")).min();
            assert!(network.is_some_and(|ns| ns > 0 && ns < 20_000_000), "{end}: {network:?}");
        }
        let handshakes = told.iter().filter(|line| line["kind"].is_null()).count();
        assert_eq!(handshakes, 1, "{}", text(&output.stderr));
    });
}

#[test]
fn what_is_open_when_it_is_ended_is_told_as_unfinished() {
    apart(|| {
        let here = folder();
        // Its queue takes one connection, and the kernel is silent to the next.
        let full =
            socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
        bind(full.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).expect("bound");
        listen(&full, Backlog::new(0).expect("a number")).expect("listens");
        let address = TcpListener::from(full.try_clone().expect("another")).local_addr().expect("bound");
        let child = start(here.path(), &["watch", "lo", "--json", "--csv", "a.csv"]);
        wait_until_it_watches(&child);
        let _taken = TcpStream::connect(address).expect("connected");
        let second = TcpStream::connect_timeout(&address, Duration::from_millis(300));
        assert!(second.is_err(), "there was room");
        let output = end(child);
        let (told, account) = (lines(&output), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{account}");
        let of = |quality: &str| told.iter().filter(|line| line["quality"] == quality).count();
        assert_eq!((told.len(), of("exact"), of("unfinished")), (2, 1, 1), "{told:?}");
        let open = told.iter().find(|line| line["quality"] == "unfinished").expect("told");
        assert!(open["server_half_ns"].is_null() && open["rtt_ns"].is_null(), "{open}");
        assert!(account.contains("1 cut off"), "{account}");
        let table = std::fs::read_to_string(here.path().join("a.csv")).expect("a table");
        assert_eq!(table.lines().count(), 3, "{table}");
    });
}

#[test]
fn where_nobody_reads_any_more_it_ends() {
    apart(|| {
        let here = folder();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let mut child = start(here.path(), &["watch", "lo", "--json"]);
        wait_until_it_watches(&child);
        drop(child.stdout.take());
        connect(&listener);
        let until = Instant::now() + Duration::from_secs(10);
        let status = loop {
            match child.try_wait().expect("asked") {
                Some(status) => break status,
                None => assert!(Instant::now() < until, "it watches on"),
            }
            thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "{status}");
    });
}
