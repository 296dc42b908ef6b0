//! SOBAS (Prasad, Jain, Dovrolis 2004; papers/004, section 6): the receiver sizes the window of a connection while it
//! runs. It takes the rate at which data comes and the round trip as its own kernel sees it, waits until the rate is
//! flat, and then offers rate times round trip.
//!
//! The round trip at that moment holds the queue that the connection itself built, and rate times that keeps the
//! queue. So the round trip here is the least one that was seen, and because bursts and delayed acknowledgements need
//! something on top, the window is then moved, by halving what is left between a window that held the rate and one
//! that did not, until it is within a twentieth of the smallest that does.

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
/// The round trip that a sized window may cost, over the least.
const ALLOWED: f64 = 1.06;
/// A window holds the rate if what comes is at least this share of the flat rate.
const HOLDS: f64 = 0.99;
/// A rate below this share of the flat rate, twice, is another path's: all begins anew.
const LOST: f64 = 0.85;
/// Windows closer than this are the same.
const SAME: f64 = 1.05;
/// How long a window is tried, in round trips without a queue, and at least.
const TRIAL_ROUNDS: i64 = 8;
const TRIAL: Nanos = Nanos::from_millis(250);
/// How long a queue may take to drain before a trial, in the round trips of before.
const SETTLE_ROUNDS: i64 = 3;

