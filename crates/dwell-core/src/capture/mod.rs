//! Captures of packets: what the formats pcap, pcapng, snoop and ERF hold. Nothing here opens a file.

mod erf;
mod error;
mod format;
mod link;
mod pcap;
mod pcapng;
mod reader;
mod record;
mod snoop;
mod source;

pub use error::ReadError;
pub(crate) use link::Framing;
pub use link::LinkType;
pub use reader::{Captured, Reader, each_packet};
pub use source::{Blocks, Source};
