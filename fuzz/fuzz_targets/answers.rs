//! What a server says that takes itself for ClickHouse.
#![no_main]

use dwell_core::tcp::section::Connection;
use dwell_store::warehouse::{ClickHouse, Credentials, FORMAT, SLACK, Span, Store};
use libfuzzer_sys::fuzz_target;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::{LazyLock, Mutex};

/// What is answered next.
static SAID: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// A server on this host that answers what we know until the warehouse is open, and then what is said.
static OPEN: LazyLock<Mutex<ClickHouse>> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = format!("http://{}/dwell", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    let credentials = Credentials { user: "default".to_owned(), password: String::new() };
    Mutex::new(ClickHouse::open(at.parse().expect("a place"), credentials).expect("an open warehouse"))
});

fn serve(stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut statement = vec![0; length];
        reader.read_exact(&mut statement).ok()?;
        let statement = String::from_utf8_lossy(&statement).into_owned();
        let answer = if statement.starts_with("EXISTS") {
            vec![1]
        } else if statement.contains("max(format)") {
            FORMAT.to_le_bytes().to_vec()
        } else {
            SAID.lock().ok()?.clone()
        };
        // The first byte says how it goes, where it says anything.
        let status = if answer.first() == Some(&0xff) { "500 Internal Server Error" } else { "200 OK" };
        // At once: what comes in two pieces waits for the acknowledgment of the first, which is delayed.
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", answer.len());
        stream.write_all(&[head.as_bytes(), &answer].concat()).ok()?;
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut warehouse = OPEN.lock().expect("nobody else");
    *SAID.lock().expect("nobody else") = bytes.to_vec();
    let probes = ["one".to_owned(), "two".to_owned()];
    let _ = warehouse.connections(&probes, Span::ALL, SLACK, &mut |connection: Connection| {
        assert!(connection.sights.len() <= probes.len());
        assert!(connection.sights.iter().all(|sight| sight.probe < probes.len()));
        ControlFlow::Continue(())
    });
    if let Ok(days) = warehouse.days() {
        assert!(days.is_sorted() && days.len() <= bytes.len() / 8);
    }
    let _ = (warehouse.accounts(Span::ALL), warehouse.records());
});
