//! What the keeper of a probe may want to know.

use crate::upload::WarehouseAddress;
use dwell_net::{ChannelError, PublicKey};
use dwell_store::spool::SpoolError;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Something that the keeper of a probe may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShipperEvent {
    /// The warehouse takes batches: it kept the first of this session.
    Connected {
        /// Where it is.
        address: SocketAddr,
    },
    /// It does not, or not any more; batches wait in the spool. Said once for the same reason.
    Waiting {
        /// Why.
        why: String,
        /// When it is tried again.
        pause: Duration,
    },
    /// Records are given up, since now.
    GivingUp {
        /// Why.
        why: String,
    },
    /// The warehouse counted records and did not keep them: they cannot be true.
    Absurd {
        /// How many.
        records: u64,
    },
    /// The disk could not be asked to keep what was written; a power cut may lose it.
    Unsynced {
        /// Why.
        why: String,
    },
    /// A thread of the shipper ended by a defect of Dwell.
    Defect,
}

impl fmt::Display for ShipperEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { address } => write!(f, "the warehouse at {address} takes batches"),
            Self::Waiting { why, pause } => {
                write!(f, "batches wait in the spool, next attempt in {:.1} s: {why}", pause.as_secs_f64())
            }
            Self::GivingUp { why } => f.write_str(why),
            Self::Absurd { records } => {
                write!(
                    f,
                    "the warehouse did not keep {records} records: they cannot be true; is this host's clock right?"
                )
            }
            Self::Unsynced { why } => write!(f, "a power cut may lose what is in the spool: {why}"),
            Self::Defect => f.write_str("a thread of the shipper found a defect of Dwell"),
        }
    }
}

/// Why a shipper cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ShipperError {
    /// Another process has the spool.
    #[error("{}: another process ships from this spool; end it, or name another folder with --spool", folder.display())]
    InUse {
        /// The spool.
        folder: PathBuf,
    },
    /// The spool cannot be used.
    #[error("{}: cannot be used as a spool: {source}; name another folder with --spool", folder.display())]
    Spool {
        /// The spool.
        folder: PathBuf,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// What is in it cannot be used.
    #[error(transparent)]
    Content(#[from] SpoolError),
    /// The operating system gives no thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// Why a batch is not shipped for now.
#[derive(Debug, thiserror::Error)]
pub enum ShipError {
    /// The host's name means nothing.
    #[error("unknown host {host:?}: {source}")]
    UnknownHost {
        /// The name.
        host: String,
        /// What the resolver says.
        #[source]
        source: io::Error,
    },
    /// Nobody answers there.
    #[error(
        "no warehouse at {address}: {source}; does `dwell serve` run there, and does a firewall let the port through?"
    )]
    Unreachable {
        /// Where.
        address: SocketAddr,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
    /// It has another key than expected.
    #[error(
        "the warehouse at {address} has a key that is not in this host's file of peers; if it is the right one, put it there: {presented}"
    )]
    WrongKey {
        /// Where.
        address: SocketAddr,
        /// Its key.
        presented: PublicKey,
    },
    /// It does not know us.
    #[error(
        "the warehouse at {address} does not know this host; put this line into its file of peers: {key} probe={probe}"
    )]
    NotAPeer {
        /// Where.
        address: SocketAddr,
        /// Our key.
        key: PublicKey,
        /// Our probe.
        probe: String,
    },
    /// It speaks another version.
    #[error(
        "the warehouse at {address} speaks version {theirs} of the protocol, this Dwell version {}; update the older one",
        dwell_net::protocol::VERSION
    )]
    Version {
        /// Where.
        address: SocketAddr,
        /// What it speaks.
        theirs: u16,
    },
    /// Something else of Dwell listens there.
    #[error("{address} is a Dwell, but no warehouse (an agent?); give {to} the port of `dwell serve`")]
    NoWarehouse {
        /// Where.
        address: SocketAddr,
        /// As it was named.
        to: WarehouseAddress,
    },
    /// It will not.
    #[error("the warehouse at {address} refuses: {why}")]
    Refused {
        /// Where.
        address: SocketAddr,
        /// Why.
        why: String,
    },
    /// It could not keep a batch.
    #[error("the warehouse at {address} could not keep a batch: {why}")]
    NotKept {
        /// Where.
        address: SocketAddr,
        /// Why.
        why: String,
    },
    /// The channel failed.
    #[error("the warehouse at {address}: {source}")]
    Channel {
        /// Where.
        address: SocketAddr,
        /// How.
        #[source]
        source: ChannelError,
    },
    /// The spool cannot be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}
