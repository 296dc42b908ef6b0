//! What a lab and its paths share.

use crate::check::LabCheck;
use crate::namespace::Worker;
use crate::nic_stage::{description, has_nic, settings};
use crate::testbed::Testbed;
use dwell_core::{Circumstances, Nanos};
use dwell_net::{ConnectConfig, Identity, Peers};
use dwell_sim::Scenario;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a lab and its paths share.
pub(crate) struct Inner {
    pub(crate) scenario: Scenario,
    /// True time zero of the hosts' clocks.
    pub(crate) start: Nanos,
    pub(crate) testbed: Testbed,
    pub(crate) client: Identity,
    pub(crate) server: Identity,
    pub(crate) address: SocketAddr,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) agent: Option<Worker<()>>,
    pub(crate) checked: Mutex<Option<LabCheck>>,
}

impl Inner {
    /// How its agent is reached from the source.
    pub(crate) fn connect_config(&self) -> ConnectConfig {
        ConnectConfig {
            port: self.address.port(),
            core: Some(self.testbed.cores.sender),
            real_time: true,
            ..ConnectConfig::new(
                &self.address.ip().to_string(),
                self.client.clone(),
                Peers::only(self.server.public_key()),
            )
        }
    }

    /// `told`, with the settings of the hosts' NICs.
    pub(crate) fn with_nics(&self, mut told: Circumstances) -> Circumstances {
        let Scenario { source, destination, .. } = &self.scenario;
        for (facts, host) in [(&mut told.sender, source), (&mut told.receiver, destination)] {
            if has_nic(host) {
                facts.coalescing = settings(host.nic);
            }
        }
        told
    }

    /// What a reader of a result should know of the lab.
    pub(crate) fn notes(&self) -> BTreeMap<String, String> {
        let testbed = &self.testbed;
        let mut notes = BTreeMap::new();
        let mut note = |name: &str, text: String| notes.insert(name.to_owned(), text);
        note("scenario", self.scenario.name.clone());
        note("lab carriage", testbed.carriage.to_string());
        note("lab cores", testbed.cores.to_string());
        for (name, host) in [("source", &self.scenario.source), ("destination", &self.scenario.destination)] {
            if has_nic(host) {
                note(&format!("lab {name} nic"), description(host, self.scenario.lab.nic));
            }
        }
        if let Some(tally) = testbed.tally() {
            note("lab forwarder", tally.to_string());
        }
        let cautions = testbed.cautions();
        if !cautions.is_empty() {
            note("lab caution", cautions.join("; "));
        }
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        note("lab check", checked.as_ref().map_or("not made".to_owned(), LabCheck::in_brief));
        notes
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Nobody is left to tell.
        let _ = self.agent.take().map(Worker::join);
    }
}
