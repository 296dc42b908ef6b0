//! Throughput between this host and an agent: TCP connections beside the control channel, on the agent's one port.
//!
//! The channel announces them; each begins with eight fixed bytes and the announced token, which nobody else knows, and then
//! carries nothing but data one way, and single bytes the other way that let the receiver's kernel see round trips.

mod attach;
mod cores;
mod info;
mod member;
mod option;
mod pump;
mod receiving;
mod sending;
mod serve;
mod tcp;
pub mod udpst;

pub(crate) use attach::{Arrivals, take};
pub use member::{Order, Side};
pub(crate) use serve::serve;
pub use tcp::{StreamError, StreamPath};
