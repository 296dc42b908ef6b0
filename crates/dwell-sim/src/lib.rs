//! Deterministic packet-level simulator of a path, its queues, hosts and clocks.
//!
//! A [`Scenario`] is one TOML file; the testbeds of `dwell-lab` are built from the same files. A [`Network`] is the
//! links of one direction, usable in virtual time (here) and driven in real time (the testbed's forwarder).
//! A [`SimPath`] puts hosts with their clocks at both ends and carries trains, and knows the truth of each packet.
//! The same seed gives the same packets at the same nanosecond.

mod clock;
mod host;
mod link;
mod network;
mod path;
mod random;
mod scenario;
mod times;

pub use clock::Clock;
pub use link::{CrossKind, CrossSpec, Framing, LinkSpec, Offered, QueueLimit};
pub use network::{Network, Outcome, WhyLost};
pub use path::{SimError, SimPath, Truth};
pub use scenario::{Carrier, ClockSpec, ClockStep, HostSpec, LabSpec, Ranges, Scenario, ScenarioError};
pub use times::{Mode, Times};
