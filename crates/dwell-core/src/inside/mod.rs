//! Inside a host: where in it a packet waits, stage by stage.
//!
//! A packet passes [`Point`]s on its way through a host; between two of them lies a [`Stage`]. A [`Journey`] is one
//! packet's way, with the time at each point that was seen, all on one clock. The stages of a journey sum to its total
//! by construction, since each begins where the last one ended. A [`Tally`] counts a run's journeys, [`diagnose`] says
//! what they waited for, [`hints`] which settings of the host explain that, and [`story()`] tells one packet's way.

mod bunches;
mod cause;
mod counts;
mod diagnosis;
mod distribution;
mod event;
mod hint;
mod journey;
#[cfg(test)]
pub(crate) mod made;
mod settings;
mod slices;
mod stage;
mod story;
mod tally;
mod watch;

pub use bunches::Pace;
pub use cause::{Cause, WAITING};
pub use counts::Counts;
pub use diagnosis::{Diagnosis, Kind, diagnose};
pub use distribution::{Differences, Distribution};
pub use event::{Dropped, Event, HookCost, Losses, Missing};
pub use hint::{Hint, hints};
pub use journey::{Before, Flow, Journey, Process, Protocol, Times};
pub use settings::{IdleState, Interrupt, ReceiveQueue, Settings};
pub use slices::{BINS, SLICES, Share, Slice, Slices, bin_start};
pub use stage::{Point, Stage, Way};
pub use story::{grouped, story};
pub use tally::{Numbered, Tally, WayTally};
pub use watch::{Overhead, Watch, Watched};
