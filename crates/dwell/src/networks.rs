//! Networks that are told apart, of bounded number.

use dwell_core::tcp::{MOST_PREFIXES, Prefix};
use std::collections::HashSet;
use std::net::IpAddr;

/// What all networks are called that have no place of their own.
pub(crate) const OTHER: &str = "other";

/// The networks that came first, [`MOST_PREFIXES`] at most. All others are counted together.
#[derive(Default)]
pub(crate) struct Networks(HashSet<Prefix>);

impl Networks {
    /// The network of an address; `None`: it is one of the others.
    pub(crate) fn of(&mut self, address: IpAddr) -> Option<Prefix> {
        let network = Prefix::of(address);
        if self.0.len() < MOST_PREFIXES {
            self.0.insert(network);
        }
        self.0.contains(&network).then_some(network)
    }
}
