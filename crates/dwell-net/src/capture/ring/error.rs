//! Why an interface cannot be captured.

use thiserror::Error;

/// Why an interface cannot be captured, or no longer.
#[derive(Debug, Error)]
pub enum RingError {
    /// No such interface.
    #[error("no interface {0:?} here")]
    NoInterface(String),
    /// This process may not.
    #[error(
        "this process may not capture on {0}: it lacks CAP_NET_RAW; run it as root, or give the program what it and the filter in the kernel take (setcap cap_net_raw,cap_bpf,cap_perfmon+ep)"
    )]
    NotPermitted(String),
    /// Its packets begin with something that is not known here.
    #[error("{interface} is an interface of a kind that is not known here (ARPHRD {kind})")]
    UnknownLink {
        /// Its name.
        interface: String,
        /// The kernel's number of its kind.
        kind: u16,
    },
    /// Several rings need the kernel to run a program.
    #[error("more than one core takes a filter in the kernel, and there is none: {0}")]
    NoSpreading(String),
    /// The NIC does not stamp.
    #[error("{interface} cannot stamp packets in hardware: {source}")]
    NoHardwareStamps {
        /// Its name.
        interface: String,
        /// Why.
        source: std::io::Error,
    },
    /// Stamps of two clocks do not mix.
    #[error(
        "{0} stamp packets in hardware by a clock each, and stamps of several clocks do not mix: leave it to the kernel"
    )]
    SeveralClocks(String),
    /// It is down.
    #[error("interface {0} is down")]
    Down(String),
    /// It was there, and is no longer.
    #[error("interface {0} is gone")]
    Gone(String),
    /// The operating system refused something else.
    #[error("cannot {doing} {interface}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// On which interface.
        interface: String,
        /// Why.
        source: std::io::Error,
    },
}
