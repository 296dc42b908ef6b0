//! Programs of others, with an end in either host of a lab.

use crate::error::LabError;
use crate::lab::Lab;
use crate::wiring::Place;
use dwell_core::truth::Reading;
use dwell_core::{BitRate, Direction};
use dwell_net::plugin::{Asked, At, Ended, Enter, Plugin, PluginError, Started, Told};
use std::io;
use std::sync::Arc;

/// What came of a tool, and what the links' counters said when its client began and when all was over.
#[derive(Debug)]
pub struct ToolHeard {
    /// What it found, or why it found nothing.
    pub told: Result<Told, PluginError>,
    /// Before it measured; its server, where it has one, waits already.
    pub before: Reading,
    /// When its client had ended, or was ended: its server may take seconds more to print.
    pub after: Reading,
}

impl Lab {
    /// Has a tool measure the path for `seconds`, where it can be told for how long; `rate` goes to those that want one.
    /// A tool that fails is no error of the lab.
    ///
    /// # Errors
    /// When the lab fails, or has no counters to judge by.
    pub fn tool(&self, plugin: &Plugin, seconds: u32, rate: BitRate) -> Result<ToolHeard, LabError> {
        let wiring = &self.inner.testbed.wiring;
        let (source, destination) = (wiring.source.clone(), wiring.destination.clone());
        let enter: Enter = Arc::new(move |at| {
            let namespace = if at == At::Source { &source } else { &destination };
            namespace.enter().map_err(io::Error::other)
        });
        let asked =
            Asked { source: Place::SOURCE.ipv4(), destination: Place::DESTINATION.ipv4(), seconds, rate };
        let started = plugin.start(asked, enter);
        let before = self.counters()?;
        let ended = started.map(Started::run);
        let after = self.counters()?;
        Ok(ToolHeard { told: ended.and_then(Ended::told), before, after })
    }

    fn counters(&self) -> Result<Reading, LabError> {
        let reading = self.inner.testbed.reading(&self.inner.scenario, Direction::Forward)?;
        reading.ok_or_else(|| LabError::Scenario {
            scenario: self.inner.scenario.name.clone(),
            reason: "its links have no counters to judge a tool by".to_owned(),
        })
    }
}
