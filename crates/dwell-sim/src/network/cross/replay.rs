//! Recorded traffic.

use super::super::Picos;
use super::whole;
use crate::random::Stream;
use crate::traffic::Trace;
use dwell_core::{Bytes, Nanos};
use rand::RngExt;
use std::sync::Arc;

/// A trace, replayed again and again.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    trace: Arc<Trace>,
    /// Time now for time then.
    slower: f64,
    round: Picos,
    /// When this round began.
    began: Picos,
    index: usize,
}

impl Replay {
    pub(super) fn new(trace: &Arc<Trace>, slower: f64, rng: &mut Stream) -> Self {
        let round = whole(trace.round().as_f64() * 1e3 * slower);
        let began = -((rng.random::<f64>() * round as f64) as Picos);
        let mut replay = Self { trace: Arc::clone(trace), slower, round, began, index: 0 };
        replay.resume(0);
        replay
    }

    pub(super) fn next(&self) -> Picos {
        self.began.saturating_add((self.trace.packet(self.index).0.as_f64() * 1e3 * self.slower) as Picos)
    }

    pub(super) fn size(&self) -> Bytes {
        self.trace.packet(self.index).1
    }

    pub(super) fn step(&mut self) -> Picos {
        self.index += 1;
        if self.index == self.trace.packets() {
            self.index = 0;
            self.began = self.began.saturating_add(self.round);
        }
        self.next()
    }

    pub(super) fn resume(&mut self, at: Picos) -> Picos {
        let since = at.saturating_sub(self.began);
        self.began += since.div_euclid(self.round) * self.round;
        let then = since.rem_euclid(self.round) as f64 / self.slower / 1e3;
        self.index = self.trace.first_from(Nanos::from_f64(then.ceil()));
        if self.index == self.trace.packets() {
            self.index = 0;
            self.began = self.began.saturating_add(self.round);
        }
        self.next()
    }

    pub(super) fn sends(&self, from: Picos, to: Picos, of: impl Fn(Bytes) -> f64) -> f64 {
        let mut replay = self.clone();
        let (mut at, mut sum) = (replay.resume(from), 0.0);
        while at < to {
            sum += of(replay.size());
            at = replay.step();
        }
        sum
    }
}
