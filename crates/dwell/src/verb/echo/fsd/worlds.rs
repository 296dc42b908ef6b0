//! Where pairs of probes are heard: in two captures, on this machine's interfaces, in the lab.

use super::super::files::each_packet_of;
use super::super::live::address;
use super::heard::Heard;
use crate::failure::bad_argument;
use crate::output::Output;
use crate::screen::{Progress, print_json, print_text};
use crate::target::{allow_labs, load};
use anyhow::{Context, Result, anyhow};
use dwell_core::fsd::{Tap, cross};
use dwell_lab::{FsdLab, LabOptions};
use dwell_net::echo::Asking;
use dwell_net::fsd::{FsdProber, FsdTap, Router, probe};
use serde_json::json;
use std::io::ErrorKind;
use std::path::Path;

/// Two captures.
pub(super) fn hear_files(hop: u8, near: &Path, far: &Path) -> Result<Heard> {
    let mut warnings = Vec::new();
    let mut read = |file| -> Result<(String, Tap)> {
        let mut tap = Tap::default();
        let name = each_packet_of(file, &mut warnings, |packet| tap.hear(packet))?;
        Ok((name, tap))
    };
    let ((near_name, near), (far_name, far)) = (read(near)?, read(far)?);
    let mut heard = Heard::of("record", hop, [near_name, far_name], cross(&near, &far, hop))?;
    heard.warnings.extend(warnings);
    Ok(heard)
}

/// Two interfaces, while probes go to `host`, or others send them.
pub(super) fn hear_live(asking: Asking, hop: u8, host: Option<&str>, near: &str, far: &str) -> Result<Heard> {
    let open = |name| {
        FsdTap::open(name).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => anyhow!("a tap takes CAP_NET_RAW: {error}"),
            _ => {
                bad_argument(anyhow!("{error}: neither a file nor an interface of this machine is called so"))
            }
        })
    };
    let mut taps = [open(near)?, open(far)?];
    let mut prober = host.map(|host| open_prober(host, hop)).transpose()?;
    go(prober.as_mut(), &mut taps, asking)?;
    let [near_tap, far_tap] = taps.map(FsdTap::finish);
    let names = [near, far].map(str::to_owned);
    let mut heard = Heard::of("live", hop, names, cross(&near_tap, &far_tap, hop))?;
    if let Some(prober) = prober {
        heard.note_asked(prober.router());
    }
    Ok(heard)
}

/// Sends probes that are captured elsewhere.
pub(super) fn send(asking: Asking, hop: u8, host: &str, output: &Output) -> Result<()> {
    let mut prober = open_prober(host, hop)?;
    go(Some(&mut prober), &mut [], asking)?;
    let Router { address, even, message } = prober.router();
    if output.json {
        return print_json(&json!({
            "verb": "echo",
            "dwell": env!("CARGO_PKG_VERSION"),
            "target": host,
            "method": super::STAGE,
            "hop": hop,
            "router": address,
            "probe_ip_bytes": even,
            "message_ip_bytes": message,
            "sent": asking.count,
        }));
    }
    print_text(&format!(
        "{} pairs went towards {host}. Router {address}, hop {hop}, makes messages of {message} bytes of probes of {even}.\n\
         Of captures on either side of it: dwell echo --fsd {hop} --tap SOURCE.pcap --host DESTINATION.pcap\n",
        asking.count
    ))
}

/// A scenario's path, with routers between its links.
pub(super) fn hear_lab(asking: Asking, hop: u8, file: &Path, seed: u64) -> Result<Heard> {
    let scenario = load(file)?;
    allow_labs()?;
    let lab = FsdLab::up(&scenario, LabOptions { seed, ..LabOptions::default() }, hop)?;
    let progress = Progress::start();
    let run = lab.run(asking, &mut |number| progress.say(format!("{number} of {} pairs", asking.count)))?;
    let names = ["the source's interface", "the destination's interface"].map(str::to_owned);
    let truth = run.truth();
    let mut heard = Heard::of("lab", hop, names, run.ends)?;
    heard.note_asked(run.router);
    heard.truth = truth;
    heard.circumstances.notes.insert("scenario".to_owned(), scenario.name.clone());
    Ok(heard)
}

fn open_prober(host: &str, hop: u8) -> Result<FsdProber> {
    Ok(FsdProber::open(address(host)?, hop)?)
}

fn go(prober: Option<&mut FsdProber>, taps: &mut [FsdTap], asking: Asking) -> Result<()> {
    let progress = Progress::start();
    let told = &mut |number| progress.say(format!("{number} of {} pairs", asking.count));
    probe(prober, taps, asking, told).context("the probes ended early")
}

impl Heard {
    /// Keeps what a router answered when this host asked it beforehand.
    fn note_asked(&mut self, Router { address, even, message }: Router) {
        let text = format!("{address}, with {message} bytes of IP about a probe of {even}");
        self.circumstances.notes.insert("router as it answers this host".to_owned(), text);
    }
}
