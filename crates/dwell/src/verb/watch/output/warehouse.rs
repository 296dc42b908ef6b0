//! To a warehouse, by way of a spool on disk that outlives the run.

use super::Output;
use crate::failure::bad_argument;
use crate::identity::IdentityArgs;
use anyhow::{Result, anyhow};
use clap::Args;
use dwell_core::inside::grouped;
use dwell_core::tcp::Handshake;
use dwell_net::{Identity, Peers};
use dwell_serve::{Shipper, ShipperConfig, WarehouseAddress};
use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where to ship, if anywhere.
#[derive(Args)]
pub(crate) struct ShipArgs {
    /// Ship every connection to a warehouse, dwell://HOST[:PORT], whose key stands in the file `peers`
    #[arg(long, value_name = "URL")]
    to: Option<WarehouseAddress>,

    /// Folder of what is not shipped yet, of this probe alone [default: ~/.local/state/dwell/spool/PROBE]
    #[arg(long, value_name = "FOLDER", requires = "to")]
    spool: Option<PathBuf>,

    #[command(flatten)]
    identity: IdentityArgs,
}

/// A warehouse, and who this host is to it: read while that is permitted still.
pub(super) struct Destination {
    to: WarehouseAddress,
    spool: PathBuf,
    identity: Identity,
    expected: Peers,
}

impl ShipArgs {
    pub(super) fn destination(&self, probe: &str) -> Result<Option<Destination>> {
        let Some(to) = self.to.clone() else { return Ok(None) };
        let usual = || {
            let home = env::var_os("HOME").filter(|home| !home.is_empty())?;
            Some(PathBuf::from(home).join(".local/state/dwell/spool").join(probe.replace('/', "_")))
        };
        let nowhere = || bad_argument(anyhow!("no home folder is known here; name one with --spool"));
        let spool = self.spool.clone().or_else(usual).ok_or_else(nowhere)?;
        let (identity, expected) = (self.identity.load()?, self.identity.peers()?);
        Ok(Some(Destination { to, spool, identity, expected }))
    }
}

/// How long the end waits for the warehouse; what it does not have by then stays in the spool.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ships.
pub(super) struct Warehouse {
    shipper: Shipper,
    to: WarehouseAddress,
}

impl Warehouse {
    /// What happens on the way is said, unless somebody looks at the live view.
    pub(super) fn start(destination: &Destination, probe: &str, quiet: bool) -> Result<Self> {
        let Destination { to, spool, identity, expected } = destination;
        let mut config =
            ShipperConfig::new(to.clone(), identity.clone(), expected.clone(), probe, spool);
        if !quiet {
            config.on_event = Arc::new(|event| eprintln!("{event}"));
        }
        Ok(Self { shipper: Shipper::start(config)?, to: to.clone() })
    }
}

impl Output for Warehouse {
    fn take(&mut self, handshake: &Handshake) -> Result<()> {
        self.shipper.offer(*handshake);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let report = self.shipper.finish(PATIENCE);
        let given_up: Vec<String> =
            report.given_up.iter().map(|(reason, count)| format!("{} {reason}", grouped(*count))).collect();
        let given_up = if given_up.is_empty() { "none".to_owned() } else { given_up.join(", ") };
        let lost: u64 = report.given_up.values().sum();
        eprintln!(
            "{}: {} records taken since the spool began, {} there, {} wait in the spool; given up: {given_up}",
            self.to,
            grouped(report.taken),
            grouped(report.shipped),
            grouped(report.taken.saturating_sub(report.shipped).saturating_sub(lost)),
        );
        if report.absurd > 0 {
            eprintln!("{}: {} records cannot be true, and are not kept", self.to, grouped(report.absurd));
        }
        Ok(())
    }
}
