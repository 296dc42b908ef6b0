//! TCP connections that pass probes, with the truth of each: what a reader of captures is judged by.
//!
//! A [`Population`] of connections runs from clients to servers through one or more probes. Each host behaves as a
//! real one does, each handshake segment may be lost on either side of each probe, and what every probe sees comes out
//! in the order in which it sees it. For each connection and probe a [`Truth`] tells the halves of the round trip:
//! which values are true, and whether one can be known at all from what passed.

mod client;
mod deaf;
mod exchange;
mod file;
mod heard;
mod joined;
mod judge;
mod judged;
mod labels;
mod nat;
mod net;
mod plan;
mod population;
mod reading;
mod server;
mod tap;
mod truth;
mod way;
mod witnessed;

pub use deaf::Deafness;
pub use file::{CaptureFile, CaptureFormat, CaptureLink};
pub use joined::{JoinedJudge, WrongSection};
pub use judge::{HalfTally, Judge, Wrong};
pub use labels::LABELS;
pub use population::{Passings, Population, Told};
pub use reading::Reading;
pub use tap::{Passed, Seen};
pub use truth::{HalfTruth, Truth, WhyUnknown};
pub use way::{Between, Way};
pub use witnessed::{Witnessed, WitnessedSegment};
