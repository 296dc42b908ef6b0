//! Inside a host: where in it a packet waits, stage by stage.
//!
//! A packet passes [`Point`]s on its way through a host; between two of them lies a [`Stage`]. A [`Journey`] is one
//! packet's way, with the time at each point that was seen, all on one clock. The stages of a journey sum to its total
//! by construction, since each begins where the last one ended.

mod event;
mod journey;
mod stage;

pub use event::{Dropped, Event, HookCost, Losses, Missing};
pub use journey::{Before, Flow, Journey, Process, Protocol, Times};
pub use stage::{Point, Stage, Way};