/// What the receiver is to do with its window.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Keep,
    /// Offer no more than this.
    Offer(Bytes),
    /// Leave it to the kernel.
    Release,
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
    mark: Option<(Nanos, u64)>,
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
    /// The queue of before is gone by then.
    settled: Nanos,
    /// How often in a row the rate was not nearly held.
    lost: u32,
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
        if let Phase::Sized(sized) = &self.phase
            && seen.at < sized.settled
        {
            self.mark = None;
            return Step::Keep;
        }
        let Some((began, bytes)) = self.mark else {
            self.mark = Some((seen.at, seen.received.0));
            return Step::Keep;
        };
        let length = match self.phase {
            Phase::Growing(_) => (seen.min_rtt * ROUNDS).max(SHORTEST),
            Phase::Sized(_) => (seen.min_rtt * TRIAL_ROUNDS).max(TRIAL),
        };
        let span = seen.at - began;
        if span < length {
            return Step::Keep;
        }
        self.mark = Some((seen.at, seen.received.0));
        let rate = seen.received.0.saturating_sub(bytes) as f64 / span.as_secs_f64();
        let middle = (began + span / 2).as_secs_f64();
        match &mut self.phase {
            Phase::Growing(rates) => {
                rates.push_back((middle, rate));
                if rates.len() > SAMPLES {
                    rates.pop_front();
                }
                let flat = flat(rates.make_contiguous(), seen);
                flat.map_or(Step::Keep, |rate| self.size(rate, seen))
            }
            Phase::Sized(sized) => {
                let step = sized.judge(rate, seen, self.segment);
                if step == Step::Release {
                    self.phase = Phase::Growing(VecDeque::new());
                }
                step
            }
        }
    }

    /// The rate is flat: offers rate times round trip.
    fn size(&mut self, rate: f64, seen: Seen) -> Step {
        let window = rate * seen.min_rtt.as_secs_f64() * ALLOWED;
        let mut sized = Sized { rate, window: 0.0, small: None, enough: None, settled: Nanos::ZERO, lost: 0 };
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

    fn judge(&mut self, rate: f64, seen: Seen, segment: Bytes) -> Step {
        if rate < LOST * self.rate && self.enough.is_some() {
            self.lost += 1;
            return if self.lost > 1 { Step::Release } else { Step::Keep };
        }
        self.lost = 0;
        if rate >= HOLDS * self.rate {
            self.rate = self.rate.max(rate);
            self.enough = Some(self.window);
            let excess = seen.rtt.as_f64() / seen.min_rtt.as_f64();
            if excess <= ALLOWED {
                return Step::Keep;
            }
            let next = match self.small {
                Some(small) if self.window < small * SAME => return Step::Keep,
                Some(small) => f64::midpoint(small, self.window),
                None => self.window * (ALLOWED / excess).max(0.75),
            };
            return self.offer(next, seen, segment);
        }
        self.small = Some(self.window);
        match self.enough {
            Some(enough) if enough > self.window * SAME => {
                self.offer(f64::midpoint(self.window, enough), seen, segment)
            }
            // What was enough is not any more, or is the same within what can be told.
            Some(enough) => {
                let next = enough.max(self.window) * SAME;
                self.enough = None;
                self.offer(next, seen, segment)
            }
            None => self.offer(self.window * SAME * SAME, seen, segment),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link with a queue, and one connection on it: its window doubles each round trip until the queue overflows, and
    /// then grows by a segment.
    struct Fluid {
        rate: f64,
        base: f64,
        room: f64,
        window: f64,
        offered: f64,
        received: f64,
        at: f64,
        cut: bool,
    }

    impl Fluid {
        const TICK: f64 = 0.002;

        fn new(mbps: f64, base_ms: f64, room: f64) -> Self {
            let base = base_ms / 1e3;
            Self {
                rate: mbps * 1e6 / 8.0,
                base,
                room,
                window: 14_480.0,
                offered: f64::INFINITY,
                received: 0.0,
                at: 0.0,
                cut: false,
            }
        }

        fn held(&self) -> f64 {
            self.window.min(self.offered)
        }

        fn queue(&self) -> f64 {
            (self.held() - self.rate * self.base).clamp(0.0, self.room)
        }

        fn rtt(&self) -> f64 {
            self.base + self.queue() / self.rate
        }

        fn tick(&mut self) -> Seen {
            let rate = (self.held() / self.base).min(self.rate);
            self.received += rate * Self::TICK;
            self.at += Self::TICK;
            if self.held() > self.rate * self.base + self.room {
                self.window *= 0.7;
                self.cut = true;
            } else if self.cut {
                self.window += 1448.0 * Self::TICK / self.rtt();
            } else if self.window <= self.offered {
                self.window *= 2f64.powf(Self::TICK / self.rtt());
            }
            let nanos = |seconds: f64| Nanos::from_f64(seconds * 1e9);
            Seen {
                at: nanos(self.at),
                received: Bytes(self.received as u64),
                rtt: nanos(self.rtt()),
                min_rtt: nanos(self.base),
            }
        }

        /// Runs under SOBAS; the rate of the last half over the link's, and the round trip at the end over the least.
        fn run(&mut self, seconds: f64) -> (f64, f64) {
            let mut sobas = Sobas::new(Bytes(1448));
            let mut half = None;
            while self.at < seconds {
                let seen = self.tick();
                match sobas.see(seen) {
                    Step::Keep => {}
                    Step::Offer(window) => self.offered = window.0 as f64,
                    Step::Release => self.offered = f64::INFINITY,
                }
                if self.at >= seconds / 2.0 && half.is_none() {
                    half = Some((self.at, self.received));
                }
            }
            let (at, received) = half.unwrap();
            ((self.received - received) / (self.at - at) / self.rate, self.rtt() / self.base)
        }
    }

    #[test]
    fn the_window_becomes_what_the_path_holds_and_no_more() {
        for (mbps, base, queue) in [
            (100.0, 40.0, 4e6),
            (10.0, 20.0, 1e6),
            (1000.0, 10.0, 8e6),
            (100.0, 5.0, 1e6),
            (50.0, 100.0, 2e5),
        ] {
            let mut path = Fluid::new(mbps, base, queue);
            let (rate, delay) = path.run(15.0);
            assert!(rate >= 0.98, "{mbps} Mb/s, {base} ms: {rate} of the link's rate");
            assert!(delay <= 1.2, "{mbps} Mb/s, {base} ms: {delay} of the least round trip");
        }
    }

    #[test]
    fn without_a_queue_nothing_is_sized() {
        // A sender that is cut off at half of the link's rate.
        let mut path = Fluid::new(100.0, 20.0, 1e6);
        path.offered = 125_000.0;
        let mut sobas = Sobas::new(Bytes(1448));
        while path.at < 5.0 {
            let seen = path.tick();
            assert_eq!(sobas.see(seen), Step::Keep);
        }
        assert_eq!(sobas.flat_rate(), None);
    }

    #[test]
    fn a_path_that_becomes_slower_is_sized_anew() {
        let mut path = Fluid::new(100.0, 20.0, 2e6);
        let mut sobas = Sobas::new(Bytes(1448));
        let mut released = false;
        while path.at < 12.0 {
            if path.at > 5.0 {
                path.rate = 5e6;
            }
            match sobas.see(path.tick()) {
                Step::Keep => {}
                Step::Offer(window) => path.offered = window.0 as f64,
                Step::Release => (released, path.offered) = (true, f64::INFINITY),
            }
        }
        assert!(released);
        let rate = sobas.flat_rate().unwrap();
        assert!((rate - 5e6).abs() < 2e5, "{rate}");
    }
}
