//! What a connection can be asked to be.

/// The labels of what is drawn for a connection on its way, in the order of the alphabet.
pub const LABELS: [&str; 23] = [
    "aborted",
    "ack-lost",
    "ack-with-data",
    "closed-at-once",
    "data-lost",
    "echoes-newest",
    "fast-open",
    "half-open-scan",
    "lossy",
    "mirrored",
    "no-timestamps",
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
