//! SOBAS (Prasad, Jain, Dovrolis 2004; papers/004, section 6): the receiver sizes the window of a connection while it
//! runs. It takes the rate at which data comes and the round trip as its own kernel sees it, waits until the rate is
//! flat, and then offers rate times round trip.
//!
//! The round trip at that moment holds the queue that the connection itself built, and rate times that keeps the
//! queue. So the round trip here is the least one that was seen, and because bursts and delayed acknowledgements need
//! something on top, the window is then tried: smaller while there is a queue, larger while there is none and less than
//! the flat rate comes, until the two meet.
//!
//! What was offered before the first sizing is used up before the window holds. By Little's law it still is while rate
//! times round trip is more than the window: until then nothing is concluded.

use crate::stats::quantile::median;
use crate::stats::slope::theil_sen;
use crate::unit::{Bytes, Nanos};
use std::collections::VecDeque;

/// Rates that the flat-rate condition looks at.
const SAMPLES: usize = 5;
/// A sample lasts so many round trips without a queue.
const ROUNDS: i64 = 2;
/// A sample lasts no less: the kernel counts in bursts.
const SHORTEST: Nanos = Nanos::from_millis(10);
/// Flat is a line through the samples that rises by less than this share of their median from the first to the last.
const FLAT: f64 = 0.05;
/// A link is full where there is a queue: round trips longer than the least by this share of it.
const QUEUED: f64 = 0.1;
/// The round trip that a sized window may cost, over the least, and the one that it is sized for.
const ALLOWED: f64 = 1.12;
const WANTED: f64 = 1.08;
/// A window holds the rate if what comes is at least this share of the flat rate.
const HOLDS: f64 = 0.99;
/// Windows closer than this are the same.
const SAME: f64 = 1.03;
/// A window is made larger by this, and smaller by no more than that.
const LARGER: f64 = 1.08;
const SMALLER: f64 = 0.75;
/// What is under way may exceed the window by this much, and be the window's all the same.
const UNDER_WAY: f64 = 1.15;
/// How long a window is tried: in round trips without a queue, at least, for so many segments, and at most.
const TRIAL_ROUNDS: i64 = 8;
const TRIAL: Nanos = Nanos::from_millis(250);
const TRIAL_SEGMENTS: f64 = 400.0;
const TRIAL_MOST: Nanos = Nanos::from_secs(2);
/// Weight of a new rate in the flat rate, where a queue shows that it is all the link carries.
const NEW: f64 = 0.25;
/// A smaller window proves something where it is no more than this share of the one before.
const CONTRAST: f64 = 0.9;
/// A round trip rises that becomes longer in a trial by more than one in so many.
const RISES: i64 = 50;
/// A longer path is put to the proof again after so long.
const PROVEN_FOR: Nanos = Nanos::from_secs(10);
/// How long nothing is concluded after a change, in round trips.
const SETTLE_ROUNDS: i64 = 3;

/// What the receiver is to do with its window.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Keep,
    /// Offer no more than this.
    Offer(Bytes),
}

/// What the receiver sees of its connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When.
    pub at: Nanos,
    /// Bytes that came so far.
    pub received: Bytes,
    /// Round trip now; zero: not known yet.
    pub rtt: Nanos,
    /// The least round trip; zero: not known yet.
    pub min_rtt: Nanos,
}

