//! Why a host's inside cannot be observed.

use thiserror::Error;

/// Why a host's inside cannot be observed.
#[derive(Debug, Error)]
pub enum ObserverError {
    /// The kernel does not describe its own structures.
    #[error(
        "this kernel has no BTF (/sys/kernel/btf/vmlinux is missing), so no program can find its way in it: a kernel built with CONFIG_DEBUG_INFO_BTF is needed"
    )]
    NoBtf,
    /// This process may not.
    #[error("{0}")]
    NotPermitted(String),
    /// More was asked for than one program can be told.
    #[error("at most {most} {what} can be watched at once, not {asked}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many can be.
        most: usize,
        /// How many were asked for.
        asked: usize,
    },
    /// The kernel refused something else.
    #[error("the kernel refused to {doing}: {source}")]
    Refused {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: libbpf_rs::Error,
    },
    /// The operating system refused something else.
    #[error("could not {doing}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

impl ObserverError {
    /// An error of libbpf's, met while `doing`.
    pub(super) fn refused(doing: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |source| Self::Refused { doing, source }
    }
}
