//! What lies between two points of the path: a link, or several in parallel.

use super::Picos;
use super::hop::Hop;
use super::in_order::InOrder;
use super::parcel::{Exit, Parcel};
use crate::link::{Balance, LinkSpec};
use crate::random::{hash, stream};
use dwell_core::truth::LinkCount;
use dwell_core::{BitRate, Bytes};

#[derive(Clone, Debug)]
pub(super) struct Section {
    /// At least one.
    links: Vec<Hop>,
    balance: Balance,
    /// Draws the link of each flow.
    seed: u64,
    /// The link that the next packet takes, where packets take turns.
    turn: usize,
    /// `None`: packets come out in their order.
    in_order: Option<InOrder>,
}

impl Section {
    /// The section number `index` of a path; its flows are numbered from `first_flow` on.
    pub(super) fn new(spec: &LinkSpec, index: u64, first_flow: u32, seed: u64) -> Self {
        let links = if spec.parallel.is_empty() {
            vec![Hop::new(spec, first_flow, |part| stream(seed, &[index, part]))]
        } else {
            let mut flow = first_flow;
            let hop = |(number, link): (u64, &LinkSpec)| {
                let hop = Hop::new(link, flow, |part| stream(seed, &[index, number, part]));
                flow += link.cross.len() as u32;
                hop
            };
            (0..).zip(&spec.parallel).map(hop).collect()
        };
        let disordered = links.len() > 1
            || spec.reordering.is_some()
            || spec.parallel.iter().any(|link| link.reordering.is_some());
        Self {
            links,
            balance: spec.balance,
            seed: hash(seed, index),
            turn: 0,
            in_order: disordered.then(InOrder::default),
        }
    }

    /// A packet comes; not before what is worked off.
    pub(super) fn arrives(&mut self, at: Picos, size: Bytes, parcel: Parcel) {
        let link = match self.links.len() {
            1 => 0,
            count => match self.balance {
                Balance::Flow => self.link_of(parcel.flow_number()),
                Balance::Packet => {
                    let link = self.turn;
                    self.turn = (link + 1) % count;
                    link
                }
            },
        };
        self.links[link].arrives(at, size, parcel);
    }

    /// The link that a flow takes.
    fn link_of(&self, flow: u32) -> usize {
        (hash(self.seed, u64::from(flow)) % self.links.len() as u64) as usize
    }

    /// The last arrival from before that is not yet worked off.
    pub(super) fn latest_arrival(&self) -> Option<Picos> {
        self.links.iter().filter_map(Hop::latest_arrival).max()
    }

    /// The least time from a packet's arrival here to its arrival at the far end.
    pub(super) fn least_passage(&self) -> Picos {
        self.links.iter().map(Hop::least_passage).min().unwrap_or(0)
    }

    /// Works off all arrivals up to `horizon`; packets come out in order of time. Returns up to when everything is
    /// known that comes out.
    pub(super) fn work_off(&mut self, horizon: Picos, mut exits: impl FnMut(Exit)) -> Picos {
        let Some(in_order) = &mut self.in_order else {
            self.links[0].work_off(horizon, exits);
            return self.links[0].horizon_after(horizon);
        };
        for (number, link) in self.links.iter_mut().enumerate() {
            link.work_off(horizon, |exit| match exit {
                Exit::Passed { at, size, parcel } => in_order.push(at, number, size, parcel),
                Exit::Lost { .. } => exits(exit),
            });
        }
        let after = self.links.iter().map(|link| link.horizon_after(horizon)).min().unwrap_or(horizon);
        in_order.release(after, &mut exits);
        after
    }

    /// Up to when this section must be worked off for the sake of an injected packet that came to it.
    pub(super) fn next_probe(&self) -> Option<Picos> {
        // One picosecond later than it comes out nothing can come before it.
        let out = self.in_order.as_ref().and_then(InOrder::next_probe);
        let out = out.map(|at| at.saturating_add(1) - self.least_passage());
        self.links.iter().filter_map(Hop::next_probe).chain(out).min()
    }

    /// How fast injected packets may follow one another at most; `None`: at once.
    pub(super) fn pace(&self) -> Option<BitRate> {
        match self.balance {
            Balance::Packet if self.links.len() > 1 => None,
            _ => self.links[self.link_of(0)].pace(),
        }
    }

    /// What each link carried up to `at`; see `Network::reading`.
    pub(super) fn count(&mut self, at: Picos, number: usize, largest: Bytes) -> Vec<LinkCount> {
        let (links, taken) = (self.links.len(), self.link_of(0));
        let share = |link| match self.balance {
            _ if links == 1 => 1.0,
            Balance::Packet => 1.0 / links as f64,
            Balance::Flow => f64::from(u8::from(link == taken)),
        };
        let shares: Vec<f64> = (0..links).map(share).collect();
        let counted = self.links.iter_mut().zip(shares);
        counted.map(|(link, share)| link.count(at, number, share, largest)).collect()
    }

    /// Packets for each picosecond that enter here and go on to the next section.
    pub(super) fn going_on(&self) -> f64 {
        self.links.iter().map(Hop::going_on).sum()
    }

    /// Packets accepted or dropped so far.
    pub(super) fn packets(&self) -> u64 {
        self.links.iter().map(Hop::packets).sum()
    }

    /// Packets that there is room for.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        let held = self.in_order.as_ref().map_or(0, InOrder::room);
        self.links.iter().map(Hop::room).sum::<usize>() + held
    }
}
