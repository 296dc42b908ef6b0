//! Sections of a path, from what several probes on it saw of the same handshakes.
//!
//! For probes 1..k from client to server, of which probe i saw the halves `S_i` and `C_i`: the section from the client
//! to probe 1 takes `C_1`, that from probe i to i+1 takes `S_i - S_{i+1}` and, independently, `C_{i+1} - C_i`, and that
//! from probe k to the server `S_k` (papers/003, 2.2). No clock is compared with another. A connection that was opened
//! from the other side passes the same probes from k to 1, and is split in that order.

mod ballots;
mod blame;
mod clocks;
mod connection;
mod course;
mod estimate;
mod kemeny;
mod nat;
mod order;
mod split;
mod summary;
mod way;

pub use blame::{Blame, NoBlame, Reach};
pub use clocks::{Clocks, Seen, TOGETHER, TakeOf};
pub use connection::{Connection, Ends, Sight};
pub use course::Course;
pub use estimate::Estimate;
pub use nat::{NatCounts, NatJoin};
pub use order::{Order, Votes};
pub use split::{Leg, Place, RESOLUTION, Section, SectionQuality, split};
pub use summary::Summary;
pub use way::Way;
