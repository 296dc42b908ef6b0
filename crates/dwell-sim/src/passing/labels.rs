//! What a connection can be asked to be.

/// The first sequence numbers of a host are the greatest that there are.
pub(crate) const WRAPS: &str = "numbers-wrap";

/// The labels of what is drawn for a connection on its way, in the order of the alphabet.
pub const LABELS: [&str; 26] = [
    "aborted",
    "ack-lost",
    "ack-with-data",
    "closed-at-once",
    "data-lost",
    "echoes-newest",
    "ecn",
    "fast-open",
    "half-open-scan",
    "lossy",
    "mirrored",
    "mptcp",
    "no-timestamps",
    WRAPS,
    "one-way",
    "plain",
    "refused",
    "shuffled",
    "silent",
    "simultaneous-open",
    "slow",
    "syn-ack-lost",
    "syn-cookies",
    "syn-lost",
    "tap-deaf",
    "unreachable",
];
