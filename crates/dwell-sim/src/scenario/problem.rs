//! What checks of a scenario share.

use dwell_core::Bytes;
use std::ops::RangeInclusive;

/// A key, and what is wrong with it.
pub(super) type Problem = (String, String);

/// IP packets that a path may pass.
pub(super) const MTU: RangeInclusive<Bytes> = Bytes(68)..=Bytes(65_535);
