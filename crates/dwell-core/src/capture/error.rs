//! Why a capture cannot be read.

use std::io;
use thiserror::Error;

/// Why a capture cannot be read, or not to its end.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system said so.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Of no format that is known here.
    #[error("is not a capture in the format of pcap, pcapng, snoop or ERF")]
    NoCapture,
    /// A capture, perhaps, but packed.
    #[error("is compressed; unpack it first")]
    Compressed,
    /// No packets.
    #[error("holds no packets")]
    Empty,
    /// The times of pcapng's simple packets are not recorded; and a fraction of a second that is no less than one is no time.
    #[error("holds packets without times (number {number} is one), or with such as cannot be")]
    Timeless {
        /// Which packet, from 1.
        number: usize,
    },
    /// The end is missing.
    #[error(
        "is cut off after {whole} whole packets; cut it at a whole packet (editcap -r FILE NEW 1-{whole} does)"
    )]
    CutOff {
        /// How many packets are whole.
        whole: usize,
    },
    /// A record that is none.
    #[error("is damaged after {whole} whole packets")]
    Damaged {
        /// How many packets are whole.
        whole: usize,
    },
}
