//! The edge of the machine: sockets and their time stamps, the agent.

mod agent;
mod allowance;
mod channel;
pub mod clock;
mod facts;
mod identity;
pub mod interface;
mod live;
mod mtu;
pub mod pace;
mod packet_socket;
pub mod place;
pub mod probe;
pub mod prober;
pub mod protocol;
mod session;
pub mod socket;

pub use agent::{Agent, AgentConfig, AgentError, AgentEvent};
pub use channel::{Channel, ChannelError};
pub use identity::{Identity, IdentityError, KeyTextError, Peers, PublicKey};
pub use live::{ConnectConfig, ConnectError, Host, LiveError, LivePath};
pub use packet_socket::PacketSocket;
pub use place::{PinError, lock_memory, pin_current_thread, real_time_priority};
