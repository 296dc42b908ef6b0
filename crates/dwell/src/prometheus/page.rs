//! The page that Prometheus reads, behind a very small HTTP server.

use super::Counting;
use anyhow::{Context, Result};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Answers who asks at `address`.
pub(super) fn serve(address: SocketAddr, registry: Registry, counting: Counting) -> Result<()> {
    let listener = TcpListener::bind(address)?;
    let answer = move || {
        listener.incoming().flatten().for_each(|stream| {
            // Who asks and goes away is no concern of ours.
            let _ = answer(stream, &registry, &counting);
        })
    };
    thread::Builder::new().name("prometheus".to_owned()).spawn(answer).context("cannot start a thread")?;
    Ok(())
}

/// How long somebody may take to ask, or to listen.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_QUESTION: usize = 8 << 10;

fn answer(mut stream: TcpStream, registry: &Registry, counting: &Counting) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut asked = Vec::new();
    let mut part = [0; 1024];
    while !asked.windows(4).any(|four| four == b"\r\n\r\n") && asked.len() < LONGEST_QUESTION {
        let length = stream.read(&mut part)?;
        if length == 0 {
            break;
        }
        asked.extend_from_slice(&part[..length]);
    }
    let mut text = String::new();
    let status = if asked.starts_with(b"GET /metrics ") {
        let _whole = counting.take();
        encode(&mut text, registry).map_err(io::Error::other)?;
        "200 OK"
    } else {
        "404 Not Found"
    };
    const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {KIND}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}
