//! Testbeds in network namespaces, from the simulator's scenario files.
//!
//! A [`Lab`] is one process. Source, destination and what stands between them are threads in network namespaces
//! without names, joined by veth pairs: when the process ends, also by SIGKILL, the kernel takes all of it away, and
//! any number of labs run at once. The hosts' kernels, sockets and stamps are real, and so are client and agent; what
//! lies between is one of the [`Carriage`]s. [`Lab::check`] measures the lab itself; what it does not carry is for
//! the simulator alone.
//!
//! It takes root, or a call of [`enter_user_namespace`] at the start of `main`. And a scenario gains by some hundred
//! microseconds of propagation on an emulated link: sender and forwarder share a core, and then a train has left
//! before its first packet is due at the far end.

mod answering;
mod awake;
mod calibration;
mod carrying;
mod case;
mod check;
mod client;
mod counters;
mod cross;
mod echo_lab;
mod error;
mod forwarder;
mod fsd_lab;
mod handshakes;
mod hop_lab;
mod inner;
mod lab;
mod lane;
mod namespace;
mod nic_stage;
mod pace;
mod path;
mod placement;
mod routers;
mod salvo;
mod section_lab;
mod shaper;
mod tcp_cross;
mod testbed;
mod tool;
mod user;
mod watch;
mod way;
mod wiring;

pub use answering::AnsweringLabPath;
pub use case::{Case, Situation};
pub use check::{Delivered, LabCheck, NicCheck, Spread, TrainCheck, Verdict};
pub use echo_lab::{EchoHeard, EchoLab};
pub use error::LabError;
pub use fsd_lab::{FsdHeard, FsdLab};
pub use handshakes::{Echoed, ForcedHeard, ForcedLosses, Naming, Tapped};
pub use hop_lab::HopLab;
pub use lab::{Lab, LabOptions};
pub use path::LabPath;
pub use placement::Cores;
pub use section_lab::{SectionAsking, SectionHeard, SectionLab};
pub use testbed::Carriage;
pub use tool::ToolHeard;
pub use user::{Footing, enter_user_namespace};
pub use watch::{HostWatch, Watched};
