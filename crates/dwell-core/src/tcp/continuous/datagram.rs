//! A UDP datagram as a probe sees it.

use super::super::Endpoint;
use crate::unit::Nanos;

/// A UDP datagram as a probe sees it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Datagram<'p> {
    /// When it passed, since the epoch of the probe's clock.
    pub at: Nanos,
    /// Who sent it.
    pub from: Endpoint,
    /// Whom it is for.
    pub to: Endpoint,
    /// What was captured of its payload. The first five bytes are enough.
    pub payload: &'p [u8],
}
