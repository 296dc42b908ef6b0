//! What the kernel tells of a TCP connection (`struct tcp_info` of linux/tcp.h).

use dwell_core::Nanos;
use dwell_core::throughput::{Receiver, Sender};
use nix::libc;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The structure as far as it is read here; kernels that know less of it leave the rest zero.
const LENGTH: usize = 232;

/// One reading.
pub(super) struct Info([u8; LENGTH]);

impl Info {
    /// Of this connection, now.
    pub(super) fn of(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let mut bytes = [0; LENGTH];
        let mut length = LENGTH as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `bytes`, which has as many and outlives the call.
        #[allow(unsafe_code)]
        let result = unsafe {
            libc::getsockopt(
                fd.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result == 0 { Ok(Self(bytes)) } else { Err(io::Error::last_os_error()) }
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    fn long(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[at..at + 8]);
        u64::from_ne_bytes(bytes)
    }

    fn micros(&self, at: usize) -> Nanos {
        match self.word(at) {
            // The least round trip, before there was any.
            u32::MAX => Nanos::ZERO,
            us => Nanos::from_micros(us.into()),
        }
    }

    fn long_micros(&self, at: usize) -> Nanos {
        Nanos::from_micros(i64::try_from(self.long(at)).unwrap_or(i64::MAX))
    }

    /// Payload of a full segment that is sent, and of one that came.
    pub(super) fn segment(&self) -> u64 {
        u64::from(self.word(16).max(self.word(20)))
    }

    /// Whether segments carry time stamps, which take twelve bytes of each.
    pub(super) fn timestamps(&self) -> bool {
        const TIMESTAMPS: u8 = 1;
        self.0[5] & TIMESTAMPS != 0
    }

    pub(super) fn rtt(&self) -> Nanos {
        self.micros(68)
    }

    pub(super) fn min_rtt(&self) -> Nanos {
        self.micros(148)
    }

    pub(super) fn sender(&self) -> Sender {
        Sender {
            rtt: self.rtt(),
            min_rtt: self.min_rtt(),
            window: self.word(80),
            retransmitted: self.word(100).into(),
            segments: self.word(156).into(),
            busy: self.long_micros(168),
            receiver_limited: self.long_micros(176),
            buffer_limited: self.long_micros(184),
            ..Sender::default()
        }
    }

    pub(super) fn receiver(&self) -> Receiver {
        Receiver { rtt: self.rtt(), min_rtt: self.min_rtt(), ..Receiver::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn the_kernel_tells_of_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(&[7; 40_000]).unwrap();
        far.read_exact(&mut [0; 40_000]).unwrap();
        let info = Info::of(near.as_fd()).unwrap();
        let told = info.sender();
        assert!(info.segment() > 500 && told.window > 0 && told.segments > 0, "{told:?}");
        assert!(told.rtt > Nanos::ZERO && told.min_rtt > Nanos::ZERO && told.busy >= Nanos::ZERO, "{told:?}");
    }
}
