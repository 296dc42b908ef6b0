//! What can go wrong in a lab, each with the operation and what to do about it.

use std::io;
use thiserror::Error;

/// Why a lab could not be built or used.
#[derive(Debug, Error)]
pub enum LabError {
    /// The system refuses network namespaces to this process.
    #[error(
        "this system lets no network namespace be made ({reason}): run as root, or allow user namespaces \
         (sysctl user.max_user_namespaces above 0, and on some systems kernel.unprivileged_userns_clone=1 or \
         kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Refused {
        /// What the kernel said.
        reason: io::Error,
    },
    /// A user namespace was asked for when the process already had several threads.
    #[error("a user namespace must be entered before the first thread is started")]
    Threads,
    /// A command that the lab needs is not there.
    #[error("the lab needs the command `{command}`: install {package}")]
    MissingCommand {
        /// Its name.
        command: &'static str,
        /// What has it.
        package: &'static str,
    },
    /// A command that wires the lab failed.
    #[error("in the lab's namespace `{place}`, `{command}` failed: {message}")]
    Command {
        /// The namespace that it ran in.
        place: String,
        /// What ran.
        command: String,
        /// Its last line on standard error.
        message: String,
    },
    /// An operation of the operating system failed.
    #[error("the lab could not {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// This kernel has no IPv6.
    #[error("this kernel has no IPv6: run the lab over IPv4")]
    NoIpv6,
    /// A thread of the lab ended before its time, without an error of its own.
    #[error("the lab's {role} ended before its time")]
    Ended {
        /// Which.
        role: &'static str,
    },
    /// A program that is active in the lab did not do what it was asked to.
    #[error("in the lab, `{command}` failed: {said}")]
    Unexpected {
        /// Its name.
        command: &'static str,
        /// What it said.
        said: String,
    },
    /// A probe did not see the one connection that was made.
    #[error("in the lab, probe {probe} saw {handshakes} handshakes of the one connection that was made")]
    Unseen {
        /// Which, from the client.
        probe: usize,
        /// How many it saw.
        handshakes: usize,
    },
    /// Nothing can be captured.
    #[error("in the lab: {0}")]
    Capture(#[from] dwell_net::capture::RingError),
    /// No key could be made.
    #[error("in the lab: {0}")]
    Identity(#[from] dwell_net::IdentityError),
    /// The agent at the far end failed.
    #[error("in the lab: {0}")]
    Agent(#[from] dwell_net::AgentError),
    /// No session came about.
    #[error("in the lab: {0}")]
    Connect(#[source] Box<dwell_net::ConnectError>),
    /// Nothing can be observed inside a host.
    #[error("in the lab: {0}")]
    Observer(#[from] dwell_net::inside::ObserverError),
    /// The session carries nothing any more.
    #[error("in the lab: {0}")]
    Live(#[source] Box<dwell_net::LiveError>),
    /// No probes can be sent past the router.
    #[error("in the lab: {0}")]
    Fsd(#[from] dwell_net::fsd::FsdError),
    /// The path cannot be looked at hop by hop.
    #[error("in the lab: {0}")]
    Hop(#[from] dwell_net::hop::HopError),
    /// The far end's kernel does not answer, or does no more.
    #[error("in the lab: {0}")]
    Agentless(#[source] Box<dwell_net::AgentlessError>),
    /// A tap did not hear what passed it.
    #[error(
        "in the lab: a host's tap missed {missing} frames of its host: the machine is too busy, try fewer rounds"
    )]
    Unheard {
        /// How many.
        missing: usize,
    },
    /// The scenario asks for what this carrier cannot do.
    #[error("scenario `{scenario}`: {reason}")]
    Scenario {
        /// The scenario's name.
        scenario: String,
        /// What cannot be done, and what to do instead.
        reason: String,
    },
}

impl LabError {
    /// Wraps an error of the operating system with what was tried.
    pub(crate) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::System { what, source: source.into() }
    }
}
