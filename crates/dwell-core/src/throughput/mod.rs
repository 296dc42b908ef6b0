//! Throughput: what TCP connections reach, and what RFC 9097's search finds IP to carry.
//!
//! Neither is a method over trains: a TCP connection paces itself, and the search follows feedback within one stream.
//! So each has a small seam of its own. What was seen of a TCP run is a [`Transfer`], and all that is told of it is
//! computed from that alone, live and in replay. What sizes the window while it runs is [`autotune::Sobas`].

pub mod autotune;
mod bucket;
pub mod fill;
pub mod report;
mod transfer;
pub mod udpst;
pub mod verdict;

pub use transfer::{
    Connection, HostLoad, Interval, Receiver, ReceiverSample, Sender, SenderSample, Threads, Transfer,
};