/// The receiver's side of a connection that is sized.
#[derive(Clone, Debug)]
pub struct Sobas {
    segment: Bytes,
    /// Where the sample under way began.
    mark: Option<Seen>,
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Phase {
    /// The kernel's window grows; the rates so far, with their middles in seconds.
    Growing(VecDeque<(f64, f64)>),
    Sized(Sized),
}

#[derive(Copy, Clone, Debug)]
struct Sized {
    /// The flat rate, in bytes per second.
    rate: f64,
    window: f64,
    /// The largest window that did not hold the rate, and the smallest that did.
    small: Option<f64>,
    enough: Option<f64>,
    /// The change has had its effect by then.
    settled: Nanos,
    /// What came with long round trips, before the window was made smaller for them.
    before: Option<Before>,
    longer: Option<Longer>,
}

#[derive(Copy, Clone, Debug)]
struct Before {
    /// The flat rate until then.
    flat: f64,
    rate: f64,
    window: f64,
    rtt: Nanos,
}

/// The least round trip of a path that became longer, and when that was proven.
#[derive(Copy, Clone, Debug)]
struct Longer {
    rtt: Nanos,
    proven: Nanos,
}

impl Sobas {
    /// Of a connection with segments of this payload.
    #[must_use]
    pub fn new(segment: Bytes) -> Self {
        Self { segment, mark: None, phase: Phase::Growing(VecDeque::new()) }
    }

    /// The flat rate, in bytes per second, once there is one.
    #[must_use]
    pub fn flat_rate(&self) -> Option<f64> {
        match &self.phase {
            Phase::Growing(_) => None,
            Phase::Sized(sized) => Some(sized.rate),
        }
    }

    /// Sees the connection as it is now.
    pub fn see(&mut self, seen: Seen) -> Step {
        if seen.rtt <= Nanos::ZERO || seen.min_rtt <= Nanos::ZERO {
            return Step::Keep;
        }
        if let Phase::Sized(sized) = &mut self.phase {
            if let Some(longer) = &mut sized.longer {
                longer.rtt = longer.rtt.min(seen.rtt);
            }
            if seen.at < sized.settled {
                self.mark = None;
                return Step::Keep;
            }
        }
        let Some(mark) = self.mark else {
            self.mark = Some(seen);
            return Step::Keep;
        };
        let length = match &self.phase {
            Phase::Growing(_) => (seen.min_rtt * ROUNDS).max(SHORTEST),
            Phase::Sized(sized) => sized.trial(seen, self.segment),
        };
        let span = seen.at - mark.at;
        if span < length {
            return Step::Keep;
        }
        self.mark = Some(seen);
        let rate = seen.received.0.saturating_sub(mark.received.0) as f64 / span.as_secs_f64();
        let middle = (mark.at + span / 2).as_secs_f64();
        match &mut self.phase {
            Phase::Growing(rates) => {
                rates.push_back((middle, rate));
                if rates.len() > SAMPLES {
                    rates.pop_front();
                }
                let flat = flat(rates.make_contiguous(), seen);
                flat.map_or(Step::Keep, |rate| self.size(rate, seen))
            }
            // A round trip that rises though the window is smaller has not got to where it goes: the kernel's is smoothed.
            Phase::Sized(sized) if sized.before.is_some() && seen.rtt > mark.rtt + mark.rtt / RISES => {
                Step::Keep
            }
            Phase::Sized(sized) => sized.judge(rate, seen, self.segment),
        }
    }

    /// The rate is flat: offers rate times round trip.
    fn size(&mut self, rate: f64, seen: Seen) -> Step {
        let window = rate * seen.min_rtt.as_secs_f64() * WANTED;
        let mut sized = Sized {
            rate,
            window: 0.0,
            small: None,
            enough: None,
            settled: Nanos::ZERO,
            before: None,
            longer: None,
        };
        let step = sized.offer(window, seen, self.segment);
        self.phase = Phase::Sized(sized);
        step
    }
}

/// The flat rate, where the rates are flat and a queue shows that it is the path that holds them so.
fn flat(rates: &[(f64, f64)], seen: Seen) -> Option<f64> {
    if rates.len() < SAMPLES || seen.rtt.as_f64() < seen.min_rtt.as_f64() * (1.0 + QUEUED) {
        return None;
    }
    let figures: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
    // The first of them may be of the time before.
    let level = median(&figures)?;
    let rise = theil_sen(rates)?.slope.value * (rates[rates.len() - 1].0 - rates[0].0);
    (level > 0.0 && rise < FLAT * level).then_some(level)
}

impl Sized {
    fn offer(&mut self, window: f64, seen: Seen, segment: Bytes) -> Step {
        // A window of one segment stops at each delayed acknowledgement.
        self.window = window.max(4.0 * segment.0 as f64);
        self.settled = seen.at + seen.rtt * SETTLE_ROUNDS;
        Step::Offer(Bytes(self.window as u64))
    }

