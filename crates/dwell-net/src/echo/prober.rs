//! Sends what makes a host answer. The answers are the tap's business: nothing here stamps.

use crate::clock;
use dwell_core::echo::{Asked, message};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, connect, recv, send,
    setsockopt, socket, sockopt,
};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Asks one host, again and again.
pub struct EchoProber {
    socket: Socket,
    /// Identifier of its ICMP echoes, and the upper half of its other probes' numbers.
    run: u32,
    sent: u32,
}

enum Socket {
    Icmp(OwnedFd, IpAddr),
    Udp(UdpSocket),
    Tcp(TcpStream),
}

/// How long a connection may take to open.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an ICMP echo carries, as the usual `ping` does.
const PAYLOAD: usize = 56;

impl EchoProber {
    /// Ready to ask `host`. ICMP takes CAP_NET_RAW.
    ///
    /// # Errors
    /// The operating system's, such as a closed TCP port.
    pub fn open(host: IpAddr, asked: Asked) -> io::Result<Self> {
        let local: IpAddr = match host {
            IpAddr::V4(_) => [0; 4].into(),
            IpAddr::V6(_) => [0; 16].into(),
        };
        let socket = match asked {
            Asked::Icmp => {
                let (family, protocol) = match host {
                    IpAddr::V4(_) => (AddressFamily::Inet, SockProtocol::Icmp),
                    IpAddr::V6(_) => (AddressFamily::Inet6, SockProtocol::IcmpV6),
                };
                let fd = socket(
                    family,
                    SockType::Raw,
                    SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
                    protocol,
                )?;
                // It never reads: what the kernel hands it shall take no memory.
                setsockopt(&fd, sockopt::RcvBuf, &1)?;
                connect(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(host, 0)))?;
                Socket::Icmp(fd, host)
            }
            Asked::Udp { port } => {
                let socket = UdpSocket::bind((local, 0))?;
                socket.connect((host, port))?;
                socket.set_nonblocking(true)?;
                Socket::Udp(socket)
            }
            Asked::Tcp { port } => {
                let stream = TcpStream::connect_timeout(&SocketAddr::new(host, port), PATIENCE)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Socket::Tcp(stream)
            }
        };
        // Runs at the same time shall not take each other's answers: the low bits of the clock differ.
        let run = (clock::monotonic().0 / 1_000) as u32 ^ std::process::id().rotate_left(16);
        Ok(Self { socket, run, sent: 0 })
    }

    /// Asks once more, and drops what was answered before.
    ///
    /// # Errors
    /// The operating system's: of UDP, that nobody listens there; of TCP, that the host hung up.
    pub fn ask(&mut self) -> io::Result<()> {
        let number = u64::from(self.run) << 32 | u64::from(self.sent);
        let mut dropped = [0; 4096];
        match &mut self.socket {
            Socket::Icmp(fd, host) => {
                let packet = echo_request(*host, self.run as u16, self.sent as u16);
                send(fd.as_raw_fd(), &packet, MsgFlags::empty())?;
                while recv(fd.as_raw_fd(), &mut dropped, MsgFlags::MSG_DONTWAIT).is_ok() {}
            }
            Socket::Udp(socket) => {
                socket.send(&message::probe(number))?;
                loop {
                    match socket.recv(&mut dropped) {
                        Ok(_) => {}
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Err(error) => return Err(error),
                    }
                }
            }
            Socket::Tcp(stream) => {
                while let Ok(length) = stream.read(&mut dropped) {
                    if length == 0 {
                        return Err(io::ErrorKind::ConnectionReset.into());
                    }
                }
                stream.write_all(&message::probe(number))?;
            }
        }
        self.sent = self.sent.wrapping_add(1);
        Ok(())
    }
}

/// An echo request; of IPv6 the kernel puts in the checksum.
fn echo_request(host: IpAddr, id: u16, sequence: u16) -> Vec<u8> {
    let kind = if host.is_ipv4() { 8 } else { 128 };
    let [[i, d], [s, q]] = [id, sequence].map(u16::to_be_bytes);
    let mut packet = vec![kind, 0, 0, 0, i, d, s, q];
    packet.resize(packet.len() + PAYLOAD, 0);
    if host.is_ipv4() {
        let words = packet.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum: u32 = words.sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        packet[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_adds_up() {
        let packet = echo_request([127, 0, 0, 1].into(), 0xfedc, 0xba98);
        let sum: u32 =
            packet.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        assert_eq!((packet.len(), packet[0]), (64, 8));
        assert_eq!(echo_request([0; 16].into(), 1, 2)[..4], [128, 0, 0, 0]);
    }
}
