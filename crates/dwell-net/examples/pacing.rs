//! How well pairs keep the asked dispersion, by transmit stamps: quartiles of the error at each hold, and how long
//! a call takes. Runs an agent and a path to it over the loopback; with two arguments, the cores of sender and
//! receiver.

use dwell_core::{Bytes, Departure, Nanos, Path, Train};
use dwell_net::{Agent, AgentConfig, ConnectConfig, Identity, LivePath, Peers};
use std::sync::atomic::{AtomicBool, Ordering};

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cores: Vec<usize> = std::env::args().skip(1).map(|core| core.parse()).collect::<Result<_, _>>()?;
    let (agent_identity, client) = (Identity::generate()?, Identity::generate()?);
    let mut config = AgentConfig::new(agent_identity.clone(), Peers::only(client.public_key()));
    config.listen = "127.0.0.1:0".parse()?;
    config.core = cores.get(1).copied();
    let agent = Agent::bind(config)?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| agent.serve(&stop));
        let mut config = ConnectConfig::new("127.0.0.1", client, Peers::only(agent_identity.public_key()));
        config.port = agent.local_addr().port();
        config.core = cores.first().copied();
        let result = LivePath::connect(config).map_err(Into::into).and_then(|mut path| table(&mut path));
        stop.store(true, Ordering::Relaxed);
        result
    })
}

fn table(path: &mut LivePath) -> Result<(), Box<dyn std::error::Error>> {
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
