//! What was found goes to the outputs, and into the figures.

use super::output::Outputs;
use super::throughout::Throughout;
use anyhow::Result;
use dwell_core::tcp::continuous::RoundTrips;
use dwell_core::tcp::{Handshake, Summary};

/// The figures of a run.
#[derive(Default)]
pub(super) struct Figures {
    /// Of the handshakes.
    pub(super) handshakes: Summary,
    /// Of what followed them.
    pub(super) throughout: Throughout,
}

/// Takes what is found.
pub(super) struct Taken {
    pub(super) figures: Figures,
    outputs: Outputs,
    /// Packets of which the outputs know that the kernel dropped them.
    dropped: u64,
}

impl Taken {
    pub(super) fn by(outputs: Outputs) -> Self {
        Self { figures: Figures::default(), outputs, dropped: 0 }
    }

    pub(super) fn handshake(&mut self, handshake: &Handshake) -> Result<()> {
        self.figures.handshakes.add(handshake);
        self.outputs.take(handshake)
    }

    pub(super) fn round_trips(&mut self, told: &RoundTrips) -> Result<()> {
        self.figures.throughout.add(told);
        self.outputs.round_trips(told)
    }

    /// The kernel dropped so many packets since the beginning.
    pub(super) fn dropped(&mut self, packets: u64) -> Result<()> {
        let since = packets - self.dropped;
        self.dropped = packets;
        if since == 0 { Ok(()) } else { self.outputs.dropped(since) }
    }

    /// Whether all that is written is read by nobody any more.
    pub(super) fn is_unread(&self) -> bool {
        self.outputs.are_unread()
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.outputs.flush()
    }

    pub(super) fn finish(self) -> Result<Figures> {
        self.outputs.finish()?;
        Ok(self.figures)
    }
}
