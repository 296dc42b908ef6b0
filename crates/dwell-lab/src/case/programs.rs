//! The programs of a case: who sends, who reads, and who else computes on the reader's core.

use crate::error::LabError;
use dwell_core::Nanos;
use dwell_net::clock;
use nix::sys::socket::{setsockopt, sockopt};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a reader looks whether it shall end.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long the other program computes, and then does not. A real-time thread that never rests is stopped by the kernel.
const COMPUTING: Nanos = Nanos::from_millis(3);
const RESTING: Duration = Duration::from_millis(2);

/// A program that reads packets, as any program does: it blocks in the kernel until one comes.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Reader {
    /// What keeps it from reading.
    pub(super) stall: Option<Stall>,
    /// Bytes of its socket's queue; `None`: the kernel's usual.
    pub(super) room: Option<usize>,
}

/// Something else that a reader does.
#[derive(Copy, Clone, Debug)]
pub(super) struct Stall {
    /// After so many packets.
    pub(super) each: u64,
    /// For so long.
    pub(super) lasting: Nanos,
}

impl Reader {
    /// Its socket.
    pub(super) fn open(self, address: SocketAddr) -> Result<UdpSocket, LabError> {
        let open = || -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind(address)?;
            socket.set_read_timeout(Some(PATIENCE))?;
            if let Some(room) = self.room {
                setsockopt(&socket, sockopt::RcvBuf, &room)?;
            }
            Ok(socket)
        };
        open().map_err(LabError::system(format!("open a socket at {address}")))
    }

    /// Reads until `stop`.
    pub(super) fn read(self, socket: &UdpSocket, stop: &AtomicBool) {
        let (mut read, mut buffer) = (0_u64, [0; 2048]);
        while !stop.load(Ordering::Relaxed) {
            if socket.recv(&mut buffer).is_err() {
                continue;
            }
            read += 1;
            if let Some(Stall { lasting, .. }) = self.stall.filter(|stall| read % stall.each == 0) {
                clock::spin_until(clock::monotonic() + lasting);
            }
        }
    }
}

/// Sends a packet `every` so often until `stop`.
pub(super) fn send(
    socket: &UdpSocket,
    to: SocketAddr,
    every: Nanos,
    stop: &AtomicBool,
) -> Result<(), LabError> {
    let mut due = clock::monotonic();
    while !stop.load(Ordering::Relaxed) {
        clock::wait_until(due);
        socket.send_to(b"a small datagram", to).map_err(LabError::system(format!("send to {to}")))?;
        // Who was kept from running sends no burst to make up for it.
        due = (due + every).max(clock::monotonic());
    }
    Ok(())
}

/// Computes until `stop`, for most of the time.
pub(super) fn compute(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        clock::spin_until(clock::monotonic() + COMPUTING);
        std::thread::sleep(RESTING);
    }
}
