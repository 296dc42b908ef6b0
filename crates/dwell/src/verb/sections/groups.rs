//! Sections by the networks of their ends, or by the minute: of each group what is shown, and of bounded number.

use super::By;
use super::outcome::network;
use super::times::Times;
use crate::networks::{Networks, OTHER};
use dwell_core::tcp::Prefix;
use dwell_core::tcp::section::{Connection, Leg, Section};
use dwell_store::warehouse::Minute;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

/// Minutes that are told one by one, the last of all: a day. Whoever follows has no end.
const MOST_MINUTES: usize = 1_440;

/// Which group it is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// All minutes before those that are told one by one.
    Earlier,
    Minute(Minute),
    Network(Prefix),
    /// All networks that have no place of their own.
    Other,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Earlier => f.write_str("earlier"),
            Self::Minute(minute) => minute.fmt(f),
            Self::Network(network) => network.fmt(f),
            Self::Other => f.write_str(OTHER),
        }
    }
}

/// What is shown of a group.
#[derive(Default)]
pub(super) struct Group {
    pub(super) connections: u64,
    pub(super) times: Times,
}

/// All groups.
pub(super) struct Groups {
    by: By,
    networks: Networks,
    /// The minutes up to this one are told together, if there are any such.
    earlier_until: Option<Minute>,
    groups: BTreeMap<Name, BTreeMap<Leg, Group>>,
}

impl Groups {
    pub(super) fn new(by: By) -> Self {
        Self { by, networks: Networks::default(), earlier_until: None, groups: BTreeMap::new() }
    }

    /// What they are told apart by, as the head of a column.
    pub(super) const fn head(&self) -> &'static str {
        match self.by {
            By::Prefix => "network",
            By::Minute => "minute, UTC",
        }
    }

    /// One more section of a connection.
    pub(super) fn add(&mut self, connection: &Connection, section: &Section) {
        let name = self.name(connection, section);
        let group = self.groups.entry(name).or_default().entry(section.leg()).or_default();
        group.connections += 1;
        if let Some(time) = section.measured() {
            group.times.add(time);
        }
        self.bound_minutes();
    }

    fn name(&mut self, connection: &Connection, section: &Section) -> Name {
        match self.by {
            By::Prefix => self.networks.of(network(connection, section)).map_or(Name::Other, Name::Network),
            By::Minute => {
                let minute = Minute::of(connection.first_at);
                if Some(minute) <= self.earlier_until { Name::Earlier } else { Name::Minute(minute) }
            }
        }
    }

    /// Where there are too many minutes, the first of them is told with all earlier ones: whichever order connections come
    /// in, those that stay are the last.
    fn bound_minutes(&mut self) {
        let minutes = self.groups.len() - usize::from(self.earlier_until.is_some());
        if self.by != By::Minute || minutes <= MOST_MINUTES {
            return;
        }
        let first = self.groups.keys().find_map(|name| match name {
            Name::Minute(minute) => Some(*minute),
            _ => None,
        });
        let gone = first.and_then(|minute| self.groups.remove(&Name::Minute(minute)));
        self.earlier_until = first.or(self.earlier_until);
        let earlier = self.groups.entry(Name::Earlier).or_default();
        for (leg, group) in gone.into_iter().flatten() {
            let all = earlier.entry(leg).or_default();
            all.connections += group.connections;
            all.times.merge(group.times);
        }
    }

    /// Section by section, and of each the minutes one after the other, or the networks with the most connections first and
    /// the others last.
    pub(super) fn rows(&self) -> Vec<(Name, Leg, &Group)> {
        let sections = self
            .groups
            .iter()
            .flat_map(|(name, sections)| sections.iter().map(|(leg, group)| (*name, *leg, group)));
        let mut rows: Vec<_> = sections.collect();
        rows.sort_by_key(|(name, leg, group)| {
            let most = if let Name::Network(_) = name { group.connections } else { 0 };
            (*leg, *name == Name::Other, Reverse(most), *name)
        });
        rows
    }
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
