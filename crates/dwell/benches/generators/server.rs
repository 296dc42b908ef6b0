//! The web server: one segment of payload for each connection, as in the paper.

use super::wire::{SERVER, Wire};
use nix::sys::socket::{Backlog, listen};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(super) const PORT: u16 = 8_080;

/// Threads that accept, so that one slow client holds nobody up.
const THREADS: usize = 32;
const PAYLOAD: usize = 1_300;

/// Serves until the process ends.
pub(super) fn start(wire: &Wire) {
    let listener = wire.far(|| TcpListener::bind((SERVER, PORT))).expect("the server's port");
    // The library asks for 128, which a thousand clients overflow.
    listen(&listener, Backlog::new(4_096).expect("a number")).expect("a longer queue");
    let listener = Arc::new(listener);
    for _ in 0..THREADS {
        let listener = Arc::clone(&listener);
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                // A generator that is over leaves its clients where they are.
                let _ = answer(client);
            }
        });
    }
}

fn answer(mut client: TcpStream) -> io::Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(2)))?;
    let (mut request, mut filled) = ([0; 2_048], 0);
    while !request[..filled].ends_with(b"\r\n\r\n") {
        match client.read(&mut request[filled..])? {
            0 => return Ok(()),
            length => filled += length,
        }
    }
    let mut reply =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {PAYLOAD}\r\nConnection: close\r\n\r\n").into_bytes();
    reply.resize(reply.len() + PAYLOAD, b'.');
    client.write_all(&reply)
}
