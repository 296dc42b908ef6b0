//! TCP as it is seen in passing: segments in, handshakes and round-trip times out.
//!
//! A probe at some place of the path sees the three segments of a handshake. From them come the two halves of its
//! round-trip time (papers/003): `S`, from the probe to the server and back, and `C`, from the probe to the client and
//! back. Time is the packets' own: nothing here asks what time it is.

mod by_server;
pub mod continuous;
pub mod dissect;
mod endpoint;
mod flags;
mod flow_hash;
mod half;
mod handshake;
mod key;
mod observed;
mod prefix;
pub mod section;
mod segment;
mod summary;
pub mod tracker;

pub use by_server::{MOST_PREFIXES, ToServer};
pub use dissect::{Passing, Skipped, dissect};
pub use endpoint::Endpoint;
pub use flags::{Flag, Flags};
pub use flow_hash::{FlowHash, FlowSeed, Glance};
pub use half::{Half, Quality};
pub use handshake::{Ending, Handshake};
pub use key::{ConnectionKey, IsnKey};
pub use observed::{Observed, Seen};
pub use prefix::Prefix;
pub use segment::{Options, Segment, TcpFlags, Timestamps, Unreachable};
pub use summary::Summary;
pub use tracker::{Limits, Tracker};
