//! An open connection of which every stamp is taken.

use crate::stamped::{self, DepartureStamp, Received};
use dwell_core::Nanos;
use nix::sys::socket::MsgFlags;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Messages of one size over TCP, one at a time.
pub(crate) struct StampedStream {
    stream: TcpStream,
    fd: OwnedFd,
    control: Vec<u8>,
}

impl StampedStream {
    /// Each message leaves at once. A read waits no longer than `patience`.
    pub(crate) fn new(stream: TcpStream, patience: Duration) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        // Somebody who reads nothing shall not hold a thread for ever.
        stream.set_write_timeout(Some(patience))?;
        let fd = OwnedFd::from(stream.try_clone()?);
        stamped::recount(&fd)?;
        Ok(Self { stream, fd, control: stamped::control() })
    }

    /// What is here, at most a buffer full; of length 0 when the other end closed. The stamps are those of the last
    /// byte.
    pub(crate) fn receive(&mut self, buffer: &mut [u8], spin: Nanos) -> io::Result<Option<Received>> {
        stamped::receive(&self.fd, &mut self.control, buffer, spin, MsgFlags::empty())
    }

    pub(crate) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.stream.write_all(message)
    }

    /// Takes the next transmit stamp; its id counts bytes.
    pub(crate) fn departure_stamp(&mut self) -> io::Result<Option<DepartureStamp>> {
        stamped::departure(&self.fd, &mut self.control)
    }
}
