//! Captures of packets: what the formats pcap and pcapng hold. Nothing here opens a file.

mod file;
mod link;

pub use file::{Captured, ReadError, each_packet};
pub(crate) use link::Framing;
pub use link::LinkType;
