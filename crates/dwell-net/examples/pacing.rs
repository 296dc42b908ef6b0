//! How well pairs keep the asked dispersion, by transmit stamps: quartiles of the error at each hold, and how long
//! a call takes. Runs an agent and a path to it in two network namespaces; its two arguments are the cores of
//! sender and receiver.

use dwell_core::{Bytes, Departure, Nanos, Path, Train};
use dwell_net::{Agent, AgentConfig, ConnectConfig, Identity, LivePath, Peers};
use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

#[path = "../tests/live/wire.rs"]
mod wire;

use wire::{FAR, between};

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let core = |at: usize| arguments.get(at).map(|core| core.parse::<usize>()).transpose();
    let (near_core, far_core) = (core(0)?, core(1)?);
    let (agent, client) = (Identity::generate()?, Identity::generate()?);
    let (known, expected) = (Peers::only(client.public_key()), Peers::only(agent.public_key()));
    let (tell, told) = channel();
    let near = move || {
        let mut config = ConnectConfig::new(FAR, client, expected);
        config.port = told.recv()?;
        config.core = near_core;
        config.real_time = true;
        table(&mut LivePath::connect(config)?)
    };
    let far = move |stop: &AtomicBool| {
        let mut config = AgentConfig::new(agent, known);
        config.core = far_core;
        config.real_time = true;
        match Agent::bind(config) {
            Ok(agent) => {
                let _ = tell.send(agent.local_addr().port());
                let _ = agent.serve(stop);
            }
            Err(error) => eprintln!("{error}"),
        }
    };
    between(near, far).unwrap_or_else(|| Err("no network namespaces here".into()))
}

fn table(path: &mut LivePath) -> Result<(), Box<dyn Error + Send + Sync>> {
    println!(
        "{:>8}  {:>26}  {:>26}  {:>24}",
        "hold us", "error us (q1 median q3)", "call us", "arrival - departure us"
    );
    for size in [72, 1526] {
        for hold in [0, 5, 8, 10, 12, 15, 20, 50, 100, 200, 500, 1000] {
            let pair = Train::pair(Bytes(size), Bytes(size), Nanos::from_micros(hold));
            let fleet = vec![Departure { pause: Nanos::from_millis(2), train: pair }; 300];
            let (mut errors, mut calls, mut transits) = (Vec::new(), Vec::new(), Vec::new());
            for passage in path.carry(&fleet)? {
                let [first, second] = passage.observation.fates[..] else { continue };
                let (Some(a), Some(b)) = (first.sent.kernel, second.sent.kernel) else { continue };
                errors.push((b - a - Nanos::from_micros(hold)).as_micros_f64());
                calls.push((b - second.sent.application).as_micros_f64());
                if let Some(kernel) = second.arrival.and_then(|arrival| arrival.stamps.kernel) {
                    transits.push((kernel - b).as_micros_f64());
                }
            }
            let text = |values| quartiles(values).map(|value| format!("{value:8.2}")).concat();
            println!("{size:>4} {hold:>5} {} {} {}", text(errors), text(calls), text(transits));
        }
    }
    Ok(())
}
