//! TCP connections for data and udpst over the loopback, in good conditions and in bad. Bounds are those that hold on a
//! loaded machine.

use dwell_core::limit::Limit;
use dwell_core::throughput::udpst::{
    Activation, Answer, Auth, Load, PROTOCOL, Parameters, Setup, Status, SubInterval, capacity,
};
use dwell_core::throughput::verdict::verdict;
use dwell_core::{Bytes, Direction, Nanos};
use dwell_net::throughput::udpst::{UdpstConfig, UdpstError, UdpstServer, UdpstServerConfig, measure};
use dwell_net::throughput::{Order, StreamError, StreamPath};
use dwell_net::{Agent, AgentConfig, AgentError, ConnectConfig, Identity, Peers};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

struct Running {
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<Result<(), AgentError>>>,
    config: ConnectConfig,
}

impl Running {
    fn start(before_stamp: Nanos) -> Self {
        let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let peers = Peers::only(ours.public_key());
        let listen = "127.0.0.1:0".parse().unwrap();
        let config = AgentConfig { listen, before_stamp, ..AgentConfig::new(theirs.clone(), peers) };
        let agent = Agent::bind(config).unwrap();
        let expected = Peers::only(theirs.public_key());
        let config = ConnectConfig {
            port: agent.local_addr().port(),
            ..ConnectConfig::new("127.0.0.1", ours, expected)
        };
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        Self { stop, serving: Some(std::thread::spawn(move || agent.serve(&told))), config }
    }

    fn path(&self) -> StreamPath {
        StreamPath::connect(&self.config).unwrap()
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn order(direction: Direction, connections: u32, millis: i64) -> Order {
    Order {
        token: [0; 16],
        direction,
        connections,
        duration: Nanos::from_millis(millis),
        congestion: None,
        autotune: false,
        window: None,
    }
}

#[test]
fn both_ways_and_several_connections_in_one_session() {
    let agent = Running::start(Nanos::ZERO);
    let mut path = agent.path();
    for (direction, connections) in [(Direction::Forward, 1), (Direction::Reverse, 2)] {
        let run = path.run(&order(direction, connections, 500)).unwrap();
        assert_eq!((run.connections(), run.direction), (connections as usize, direction));
        assert!(run.span() >= Nanos::from_millis(500) && run.received() > Bytes(1_000_000), "{run:?}");
        assert!(run.sender.len() > 2 && run.receiver.len() > 2);
        assert!(run.connection.segment > Bytes(500) && run.connection.headers >= Bytes(40));
        let told = &run.sender.last().unwrap().connections[0];
        assert!(told.rtt > Nanos::ZERO && told.busy > Nanos::ZERO, "{told:?}");
    }
    assert!(!path.circumstances().receiver.dwell.is_empty());
}

#[test]
fn a_slow_receiver_is_told_from_a_full_link() {
    // Twenty milliseconds for each 128 KiB: 50 Mb/s at most.
    let agent = Running::start(Nanos::from_millis(20));
    let run = agent.path().run(&order(Direction::Forward, 1, 1_500)).unwrap();
    let verdict = verdict(&run);
    assert!(
        matches!(verdict.limit, Limit::HostLimited | Limit::ReceiverLimited),
        "{:?}: {}",
        verdict.limit,
        verdict.reason
    );
}

#[test]
fn a_window_holds_the_sender_and_is_named() {
    let agent = Running::start(Nanos::ZERO);
    let mut path = agent.path();
    let open = path.run(&order(Direction::Forward, 1, 500)).unwrap();
    let held =
        path.run(&Order { window: Some(Bytes(4_096)), ..order(Direction::Forward, 1, 1_500) }).unwrap();
    assert!(held.later_rate() < open.later_rate(), "{} and {}", held.later_rate(), open.later_rate());
    assert_eq!(held.receiver.last().unwrap().connections[0].window, Some(Bytes(4_096)));
}

#[test]
fn an_agent_that_vanishes_midway_is_an_error() {
    let mut agent = Running::start(Nanos::ZERO);
    let mut path = agent.path();
    let run = std::thread::spawn(move || path.run(&order(Direction::Reverse, 1, 10_000)));
    sleep(Duration::from_millis(700));
    agent.end();
    let error = run.join().unwrap().unwrap_err();
    assert!(matches!(error, StreamError::Cut(_) | StreamError::Refused(_)), "{error}");
    assert!(error.to_string().contains("after"), "{error}");
}

#[test]
fn limits_and_unknown_congestion_control_are_named() {
    let agent = Running::start(Nanos::ZERO);
    let mut path = agent.path();
    let refused = path.run(&order(Direction::Forward, 65, 100)).unwrap_err();
    assert!(refused.to_string().contains("at most 64"), "{refused}");
    let refused = path.run(&order(Direction::Forward, 1, 121_000)).unwrap_err();
    assert!(refused.to_string().contains("at most"), "{refused}");
    // The session goes on.
    let congestion = Some("no-such".to_owned());
    let error = path.run(&Order { congestion, ..order(Direction::Reverse, 1, 300) }).unwrap_err();
    assert!(error.to_string().contains("no congestion control no-such"), "{error}");
}

#[test]
fn connections_that_nobody_expects_are_closed() {
    let agent = Running::start(Nanos::ZERO);
    for first in [&b"DWELLTCP0123456789abcdef"[..], b"DWELL or something else at least so long"] {
        let mut stream = TcpStream::connect(("127.0.0.1", agent.config.port)).unwrap();
        stream.write_all(first).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        // An end, or a reset where it left something unread.
        assert!(!matches!(stream.read(&mut [0; 8]), Ok(1..)));
    }
    assert!(agent.path().run(&order(Direction::Forward, 1, 200)).is_ok());
}

/// A udpst server, and what measures with it.
struct Serving {
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<std::io::Result<()>>>,
    port: u16,
}

impl Serving {
    fn start(secret: Option<&str>) -> Self {
        let config = UdpstServerConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            secret: secret.map(|secret| (secret.to_owned(), 0)),
            tests: 4,
        };
        let server = UdpstServer::bind(config).unwrap();
        let (stop, port) = (Arc::new(AtomicBool::new(false)), server.local_addr().port());
        let told = Arc::clone(&stop);
        Self { stop, serving: Some(std::thread::spawn(move || server.serve(&told))), port }
    }

    /// A test of two seconds and more at 20 Mb/s.
    fn config(&self, secret: Option<&str>, direction: Direction) -> UdpstConfig {
        let parameters = Parameters { test: 2, sub_interval: 500, row: 20, ..Parameters::default() };
        let secret = secret.map(|secret| (secret.to_owned(), 0));
        UdpstConfig { host: "127.0.0.1".into(), port: self.port, secret, direction, parameters }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap().unwrap();
        }
    }
}

