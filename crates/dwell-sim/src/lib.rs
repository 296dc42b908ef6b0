//! Deterministic packet-level simulator of a path, its queues, hosts and clocks.
//!
//! A [`Scenario`] is one TOML file; the testbeds of `dwell-lab` are built from the same files. A [`Network`] is the
//! links of one direction, usable in virtual time (here) and driven in real time (the testbed's forwarder).
//! The same seed gives the same packets at the same nanosecond.

mod link;
mod network;
mod random;
mod scenario;
mod times;

pub use link::{CrossKind, CrossSpec, Framing, LinkSpec, Offered, QueueLimit};
pub use network::{Network, Outcome, WhyLost};
pub use scenario::{Carrier, ClockSpec, ClockStep, HostSpec, LabSpec, Scenario, ScenarioError};
pub use times::{Mode, Times};
