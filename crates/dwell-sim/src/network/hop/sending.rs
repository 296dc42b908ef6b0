//! How a link sends a packet, and what becomes of it on the way.

use super::super::meter::Class;
use super::super::parcel::{Arrival, Exit, Parcel, Probe, lose};
use super::super::{PICOS, Picos, WhyLost};
use super::{Fate, Hop};
use crate::link::QueueLimit;
use crate::random::Stream;
use crate::times::Times;
use dwell_core::{Bytes, Nanos};
use rand::RngExt;

/// When a packet begins to be sent, and when its last bit is out.
pub(super) struct Slot {
    start: Picos,
    sent: Picos,
}

impl Hop {
    /// When a packet that comes at `at` is sent, first come, first served; `None` if the queue is full.
    #[inline]
    pub(super) fn enqueue(&mut self, at: Picos, size: Bytes) -> Option<Slot> {
        if self.link.queue == QueueLimit::Unlimited {
            return Some(self.send(at, size));
        }
        while let Some((began, size)) = self.waiting.front().copied()
            && began <= at
        {
            self.waiting.pop_front();
            self.waiting_bytes -= size.0;
        }
        if self.free > at || !self.waiting.is_empty() {
            let full = match self.link.queue {
                QueueLimit::Unlimited => false,
                QueueLimit::Packets(limit) => self.waiting.len() as u64 >= limit,
                QueueLimit::Bytes(limit) => self.waiting_bytes.saturating_add(size.0) > limit.0,
            };
            if full {
                return None;
            }
        }
        let slot = self.send(at, size);
        if slot.start > at {
            self.waiting.push_back((slot.start, size));
            self.waiting_bytes += size.0;
        }
        Some(slot)
    }

    /// Sends a packet as soon as the link is free and the bucket holds enough, from `from` on.
    #[inline(always)]
    pub(super) fn send(&mut self, from: Picos, size: Bytes) -> Slot {
        let framing = self.link.framing;
        let padded = framing.padded(size);
        let mut start = self.free.max(from);
        if let Some(bucket) = &mut self.bucket {
            start = bucket.take(start, padded);
        }
        let sent = start.saturating_add(self.tempo.time_for(padded));
        self.free = sent.saturating_add(self.tempo.time_for(framing.gap()));
        if let Some(bucket) = &self.bucket {
            self.free = self.free.max(start.saturating_add(bucket.spacing(padded)));
        }
        Slot { start, sent }
    }

    /// What becomes of a packet once it is sent.
    #[inline(always)]
    pub(super) fn come_out(
        &mut self,
        arrival: Arrival,
        Slot { start, sent }: Slot,
        exits: &mut impl FnMut(Exit),
    ) {
        let Arrival { at: came, size, parcel } = arrival;
        // What comes before a rest was counted to has been counted with it.
        if came >= self.rests.counted_until() || parcel.class() == Class::Own {
            self.meter.add(start, parcel.class(), self.counted.of(size));
        }
        if self.reacts && parcel.class() == Class::Cross {
            let damaged = happens(self.link.loss, &mut self.chance);
            self.tell(&arrival, if damaged { Fate::Dropped(sent) } else { Fate::Passed(sent) });
        }
        let parcel = match parcel {
            Parcel::Cross { links_left: 1, .. } => return,
            Parcel::Cross { links_left, owner } => Parcel::Cross { links_left: links_left - 1, owner },
            Parcel::Probe(Probe { key, waited, departed, last }) => Parcel::Probe(Probe {
                key,
                last,
                waited: waited + (start - came),
                departed: departed.or(Some(sent)),
            }),
        };
        let jitter = match &self.link.jitter {
            Times::Fixed(Nanos::ZERO) => 0,
            jitter => jitter.sample(&mut self.chance).0.saturating_mul(PICOS),
        };
        let damaged = happens(self.link.loss, &mut self.chance);
        let passage = self.propagation_at(sent).saturating_add(jitter);
        let mut at = sent.saturating_add(passage).max(self.last_exit);
        self.last_exit = at;
        if damaged {
            return lose(&arrival, at, WhyLost::Damaged, exits);
        }
        if let Some(reordering) = &self.link.reordering
            && happens(reordering.share, &mut self.chance)
        {
            let by = reordering.by.sample(&mut self.chance);
            at = at.saturating_add(by.0.saturating_mul(PICOS));
        }
        let copies = 1 + u32::from(happens(self.link.duplication, &mut self.chance));
        (0..copies).for_each(|_| exits(Exit::Passed { at, size, parcel }));
    }
}

/// Something that happens by chance; what never happens takes no draw.
fn happens(share: f64, chance: &mut Stream) -> bool {
    share > 0.0 && chance.random::<f64>() < share
}
