//! `dwell serve`: what a site keeps running for its probes.

use crate::failure::bad_argument;
use crate::figure::counted;
use crate::identity::IdentityArgs;
use crate::interrupted::interrupted;
use crate::output::Output;
use crate::screen::{print, print_json};
use crate::warehouse;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use dwell_serve::{PORT, Warehouse, WarehouseConfig};
use serde_json::json;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Keep what probes see, in one warehouse
///
/// Takes what `dwell watch --to` ships. A probe is let in by its key: the line of the key in the file `peers` says
/// behind it which probes it ships for, as `probe=NAME` or `probe=NAME,NAME`. Each record counts once, however often
/// it is sent. What happens is told on standard error, line by line. Ends when it is interrupted; probes then keep
/// what they see in their spools.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell serve --warehouse /var/lib/dwell                          in a folder (SQLite)
  dwell serve --warehouse http://127.0.0.1:8123/dwell             in ClickHouse
  dwell serve --warehouse http://a:8123,b:8123/dwell?cluster=two  in a cluster of it

User and password of ClickHouse stand in DWELL_CLICKHOUSE_USER and DWELL_CLICKHOUSE_PASSWORD, or in clickhouse.toml in
the folder of the key, which nobody else may read: `user = \"...\"` and `password = \"...\"`.")]
pub(crate) struct ServeArgs {
    /// Where to keep it: a folder, or the address of ClickHouse
    #[arg(long, value_name = "FOLDER|URL")]
    warehouse: String,

    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT))]
    listen: SocketAddr,

    #[command(flatten)]
    identity: IdentityArgs,
}

impl ServeArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if output.plot.is_some() || output.record.is_some() {
            return Err(bad_argument(anyhow!("a warehouse has nothing to plot and keeps no record")));
        }
        let identity = self.identity.load()?;
        let key = identity.public_key();
        let peers = self.identity.peers()?;
        let known = peers.iter().count();
        let store = warehouse::create(&self.warehouse, &self.identity)?;
        let config = WarehouseConfig {
            peers_file: Some(self.identity.peers_file()?),
            on_event: Arc::new(|event| eprintln!("{event}")),
            ..WarehouseConfig::new(self.listen, identity, peers)
        };
        let warehouse = Warehouse::open(config, store)
            .with_context(|| format!("cannot listen on {}; another --listen may do", self.listen))?;
        let stop = interrupted()?;
        let address = warehouse.local_addr();
        if output.json {
            print_json(&json!({ "listen": address.to_string(), "key": key.to_string(), "peers": known }))?;
        } else {
            print(&format!("listening on {address} as {key}, for {}\n", counted(known as u64, "peer")))?;
        }
        warehouse.serve(&stop).context("the warehouse stopped")
    }
}
