//! Situations in which a host keeps its packets waiting, each a real one on this machine's own kernel: what
//! `dwell local` is tried on, and what its page in the book is worked on.
//!
//! In each, a program of the source sends small UDP datagrams at an even pace, and a program of the destination,
//! which knows nothing of Dwell, reads them with real-time priority, so that no bystander is in its way.

mod programs;
mod situation;

pub use situation::Situation;

use dwell_core::Nanos;
use programs::{Reader, Stall};

/// A situation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Case {
    /// Nothing is wrong: packets come in on the reader's own core, where it goes first.
    Healthy,
    /// A thread of higher priority computes on the reader's core for most of the time.
    BusyCore,
    /// The host's kernel polls its interface now and then, and packets gather there meanwhile.
    Coalescing,
    /// The reader's core has slept for long when a packet comes.
    SleepingCore,
    /// The reader now and then does something else for longer than packets are apart.
    SlowReader,
    /// So does this one, and its socket has room for a few packets only.
    FullQueue,
}

/// What a case is made of.
#[derive(Copy, Clone, Debug)]
struct Make {
    /// Between two packets.
    every: Nanos,
    reader: Reader,
    /// What else the reader's core does.
    beside: Beside,
    /// The lab's scenario.
    scenario: &'static str,
}

/// What the reader's core does when the reader sleeps.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Beside {
    /// It takes packets in, and gives way to the reader at once.
    Arrivals,
    /// It sleeps too.
    Nothing,
    /// It spins, and gives way to everybody at once.
    Awake,
    /// It runs another program, whose threads go first.
    Other,
}

/// Nothing between the hosts but the kernel's bridge.
const PLAIN: &str = "name = 'case'\n[[links]]\nrate = 'unshaped'\n";

/// The destination's kernel polls its interface every half a millisecond.
const GATHERING: &str = "name = 'case'\n[[links]]\nrate = 'unshaped'\n[destination]\n\
                         nic = { deferred = { period = '500 us', polls = 1 } }\n[lab]\nnic = 'kernel'\n";

/// Room for two or three packets: less the kernel does not grant.
const LEAST_ROOM: usize = 1;

impl Case {
    /// All, the healthy one first.
    pub const ALL: [Self; 6] = [
        Self::Healthy,
        Self::BusyCore,
        Self::Coalescing,
        Self::SleepingCore,
        Self::SlowReader,
        Self::FullQueue,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::BusyCore => "busy-core",
            Self::Coalescing => "coalescing",
            Self::SleepingCore => "sleeping-core",
            Self::SlowReader => "slow-reader",
            Self::FullQueue => "full-queue",
        }
    }

    /// What it does, in a sentence.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Healthy => {
                "A packet every 500 us; packets come in on the reader's own core, where it goes first."
            }
            Self::BusyCore => {
                "A packet every 2 ms; a thread of higher priority computes on the reader's core for 3 ms of every \
                 5 ms."
            }
            Self::Coalescing => {
                "A packet every 50 us; the receiving kernel polls its interface every 500 us (gro_flush_timeout)."
            }
            Self::SleepingCore => "A packet every 20 ms; the reader's core sleeps in between.",
            Self::SlowReader => {
                "A packet every 500 us; after each sixtieth the reader does something else for 20 ms."
            }
            Self::FullQueue => {
                "A packet every 500 us; after each sixtieth the reader does something else for 20 ms, and its \
                 socket has the least room that the kernel grants."
            }
        }
    }

    fn make(self) -> Make {
        let healthy = Make {
            every: Nanos::from_micros(500),
            reader: Reader::default(),
            beside: Beside::Arrivals,
            scenario: PLAIN,
        };
        // A reader that works, or is handed many packets at once, would keep its own core from taking more in.
        let apart = Make { beside: Beside::Awake, ..healthy };
        let stall = Some(Stall { each: 60, lasting: Nanos::from_millis(20) });
        match self {
            Self::Healthy => healthy,
            Self::BusyCore => Make { every: Nanos::from_millis(2), beside: Beside::Other, ..healthy },
            Self::Coalescing => Make { every: Nanos::from_micros(50), scenario: GATHERING, ..apart },
            Self::SleepingCore => Make { every: Nanos::from_millis(20), beside: Beside::Nothing, ..healthy },
            Self::SlowReader => Make { reader: Reader { stall, room: None }, ..apart },
            Self::FullQueue => Make { reader: Reader { stall, room: Some(LEAST_ROOM) }, ..apart },
        }
    }
}
