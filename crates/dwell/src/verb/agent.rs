//! `dwell agent`: the cooperating end.

use crate::failure::bad_argument;
use crate::figure::counted;
use crate::identity::IdentityArgs;
use crate::output::Output;
use crate::screen::{print, print_json};
use crate::secret;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use dwell_core::throughput::udpst;
use dwell_net::protocol::PORT;
use dwell_net::throughput::udpst::{UdpstServer, UdpstServerConfig};
use dwell_net::{Agent, AgentConfig};
use serde_json::json;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tests of udpst at a time: two would find half of what one does.
const TESTS: u32 = 1;

/// Answer the hosts that may measure this one
///
/// Only hosts whose key stands in the file `peers` are answered; strangers learn nothing. What happens is told on
/// standard error, line by line. The agent ends when it is interrupted; sessions under way end with it.
#[derive(Args)]
#[command(after_help = "Examples:
  dwell agent --key                          print this host's key, for the other host's file of peers
  dwell agent                                answer peers on all addresses
  dwell agent --listen 192.0.2.7:7923 --core 1
  dwell agent --udpst ~/.config/dwell/udpst  udpst's server too, for clients with that secret")]
pub(crate) struct AgentArgs {
    /// Where to listen, TCP and UDP alike
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT))]
    listen: SocketAddr,

    /// Print this host's public key and end
    #[arg(long)]
    key: bool,

    /// Answer udpst clients too (RFC 9946) that have the secret in this file's first line
    #[arg(long, value_name = "FILE")]
    udpst: Option<PathBuf>,

    /// Their port of control
    #[arg(long, value_name = "PORT", default_value_t = udpst::PORT, requires = "udpst")]
    udpst_port: u16,

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
        let server = self.udpst.as_deref().map(|file| self.server(file, address.ip())).transpose()?;
        let tests = server.as_ref().map(|server| server.local_addr().to_string());
        if output.json {
            print_json(&json!({
                "listen": address.to_string(), "key": key.to_string(), "peers": known, "udpst": tests,
            }))?;
        } else {
            let tests = tests.map_or(String::new(), |at| format!("; udpst on {at}"));
            print(&format!(
                "listening on {address} as {key}, for {}{tests}\n",
                counted(known as u64, "peer")
            ))?;
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let tests = server.as_ref().map(|server| {
                scope.spawn(|| {
                    let served = server.serve(&stop);
                    stop.store(true, Ordering::Relaxed);
                    served
                })
            });
            let served = agent.serve(&stop);
            stop.store(true, Ordering::Relaxed);
            let tested = tests.map(|tests| tests.join().map_err(|_| anyhow!("the thread of udpst died")));
            served?;
            tested.transpose()?.transpose()?;
            Ok(())
        })
    }

    /// The server of udpst, at the agent's address.
    fn server(&self, file: &Path, at: IpAddr) -> Result<UdpstServer> {
        let listen = SocketAddr::new(at, self.udpst_port);
        let config = UdpstServerConfig { listen, secret: Some((secret::read(file)?, 0)), tests: TESTS };
        UdpstServer::bind(config).with_context(|| format!("cannot listen on {listen} for udpst"))
    }
}
