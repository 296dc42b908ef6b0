//! Sends pairs of probes that bear the destination's address as their source.

use super::error::FsdError;
use super::scout::{Router, Scout};
use super::wire::Wire;
use dwell_core::fsd::{Marks, Probe};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::io;
use std::net::{IpAddr, UdpSocket};

/// Sends pairs: each a direct probe, and one that expires at the router.
pub struct FsdProber {
    wire: Wire,
    host: IpAddr,
    hop: u8,
    id: u16,
    sent: u16,
    router: Router,
}

/// The hops of a direct probe: what hosts usually give their packets.
const DIRECT: u8 = 64;

impl FsdProber {
    /// Ready to probe the router at `hop` on the way to `host`. It asks that router for a message first, under this
    /// host's own address: so it is known who answers there, and how large a probe is of which the router's message is
    /// as large as the probe. It takes CAP_NET_RAW.
    ///
    /// # Errors
    /// Each says what stood in the way, and what to do.
    pub fn open(host: IpAddr, hop: u8) -> Result<Self, FsdError> {
        let near = towards(host)?;
        if near == host {
            return Err(FsdError::OwnAddress { address: host });
        }
        let wire = Wire::to(host)?;
        let mut id = [0; 2];
        let random = SystemRandom::new().fill(&mut id);
        random.map_err(|_| FsdError::Near(io::Error::other("the system gives no random numbers")))?;
        let id = u16::from_be_bytes(id);
        let router = Scout::open(near, host, id)?.find(&wire, hop)?;
        Ok(Self { wire, host, hop, id, sent: 0, router })
    }

    /// Who answered, and what.
    #[must_use]
    pub fn router(&self) -> Router {
        self.router
    }

    /// Sends the next probe: of every second pair the direct one first, of the others the hop-limited one, so that each
    /// kind follows as often on the one as on the other. What a packet leaves behind in a router's caches is then
    /// nobody's advantage.
    ///
    /// # Errors
    /// The operating system's.
    pub fn send(&mut self) -> io::Result<()> {
        let (pair, second) = (self.sent / 2, self.sent % 2);
        self.sent = self.sent.wrapping_add(1);
        let limited = (pair + second) % 2;
        let hops = if limited == 0 { DIRECT } else { self.hop };
        let marks =
            Marks { source: self.host, destination: self.host, id: self.id, sequence: 2 * pair + limited };
        self.wire.send(Probe { marks, hops, length: self.router.even })
    }
}

/// The address that this host's packets to `host` bear.
fn towards(host: IpAddr) -> Result<IpAddr, FsdError> {
    let any: IpAddr = if host.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = UdpSocket::bind((any, 0)).map_err(FsdError::Near)?;
    // Nothing is sent: the route alone is asked for. Any port will do.
    socket.connect((host, 9)).map_err(|source| FsdError::Unreachable { address: host, source })?;
    Ok(socket.local_addr().map_err(FsdError::Near)?.ip())
}
