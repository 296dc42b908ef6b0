//! To a warehouse.

use super::Output;
use crate::failure::bad_argument;
use crate::identity::IdentityArgs;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use dwell_core::tcp::Handshake;
use dwell_net::{Origin, clock, interfaces};
use dwell_serve::{Report, Shipper, ShipperConfig, WarehouseAddress};
use dwell_store::warehouse::Minute;
use std::env;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the end waits for the warehouse. What it does not have by then stays in the spool.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which warehouse, and how it is reached.
#[derive(Args, Clone)]
pub(in crate::verb::watch) struct ShipArgs {
    /// Ship to a warehouse (`dwell serve`): `dwell://HOST` or `dwell://HOST:PORT`. Its key stands in this host's file of peers
    #[arg(long, value_name = "URL")]
    to: Option<WarehouseAddress>,

    /// Folder of what the warehouse does not have yet [default: ~/.local/state/dwell/spool/PROBE]
    #[arg(long, value_name = "FOLDER", requires = "to")]
    spool: Option<PathBuf>,

    /// How large that may become, in MiB; past it records are given up, and counted
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1_048_576), requires = "to")]
    spool_limit: u64,

    /// Reach the warehouse from this address, or by this interface
    #[arg(long, value_name = "ADDRESS|IF", requires = "to")]
    from: Option<Origin>,

    #[command(flatten)]
    identity: IdentityArgs,
}

impl ShipArgs {
    /// Refuses what cannot be meant, before anything is opened.
    pub(in crate::verb::watch) fn check(&self) -> Result<()> {
        if self.to.is_none() && self.identity.is_given() {
            bail!(bad_argument(anyhow!("--identity is for --to: nothing else of `dwell watch` has a key")));
        }
        if let Some(Origin::Interface(name)) = &self.from {
            let there: Vec<String> = interfaces()?.into_iter().map(|(name, _)| name).collect();
            if !there.contains(name) {
                let there = there.join(", ");
                bail!(bad_argument(anyhow!(
                    "--from {name}: neither an address nor an interface; there are {there}"
                )));
            }
        }
        Ok(())
    }

    /// Begins to ship, if that was asked for. `live`: whoever gives the records cannot wait.
    pub(super) fn open(&self, probe: &str, live: bool, json: bool) -> Result<Option<Shipping>> {
        let Some(to) = self.to.clone() else { return Ok(None) };
        let spool = self.spool(probe)?;
        // A view that fills the terminal is not written into.
        let quiet = live && !json && io::stdout().is_terminal();
        let held = Arc::new(Mutex::new(None));
        let hold = Arc::clone(&held);
        let config = ShipperConfig {
            spool_limit: self.spool_limit << 20,
            origin: self.from.clone(),
            expected_file: Some(self.identity.peers_file()?),
            on_event: Arc::new(move |event| {
                if quiet {
                    *hold.lock().unwrap_or_else(PoisonError::into_inner) = Some(event.to_string());
                } else {
                    eprintln!("{event}");
                }
            }),
            ..ShipperConfig::new(to.clone(), self.identity.load()?, self.identity.peers()?, probe, &spool)
        };
        Ok(Some(Shipping { shipper: Shipper::start(config)?, live, to, spool, held }))
    }

    fn spool(&self, probe: &str) -> Result<PathBuf> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || set("HOME").map(|home| home.join(".local/state"));
        let usual =
            || set("XDG_STATE_HOME").or_else(home).map(|folder| folder.join("dwell/spool").join(probe));
        let nowhere = || bad_argument(anyhow!("no home folder is known here; name a spool with --spool"));
        self.spool.clone().or_else(usual).ok_or_else(nowhere)
    }
}

/// What is seen, on its way.
pub(super) struct Shipping {
    shipper: Shipper,
    live: bool,
    to: WarehouseAddress,
    spool: PathBuf,
    /// What was not said while the view was there.
    held: Arc<Mutex<Option<String>>>,
}

impl Output for Shipping {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        if self.live {
            self.shipper.offer(*handshake);
        } else {
            self.shipper.hand_over(*handshake);
        }
        Ok(())
    }

    fn dropped(&mut self, packets: u64) -> Result<()> {
        self.shipper.dropped(Minute::of(clock::realtime()), packets);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        // It does so by itself, as time passes.
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { shipper, to, spool, held, .. } = *self;
        let report = shipper.finish(PATIENCE);
        if let Some(said) = held.lock().unwrap_or_else(PoisonError::into_inner).take() {
            eprintln!("{said}");
        }
        let waiting = report.written - report.shipped.min(report.written);
        let place = spool.display();
        let how = if waiting > 0 { ", and are sent once it is started again with this --spool" } else { "" };
        eprintln!(
            "{} records of this probe are at {to}, {waiting} wait in {place}{how}{}",
            report.shipped.saturating_sub(report.absurd),
            lost(&report)
        );
        Ok(())
    }
}

/// What is missing, in words.
fn lost(report: &Report) -> String {
    let counts = report.given_up.iter().map(|(reason, count)| format!("{count} {reason}"));
    let absurd = (report.absurd > 0).then(|| format!("{} that cannot be true", report.absurd));
    let all: Vec<String> = counts.chain(absurd).collect();
    if all.is_empty() { String::new() } else { format!("; given up: {}", all.join(", ")) }
}
