//! Echoes: a probe that makes a host answer, the answer, and the times of both on the tap's clock and on the host's.

pub mod message;
