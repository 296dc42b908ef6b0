//! In alternation with iperf3.

use super::{Failure, lab, rate, run};
use dwell_core::stats::quantile::median;
use dwell_core::{BitRate, Bytes};
use dwell_lab::Lab;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

pub(super) fn judge(runs: u32, seconds: u64) -> Result<(), Failure> {
    println!(
        "link        ours        iperf3      ours/iperf3 (medians of {runs}, {seconds} s each, in alternation)"
    );
    for mbps in [10, 100, 500] {
        let lab = lab(mbps, 1_000, Bytes(262_144), "")?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            ours.push(rate(&run(&lab, false, None, seconds)?));
            theirs.push(iperf3(&lab, seconds)?);
        }
        let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        let of = |figures: &[f64]| median(figures).unwrap_or(f64::NAN);
        let shown = |figures: &[f64]| BitRate(of(figures) as u64).to_string();
        println!(
            "{:<11} {:<11} {:<11} {:.4}  ({ratios:.3?})",
            BitRate(mbps * 1_000_000).to_string(),
            shown(&ours),
            shown(&theirs),
            of(&ratios)
        );
    }
    Ok(())
}

/// What its receiver counted, in bits per second.
fn iperf3(lab: &Lab, seconds: u64) -> Result<f64, Failure> {
    let server = lab.at_destination(|| {
        Command::new("iperf3").args(["-s", "-1"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    })?;
    let mut server = server?;
    let to = lab.agent_address().to_string();
    let mut said = Err("iperf3's server does not answer".into());
    for _ in 0..20 {
        sleep(Duration::from_millis(100));
        let run = lab.at_source(|_| {
            Command::new("iperf3").args(["-c", &to, "-J", "-C", "cubic", "-t", &seconds.to_string()]).output()
        })??;
        if run.status.success() {
            said = Ok(String::from_utf8(run.stdout)?);
            break;
        }
    }
    // One that served its client has ended already.
    let _ = server.kill();
    server.wait()?;
    let said: Result<String, Failure> = said;
    let said: serde_json::Value = serde_json::from_str(&said?)?;
    let rate = said["end"]["sum_received"]["bits_per_second"].as_f64();
    rate.ok_or_else(|| "iperf3 told no rate".into())
}
