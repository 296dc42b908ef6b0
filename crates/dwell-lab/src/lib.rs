//! Testbeds in network namespaces, from the simulator's scenario files.

mod error;
mod namespace;
mod user;
mod wiring;

pub use error::LabError;
pub use user::{Footing, enter_user_namespace};
