//! A tap that hears echoes: a packet socket, with the kernel's stamps.

use crate::packet_socket::PacketSocket;
use dwell_core::capture::{Captured, LinkType};
use dwell_core::echo::{Asked, Exchange, Exchanges, Tally};
use std::io;
use std::thread;
use std::time::Duration;

/// Hears the echoes that pass an interface of the network namespace in which it was opened.
pub struct EchoTap {
    socket: PacketSocket,
    exchanges: Exchanges,
}

/// The kernel takes some milliseconds to switch stamps on.
const SWITCHING: Duration = Duration::from_millis(30);

impl EchoTap {
    /// On `interface`. It takes CAP_NET_RAW.
    ///
    /// # Errors
    /// When there is no such interface, or that is not permitted.
    pub fn open(interface: &str, asked: Asked) -> io::Result<Self> {
        let socket = PacketSocket::tap(interface)?;
        thread::sleep(SWITCHING);
        Ok(Self { socket, exchanges: Exchanges::new(asked) })
    }

    /// Takes what passed since the last call.
    ///
    /// # Errors
    /// The operating system's, such as an interface that went down.
    pub fn listen(&mut self) -> io::Result<()> {
        let mut frame = [0; 2048];
        while let Some((length, stamp)) = self.socket.recv_stamped(&mut frame)? {
            // What came before the kernel stamped has no time, and when it was read is none.
            let Some(stamp) = stamp else { continue };
            let bytes = &frame[..length.min(frame.len())];
            let at = i128::from(stamp.0);
            self.exchanges.hear(&Captured { at, link: LinkType::ETHERNET, bytes, length: length as u32 });
        }
        Ok(())
    }

    /// What it heard.
    #[must_use]
    pub fn finish(self) -> (Vec<Exchange>, Tally) {
        self.exchanges.finish()
    }
}
