//! What became of what a tracker was shown, by reason.

use serde::{Deserialize, Serialize};

/// What became of what a tracker was shown, by reason.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Handshakes that the client finished.
    pub established: u64,
    /// Handshakes that were refused.
    pub refused: u64,
    /// Given up because their last segment was too long ago.
    pub aged: u64,
    /// Given up for others, because all places were taken: no answer to their SYN had passed.
    pub evicted_unanswered: u64,
    /// Given up for others, because all places were taken: the client's answer was missing.
    pub evicted_answered: u64,
    /// Given up for others, because all places were taken: SYN/ACKs whose SYN had not passed.
    pub evicted_stray: u64,
    /// Given up because a SYN with another number came from the same port.
    pub ports_reused: u64,
    /// Still in progress at the end.
    pub cut_off: u64,
    /// Segments that passed twice, as from a mirror.
    pub duplicates: u64,
    /// SYNs repeated by their senders.
    pub repeated_syns: u64,
    /// SYN/ACKs repeated by their senders.
    pub repeated_syn_acks: u64,
    /// SYN/ACKs whose SYN had not passed.
    pub stray_syn_acks: u64,
    /// SYN/ACKs and RSTs that acknowledge something else than the SYN that passed.
    pub wrong_acknowledgments: u64,
    /// SYNs and SYN/ACKs of handshakes that were over.
    pub late: u64,
    /// Answers whose time stamp names a segment that did not pass here.
    pub unseen_named: u64,
    /// Handshakes of which no half is told, for the clock went backwards, or was set, between their segments.
    pub clock_stepped: u64,
    /// Segments with SYN and RST or FIN.
    pub impossible_flags: u64,
    /// RSTs and ICMP messages that refuse no handshake in progress.
    pub stray_refusals: u64,
}
