//! What fills a ring: the packets of one interface.

use super::blocks::Blocks;
use super::error::RingError;
use super::socket::{self, failed};
use dwell_core::capture::{Captured, LinkType};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{getsockopt, sockopt};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A socket, shared by who reads its ring and who counts.
pub(super) struct Socket {
    pub(super) fd: OwnedFd,
    pub(super) unstamped: AtomicU64,
    pub(super) downs: AtomicU64,
}

/// The packets of one interface.
pub(super) struct Source {
    pub(super) interface: String,
    pub(super) socket: Arc<Socket>,
    pub(super) blocks: Blocks,
    pub(super) link: LinkType,
}

impl Source {
    /// Hands the next packet over, unless `stamped` and the NIC did not stamp it.
    pub(super) fn take(&mut self, stamped: bool, take: &mut dyn FnMut(&Captured<'_>)) {
        if let (Some(at), Some((header, bytes))) = (self.blocks.next_at(), self.blocks.packet()) {
            if stamped && header.tp_status & libc::TP_STATUS_TS_RAW_HARDWARE == 0 {
                self.socket.unstamped.fetch_add(1, Ordering::Relaxed);
            } else {
                take(&Captured { at, link: self.link, bytes, length: header.tp_len });
            }
        }
        self.blocks.advance();
    }

    /// Whether its interface is there; counts how often it went down.
    ///
    /// # Errors
    /// When it is gone.
    pub(super) fn still_there(&self) -> Result<(), RingError> {
        let failed = || failed("capture on", &self.interface);
        match getsockopt(&self.socket.fd, sockopt::SocketError).map_err(failed())? {
            0 => {}
            // The kernel goes on by itself when it is up again.
            libc::ENETDOWN => drop(self.socket.downs.fetch_add(1, Ordering::Relaxed)),
            code => return Err(failed()(Errno::from_raw(code))),
        }
        match socket::is_bound(&self.socket.fd) {
            Ok(true) => Ok(()),
            Ok(false) => Err(RingError::Gone(self.interface.clone())),
            Err(error) => Err(failed()(error)),
        }
    }
}
