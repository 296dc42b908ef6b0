//! What the receiver of load counts: per trial interval, which it tells, and per sub-interval, of which the best is the
//! capacity.

use super::load::Load;
use super::status::{NONE, Status, SubInterval, Trial};
use super::wire::Stamp;
use crate::unit::Nanos;

/// Numbers of packets that are remembered, to tell a doubled packet from a late one.
const REMEMBERED: usize = 32;

/// The account.
#[derive(Clone, Debug, Default)]
pub struct Account {
    sequence: u32,
    recent: [u32; REMEMBERED],
    at: usize,
    trial: Trial,
    /// When the trial interval began.
    began: Option<Nanos>,
    active: SubInterval,
    /// When the sub-interval and the first one began.
    sub_began: Option<(Nanos, Nanos)>,
    saved: SubInterval,
    saved_number: u32,
    /// The status PDU that the last round trip was taken from.
    answered: Stamp,
    clock: Option<i64>,
    least_round_trip: Option<u32>,
    statuses: u32,
}

impl Account {
    /// Enters a packet of load that came at `now` of a wall clock.
    pub fn enter(&mut self, load: &Load, now: Nanos) {
        self.began.get_or_insert(now);
        self.active.packets = self.active.packets.saturating_add(1);
        self.active.bytes = self.active.bytes.saturating_add(load.payload.into());
        self.trial.packets = self.trial.packets.saturating_add(1);
        self.trial.bytes = self.trial.bytes.saturating_add(load.payload.into());
        let first = self.sequence == 0;
        if !self.follows(load.sequence) {
            return;
        }
        let now = Stamp::of(now);
        if load.status != self.answered && load.status != Stamp::default() {
            self.answered = load.status;
            let taken = now.millis_since(load.status) - i64::from(load.held);
            self.round_trip(taken.clamp(0, i64::from(NONE - 1)) as u32);
        }
        self.one_way(now.millis_since(load.sent), first);
    }

    /// Counts loss, reordering and doubles. Tells whether the packet is later than all before.
    fn follows(&mut self, sequence: u32) -> bool {
        let add = |account: &mut Self, place: usize, more: u32| {
            for troubles in [&mut account.trial.troubles, &mut account.active.troubles] {
                troubles[place] = troubles[place].saturating_add(more);
            }
        };
        let later = sequence > self.sequence;
        if later {
            let lost = sequence - self.sequence - 1;
            add(self, 0, lost);
            self.sequence = sequence;
        } else if self.recent.contains(&sequence) {
            add(self, 2, 1);
            return false;
        } else {
            add(self, 1, 1);
            for troubles in [&mut self.trial.troubles, &mut self.active.troubles] {
                troubles[0] = troubles[0].saturating_sub(1);
            }
        }
        self.recent[self.at] = sequence;
        self.at = (self.at + 1) % REMEMBERED;
        later
    }

    fn round_trip(&mut self, taken: u32) {
        let least = self.least_round_trip.map_or(taken, |least| least.min(taken));
        self.trial.fresh |= self.least_round_trip != Some(least);
        self.least_round_trip = Some(least);
        let excess = taken - least;
        self.trial.round_trip = [least, excess];
        let [low, high] = &mut self.active.round_trip;
        (*low, *high) = ((*low).min(excess), (*high).max(excess));
    }

    fn one_way(&mut self, delta: i64, first: bool) {
        let least = self.clock.map_or(delta, |least| least.min(delta));
        self.trial.fresh |= self.clock != Some(least);
        self.clock = Some(least);
        self.trial.clock = least as i32;
        if first {
            return;
        }
        let excess = (delta - least).clamp(0, i64::from(NONE - 1)) as u32;
        for [low, high, sum, count] in [&mut self.trial.variation, &mut self.active.variation] {
            (*low, *high) = ((*low).min(excess), (*high).max(excess));
            (*sum, *count) = (sum.saturating_add(excess), count.saturating_add(1));
        }
    }

    /// Whether any load came yet.
    #[must_use]
    pub const fn begun(&self) -> bool {
        self.sequence > 0
    }

    /// The trial interval so far.
    #[must_use]
    pub const fn trial(&self) -> &Trial {
        &self.trial
    }

    /// Ends a trial interval: the status PDU that tells of it, without rate and action. A sub-interval of about `length`
    /// that is over with it is returned, and told in the next status PDU.
    pub fn status(&mut self, now: Nanos, length: Nanos, trial: Nanos) -> (Status, Option<SubInterval>) {
        let micros = |span: Nanos| u32::try_from(span.0 / 1_000).unwrap_or(0);
        self.trial.micros = micros(now - self.began.unwrap_or(now));
        self.statuses += 1;
        let status = Status {
            sequence: self.statuses,
            sub_interval: self.saved_number,
            last: self.saved,
            trial: self.trial,
            sent: Stamp::of(now),
            ..Status::default()
        };
        self.began = Some(now);
        let (clock, least) = (self.trial.clock, self.least_round_trip.unwrap_or(NONE));
        self.trial = Trial { clock, round_trip: [least, NONE], ..Trial::default() };
        let Some((began, first)) = self.sub_began else {
            // What came before the first status PDU is of no sub-interval.
            (self.sub_began, self.active) = (Some((now, now)), SubInterval::default());
            return (status, None);
        };
        if now - began <= length - trial / 2 {
            return (status, None);
        }
        let until = u32::try_from((now - first).0 / 1_000_000).unwrap_or(u32::MAX);
        let over = SubInterval { micros: micros(now - began), until, ..self.active };
        (self.saved, self.active) = (over, SubInterval::default());
        self.saved_number += 1;
        self.sub_began = Some((now, first));
        (status, Some(over))
    }
}
