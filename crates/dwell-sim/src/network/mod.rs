//! The links of one direction as a discrete-event engine.
//!
//! Packets go in, [`Outcome`]s come out. The engine decides nothing before it can be known, so it serves in virtual
//! time and in real time alike: after `advance(t)` a packet that enters at `t` or later finds every link as if the
//! engine had known of it from the start. A path is a chain, so each link can be worked off in the order of its
//! own arrivals up to a horizon: no packet that is still unknown can reach link `i` before its horizon, which is the
//! link's before it plus the least time that a packet takes there. The order of calls to `advance` therefore
//! changes nothing: each link sees the same arrivals in the same order and draws the same chances.
//!
//! Cross traffic that passes one link only is never an event: its packets are drawn while the link is worked off and
//! leave nothing behind but the time at which the link is free again. Where a link has rested for so long that a queue
//! has forgotten its past twenty times over, the traffic in between is not drawn at all.
//!
//! First come, first served, a packet's fate is certain when it comes. Under any other discipline it hangs on who comes
//! later: there packets wait in a backlog, and turns are given one by one up to the horizon. Where packets come out of
//! order, by parallel links or because some are held back, they lie in a heap until none can come before them.

mod backlog;
mod bucket;
mod cross;
mod hop;
mod in_order;
mod meter;
mod parcel;
mod rests;
mod section;

use crate::link::LinkSpec;
pub use cross::Flow;
use dwell_core::truth::Reading;
use dwell_core::{BitRate, Bytes, Nanos};
use parcel::{Exit, Parcel, Probe};
use section::Section;

/// Time in picoseconds, from the start of the network: a byte at 10 Gb/s takes 0.8 ns, and rounding it to whole
/// nanoseconds would make the link faster than it is.
pub(crate) type Picos = i64;

const PICOS: i64 = 1_000;

/// How many packets of cross traffic may come to lie between two links at once, about: what many steps change nothing
/// about, one long step shall not pay for with memory.
const MOST_BETWEEN_LINKS: f64 = 4096.0;

/// How long a byte takes.
#[derive(Copy, Clone, Debug)]
struct Tempo {
    picos_per_byte: f64,
}

impl Tempo {
    /// At `rate`; `None`: no time.
    fn of(rate: Option<BitRate>) -> Self {
        Self { picos_per_byte: rate.map_or(0.0, |rate| 8e12 / rate.0 as f64) }
    }

    fn time_for(self, size: Bytes) -> Picos {
        (size.0 as f64 * self.picos_per_byte + 0.5) as Picos
    }
}

/// What became of a packet. A packet that a link duplicates has one outcome for each copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It reached the far end.
    Leaves {
        /// As injected.
        key: u64,
        /// When its last bit is at the far end; may lie in the future, for it is told as soon as it is certain.
        at: Nanos,
        /// When its last bit left the near end of the first link.
        departed: Nanos,
        /// Time spent in queues, all links together.
        waited: Nanos,
    },
    /// It did not.
    Lost {
        /// As injected.
        key: u64,
        /// When it was dropped, or would have reached the end of the link that damaged it.
        at: Nanos,
        /// On which link, from 0.
        link: usize,
        /// Why.
        why: WhyLost,
    },
}

impl Outcome {
    /// The packet that this is about.
    #[must_use]
    pub fn key(&self) -> u64 {
        match self {
            Self::Leaves { key, .. } | Self::Lost { key, .. } => *key,
        }
    }
}

/// Why a packet was lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum WhyLost {
    /// The queue before the link was full.
    QueueFull,
    /// The link damaged it.
    Damaged,
    /// It was larger than the link carries.
    TooBig,
    /// It was more than a policer lets pass.
    Policed,
}

/// One direction of a path, with its cross traffic; time starts at zero with empty queues.
#[derive(Clone, Debug)]
pub struct Network {
    sections: Vec<Section>,
    /// How far one step goes.
    stride: Picos,
    /// Everything that enters before this is decided; nothing can enter before it any more.
    reached: Picos,
    /// Up to when the furthest link is worked off.
    worked: Picos,
}

impl Network {
    /// A network of `links`, whose cross traffic, jitter, loss and disorder follow from `seed`.
    #[must_use]
    pub fn new(links: &[LinkSpec], seed: u64) -> Self {
        // The injected packets are flow 0.
        let mut flow = 1;
        let section = |(index, link): (u64, &LinkSpec)| {
            let section = Section::new(link, index, flow, seed);
            let bundled: usize = link.parallel.iter().map(|link| link.cross.len()).sum();
            flow += (link.cross.len() + bundled) as u32;
            section
        };
        let sections: Vec<_> = (0..).zip(links).map(section).collect();
        let going_on: f64 = sections.iter().map(Section::going_on).sum();
        let stride = if going_on > 0.0 { (MOST_BETWEEN_LINKS / going_on) as Picos } else { Picos::MAX };
        Self { sections, stride: stride.max(1), reached: 0, worked: 0 }
    }

    /// The lowest rate at which two injected packets that follow one another at once come out; `None`: they may come
    /// out at once.
    #[must_use]
    pub fn narrowest(&self) -> Option<BitRate> {
        self.sections.iter().filter_map(Section::pace).min()
    }

