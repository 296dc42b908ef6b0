//! Ends that spin and ends that do not, on paths of every length: what of them is believed.

use super::spin::Spin;
use crate::unit::Nanos;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An end and the path between it and the probe.
#[derive(Copy, Clone)]
struct End {
    spins: bool,
    /// Nanoseconds from it to the probe, and from there to it.
    away: i64,
    /// Between its packets, on average.
    gap: i64,
    /// It sends whenever it hears, too.
    replies: bool,
    /// The newest packet of the other end that it heard, and its bit.
    heard: i64,
    bit: bool,
    sent: i64,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Sends,
    Passes { number: i64, bit: bool },
    Arrives { number: i64, bit: bool },
}

/// So many packets of a hundred thousand are overtaken seldom.
const SELDOM: u64 = 500;

struct Path {
    rng: SplitMix64,
    ends: [End; 2],
    /// Of a hundred thousand packets, on either side of the probe, so many are lost, and so many overtaken.
    lost: u64,
    late: u64,
    jitter: i64,
    /// So often each packet is seen: a mirror shows both directions of a port.
    copies: u64,
}

impl Path {
    /// One of these ends, client first.
    fn new(seed: u64, spins: [bool; 2]) -> Self {
        let mut rng = SplitMix64::seed_from_u64(seed);
        let replies = rng.next_u64() % 3 == 0;
        let jitter = [0, 20_000, 2_000_000][(rng.next_u64() % 3) as usize];
        let [lost, late] = [(); 2].map(|()| [0, SELDOM, 5_000][(rng.next_u64() % 3) as usize]);
        let mut between = |least: f64, most: f64| {
            let share = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            (least * (most / least).powf(share)) as i64
        };
        let ends = spins.map(|spins| End {
            spins,
            away: between(20e3, 100e6),
            gap: between(1e6, 100e6),
            replies,
            heard: -1,
            bit: false,
            sent: 0,
        });
        Self { rng, ends, lost, late, jitter, copies: 1 + seed % 3 }
    }

    fn happens(&mut self, of_100_000: u64) -> bool {
        self.rng.next_u64() % 100_000 < of_100_000
    }

    fn below(&mut self, most: i64) -> i64 {
        if most == 0 { 0 } else { (self.rng.next_u64() % most as u64) as i64 }
    }

    /// How long a packet is on its way over one side, if it is not lost.
    fn takes(&mut self, away: i64) -> Option<i64> {
        let late = if self.happens(self.late) { self.below(30_000_000) } else { 0 };
        let takes = away + self.below(self.jitter) + late;
        (!self.happens(self.lost)).then_some(takes)
    }

    /// What is told while so many packets pass: whether of the client's half, and how long.
    fn told(mut self, packets: usize) -> Vec<(bool, Nanos)> {
        let mut events = BinaryHeap::from([true, false].map(|by| Reverse((0, 0, by, What::Sends))));
        let (mut spin, mut told, mut passed, mut nth) = (Spin::default(), Vec::new(), 0, 0);
        while let Some(Reverse((at, _, by_client, what))) = events.pop() {
            let place = usize::from(!by_client);
            let mut push = |at, by, what| {
                nth += 1;
                events.push(Reverse((at, nth, by, what)));
            };
            let sends = match what {
                What::Sends => {
                    let gap = self.ends[place].gap;
                    push(at + 1 + self.below(2 * gap), by_client, What::Sends);
                    true
                }
                What::Passes { number, bit } => {
                    passed += 1;
                    if passed > packets {
                        break;
                    }
                    let tail = (number as u64) << 1 | u64::from(by_client);
                    for _ in 0..self.copies {
                        let confirmed = spin.see(by_client, bit, tail, Nanos(at));
                        told.extend(confirmed.map(|(value, _)| (!by_client, value)));
                    }
                    if let Some(takes) = self.takes(self.ends[1 - place].away) {
                        push(at + takes, !by_client, What::Arrives { number, bit });
                    }
                    false
                }
                What::Arrives { number, bit } => {
                    let end = &mut self.ends[place];
                    if number > end.heard {
                        (end.heard, end.bit) = (number, bit != by_client);
                    }
                    end.replies
                }
            };
            // Who replies to each reply would never be silent, and more and more of them: one of three.
            if sends && (matches!(what, What::Sends) || self.below(3) == 0) {
                let random = self.happens(50_000);
                let end = &mut self.ends[place];
                end.sent += 1;
                let (number, away) = (end.sent, end.away);
                let bit = if end.spins { end.bit } else { random };
                if let Some(takes) = self.takes(away) {
                    push(at + takes, by_client, What::Passes { number, bit });
                }
            }
        }
        told
    }
}

/// What is told of many flows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    /// Flows of which something is.
    flows: u64,
    samples: u64,
    /// Of them, those that are shorter than the path; where packets are overtaken seldom, and often.
    short: [u64; 2],
}

impl Told {
    fn of(flows: u64, packets: usize, spins: [bool; 2]) -> Self {
        let mut this = Self::default();
        for seed in 0..flows {
            let path = Path::new(seed, spins);
            let least = path.ends.map(|end| Nanos(2 * end.away));
            let often = usize::from(path.late > SELDOM);
            let told = path.told(packets);
            let short = told.iter().filter(|(client, value)| *value < least[usize::from(!client)]).count();
            this.flows += u64::from(!told.is_empty());
            this.samples += told.len() as u64;
            this.short[often] += short as u64;
        }
        this
    }
}

#[test]
fn nothing_is_told_where_one_end_does_not_spin() {
    for spins in [[false, true], [true, false], [false, false]] {
        assert_eq!(Told::of(3_000, 400, spins), Told::default(), "{spins:?}");
    }
}

#[test]
fn ends_that_spin_are_told_of_and_not_too_short() {
    let told = Told::of(3_000, 1_000, [true, true]);
    assert!(told.flows > 2_500, "{told:?}");
    // One packet of twenty that is overtaken, by tens of milliseconds, is too much for any rule.
    assert!(told.short[0] == 0 && told.short[1] * 10_000 < told.samples, "{told:?}");
}
