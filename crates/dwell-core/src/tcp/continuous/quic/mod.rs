//! QUIC (RFC 9000): round-trip times from its handshake, and from the spin bit.

mod header;
mod spin;
mod stage;

use super::super::{FlowHash, Half};
use super::flows::{Beside, Flows, Kept, State};
use super::sample::Trip;
use super::shortest::SIGNS;
use super::{By, Datagram, End, FlowLimits, Sample};
use header::Header;
use spin::Spin;
use stage::Stage;

#[derive(Debug, Default)]
pub(super) struct Connection {
    /// `None` before a client's first packet.
    stage: Option<Stage>,
    spin: Spin,
}

impl State for Connection {
    // Two tell them.
    const SIGNS: [By; SIGNS] = [By::QuicHandshake, By::SpinBit, By::SpinBit];
}

/// Round-trip times of QUIC connections whose handshake passes.
#[derive(Debug)]
pub struct Quic {
    pub(super) flows: Flows<Connection>,
}

impl Quic {
    /// One that has seen nothing.
    #[must_use]
    pub fn new(limits: FlowLimits) -> Self {
        Self { flows: Flows::new(limits.flows, limits.patience) }
    }

    /// How many flows had to give way to others.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.flows.forgotten()
    }

    /// Shows a datagram of this flow.
    pub fn see(&mut self, flow: FlowHash, datagram: &Datagram<'_>, take: &mut impl FnMut(Sample)) {
        self.see_beside(flow, datagram, &mut |trip, beside| take(trip.between(*beside.ends)));
    }

    /// The same, with what the interval has of the flow.
    pub(super) fn see_beside(
        &mut self,
        flow: FlowHash,
        datagram: &Datagram<'_>,
        take: &mut impl FnMut(Trip, &mut Beside<'_>),
    ) {
        let Datagram { at, from, to, payload, length } = *datagram;
        let Some(header) = Header::of(payload) else { return };
        let begins = matches!(&header, Header::Long(long) if stage::begins(long, length));
        // Of what is no QUIC, most looks like the middle of a connection.
        if !begins && !self.flows.has(flow, &from, &to, at) {
            return;
        }
        let Kept { state: Connection { stage, spin }, is_first, mut beside, .. } =
            self.flows.of(flow, &from, &to, at);
        let stage = match (stage, &header) {
            (Some(stage), _) => stage,
            (none, Header::Long(long)) if begins => {
                *none = Some(Stage::new(is_first, long, at));
                return;
            }
            (None, _) => return,
        };
        let opened = stage.opened;
        let by_client = opened == is_first;
        let mut tell = |at, by_client, value, by| {
            let (to_first, end) = (by_client == opened, Some(End::of(by_client)));
            take(Trip { at, value, by, to_first, end }, &mut beside);
        };
        match header {
            Header::Short { spin: bit } => {
                let tail = payload.last_chunk().map_or(0, |tail| u64::from_be_bytes(*tail));
                if let Some((value, at)) = spin.see(by_client, bit, tail, at) {
                    tell(at, !by_client, Half::Exact(value), By::SpinBit);
                }
            }
            Header::Long(long) => {
                if let Some(value) = stage.advance(by_client, &long, length, at) {
                    tell(at, by_client, value, By::QuicHandshake);
                }
                if stage.is_new() {
                    *spin = Spin::default();
                }
            }
        }
    }
}

#[cfg(test)]
mod spinning;
#[cfg(test)]
mod tests;
