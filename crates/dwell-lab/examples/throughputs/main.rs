//! Throughput in the lab, judged: `dwell`'s connections against iperf3's in alternation, and SOBAS against a sweep of
//! fixed windows, and on a route that becomes longer. Prints medians; a quiet machine is what they are of.
//!
//! `cargo run --release -p dwell-lab --example throughputs -- [iperf|autotune|longer] [RUNS] [SECONDS]`

mod autotune;
mod iperf;

use dwell_core::throughput::Transfer;
use dwell_core::{Bytes, Direction, Nanos};
use dwell_lab::{Lab, LabOptions};
use dwell_net::throughput::{Order, StreamPath};
use dwell_sim::Scenario;
use std::error::Error;

/// Why a judgement came to nothing.
type Failure = Box<dyn Error + Send + Sync>;

/// A link of this rate behind a fast one, with a round trip and a queue, and more that is said of it.
fn lab(mbps: u64, round_trip_us: u64, queue: Bytes, more: &str) -> Result<Lab, Failure> {
    // A kernel shaper and real queues; the delay is that of an emulated link.
    let text = format!(
        "name = \"bench\"\n[[links]]\nrate = \"1 Gb/s\"\npropagation = \"{} us\"\n[[links]]\nrate = \"{mbps} Mb/s\"\n\
         propagation = \"0 us\"\nqueue = \"{} B\"\n{more}",
        round_trip_us / 2,
        queue.0
    );
    Ok(Lab::up(&Scenario::parse("bench.toml", &text)?, LabOptions::default())?)
}

/// One connection to the lab's destination.
fn run(lab: &Lab, autotune: bool, window: Option<Bytes>, seconds: u64) -> Result<Transfer, Failure> {
    let order = Order {
        token: [0; 16],
        direction: Direction::Forward,
        connections: 1,
        duration: Nanos::from_secs(seconds as i64),
        congestion: Some("cubic".to_owned()),
        autotune,
        window,
    };
    lab.at_source(|config| Ok(StreamPath::connect(config)?.run(&order)?))?
}

fn rate(run: &Transfer) -> f64 {
    run.received().bits() as f64 / run.span().as_secs_f64()
}

fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_else(|| "iperf".to_owned());
    let runs = words.next().map_or(Ok(5), |word| word.parse())?;
    let seconds = words.next().map_or(Ok(5), |word| word.parse())?;
    dwell_lab::enter_user_namespace()?;
    match what.as_str() {
        "iperf" => iperf::judge(runs, seconds),
        "autotune" => autotune::judge(runs, seconds),
        "longer" => autotune::longer(runs, seconds),
        other => Err(format!("no judgement is called {other}").into()),
    }
}
