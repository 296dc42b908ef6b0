//! Deterministic packet-level simulator of a path, its queues, hosts and clocks.
//!
//! A [`Scenario`] is one TOML file; the testbeds of `dwell-lab` are built from the same files. A [`Network`] is the
//! links of one direction, usable in virtual time (here) and driven in real time (the testbed's forwarder).
//! A [`SimPath`] puts hosts with their clocks at both ends and carries trains, and knows the truth of each packet.
//! The same seed gives the same packets at the same nanosecond.
//!
//! ```
//! use dwell_core::{Bytes, Departure, Nanos, Path, Train};
//! use dwell_sim::{Scenario, SimPath};
//!
//! let scenario = Scenario::parse("plain.toml", "name = 'plain'\n[[links]]\nrate = '100 Mb/s'")?;
//! let mut path = SimPath::new(&scenario, 1);
//! let pair = Train::pair(Bytes(88), Bytes(88), Nanos::from_micros(50));
//! let passages = path.carry(&vec![Departure { pause: Nanos::from_millis(5), train: pair }])?;
//! let truth = passages[0].truth.as_ref().unwrap()[0].unwrap();
//! // 88 B take 7.04 us, and the link propagates in no time.
//! assert_eq!(truth.left_sender, truth.reached_receiver);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod framing;
mod host;
mod link;
mod network;
pub mod nic;
pub mod passing;
mod path;
mod processor;
mod random;
mod scenario;
mod times;
mod traffic;

pub use clock::Clock;
pub use framing::Framing;
pub use link::{
    Balance, Discipline, LinkSpec, Node, Policer, QueueLimit, Reordering, Reroute, RouterSpec, Shaper,
};
pub use network::{Flow, Network, Outcome, WhyLost};
pub use path::{AnsweringPath, HopTruth, SimError, SimHops, SimPath, Truth};
pub use scenario::{
    BusySpec, Carrier, ClockSpec, ClockStep, HostSpec, LabNic, LabSpec, QuantityText, Ranges, Scenario,
    ScenarioError,
};
pub use times::{Mode, Times};
pub use traffic::{
    Algorithm, CaptureError, CaptureSpec, CrossKind, CrossSpec, Offered, ParetoSpec, SizeShare, Sizes,
    TcpSpec, Trace,
};
