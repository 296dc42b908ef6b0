//! Testbeds in network namespaces, from the simulator's scenario files.

mod calibration;
mod check;
mod check_table;
mod cross;
mod error;
mod forwarder;
mod lab;
mod namespace;
mod pace;
mod path;
mod placement;
mod salvo;
mod shaper;
mod testbed;
mod user;
mod verdict;
mod wiring;

pub use check::{Delivered, LabCheck, Spread};
pub use error::LabError;
pub use lab::{Lab, LabOptions};
pub use path::LabPath;
pub use placement::Cores;
pub use testbed::Carriage;
pub use user::{Footing, enter_user_namespace};
pub use verdict::Verdict;
