//! `dwell agent`: the cooperating end.

use crate::cli::Output;
use crate::failure::bad_argument;
use crate::identity::IdentityArgs;
use crate::screen::{print, print_json};
use anyhow::{Result, anyhow};
use clap::Args;
use dwell_net::protocol::PORT;
use dwell_net::{Agent, AgentConfig};
use serde_json::json;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Answer the hosts that may measure this one
///
/// Only hosts whose key stands in the file `peers` are answered; strangers learn nothing. What happens is told on
/// standard error, line by line. The agent ends when it is interrupted; sessions under way end with it.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell agent --key                          print this host's key, for the other host's file of peers
  dwell agent                                answer peers on all addresses
  dwell agent --listen 192.0.2.7:7923 --core 1")]
pub(crate) struct AgentArgs {
    /// Where to listen, TCP and UDP alike
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT))]
    listen: SocketAddr,

    /// Print this host's public key and end
    #[arg(long)]
    key: bool,

    #[command(flatten)]
    identity: IdentityArgs,

    #[command(flatten)]
    placement: crate::target::Placement,
}

impl AgentArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if output.plot.is_some() || output.record.is_some() {
            return Err(bad_argument(anyhow!("an agent has nothing to plot and keeps no record")));
        }
        let identity = self.identity.load()?;
        let key = identity.public_key();
        if self.key {
            return if output.json {
                print_json(&json!({ "key": key.to_string() }))
            } else {
                print(&format!("{key}\n"))
            };
        }
        let peers = self.identity.peers()?;
        let known = peers.iter().count();
        let agent = Agent::bind(AgentConfig {
            listen: self.listen,
            core: self.placement.core,
            real_time: self.placement.real_time,
            on_event: Arc::new(|event| eprintln!("{event}")),
            ..AgentConfig::new(identity, peers)
        })?;
        let address = agent.local_addr();
        if output.json {
            print_json(&json!({ "listen": address.to_string(), "key": key.to_string(), "peers": known }))?;
        } else {
            print(&format!("listening on {address} as {key}, for {known} peers\n"))?;
        }
        Ok(agent.serve(&AtomicBool::new(false))?)
    }
}
