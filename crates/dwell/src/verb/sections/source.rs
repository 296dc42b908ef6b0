//! Where connections come from.

use crate::failure::bad_argument;
use anyhow::{Result, anyhow, bail};
use dwell_core::Nanos;
use dwell_core::tcp::section::Connection;
use dwell_store::warehouse::{Span, Store};
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the clock on the wall says.
pub(super) fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Where connections come from.
pub(super) struct Source {
    kind: Kind,
    /// The probes that are asked; a sight names its probe by the place in this list.
    asked: Vec<String>,
    remarks: Vec<String>,
}

enum Kind {
    Captures { names: Vec<String>, connections: Vec<Connection> },
    Store { store: Box<dyn Store>, last: Option<u32> },
}

impl Source {
    pub(super) const fn captures(
        names: Vec<String>,
        connections: Vec<Connection>,
        remarks: Vec<String>,
    ) -> Self {
        Self { kind: Kind::Captures { names, connections }, asked: Vec::new(), remarks }
    }

    pub(super) fn store(store: Box<dyn Store>, last: Option<u32>) -> Self {
        Self { kind: Kind::Store { store, last }, asked: Vec::new(), remarks: Vec::new() }
    }

    /// The probes that are asked: these, or all that there are.
    pub(super) fn probes(&mut self, order: &[String]) -> Result<Vec<String>> {
        let there: Vec<String> = match &mut self.kind {
            Kind::Captures { names, .. } => names.clone(),
            Kind::Store { store, .. } => {
                let accounts = store.accounts()?;
                let asked = |name: &&String| order.is_empty() || order.contains(name);
                for (name, account) in accounts.iter().filter(|(name, _)| asked(name)) {
                    for (reason, count) in &account.given_up {
                        self.remarks.push(format!("{name} gave up {count} records: {reason}"));
                    }
                }
                accounts.into_keys().collect()
            }
        };
        for (place, name) in order.iter().enumerate() {
            if !there.contains(name) {
                bail!(bad_argument(anyhow!("there is no probe {name:?}; there are {}", there.join(", "))));
            }
            if order[..place].contains(name) {
                bail!(bad_argument(anyhow!("{name} is in the order twice")));
            }
        }
        self.asked = if order.is_empty() { there } else { order.to_vec() };
        match self.asked.len() {
            0 => bail!("no probe has sent anything yet"),
            1 => bail!("only {} has sent anything: one place has no sections", self.asked[0]),
            _ => Ok(self.asked.clone()),
        }
    }

    /// From now on, only what was first seen within so many seconds, if nobody asked for another time.
    pub(super) fn narrow(&mut self, seconds: u32) {
        if let Kind::Store { last, .. } = &mut self.kind {
            last.get_or_insert(seconds);
        }
    }

    /// What is to be known of what was read.
    pub(super) fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Hands out connections, until `take` breaks off.
    pub(super) fn each(&mut self, take: &mut dyn FnMut(Connection) -> ControlFlow<()>) -> Result<()> {
        match &mut self.kind {
            Kind::Captures { names, connections } => {
                let places: Vec<Option<usize>> =
                    names.iter().map(|name| self.asked.iter().position(|asked| asked == name)).collect();
                for connection in connections.iter() {
                    let mut connection = connection.clone();
                    connection
                        .sights
                        .retain_mut(|sight| places[sight.probe].map(|place| sight.probe = place).is_some());
                    connection.sights.sort_unstable_by_key(|sight| sight.probe);
                    if !connection.sights.is_empty() && take(connection).is_break() {
                        break;
                    }
                }
                Ok(())
            }
            Kind::Store { store, last } => {
                let span = last.map_or(Span::ALL, |seconds| Span {
                    from: now() - Nanos::from_secs(seconds.into()),
                    until: Nanos::MAX,
                });
                Ok(store.connections(&self.asked, span, take)?)
            }
        }
    }
}
