//! The warehouse's door: takes batches of probes that it knows, and acknowledges what its store has kept.

mod event;
mod rate;

pub use event::WarehouseEvent;

use crate::upload::{MAX_RECORDS, Opening, Receipt, SERVICE, Upload};
use dwell_net::protocol::Refusal;
use dwell_net::{
    Channel, ChannelError, Identity, Peers, Places, PublicKey, Receives, Reception, ReceptionConfig,
};
use dwell_store::warehouse::{Batch, MAX_MINUTES, Store};
use rate::Rate;
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How a warehouse is to be run.
#[derive(Clone)]
pub struct WarehouseConfig {
    /// Where it listens. Port 0: any that is free. `[::]` means all addresses, of IPv4 too.
    pub listen: SocketAddr,
    /// Who it is.
    pub identity: Identity,
    /// Whom it knows. The comment behind a key says with `probe=NAME,NAME` which probes that key ships for; a key
    /// without ships for none.
    pub peers: Peers,
    /// Where that is kept: read anew for each connection and each batch, so that who is taken out of it ships no more.
    pub peers_file: Option<PathBuf>,
    /// Sessions at a time.
    pub places: Places,
    /// Records each second that it takes of one session; a faster one is made to wait.
    pub records_per_second: u64,
    /// Is told what happens.
    pub on_event: Arc<dyn Fn(WarehouseEvent) + Send + Sync>,
}

impl WarehouseConfig {
    /// The usual: default limits, silent.
    #[must_use]
    pub fn new(listen: SocketAddr, identity: Identity, peers: Peers) -> Self {
        Self {
            listen,
            identity,
            peers,
            peers_file: None,
            // A probe whose session broke may be back before that shows here.
            places: Places { sessions: 64, sessions_per_peer: 4 },
            records_per_second: 1_000_000,
            on_event: Arc::new(|_| {}),
        }
    }
}

/// How long a probe may say nothing.
const IDLE: Duration = Duration::from_secs(60);

/// A warehouse, listening.
pub struct Warehouse {
    config: WarehouseConfig,
    reception: Reception,
    store: Mutex<Box<dyn Store>>,
}

impl Warehouse {
    /// Opens its port.
    ///
    /// # Errors
    /// When that cannot be had.
    pub fn open(config: WarehouseConfig, store: Box<dyn Store>) -> io::Result<Self> {
        let on_event = Arc::clone(&config.on_event);
        let door = ReceptionConfig {
            identity: config.identity.clone(),
            peers: config.peers.clone(),
            peers_file: config.peers_file.clone(),
            places: config.places,
            on_event: Arc::new(move |event| on_event(WarehouseEvent::Door(event))),
        };
        let reception = Reception::open(config.listen, door)?;
        Ok(Self { config, reception, store: Mutex::new(store) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.reception.local_addr()
    }

    /// Takes batches until `stop` is set.
    ///
    /// # Errors
    /// When its port fails.
    pub fn serve(&self, stop: &AtomicBool) -> io::Result<()> {
        self.reception.serve(self, stop)
    }

    /// Whom it knows by now; while the file cannot be read, those that it knew.
    fn known<'a>(&self, before: &'a Peers) -> Cow<'a, Peers> {
        let read = self.config.peers_file.as_deref().and_then(|file| Peers::load(file).ok());
        read.map_or(Cow::Borrowed(before), Cow::Owned)
    }

    fn tell(&self, event: WarehouseEvent) {
        (self.config.on_event)(event);
    }

    /// Refuses a probe that is not this peer's to ship for.
    fn let_in(probe: &str, channel: &mut Channel, peers: &Peers) -> Result<(), ChannelError> {
        let Some(why) = not_its_own(probe, channel.peer(), peers) else { return Ok(()) };
        channel.send(&Receipt::Refused { why: why.clone() })?;
        Err(ChannelError::Refused(why))
    }

