//! The kernel's receive poll of an interface (NAPI), run on demand: what a NIC's interrupt sets off.

use nix::sys::socket::{getsockopt, setsockopt};
use std::io::{self, ErrorKind};
use std::net::UdpSocket;

/// The macro writes the socket options that nix does not have.
#[allow(unsafe_code, missing_docs, clippy::undocumented_unsafe_blocks)]
mod option {
    use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
    /// From asm-generic/socket.h; libc has no names for them.
    const SO_BUSY_POLL: libc::c_int = 46;
    const SO_INCOMING_NAPI_ID: libc::c_int = 56;
    const SO_BUSY_POLL_BUDGET: libc::c_int = 70;
    sockopt_impl!(BusyPoll, SetOnly, libc::SOL_SOCKET, SO_BUSY_POLL, libc::c_int);
    sockopt_impl!(IncomingNapiId, GetOnly, libc::SOL_SOCKET, SO_INCOMING_NAPI_ID, libc::c_uint);
    sockopt_impl!(BusyPollBudget, SetOnly, libc::SOL_SOCKET, SO_BUSY_POLL_BUDGET, libc::c_int);
}

/// Microseconds that a read may poll: anything above zero, for a read that does not wait polls once.
const ONCE: i32 = 1;

/// Packets that one poll takes: the kernel's default, and what is asked where the kernel grants it.
const USUAL_BUDGET: usize = 8;
const WHOLE_BUDGET: usize = 64;

/// Runs the poll of one interface.
#[derive(Debug)]
pub struct ReceivePoll {
    socket: UdpSocket,
    budget: usize,
}

impl ReceivePoll {
    /// Of the interface by which `socket` received its last packet.
    ///
    /// # Errors
    /// When that interface is not polled (a virtual one without generic receive offload), the kernel cannot, or
    /// it is not permitted.
    pub fn of(socket: UdpSocket) -> io::Result<Self> {
        if getsockopt(&socket, option::IncomingNapiId)? == 0 {
            return Err(io::Error::new(
                ErrorKind::Unsupported,
                "the kernel hands packets of this interface over as they come, and does not poll for them",
            ));
        }
        setsockopt(&socket, option::BusyPoll, &ONCE)?;
        // More than the usual is for those with CAP_NET_ADMIN.
        let granted = setsockopt(&socket, option::BusyPollBudget, &(WHOLE_BUDGET as i32)).is_ok();
        socket.set_nonblocking(true)?;
        Ok(Self { socket, budget: if granted { WHOLE_BUDGET } else { USUAL_BUDGET } })
    }

    /// Hands over to the kernel the `frames` that wait in the interface.
    pub fn run(&self, frames: usize) {
        for _ in 0..frames.div_ceil(self.budget) {
            // Nothing comes to this socket any more; that it looks is what has the kernel poll.
            let _ = self.socket.recv(&mut []);
        }
    }
}
