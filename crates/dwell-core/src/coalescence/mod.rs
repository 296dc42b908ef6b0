//! Interrupt coalescence of the host under test.

mod kind;

pub use kind::Kind;
