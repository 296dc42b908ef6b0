//! Scaling as paper 003 measures it, with its load generators and one more: connections that a generator makes over a
//! wire against those that `dwell watch` records of it, live, and D-ITG's segments against the frames that its ring
//! sees. What counts as made is what the kernels of both ends say of themselves.

mod kernel;
mod load;
mod server;
mod watch;
mod wire;

use kernel::Counters;
use load::Load;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::time::Instant;
use watch::Watch;
use wire::Wire;

const CLIENTS: [u32; 8] = [1, 5, 10, 15, 50, 100, 400, 1_000];

/// Segments a second that D-ITG is asked for: the paper's highest into a database and into a file, and more than it
/// makes.
const RATES: [u32; 4] = [1_600, 22_000, 60_000, 1_000_000];

fn main() {
    // A thousand clients, and as many ends.
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most.min(65_536), most).expect("the same limit");
    let wire = match Wire::new() {
        Ok(wire) => wire,
        Err(reason) => return println!("generators: not measured: no network namespaces here ({reason})"),
    };
    server::start(&wire);
    println!(
        "generators: {:>6} {:>7} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>10}",
        "which",
        "clients",
        "it says",
        "opened",
        "accepted",
        "recorded",
        "exact",
        "lost",
        "dropped",
        "a second"
    );
    let mut lost = 0;
    for load in [Load::Ab, Load::Wrk, Load::DItg] {
        for clients in CLIENTS.into_iter().filter(|clients| *clients <= load.most_clients()) {
            match connections(&wire, load, clients) {
                Some(missing) => lost += missing,
                None => {
                    println!("generators: {load} is not installed");
                    break;
                }
            }
        }
    }
    println!("generators: of all connections that were accepted, {lost} lost");
    for rate in RATES {
        if !frames(&wire, rate) {
            break;
        }
    }
}

/// One row; how many connections were accepted and not recorded. `None` without the generator.
fn connections(wire: &Wire, load: Load, clients: u32) -> Option<u64> {
    let watch = Watch::start(wire, &[]);
    let before = Counters::of(wire);
    let began = Instant::now();
    let said = load.run(wire, clients)?;
    let seconds = began.elapsed().as_secs_f64();
    let seen = watch.finish();
    let made = Counters::of(wire).since(before);
    let lost = made.accepted.saturating_sub(seen.recorded);
    println!(
        "generators: {:>6} {clients:>7} {said:>10} {:>9} {:>9} {:>9} {:>9} {lost:>8} {:>8} {:>10.0}",
        load.to_string(),
        made.opened,
        made.accepted,
        seen.recorded,
        seen.exact,
        seen.dropped,
        made.accepted as f64 / seconds
    );
    if lost > 0 {
        println!(
            "generators: {} handshakes besides were told as unfinished or refused; {}",
            seen.other, seen.account
        );
    }
    Some(lost)
}

/// Frames of one D-ITG flow at `rate`, every segment watched; whether there was any.
fn frames(wire: &Wire, rate: u32) -> bool {
    let watch = Watch::start(wire, &["--continuous"]);
    let before = Counters::of(wire);
    let Some(took) = load::segments(wire, rate) else { return false };
    let seen = watch.finish();
    let made = Counters::of(wire).since(before);
    println!(
        "generators: d-itg, {rate} segments a second asked for: {} frames passed ({:.0} a second), {} seen, {} dropped",
        made.frames,
        made.frames as f64 / took.as_secs_f64(),
        seen.frames,
        seen.dropped
    );
    true
}
