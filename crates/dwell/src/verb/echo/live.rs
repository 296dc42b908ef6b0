//! Echoes heard on this machine's interfaces, asked for from here or by others.

use super::EchoArgs;
use super::answers::Answers;
use super::heard::{Heard, Told};
use crate::failure::bad_argument;
use crate::screen::Progress;
use crate::target::{allow_labs, load};
use anyhow::{Context, Result, anyhow};
use dwell_core::echo::{Asked, Inside};
use dwell_lab::{EchoLab, HostWatch, LabOptions};
use dwell_net::echo::{Asking, EchoProber, EchoTap, ask};
use std::io::ErrorKind;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;

/// On the tap's interface, and on the host's where that is one of this machine's.
pub(super) fn hear(args: &EchoArgs, tap: &str) -> Result<Heard> {
    let asked = args.asked();
    let host = args.target.as_deref().map(address).transpose()?;
    let names: Vec<&str> = [Some(tap), args.at_host.as_deref()].into_iter().flatten().collect();
    let mut taps = names.iter().map(|name| open(name, asked)).collect::<Result<Vec<_>>>()?;
    let prober = host.map(|host| {
        EchoProber::open(host, asked).with_context(|| match asked {
            Asked::Icmp => format!("cannot ask {host} (ICMP takes CAP_NET_RAW)"),
            Asked::Udp { port } | Asked::Tcp { port } => {
                format!("cannot ask {host}, port {port} (`dwell echo --respond` answers there)")
            }
        })
    });
    let mut prober = prober.transpose()?;
    // Who answers is inside this machine where the host's interface is.
    let mut answers = (asked == Asked::Icmp && args.at_host.is_some()).then(Answers::watch);
    let progress = Progress::start();
    let told = &mut |number| {
        progress.say(format!("{number} of {} echoes", args.count));
        if let Some(Ok(watched)) = &mut answers
            && let Err(error) = watched.take()
        {
            answers = Some(Err(error));
        }
    };
    ask(prober.as_mut(), &mut taps, asking(args), told).map_err(|error| match (error.kind(), host) {
        (ErrorKind::ConnectionRefused, Some(host)) => {
            anyhow!("{host} answers no {}: `dwell echo --respond` does", args.probe_name())
        }
        _ => anyhow!(error).context("the echoes ended early"),
    })?;
    let mut told = names.into_iter().zip(taps).map(|(name, tap)| -> Told {
        let (seen, tally) = tap.finish();
        (name.to_owned(), seen, tally)
    });
    let tap = told.next().context("no tap")?;
    let mut heard = Heard::of(args, "live", tap, told.next())?;
    if let Some(answers) = answers {
        heard.observed(answers.and_then(Answers::finish));
    }
    Ok(heard)
}

fn open(interface: &str, asked: Asked) -> Result<EchoTap> {
    EchoTap::open(interface, asked).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => anyhow!("a tap takes CAP_NET_RAW: {error}"),
        _ => bad_argument(anyhow!("{error}: neither a file nor an interface of this machine is called so")),
    })
}

pub(super) fn address(host: &str) -> Result<IpAddr> {
    let found = (host, 0).to_socket_addrs().with_context(|| format!("{host}: no such host"))?.next();
    found.map(|found| found.ip()).with_context(|| format!("{host}: has no address"))
}

fn asking(args: &EchoArgs) -> Asking {
    Asking { count: args.count, interval: args.interval }
}

/// On a scenario's last link, and at its destination.
pub(super) fn hear_lab(args: &EchoArgs, file: &Path, seed: u64) -> Result<Heard> {
    let scenario = load(file)?;
    allow_labs()?;
    let lab = EchoLab::up(&scenario, LabOptions { seed, ..LabOptions::default() }, args.asked())?;
    let watch = (args.asked() == Asked::Icmp).then(|| lab.watch());
    let progress = Progress::start();
    let heard =
        lab.run(asking(args), &mut |number| progress.say(format!("{number} of {} echoes", args.count)))?;
    let named = |name: &str, (seen, tally)| (name.to_owned(), seen, tally);
    // A responder's answers tell more than a capture beside it.
    let host = (args.asked() == Asked::Icmp).then(|| named("the destination's interface", heard.host));
    let mut told = Heard::of(args, "lab", named("the last link", heard.tap), host)?;
    told.warnings.extend(lab.caution().map(str::to_owned));
    if let Some(watch) = watch {
        let watched = watch.and_then(HostWatch::finish).map(|watched| Inside::of(&watched.journeys));
        told.observed(watched.map_err(Into::into));
    }
    let notes = &mut told.circumstances.notes;
    notes.insert("scenario".to_owned(), scenario.name.clone());
    notes.insert("lab carriage".to_owned(), lab.carriage().to_string());
    Ok(told)
}
