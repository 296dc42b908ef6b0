//! The observer of a host's inside: small programs that the kernel runs at its tracepoints (eBPF) note when each packet
//! passes, and tell its journey once it was read or sent.
//!
//! It needs a kernel with BTF (`/sys/kernel/btf/vmlinux`), and CAP_BPF with CAP_PERFMON, or root. Nothing is pinned:
//! the programs are gone when the [`Observer`] is dropped, or when its process ends in whatever way.
//!
//! Where that is not to be had, [`OwnProbes`] show fewer stages, of Dwell's own packets; a [`Source`] is either.

mod announce;
mod cost;
mod device;
mod error;
mod hook;
mod observer;
mod own;
mod reason;
mod record;
mod source;
mod watching;

pub use announce::announce_stamp;
pub use error::ObserverError;
pub use observer::Observer;
pub use own::{OwnProbes, own_address};
pub use source::Source;
pub use watching::Watching;
