//! Connections that belong to a session: the first bytes of each say to which.

use crate::agent::desk::Desk;
use crate::clock;
use dwell_core::Nanos;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// How a connection for data begins; TLS begins otherwise.
pub(super) const HELLO: [u8; 8] = *b"DWELLTCP";

/// What tells whose it is.
pub(super) type Token = [u8; 16];

/// How long the other end may take for its first bytes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sessions that wait for their connections.
#[derive(Default)]
pub(crate) struct Arrivals(HashMap<Token, SyncSender<TcpStream>>);

impl Arrivals {
    /// Lets so many connections with this token be taken.
    pub(super) fn expect(&mut self, token: Token, count: usize) -> Receiver<TcpStream> {
        let (tell, told) = sync_channel(count);
        self.0.insert(token, tell);
        told
    }

    /// Ends that.
    pub(super) fn expect_no_more(&mut self, token: &Token) {
        self.0.remove(token);
    }

    /// Who waits for a connection with this token.
    fn expecting(&self, token: &Token) -> Option<SyncSender<TcpStream>> {
        self.0.get(token).cloned()
    }
}

/// Takes a connection that begins as one for data, and hands it to the session that waits for it. TLS, and silence, are
/// given back untouched.
pub(crate) fn take(desk: &Desk, mut stream: TcpStream) -> io::Result<Option<TcpStream>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut first = [0];
    let data = matches!(stream.peek(&mut first), Ok(1)) && first[0] == HELLO[0];
    if data {
        let waiting = token(&mut stream)?.and_then(|token| desk.arrivals().expecting(&token));
        let waiting =
            waiting.ok_or_else(|| io::Error::other("a connection for data that no session waits for"))?;
        stream.set_read_timeout(None)?;
        // Nobody waits any more: so it is closed.
        let _ = waiting.try_send(stream);
        return Ok(None);
    }
    stream.set_read_timeout(None)?;
    Ok(Some(stream))
}

/// The token that a connection for data brings.
fn token(stream: &mut TcpStream) -> io::Result<Option<Token>> {
    let mut said = [0; HELLO.len() + size_of::<Token>()];
    let until = clock::monotonic() + Nanos(PATIENCE.as_nanos() as i64);
    let mut read = 0;
    while read < said.len() {
        let left = until - clock::monotonic();
        if left <= Nanos::ZERO {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(Duration::from_nanos(left.0.unsigned_abs())))?;
        match stream.read(&mut said[read..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read += more,
        }
    }
    let (hello, token) = said.split_at(HELLO.len());
    Ok((hello == HELLO).then(|| token.try_into().unwrap_or_default()))
}

/// Says to which session a new connection belongs.
pub(super) fn introduce(stream: &mut TcpStream, token: &Token) -> io::Result<()> {
    let mut said = HELLO.to_vec();
    said.extend(token);
    stream.write_all(&said)
}
