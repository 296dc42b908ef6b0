//! Tools of ours that a block may name.

use crate::verb::avail::AvailMethod;
use crate::verb::capacity::CapacityMethod;
use clap::ValueEnum;
use dwell_core::throughput::report;
use dwell_core::{Method, PathFacts, Quantity};

/// One of them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// Of `dwell avail`.
    Avail(AvailMethod),
    /// Of `dwell capacity`, as far as it tells the narrow link.
    Capacity(CapacityMethod),
    /// One TCP connection of `dwell throughput`. In the lab only.
    Tcp,
}

impl Own {
    /// All that there are.
    fn all() -> impl Iterator<Item = Self> {
        let avail = AvailMethod::value_variants().iter().copied().map(Self::Avail);
        let capacity = CapacityMethod::value_variants().iter().copied();
        let narrow = capacity.filter(|method| method.quantity() == Quantity::NarrowLinkCapacity);
        avail.chain(narrow.map(Self::Capacity)).chain([Self::Tcp])
    }

    /// The one of this name; else what names there are.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        Self::all().find(|own| own.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Self::all().map(Self::name).collect();
            format!("there is no method `{name}`; there are {}", known.join(", "))
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Avail(method) => method.name(),
            Self::Capacity(method) => method.name(),
            Self::Tcp => report::NAME,
        }
    }

    /// What it tells.
    pub(super) fn quantity(self) -> Quantity {
        match self {
            Self::Avail(_) => Quantity::AvailableBandwidth,
            Self::Capacity(_) => Quantity::NarrowLinkCapacity,
            Self::Tcp => Quantity::Throughput,
        }
    }

    /// Whether it takes the capacity as known.
    pub(super) fn needs_capacity(self) -> bool {
        matches!(self, Self::Avail(method) if method.needs_capacity())
    }

    /// Ready to probe a path of which so much is known; `None`: it sends no trains.
    pub(super) fn build(self, seed: u64, facts: &PathFacts) -> Option<Box<dyn Method>> {
        match self {
            Self::Avail(method) => Some(method.build(seed, facts)),
            Self::Capacity(method) => Some(method.build(seed, facts)),
            Self::Tcp => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_tool() {
        let names: Vec<&str> = Own::all().map(Own::name).collect();
        for own in Own::all() {
            assert_eq!(Own::named(own.name()), Ok(own));
            assert_eq!(names.iter().filter(|name| **name == own.name()).count(), 1);
        }
        // It tells another link.
        assert!(Own::named("end-link").unwrap_err().contains("spared-runs"));
    }
}
