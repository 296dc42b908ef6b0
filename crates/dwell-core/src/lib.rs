//! What is known about packets and time: trains, methods, reports, statistics.
//!
//! Nothing here opens a socket, reads a clock, sleeps or starts a thread. A [`Method`] asks for [`Train`]s and is
//! shown what became of them; a [`Path`] carries them. There are four kinds of path (simulator, testbed, live,
//! record), and every method runs on each unchanged.

pub mod avail;

pub mod stats;

pub mod host;

pub mod capacity;

pub mod capture;

pub mod delay;
mod doubt;

pub mod echo;

pub mod fsd;

pub mod hop;

pub mod sizing;

pub mod gap;

pub mod inside;

pub mod tcp;

pub mod throughput;

mod asleep;
mod bucket;
mod circumstances;
pub mod clock;
pub mod coalescence;
pub mod limit;
mod method;
pub mod mtu;
pub mod nic;
mod onlooker;
mod report;
mod stream;
mod train;
pub mod truth;
pub mod unit;
pub mod waterfall;

pub use circumstances::{Circumstances, HostFacts};
pub use method::{Effort, LoadLimit, Method, Path, Step, run};
pub use onlooker::Onlooker;
pub use report::{Finding, Quantity, Report, Side, Unit, Vantage};
pub use train::{
    Arrival, Departure, Direction, Fate, Fleet, Observation, Packet, PacketTruth, Passage, PathFacts, Stamps,
    Train, TrainTruth,
};
pub use unit::{BitRate, Bytes, Nanos};
