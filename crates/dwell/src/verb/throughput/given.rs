//! What of the arguments does not go together.

use super::{ThroughputArgs, ThroughputMethod};
use crate::output::Output;
use crate::target::On;
use anyhow::{Result, bail};
use std::path::Path;

/// The kernels tell of connections ten times a second, and a few of those make a rate.
const LEAST: f64 = 0.5;

/// Refuses what cannot be meant, before anything is measured.
pub(super) fn check(args: &ThroughputArgs, output: &Output) -> Result<()> {
    let udpst = args.method == ThroughputMethod::Udpst;
    let of_tcp = [
        (args.connections.is_some(), "--connections"),
        (args.autotune, "--autotune"),
        (args.window.is_some(), "--window"),
        (args.congestion.is_some(), "--congestion"),
    ];
    let of_udpst = [(args.search.is_some(), "--search"), (args.secret.is_some(), "--secret")];
    if let Some((_, name)) = of_tcp.iter().find(|(given, _)| *given && udpst) {
        bail!("{name} is for the method tcp");
    }
    if let Some((_, name)) = of_udpst.iter().find(|(given, _)| *given && !udpst) {
        bail!("{name} is for the method udpst");
    }
    if udpst && !(args.seconds.fract() == 0.0 && (5.0..=60.0).contains(&args.seconds)) {
        bail!("--seconds {}: a test of udpst lasts whole seconds, from 5 to 60", args.seconds);
    }
    if args.secret.is_some() && args.on != On::Live {
        bail!("--secret is for a live server; the one of a scenario has none");
    }
    if args.seconds < LEAST {
        bail!("--seconds {}: too short to tell a rate; half a second at the least", args.seconds);
    }
    if args.on == On::Sim && !udpst {
        bail!(
            "the simulator has no TCP: run it live, on the kernel with --on kernel, or with --method udpst"
        );
    }
    if args.on == On::Live && args.host.ends_with(".toml") && Path::new(&args.host).exists() {
        bail!("{} is a scenario file; add --on kernel", args.host);
    }
    if let Some(file) = output.record.as_deref().filter(|file| file.exists()) {
        bail!("{}: exists already; give another name", file.display());
    }
    Ok(())
}
