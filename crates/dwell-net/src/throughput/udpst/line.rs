//! The socket of one test, and its clock.

use crate::clock;
use dwell_core::Nanos;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Without traffic for so long, the other end is gone.
pub(super) const WATCHDOG: Nanos = Nanos::from_secs(5);

/// Without traffic for so long, an end tells the other one. After a test's time it is enough for an end: the PDU that
/// ends a test may be lost, and their server sends it once.
pub(super) const SILENCE: Nanos = Nanos::from_secs(1);

/// Bytes that the kernel may queue for a thread that was kept from running.
const QUEUE: usize = 4 << 20;

/// A wall clock that nobody steps while a test lasts.
#[derive(Copy, Clone)]
pub(super) struct Wall(Nanos);

impl Wall {
    pub(super) fn now_is() -> Self {
        Self(clock::realtime() - clock::monotonic())
    }

    pub(super) fn now(self) -> Nanos {
        self.0 + clock::monotonic()
    }
}

/// A socket for a test.
pub(super) fn open(local: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(local)?;
    // A smaller queue is no reason not to measure.
    let _ = setsockopt(&socket, sockopt::RcvBuf, &QUEUE);
    let _ = setsockopt(&socket, sockopt::SndBuf, &QUEUE);
    Ok(socket)
}

/// The next packet, within `patience`; none with no patience: one that is here already.
pub(super) fn next(
    socket: &UdpSocket,
    buffer: &mut [u8],
    patience: Nanos,
) -> io::Result<Option<(usize, SocketAddr)>> {
    if patience > Nanos::ZERO {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(Duration::from_nanos(patience.0.unsigned_abs())))?;
    } else {
        socket.set_nonblocking(true)?;
    }
    match socket.recv_from(buffer) {
        Ok(received) => Ok(Some(received)),
        // Refused: an ICMP message about what was sent before; whether the other end is gone, the watchdog tells.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock
                    | ErrorKind::TimedOut
                    | ErrorKind::Interrupted
                    | ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The other end says nothing any more.
pub(super) fn gone(of: &str) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, format!("the {of} vanished: nothing came for {WATCHDOG}"))
}
