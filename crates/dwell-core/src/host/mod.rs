//! How long a host keeps a packet.

mod compound;

pub mod agentless;
pub mod knee;
pub mod salehin2013;
pub mod salehin2015;
pub mod salehin2017;

pub use agentless::{Agentless, AgentlessConfig};
pub use knee::{Knee, KneeConfig};
pub use salehin2015::Salehin2015;
pub use salehin2017::Salehin2017;