    /// Keeps one batch: what to answer, and whether the session may go on.
    fn keep(&self, probe: &str, batch: &Batch) -> Receipt {
        let (epoch, serial) = (batch.epoch, batch.serial);
        let kept = self.store.lock().unwrap_or_else(PoisonError::into_inner).keep(batch);
        match kept {
            Ok(()) => {
                let absurd = batch.absurd();
                let count = absurd.values().sum();
                if count > 0 {
                    self.tell(WarehouseEvent::Absurd { probe: probe.to_owned(), absurd });
                }
                Receipt::Kept { epoch, serial, absurd: count }
            }
            Err(error) => {
                let why = error.to_string();
                self.tell(WarehouseEvent::NotKept { probe: probe.to_owned(), why: why.clone() });
                Receipt::NotKept { why }
            }
        }
    }
}

impl Receives for Warehouse {
    fn refuse(&self, channel: &mut Channel, refusal: Refusal) {
        // Who has gone already need not be told.
        let _ = channel.send(&Opening { service: SERVICE.to_owned(), refused: Some(refusal.to_string()) });
    }

    fn attend(&self, channel: &mut Channel, _: SocketAddr, peers: &Peers) -> Result<(), ChannelError> {
        channel.send(&Opening { service: SERVICE.to_owned(), refused: None })?;
        let Upload::Probe { name: probe } = channel.receive(IDLE)? else {
            return Err(ChannelError::Protocol("it did not say which probe it is".to_owned()));
        };
        Self::let_in(&probe, channel, peers)?;
        channel.send(&Receipt::Admitted)?;
        self.tell(WarehouseEvent::Admitted { probe: probe.clone(), peer: channel.peer() });
        let mut rate = Rate::new(self.config.records_per_second);
        loop {
            let batch = match channel.receive(IDLE)? {
                Upload::Batch(batch) => batch,
                Upload::Bye => return Ok(()),
                Upload::Probe { .. } => {
                    return Err(ChannelError::Protocol("it said twice which probe it is".to_owned()));
                }
            };
            let (records, minutes) = (batch.records.len(), batch.dropped.len());
            if batch.probe != probe || records > MAX_RECORDS || minutes > MAX_MINUTES {
                let why = format!("a batch of {records} records and {minutes} minutes of '{}'", batch.probe);
                return Err(ChannelError::Protocol(why));
            }
            Self::let_in(&probe, channel, &self.known(peers))?;
            rate.wait(batch.records.len());
            let receipt = self.keep(&probe, &batch);
            channel.send(&receipt)?;
            if let Receipt::NotKept { .. } = receipt {
                return Ok(());
            }
        }
    }
}

/// Why a key may not ship for a probe, if so.
fn not_its_own(probe: &str, key: PublicKey, peers: &Peers) -> Option<String> {
    let comment = peers.comment(&key).unwrap_or_default();
    let mut names: Vec<&str> = comment
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("probe="))
        .flat_map(|list| list.split(','))
        .collect();
    if names.contains(&probe) {
        return None;
    }
    let shown: String = probe.chars().filter(|letter| !letter.is_control()).take(80).collect();
    // Those that it ships for already keep their places.
    names.push(&shown);
    Some(format!(
        "the probe '{shown}' is not this key's to ship for; if it is to be, let the line in the warehouse's file of peers be: {key} probe={}",
        names.join(",")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_ships_for_the_probes_behind_it_and_for_no_other() {
        let [a, b, c] = [1, 2, 3].map(|byte| PublicKey::from_bytes([byte; 32]));
        let mut peers = Peers::default();
        peers.add(a, "in the cellar probe=east,west");
        peers.add(b, "an agent, no probe");
        for (key, probe, may) in [
            (a, "east", true),
            (a, "west", true),
            (a, "eas", false),
            (a, "", false),
            (b, "east", false),
            (c, "east", false),
        ] {
            assert_eq!(not_its_own(probe, key, &peers).is_none(), may, "{probe}");
        }
        let why = not_its_own("east", b, &peers).unwrap();
        assert!(why.ends_with(&format!("{b} probe=east")), "{why}");
        let why = not_its_own("north", a, &peers).unwrap();
        assert!(why.ends_with(&format!("{a} probe=east,west,north")), "{why}");
    }
}
