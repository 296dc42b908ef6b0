//! What passes an interface, kept.

use crate::error::LabError;
use dwell_core::Nanos;
use dwell_net::PacketSocket;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// A frame, with the kernel's stamp.
#[derive(Clone, Debug)]
pub struct Tapped {
    /// When it passed.
    pub at: Nanos,
    /// From its Ethernet header on.
    pub bytes: Vec<u8>,
}

/// Keeps what passes until `stop`, and what has passed by then.
pub(super) fn listen(mut socket: PacketSocket, stop: &AtomicBool) -> Result<Vec<Tapped>, LabError> {
    let (mut kept, mut buffer) = (Vec::new(), [0; 2_048]);
    loop {
        let over = stop.load(Ordering::Relaxed);
        while let Some((length, at)) = socket.recv(&mut buffer).map_err(LabError::system("listen"))? {
            kept.extend(buffer.get(..length).map(|bytes| Tapped { at, bytes: bytes.to_vec() }));
        }
        if over {
            return Ok(kept);
        }
        let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(20_u8)).map_err(LabError::system("listen"))?;
    }
}
