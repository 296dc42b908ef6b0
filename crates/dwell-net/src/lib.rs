//! The edge of the machine: sockets and their time stamps, the agent.

pub mod clock;
mod identity;
pub mod interface;
pub mod pace;
mod packet_socket;
pub mod place;
pub mod probe;
pub mod prober;
pub mod socket;

pub use identity::{Identity, IdentityError, KeyTextError, Peers, PublicKey};
pub use packet_socket::PacketSocket;
pub use place::{PinError, lock_memory, pin_current_thread, real_time_priority};
