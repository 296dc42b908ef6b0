//! The page that Prometheus reads, behind a very small HTTP server.

use super::Counting;
use anyhow::{Context, Result};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Answers who asks at `address`, each by itself: nobody waits for one who is slow to ask.
pub(super) fn serve(address: SocketAddr, registry: Registry, counting: Counting) -> Result<()> {
    let listener = TcpListener::bind(address)?;
    let shared = Arc::new((registry, counting));
    let accept = move || {
        for stream in listener.incoming().flatten() {
            // Each who is being answered holds one of them, and so does this.
            if Arc::strong_count(&shared) > MOST_AT_ONCE {
                continue;
            }
            let shared = Arc::clone(&shared);
            // Who asks and goes away is no concern of ours.
            let answer = move || drop(answer(stream, &shared.0, &shared.1));
            let _ = named().spawn(answer);
        }
    };
    named().spawn(accept).context("cannot start a thread")?;
    Ok(())
}

fn named() -> thread::Builder {
    thread::Builder::new().name("prometheus".to_owned())
}

/// How long somebody may take to ask, and then for each part to listen.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_QUESTION: usize = 8 << 10;
/// More are not answered.
const MOST_AT_ONCE: usize = 64;

fn answer(mut stream: TcpStream, registry: &Registry, counting: &Counting) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut asked = Vec::new();
    let mut part = [0; 1024];
    let wanted = loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let length = stream.read(&mut part)?;
        asked.extend_from_slice(&part[..length]);
        match wanted(&asked) {
            Some(wanted) => break wanted,
            None if length == 0 || asked.len() >= LONGEST_QUESTION => break Err("400 Bad Request"),
            None => {}
        }
    };
    let mut text = String::new();
    if wanted.is_ok() {
        let _whole = counting.take();
        encode(&mut text, registry).map_err(io::Error::other)?;
    }
    const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let length = text.len();
    let (status, body) = match wanted {
        Ok(Part::Whole) => ("200 OK", text.as_str()),
        Ok(Part::Head) => ("200 OK", ""),
        Err(status) => (status, ""),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nAllow: GET, HEAD\r\nContent-Type: {KIND}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// What of the page is wanted.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    /// What the answer begins with, and the page's length (RFC 9110, section 9.3.2).
    Head,
}

/// What is asked for, or the status of the answer to what is not to be had; `None` where the question is not whole yet.
fn wanted(asked: &[u8]) -> Option<Result<Part, &'static str>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(asked) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(_) => return Some(Err("400 Bad Request")),
    }
    let page = request.path.and_then(|path| path.split('?').next());
    Some(match (page, request.method) {
        (Some("/metrics"), Some("GET")) => Ok(Part::Whole),
        (Some("/metrics"), Some("HEAD")) => Ok(Part::Head),
        (Some("/metrics"), _) => Err("405 Method Not Allowed"),
        _ => Err("404 Not Found"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_one_who_is_slow_to_ask() {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("an address");
        serve(address, Registry::default(), Counting::default()).expect("served");
        let silent: Vec<TcpStream> =
            (0..8).map(|_| TcpStream::connect(address).expect("connected")).collect();
        let began = Instant::now();
        let ask = |line: &str| {
            let mut stream = TcpStream::connect(address).expect("connected");
            write!(stream, "{line} HTTP/1.1\r\nHost: here\r\n\r\n").expect("asked");
            let mut told = String::new();
            stream.read_to_string(&mut told).expect("told");
            told
        };
        for page in ["GET /metrics", "GET /metrics?x", "GET /metrics?name[]=dwell"] {
            let told = ask(page);
            assert!(told.starts_with("HTTP/1.1 200 OK") && told.ends_with("# EOF\n"), "{page}: {told}");
        }
        let head = ask("HEAD /metrics");
        assert!(head.starts_with("HTTP/1.1 200 OK") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(head.contains("Content-Length: 6\r\n"), "as long as the page: {head}");
        for (other, status) in
            [("GET /", 404), ("GET /metricsx", 404), ("POST /metrics", 405), ("metrics", 400)]
        {
            assert!(ask(other).starts_with(&format!("HTTP/1.1 {status} ")), "{other}");
        }
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        drop(silent);
    }
}
