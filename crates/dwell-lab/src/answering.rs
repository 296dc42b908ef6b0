//! The lab's destination as one without an agent: its kernel answers what the source asks.

use crate::client::Client;
use crate::error::LabError;
use crate::inner::Inner;
use crate::path::seen_by;
use dwell_core::host::agentless::Request;
use dwell_core::{Circumstances, Fleet, Passage, Path, PathFacts};
use dwell_net::{AgentlessConfig, AgentlessError, AgentlessPath};
use std::sync::Arc;

/// A TCP port on which nobody in the lab listens.
const CLOSED: u16 = 9;

/// Requests through a lab to its destination's kernel, and the replies. Stamps are put on the source's clock.
pub struct AnsweringLabPath {
    client: Client<AgentlessError>,
}

impl AnsweringLabPath {
    pub(crate) fn connect(inner: Arc<Inner>, host: String, request: Request) -> Result<Self, LabError> {
        let core = Some(inner.testbed.cores.sender);
        let config = AgentlessConfig { host, request, port: CLOSED, core, real_time: true };
        let open = move || AgentlessPath::connect(&config).map_err(agentless);
        Ok(Self { client: Client::start(inner, open, AgentlessPath::circumstances)? })
    }

    /// The lab's two ends, and what stands between.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let live = self.client.circumstances.clone();
        let notes = live.notes.iter().map(|(name, text)| (name.clone(), text.clone()));
        let notes = notes.chain(self.client.inner.notes()).collect();
        self.client.inner.with_nics(Circumstances { world: "lab".to_owned(), notes, ..live })
    }
}

impl Path for AnsweringLabPath {
    type Error = LabError;

    fn facts(&self) -> PathFacts {
        let resolution = self.client.inner.scenario.source.clock.resolution;
        PathFacts { resolution: resolution.max(self.client.facts.resolution), ..self.client.facts }
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, LabError> {
        let mut passages = self.client.carry(fleet)?.map_err(agentless)?;
        let (source, start) = (&self.client.inner.scenario.source, self.client.inner.start);
        for fate in passages.iter_mut().flat_map(|passage| &mut passage.observation.fates) {
            fate.sent = seen_by(source, fate.sent, start);
            if let Some(arrival) = &mut fate.arrival {
                arrival.stamps = seen_by(source, arrival.stamps, start);
            }
        }
        Ok(passages)
    }
}

fn agentless(source: AgentlessError) -> LabError {
    LabError::Agentless(Box::new(source))
}
