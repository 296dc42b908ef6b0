//! Captures of packets: what the formats pcap and pcapng hold. Nothing here opens a file.

mod file;
mod link;

pub use file::{Captured, ReadError, each_packet};
pub use link::LinkType;
