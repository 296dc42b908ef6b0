//! How much a link can carry.
//!
//! All but [`end_link`] speak of the narrowest link of the path, whichever that is. Rates count what a packet takes of an
//! Ethernet link: the size on the wire and the gap behind it, so that a full link is as much as its nominal rate.

pub mod bprobe;
pub mod capprobe;
pub mod end_link;
pub mod modes;
pub mod nettimer;
pub mod packet_pair;
mod pair;
pub mod pathrate;
pub mod spared;

pub use bprobe::Bprobe;
pub use capprobe::Capprobe;
pub use end_link::EndLink;
pub use nettimer::Nettimer;
pub use packet_pair::PacketPair;
pub use pair::pair_rate;
pub use pathrate::Pathrate;
pub use spared::SparedRuns;
