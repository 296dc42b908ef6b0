//! `dwell echo --respond`: the host's part, for probes over UDP and TCP.

use super::{EchoArgs, Probe};
use crate::failure::bad_argument;
use crate::output::Output;
use anyhow::{Context, Result, anyhow};
use dwell_net::echo::{Responder, ResponderConfig, Transport};
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

/// Answers until it is interrupted.
pub(super) fn respond(args: &EchoArgs, output: &Output) -> Result<()> {
    if output.json || output.plot.is_some() || output.record.is_some() {
        return Err(bad_argument(anyhow!("a responder has nothing to print, to plot or to record")));
    }
    let transport = match args.probe {
        Probe::Icmp => {
            return Err(bad_argument(anyhow!("the kernel answers ICMP; say --probe udp or --probe tcp")));
        }
        Probe::Udp => Transport::Udp,
        Probe::Tcp => Transport::Tcp,
    };
    let listen = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), args.port);
    let config = ResponderConfig {
        before_stamp: args.spin,
        core: args.placement.core,
        real_time: args.placement.real_time,
        ..ResponderConfig::new(transport, listen)
    };
    let responder = Responder::bind(config).with_context(|| format!("cannot listen on {listen}"))?;
    eprintln!("dwell: answering {} on {}", args.probe_name(), responder.local_addr()?);
    responder.serve(&AtomicBool::new(false)).context("the responder ended")
}