#[test]
fn udpst_both_ways_with_and_without_a_key() {
    for (secret, direction) in [(None, Direction::Reverse), (Some("shared"), Direction::Forward)] {
        let server = Serving::start(secret);
        let run = measure(&server.config(secret, direction)).unwrap();
        assert!(run.parts.len() >= 3, "{run:?}");
        let best = run.parts.iter().map(|part| capacity::rate(part, run.ipv6).0).max().unwrap();
        // The load is offered at 20 Mb/s; a machine that stalls makes up for it in another sub-interval.
        assert!((15_000_000..26_000_000).contains(&best), "{best}: {run:?}");
    }
}

#[test]
fn udpst_refusals_are_named() {
    let server = Serving::start(Some("shared"));
    let refused = |secret| measure(&server.config(secret, Direction::Reverse)).unwrap_err().to_string();
    assert!(refused(None).contains("wants a key"), "{}", refused(None));
    let wrong = measure(&server.config(Some("other"), Direction::Reverse)).unwrap_err();
    assert!(matches!(wrong, UdpstError::Refused { code: 7, .. }), "{wrong}");
}

#[test]
fn udpst_speaks_of_its_version_and_its_mode_to_who_has_others() {
    let server = Serving::start(Some("shared"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let ask = |setup: Setup| {
        socket.send(&setup.pack()).unwrap();
        let mut buffer = [0; 2048];
        let length = socket.recv(&mut buffer).unwrap();
        Setup::parse(&buffer[..length]).unwrap()
    };
    let old = ask(Setup { version: 11, ..Setup::request(7) });
    assert_eq!((old.answer, old.version, old.response), (Answer::BAD_VERSION, PROTOCOL, true));
    let other = Auth { mode: 2, ..Auth::default() };
    assert_eq!(ask(Setup { auth: other, ..Setup::request(7) }).answer, Answer::WRONG_MODE);
}

#[test]
fn udpst_takes_over_the_server_s_sizes_of_packets() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        for (modifiers, answer) in [(1, Answer::OTHER_JUMBO), (0, Answer::OTHER_SIZE), (2, Answer(13))] {
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            let asked = Setup::parse(&buffer[..length]).unwrap();
            assert_eq!(asked.modifiers, modifiers);
            socket.send_to(&Setup { response: true, answer, ..asked }.pack(), from).unwrap();
        }
    });
    let error = measure(&at(port, Direction::Forward, 2)).unwrap_err();
    assert!(matches!(error, UdpstError::Refused { code: 13, .. }), "{error}");
    answering.join().unwrap();
}

/// A server that agrees to one second, and whose stop PDU is lost.
#[test]
fn udpst_ends_when_its_time_is_over_and_nobody_says_so() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let serving = std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            let setup = Setup::parse(&buffer[..length]).unwrap();
            let agreed = Setup { response: true, answer: Answer::ACKNOWLEDGED, port, ..setup };
            socket.send_to(&agreed.pack(), from).unwrap();
            let (length, _) = socket.recv_from(&mut buffer).unwrap();
            let asked = Activation::parse(&buffer[..length]).unwrap();
            socket.send_to(&Activation { answer: 1, ..asked }.pack(), from).unwrap();
            for sequence in 1..=25 {
                let last = SubInterval { packets: 1, bytes: 100, micros: 100_000, ..SubInterval::default() };
                let status = Status { sequence, sub_interval: sequence, last, ..Status::default() };
                let load = Load { sequence, payload: Load::LENGTH as u16, ..Load::default() };
                let pdu = if direction == Direction::Forward { status.pack() } else { load.pack() };
                socket.send_to(&pdu, from).unwrap();
                sleep(Duration::from_millis(50));
            }
            socket
        });
        let run = measure(&at(port, direction, 1)).unwrap();
        assert!(!run.parts.is_empty(), "{run:?}");
        drop(serving.join().unwrap());
    }
}

fn at(port: u16, direction: Direction, seconds: u16) -> UdpstConfig {
    let parameters = Parameters { test: seconds, sub_interval: 500, ..Parameters::default() };
    UdpstConfig { host: "127.0.0.1".into(), port, secret: None, direction, parameters }
}

#[test]
fn udpst_hears_garbage_and_silence_for_what_they_are() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        for _ in 0..3 {
            let (_, from) = socket.recv_from(&mut buffer).unwrap();
            socket.send_to(b"this is no answer", from).unwrap();
        }
    });
    let config = UdpstConfig {
        host: "127.0.0.1".into(),
        port,
        secret: None,
        direction: Direction::Forward,
        parameters: Parameters::default(),
    };
    let error = measure(&config).unwrap_err();
    assert!(matches!(error, UdpstError::Silent { what: "setup", .. }), "{error}");
    answering.join().unwrap();
}
