//! Testbeds in network namespaces, from the simulator's scenario files.

mod calibration;
mod cross;
mod error;
mod forwarder;
mod namespace;
mod pace;
mod placement;
mod shaper;
mod testbed;
mod user;
mod wiring;

pub use error::LabError;
pub use placement::Cores;
pub use testbed::Carriage;
pub use user::{Footing, enter_user_namespace};
