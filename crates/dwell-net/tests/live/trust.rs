//! Who may talk to whom, and what is said when somebody may not.

use crate::bench::Bench;
use dwell_net::{ConnectConfig, ConnectError, Identity, LivePath, Peers, ReceptionEvent};
use std::sync::{Arc, Mutex};

fn refused(config: ConnectConfig) -> ConnectError {
    LivePath::connect(config).map(|_| ()).unwrap_err()
}

#[test]
fn a_wrong_key_is_told_with_both_as_the_file_of_peers_has_them() {
    let bench = Bench::listening("127.0.0.1:0");
    let other = Identity::generate().unwrap().public_key();
    let mut config = bench.config();
    config.expected = Peers::only(other);
    let error = refused(config);
    assert!(matches!(error, ConnectError::WrongKey { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&other.to_string()), "{text}");
    assert!(text.contains(&bench.agent_identity.public_key().to_string()), "{text}");
}

#[test]
fn a_stranger_is_turned_away_and_told_what_to_do() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let mut bench = Bench::with("127.0.0.1:0", |config| {
        config.on_event = Arc::new(move |event| heard.lock().unwrap().push(event));
    });
    let stranger = Identity::generate().unwrap();
    let mut config = bench.config();
    config.identity = stranger.clone();
    let error = refused(config);
    assert!(matches!(error, ConnectError::NotAPeer { .. }), "{error}");
    assert!(error.to_string().contains(&stranger.public_key().to_string()), "{error}");
    bench.stop();
    let events = events.lock().unwrap();
    let told = |event: &ReceptionEvent| matches!(event, ReceptionEvent::TurnedAway { why, .. } if why.contains(&stranger.public_key().to_string()));
    assert!(events.iter().any(told), "{events:?}");
}

#[test]
fn nobody_there_is_told_with_the_port() {
    let mut bench = Bench::listening("127.0.0.1:0");
    bench.stop();
    let error = refused(bench.config());
    assert!(matches!(error, ConnectError::NoAgent { .. }), "{error}");
    assert!(error.to_string().contains(&format!("TCP port {}", bench.address.port())), "{error}");
}

#[test]
fn an_unknown_host_is_named() {
    let bench = Bench::listening("127.0.0.1:0");
    let mut config = bench.config();
    config.host = "not a host".to_owned();
    let error = refused(config);
    assert!(matches!(error, ConnectError::UnknownHost { .. }), "{error}");
    assert!(error.to_string().contains("not a host"), "{error}");
}

#[test]
fn something_else_that_listens_is_no_agent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let bench = Bench::listening("127.0.0.1:0");
    let mut config = bench.config();
    config.port = listener.local_addr().unwrap().port();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write;
            listener.accept().unwrap().0.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").unwrap();
        });
        let error = refused(config);
        assert!(matches!(error, ConnectError::Channel { .. }), "{error}");
        assert!(error.to_string().contains("is it an agent"), "{error}");
    });
}

#[test]
fn a_core_that_does_not_exist_is_named() {
    let bench = Bench::listening("127.0.0.1:0");
    let mut config = bench.config();
    config.core = Some(100_000);
    let error = refused(config);
    assert!(matches!(error, ConnectError::ThisHost(_)), "{error}");
    assert!(error.to_string().contains("core 100000"), "{error}");
}

#[test]
fn a_peer_is_known_as_soon_as_it_is_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("peers");
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let mut bench = Bench::with("127.0.0.1:0", |config| {
        config.peers = Peers::default();
        config.peers_file = Some(file.clone());
        config.on_event = Arc::new(move |event| heard.lock().unwrap().push(event.to_string()));
    });
    assert!(matches!(refused(bench.config()), ConnectError::NotAPeer { .. }));
    std::fs::write(&file, "# nobody yet\n").unwrap();
    assert!(matches!(refused(bench.config()), ConnectError::NotAPeer { .. }));
    std::fs::write(&file, format!("{} somebody\n", bench.client.public_key())).unwrap();
    bench.connect();
    bench.stop();
    let events = events.lock().unwrap();
    let unread = events.iter().filter(|event| event.contains("the peers known before are used")).count();
    assert_eq!(unread, 1, "{events:?}");
    // By the key as the file has it, so that whoever reads this finds the line.
    let session = format!("session of {}", bench.client.public_key());
    assert!(events.iter().any(|event| event.ends_with(&session)), "{events:?}");
}
