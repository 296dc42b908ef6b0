//! A packet socket that hears what passes an interface, each packet with the kernel's stamp.

use crate::packet_socket::PacketSocket;
use dwell_core::capture::{Captured, LinkType};
use std::io;
use std::thread;
use std::time::Duration;

/// Hears what passes an interface of the network namespace in which it was opened.
pub(crate) struct Tap(PacketSocket);

/// The kernel takes some milliseconds to switch stamps on.
const SWITCHING: Duration = Duration::from_millis(30);

impl Tap {
    /// On `interface`. It takes CAP_NET_RAW.
    pub(crate) fn open(interface: &str) -> io::Result<Self> {
        let socket = PacketSocket::tap(interface)?;
        thread::sleep(SWITCHING);
        Ok(Self(socket))
    }

    /// Hands on what passed since the last call.
    pub(crate) fn listen(&mut self, mut hear: impl FnMut(&Captured<'_>)) -> io::Result<()> {
        let mut frame = [0; 2048];
        while let Some((length, stamp)) = self.0.recv_stamped(&mut frame)? {
            // What came before the kernel stamped has no time, and when it was read is none.
            let Some(stamp) = stamp else { continue };
            let bytes = &frame[..length.min(frame.len())];
            let at = i128::from(stamp.0);
            hear(&Captured { at, link: LinkType::ETHERNET, bytes, length: length as u32 });
        }
        Ok(())
    }
}
