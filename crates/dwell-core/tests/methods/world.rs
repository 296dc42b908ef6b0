//! Links in a row, with cross traffic on them, and a host that sleeps between packets.

use dwell_core::unit::INTER_FRAME_GAP;
use dwell_core::{
    Arrival, BitRate, Bytes, Fate, Fleet, Method, Nanos, Observation, Passage, Path, PathFacts, Report,
    Stamps, run,
};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::convert::Infallible;

/// A link; packets follow each other at an inter-frame gap at least.
#[derive(Clone)]
pub(crate) struct Link {
    rate: BitRate,
    /// Share taken by Poisson cross traffic of 576-byte packets that enters here and leaves behind the link.
    load: f64,
    free_at: f64,
    next_cross: f64,
}

impl Link {
    pub(crate) fn new(mbps: u64, load: f64) -> Self {
        Self { rate: BitRate::from_mbps(mbps), load, free_at: 0.0, next_cross: 0.0 }
    }

    fn pass(&mut self, at: f64, size: Bytes, dice: &mut Dice) -> f64 {
        const CROSS: Bytes = Bytes(576);
        if self.load > 0.0 {
            let each = self.rate.nanos_for(CROSS + INTER_FRAME_GAP);
            while self.next_cross <= at {
                self.free_at = self.free_at.max(self.next_cross) + each;
                self.next_cross += -(1.0 - dice.uniform()).ln() * each / self.load;
            }
        }
        let last_bit = self.free_at.max(at) + self.rate.nanos_for(size);
        self.free_at = last_bit + self.rate.nanos_for(INTER_FRAME_GAP);
        last_bit
    }
}

#[derive(Clone)]
struct Dice(SplitMix64);

impl Dice {
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal, with standard deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// Times in nanoseconds.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) links: Vec<Link>,
    /// K, and its standard deviation.
    pub(crate) kernel_stage: (f64, f64),
    /// A of a packet that finds the application asleep, and its standard deviation.
    pub(crate) application_stage: (f64, f64),
    /// S, when the packet waits already, and its standard deviation.
    pub(crate) service: (f64, f64),
    pub(crate) kernel_stamps: bool,
    /// The NIC interrupts no more often than once in this time.
    pub(crate) throttle: f64,
    pub(crate) loss: f64,
    pub(crate) offset: f64,
    pub(crate) skew_ppm: f64,
    pub(crate) facts: PathFacts,
    now: f64,
    asleep_since: f64,
    interrupted: f64,
    queued: f64,
    dice: Dice,
}

impl World {
    /// A quick host behind these links, whose clock is off by seconds.
    pub(crate) fn new(links: Vec<Link>, seed: u64) -> Self {
        Self {
            links,
            kernel_stage: (3e3, 200.0),
            application_stage: (5e3, 300.0),
            service: (1e3, 50.0),
            kernel_stamps: true,
            throttle: 0.0,
            loss: 0.0,
            offset: 3e9,
            skew_ppm: 100.0,
            facts: PathFacts {
                max_size: Bytes(1526),
                min_size: Bytes(87),
                resolution: Nanos(1),
                end_link: None,
                narrow_link: None,
                coalescence: None,
            },
            now: 1e9,
            asleep_since: 0.0,
            interrupted: 0.0,
            queued: 0.0,
            dice: Dice(SplitMix64::seed_from_u64(seed)),
        }
    }

    /// Runs a method to its end.
    pub(crate) fn ask(&mut self, method: &mut dyn Method) -> Report {
        let Ok(_) = run(method, self, None, |_| ());
        method.report()
    }

    fn clock(&self, at: f64) -> Nanos {
        // The offset in whole ticks, apart from the rest: a float of both would lose the rest's last digits.
        let tick = self.facts.resolution.0;
        let reading = (at * (1.0 + self.skew_ppm * 1e-6) / tick as f64).floor() as i64;
        Nanos(reading) * tick + Nanos::from_f64(self.offset / tick as f64) * tick
    }

    fn about(&mut self, (mean, sigma): (f64, f64)) -> f64 {
        (mean + sigma * self.dice.normal()).max(0.0)
    }

    fn receive(&mut self, at: f64) -> Stamps {
        // A packet that comes before the next interrupt waits for it, with all that came meanwhile.
        if at >= self.interrupted {
            self.interrupted = at.max(self.interrupted + self.throttle);
        }
        let delivered = if self.throttle > 0.0 { self.interrupted } else { at };
        let mut queued = delivered + self.about(self.kernel_stage);
        if self.throttle > 0.0 {
            queued = queued.max(self.queued);
            self.queued = queued;
        }
        let stamped = if queued <= self.asleep_since {
            self.asleep_since + self.about(self.service)
        } else {
            queued + self.about(self.application_stage)
        };
        self.asleep_since = stamped;
        let kernel = self.kernel_stamps.then(|| self.clock(queued));
        Stamps { application: self.clock(stamped), kernel, hardware: None }
    }
}

impl Path for World {
    type Error = Infallible;

    fn facts(&self) -> PathFacts {
        self.facts
    }

    fn carry(&mut self, fleet: &Fleet) -> Result<Vec<Passage>, Infallible> {
        let mut passages = Vec::new();
        for departure in fleet {
            self.now += departure.pause.as_f64();
            let mut fates = Vec::new();
            let mut order = 0;
            for (i, packet) in departure.train.packets.iter().enumerate() {
                if i > 0 {
                    self.now += packet.hold.as_f64();
                }
                let sent = Stamps { application: Nanos::from_f64(self.now), kernel: None, hardware: None };
                let at = self
                    .links
                    .iter_mut()
                    .fold(self.now, |at, link| link.pass(at, packet.size, &mut self.dice));
                let arrival = (self.dice.uniform() >= self.loss).then(|| {
                    let arrival = Arrival { stamps: self.receive(at), order, copies: 1 };
                    order += 1;
                    arrival
                });
                fates.push(Fate { packet: *packet, sent, arrival });
            }
            let observation = Observation { direction: departure.train.direction, fates, overflowed: 0 };
            passages.push(Passage { observation, truth: None });
        }
        Ok(passages)
    }
}
