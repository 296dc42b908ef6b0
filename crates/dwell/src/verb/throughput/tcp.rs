//! The run itself: how many connections, and then the measurement.

use super::ThroughputArgs;
use super::tell::Measured;
use crate::output::Output;
use crate::screen::Progress;
use crate::target::{Bed, On, load};
use anyhow::{Result, anyhow};
use dwell_core::limit::Limit;
use dwell_core::throughput::fill::Fill;
use dwell_core::throughput::verdict::verdict;
use dwell_core::throughput::{Transfer, report};
use dwell_core::{Bytes, Circumstances, Effort, Nanos};
use dwell_net::ConnectConfig;
use dwell_net::protocol::PORT;
use dwell_net::throughput::{Order, StreamPath};
use dwell_store::{Found, Header, RecordWriter};
use std::path::Path;

/// How long so many connections are tried.
const TRIAL: Nanos = Nanos::from_millis(2_000);

/// Measures what was asked for.
pub(super) fn measure(args: &ThroughputArgs, output: &Output) -> Result<Measured> {
    let (trials, run, circumstances) = match args.on {
        On::Kernel => {
            let scenario = load(Path::new(&args.host))?;
            let Bed::Lab(lab, _) = Bed::make(&scenario, true, output.seed)? else {
                return Err(anyhow!("no lab was made"));
            };
            let (trials, run, live) = lab.at_source(|config| runs(args, config))??;
            (trials, run, lab.told(live))
        }
        On::Live | On::Sim => {
            let config = ConnectConfig {
                port: args.port.unwrap_or(PORT),
                ..ConnectConfig::new(&args.host, args.identity.load()?, args.identity.peers()?)
            };
            runs(args, &config)?
        }
    };
    let measured = Measured { ask: args.ask(output.seed), circumstances, trials, run };
    keep(&measured, output)?;
    Ok(measured)
}

fn runs(args: &ThroughputArgs, config: &ConnectConfig) -> Result<(Vec<Transfer>, Transfer, Circumstances)> {
    let mut path = StreamPath::connect(config)?;
    let progress = Progress::start();
    let mut trials = Vec::new();
    let connections = match args.connections.or(args.autotune.then_some(1)) {
        Some(connections) => connections,
        None => {
            let mut fill = Fill::default();
            while let Some(connections) = fill.next() {
                progress.say(format!("{connections} connections, to see whether they fill the path"));
                let trial = path.run(&order(args, connections, TRIAL))?;
                let limit = verdict(&trial).limit;
                fill.see(trial.later_rate(), limit == Limit::HostLimited);
                trials.push(trial);
            }
            fill.connections()
        }
    };
    progress.say(format!("{connections} connections for {:.0} s", args.seconds));
    let run = path.run(&order(args, connections, args.duration()))?;
    Ok((trials, run, path.circumstances()))
}

fn order(args: &ThroughputArgs, connections: u32, duration: Nanos) -> Order {
    Order {
        token: [0; 16],
        direction: args.direction(),
        connections,
        duration,
        congestion: args.congestion.clone(),
        autotune: args.autotune,
        window: args.window(),
    }
}

/// What all runs cost.
pub(super) fn effort(measured: &Measured) -> Effort {
    let runs = measured.trials.iter().chain([&measured.run]);
    runs.fold(Effort::default(), |sum, run| {
        let last = run.sender.last().map(|sample| sample.connections.as_slice()).unwrap_or_default();
        let packets = last.iter().map(|one| one.segments).sum::<u64>();
        let lost = last.iter().map(|one| one.retransmitted).sum::<u64>();
        // What was read came once; segments are of several sizes (the loopback's grow to twice what they begin with).
        let again = lost.saturating_mul(run.connection.segment.0);
        let headers = packets.saturating_mul(run.connection.headers.0);
        let bytes = Bytes(run.received().0.saturating_add(again).saturating_add(headers));
        let span = run.span();
        sum.plus(Effort { probes: 1, packets, lost, bytes, span })
    })
}

fn keep(measured: &Measured, output: &Output) -> Result<()> {
    let Some(file) = &output.record else { return Ok(()) };
    let header = Header::now(measured.ask.clone(), None, measured.circumstances.clone());
    let mut writer = RecordWriter::create(file, &header)?;
    for run in measured.trials.iter().chain([&measured.run]) {
        writer.push_transfer(run.clone())?;
    }
    let report = report::report(&measured.run);
    let effort = effort(measured);
    writer.finish(&[Found { stage: super::VERB.to_owned(), report, effort, used: None }])?;
    Ok(())
}
