//! Packets on their way from link to link.

use super::meter::Class;
use super::{Picos, WhyLost};
use dwell_core::Bytes;

/// A packet that somebody wants to hear of again.
#[derive(Copy, Clone, Debug)]
pub(super) struct Probe {
    pub(super) key: u64,
    pub(super) waited: Picos,
    /// When its last bit left the first link's near end.
    pub(super) departed: Option<Picos>,
    /// The link at whose far end it leaves, from 0; beyond the last: at the path's.
    pub(super) last: usize,
}

/// Whose packet it is, where links tell flows or classes apart.
#[derive(Copy, Clone, Debug)]
pub(super) struct Owner {
    /// Number of its flow, from 1 on; the injected packets are flow 0.
    pub(super) flow: u32,
    pub(super) priority: u8,
}

/// A packet that goes on after this link, or came from the one before it.
#[derive(Copy, Clone, Debug)]
pub(super) enum Parcel {
    /// Injected.
    Probe(Probe),
    /// Of cross traffic, with the links that it still passes.
    Cross { links_left: usize, owner: Owner },
}

impl Parcel {
    pub(super) fn flow_number(&self) -> u32 {
        match self {
            Self::Probe(_) => 0,
            Self::Cross { owner, .. } => owner.flow,
        }
    }

    pub(super) fn class(&self) -> Class {
        match self {
            Self::Probe(_) => Class::Own,
            Self::Cross { .. } => Class::Cross,
        }
    }

    /// Whether it goes no further than the far end of the link with this number.
    pub(super) fn leaves_after(&self, link: usize) -> bool {
        matches!(self, Self::Probe(probe) if probe.last == link)
    }

    /// Whether anybody hears of it again after the link that it comes to.
    pub(super) fn goes_on(&self) -> bool {
        !matches!(self, Self::Cross { links_left: 1, .. })
    }
}

/// A packet at the far end of the link, or lost on it.
#[derive(Copy, Clone, Debug)]
pub(super) enum Exit {
    Passed { at: Picos, size: Bytes, parcel: Parcel },
    Lost { at: Picos, key: u64, why: WhyLost },
}

/// A packet that comes to the link.
#[derive(Copy, Clone, Debug)]
pub(super) struct Arrival {
    pub(super) at: Picos,
    pub(super) size: Bytes,
    pub(super) parcel: Parcel,
}

/// Tells of a lost packet whoever wants to hear of it.
pub(super) fn lose(arrival: &Arrival, at: Picos, why: WhyLost, exits: &mut impl FnMut(Exit)) {
    if let Parcel::Probe(Probe { key, .. }) = arrival.parcel {
        exits(Exit::Lost { at, key, why });
    }
}