    /// A packet of `size` on the wire comes to the first link's queue. Packets enter in the order of the calls: one
    /// that comes before its predecessor, or before the time already advanced to, enters then. Returns when it
    /// really enters.
    pub fn inject(&mut self, at: Nanos, key: u64, size: Bytes) -> Nanos {
        let at = at.0.saturating_mul(PICOS).max(self.reached);
        let at = self.sections.first().and_then(Section::latest_arrival).map_or(at, |latest| at.max(latest));
        if let Some(first) = self.sections.first_mut() {
            let last = usize::MAX;
            first.arrives(at, size, Parcel::Probe(Probe { key, waited: 0, departed: None, last }));
        }
        rounded(at)
    }

    /// The same of a packet that passes only the links `from..=to`, both from 0; one that ends beyond the last link ends at
    /// the path's end. It enters when it says: not before [`Self::worked`].
    pub(crate) fn inject_between(&mut self, at: Nanos, key: u64, size: Bytes, [from, to]: [usize; 2]) {
        let at = at.0.saturating_mul(PICOS);
        if let Some(section) = self.sections.get_mut(from) {
            section.arrives(at, size, Parcel::Probe(Probe { key, waited: 0, departed: None, last: to }));
        }
    }

    /// Up to when any link is worked off: no packet may enter anywhere before.
    pub(crate) fn worked(&self) -> Nanos {
        Nanos(self.worked.saturating_add(PICOS - 1).div_euclid(PICOS))
    }

    /// Works off everything that is certain once all packets that enter up to `until` are known. Outcomes come in
    /// the order in which they are decided: those that leave in the order of leaving.
    pub fn advance(&mut self, until: Nanos, out: &mut Vec<Outcome>) {
        let until = self.reached.max(until.0.saturating_mul(PICOS));
        loop {
            self.reached = until.min(self.reached.saturating_add(self.stride));
            self.step(out);
            if self.reached == until {
                return;
            }
        }
    }

    /// Works off everything that is certain at the time reached.
    fn step(&mut self, out: &mut Vec<Outcome>) {
        let mut horizon = self.reached;
        for index in 0..self.sections.len() {
            let (done, ahead) = self.sections.split_at_mut(index + 1);
            let mut next = ahead.first_mut();
            self.worked = self.worked.max(horizon);
            horizon = done[index].work_off(horizon, |exit| match exit {
                Exit::Passed { at, size, parcel } => match (next.as_deref_mut(), parcel) {
                    (Some(next), parcel) if !parcel.leaves_after(index) => next.arrives(at, size, parcel),
                    (_, Parcel::Probe(Probe { key, waited, departed, .. })) => out.push(Outcome::Leaves {
                        key,
                        at: rounded(at),
                        departed: rounded(departed.unwrap_or(at)),
                        waited: rounded(waited),
                    }),
                    (_, Parcel::Cross { .. }) => {}
                },
                Exit::Lost { at, key, why } => {
                    out.push(Outcome::Lost { key, at: rounded(at), link: index, why });
                }
            });
        }
    }

    /// The next time to which the engine must be advanced for the sake of a packet that was injected; `None` when
    /// no such packet is under way. Never later than the time at which the packet's next fate falls due,
    /// but for a packet that waits for its turn at a fair queue and is pushed out: that is told at the next turn.
    #[must_use]
    pub fn wake_at(&self) -> Option<Nanos> {
        let mut lead = 0;
        let mut earliest = None;
        for section in &self.sections {
            if let Some(horizon) = section.next_probe() {
                let needed = horizon - lead;
                earliest = Some(earliest.map_or(needed, |earliest: Picos| earliest.min(needed)));
            }
            lead += section.least_passage();
        }
        // Rounded up: an arrival within a nanosecond is worked off at its end.
        earliest.map(|at| Nanos(at.div_euclid(PICOS) + i64::from(at.rem_euclid(PICOS) > 0)))
    }

    /// Advances until no injected packet is under way, and returns the time reached.
    pub fn finish(&mut self, out: &mut Vec<Outcome>) -> Nanos {
        while let Some(at) = self.wake_at() {
            self.advance(at, out);
        }
        rounded(self.reached)
    }

    /// What each link carried up to `at`, or up to where everything is decided if that is earlier; where the reading
    /// was taken stands in it. `largest` is the largest packet under test, by which a token bucket's rate is told as
    /// that of a link.
    pub fn reading(&mut self, at: Nanos, largest: Bytes) -> Reading {
        let picos = at.0.saturating_mul(PICOS).min(self.reached);
        let sections = self.sections.iter_mut().enumerate();
        let links = sections.flat_map(|(link, section)| section.count(picos, link, largest));
        Reading { links: links.collect(), at: rounded(picos) }
    }

    /// Packets that links have accepted or dropped so far, those of cross traffic included: a packet that passes
    /// three links counts three times, and cross traffic that was skipped because nothing could feel it not at all.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.sections.iter().map(Section::packets).sum()
    }
}

/// The nearest nanosecond.
fn rounded(at: Picos) -> Nanos {
    Nanos(at.saturating_add(PICOS / 2).div_euclid(PICOS))
}

#[cfg(test)]
mod tests;
