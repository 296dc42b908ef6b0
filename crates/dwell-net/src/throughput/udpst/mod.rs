//! `udpst` on the wire: the protocol of RFC 9946 over UDP, as client and as server.

mod client;
mod line;
mod listening;
mod loading;
mod seal;
mod server;

pub use client::{UdpstConfig, UdpstError, measure};
pub use server::{UdpstServer, UdpstServerConfig};
