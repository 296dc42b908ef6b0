//! How much a link can carry.
