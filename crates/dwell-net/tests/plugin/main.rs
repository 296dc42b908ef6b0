//! Programs of others: what each prints is read right, and whatever one can do wrong is answered with its reason.

mod descriptions;
mod failures;

use dwell_core::BitRate;
use dwell_net::plugin::{Asked, At, Enter, Plugin, PluginError, Told};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Both ends on this host.
fn here() -> Enter {
    Arc::new(|_: At| Ok(()))
}

fn asked(seconds: u32) -> Asked {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    Asked { source: address, destination: address, seconds, rate: BitRate::from_mbps(100) }
}

/// Runs the tool of this description.
fn run(description: &str) -> Result<Told, PluginError> {
    Plugin::parse("test.toml", description)?.start(asked(1), here())?.run().told()
}
