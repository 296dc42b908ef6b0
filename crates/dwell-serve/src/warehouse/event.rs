//! What the keeper of a warehouse may want to know.

use dwell_net::{PublicKey, ReceptionEvent};
use std::collections::BTreeMap;
use std::fmt;

/// Something that the keeper of a warehouse may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarehouseEvent {
    /// Somebody came or went.
    Door(ReceptionEvent),
    /// A probe begins to ship.
    Admitted {
        /// Its name.
        probe: String,
        /// Its key.
        peer: PublicKey,
    },
    /// Records that cannot be true were counted and not kept.
    Absurd {
        /// Of which probe.
        probe: String,
        /// How many, by reason.
        absurd: BTreeMap<&'static str, u64>,
    },
    /// The store did not keep a batch; the probe still has it.
    NotKept {
        /// Of which probe.
        probe: String,
        /// Why.
        why: String,
    },
}

impl fmt::Display for WarehouseEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Door(event) => event.fmt(f),
            Self::Admitted { probe, peer } => write!(f, "probe {probe}: ships as {peer}"),
            Self::Absurd { probe, absurd } => {
                write!(f, "probe {probe}: records that cannot be true, not kept:")?;
                absurd.iter().try_for_each(|(reason, count)| write!(f, " {count} {reason}"))
            }
            Self::NotKept { probe, why } => {
                write!(f, "probe {probe}: a batch is not kept, it will come again: {why}")
            }
        }
    }
}