    /// The path's round trip without a queue of ours.
    fn least(&self, seen: Seen) -> Nanos {
        self.longer.map_or(seen.min_rtt, |longer| longer.rtt.max(seen.min_rtt))
    }

    fn trial(&self, seen: Seen, segment: Bytes) -> Nanos {
        let counted = Nanos::from_f64(TRIAL_SEGMENTS * segment.0 as f64 / self.rate.max(1.0) * 1e9);
        (self.least(seen) * TRIAL_ROUNDS).max(counted).clamp(TRIAL, TRIAL_MOST)
    }

    fn judge(&mut self, rate: f64, seen: Seen, segment: Bytes) -> Step {
        if rate * seen.rtt.as_secs_f64() > self.window * UNDER_WAY {
            return Step::Keep;
        }
        let before = self.before.take();
        if let Some(before) = before.filter(|before| self.is_longer(*before, rate, seen)) {
            self.longer = Some(Longer { rtt: seen.rtt, proven: seen.at });
            (self.rate, self.small, self.enough) = (before.flat, None, None);
            return self.offer(self.rate * seen.rtt.as_secs_f64() * WANTED, seen, segment);
        }
        self.longer = self.longer.filter(|longer| seen.at - longer.proven < PROVEN_FOR);
        let excess = seen.rtt.as_f64() / self.least(seen).as_f64();
        // Longer by too little to prove it, and yet the smaller window brings less.
        let less = before.is_some_and(|before| self.window < before.window && rate < HOLDS * before.rate);
        if excess <= ALLOWED || less {
            return self.judge_without_queue(rate, seen, segment);
        }
        // Of several smaller windows in a row, what was flat before the first.
        let flat = before.map_or(self.rate, |before| before.flat);
        let now = Before { flat, rate, window: self.window, rtt: seen.rtt };
        self.rate += NEW * (rate - self.rate);
        self.enough = Some(self.window);
        let share = WANTED / excess;
        // What was too small was so before the path changed, where the queue is as long as this.
        self.small = self.small.filter(|_| share > SMALLER);
        let next = self.window * share.max(SMALLER);
        let next = match self.small {
            Some(small) if self.window <= small * SAME => return Step::Keep,
            Some(small) => next.max(f64::midpoint(small, self.window)),
            None => next,
        };
        self.before = Some(now);
        self.offer(next, seen, segment)
    }

    /// Whether round trips are long of the path, and not of our queue, by what a smaller window than before brings.
    fn is_longer(&self, before: Before, rate: f64, seen: Seen) -> bool {
        let smaller = self.window / before.window;
        let falls = |now: f64, then: f64| now < then * f64::midpoint(1.0, smaller);
        smaller <= CONTRAST && falls(rate, before.rate) && !falls(seen.rtt.as_f64(), before.rtt.as_f64())
    }

    fn judge_without_queue(&mut self, rate: f64, seen: Seen, segment: Bytes) -> Step {
        if rate >= HOLDS * self.rate {
            self.rate = self.rate.max(rate * HOLDS);
            self.enough = Some(self.window);
            return Step::Keep;
        }
        self.small = Some(self.window);
        match self.enough {
            Some(enough) if enough > self.window * SAME => {
                self.offer(f64::midpoint(self.window, enough), seen, segment)
            }
            Some(enough) if enough > self.window => self.offer(enough, seen, segment),
            // What was enough is not any more.
            _ => {
                self.enough = None;
                self.offer(self.window * LARGER, seen, segment)
            }
        }
    }
}

#[cfg(test)]
mod tests;
