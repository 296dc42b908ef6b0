//! What is said on the control channel. After a greeting that all versions understand come frames: a length of four
//! bytes, little endian, then one message in postcard's form.

use crate::prober;
use crate::throughput::{Order, Side};
use dwell_core::{Departure, Direction, HostFacts, Nanos, Stamps};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;

/// Version of the protocol that this program speaks.
pub const VERSION: u16 = 4;

/// The first bytes on a channel in each direction: `DWELL`, a zero, and the version, big endian. These eight bytes
/// keep their form in all versions.
pub const GREETING: [u8; 8] = {
    let [high, low] = VERSION.to_be_bytes();
    [b'D', b'W', b'E', b'L', b'L', 0, high, low]
};

/// The version that a greeting tells; `None` of anything else.
#[must_use]
pub fn version_of(greeting: &[u8]) -> Option<u16> {
    let version = greeting.strip_prefix(b"DWELL\0")?;
    Some(u16::from_be_bytes(version.try_into().ok()?))
}

/// The longest frame.
pub const MAX_FRAME: usize = 2 << 20;

/// Port of control and probes, where nobody says otherwise.
pub const PORT: u16 = 7923;

/// Packs a message into a frame.
///
/// # Errors
/// When it is longer than a frame may be.
pub fn frame<T: Serialize>(message: &T) -> Result<Vec<u8>, String> {
    let mut frame = postcard::to_extend(message, vec![0; 4]).map_err(|error| error.to_string())?;
    let length = frame.len() - 4;
    if length > MAX_FRAME {
        return Err(format!("a frame of {length} bytes; the longest has {MAX_FRAME}"));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

/// The length of a frame's body, from its first bytes.
///
/// # Errors
/// When it is longer than a frame may be.
pub fn frame_length(bytes: [u8; 4]) -> Result<usize, String> {
    let length = u32::from_le_bytes(bytes) as usize;
    if length > MAX_FRAME {
        return Err(format!("a frame of {length} bytes; the longest has {MAX_FRAME}"));
    }
    Ok(length)
}

/// Reads a frame's body.
///
/// # Errors
/// When it is no message of this kind.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    postcard::from_bytes(body).map_err(|error| format!("a frame of {} bytes: {error}", body.len()))
}

/// What the connecting end says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Begin a session, whose probes carry tags made with this key.
    Open {
        /// The key.
        key: [u8; 16],
    },
    /// A hello packet is on its way: send a challenge to where it came from, no longer than it, which only
    /// who receives there can know.
    Challenge,
    /// The sequence of the challenge.
    Proof {
        /// The sequence.
        sequence: u32,
    },
    /// A fleet is about to be sent: listen, say `Ready`, and tell with `Arrived` what came.
    Forward(Announcement),
    /// The last packet of the announced fleet was sent.
    Sent,
    /// Send this fleet, and tell with `Departed` when its packets left.
    Reverse(Announcement),
    /// Nothing, but still there.
    Alive,
    /// No more.
    Bye,
    /// TCP connections for data are about to come: say `Expecting`, `Streaming` when all are there, and `Streamed` with
    /// what was seen when they have ended.
    Stream(Order),
}

/// A fleet, before it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// Sequence of its first packet; the others follow.
    pub first: u32,
    /// How long a packet may be late.
    pub grace: Nanos,
    /// Its trains.
    pub fleet: Vec<Departure>,
}

impl Announcement {
    /// Packets in it.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.fleet.iter().map(|departure| departure.train.packets.len()).sum()
    }
}

/// What the agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// First of all: what it allows.
    Welcome(Box<Welcome>),
    /// The session exists: send hello packets to the probe port.
    Opened {
        /// Its number.
        session: u32,
    },
    /// A hello packet came: the session's probes come from this address.
    Heard {
        /// The address, as the agent sees it.
        address: SocketAddr,
        /// What the agent tells of its host.
        facts: Box<HostFacts>,
    },
    /// No hello packet came in time.
    NotHeard,
    /// A challenge was sent.
    Challenged,
    /// Whether the proof is good; if so, reverse fleets may be asked for.
    Proven(bool),
    /// It listens for the announced fleet.
    Ready,
    /// What became of the announced fleet.
    Arrived {
        /// How.
        arrived: prober::Arrived,
        /// The agent's clock.
        clock: ClockReading,
    },
    /// The reverse fleet was sent.
    Departed {
        /// Packet by packet.
        sent: Vec<Stamps>,
        /// The agent's clock.
        clock: ClockReading,
    },
    /// Still there.
    Alive,
    /// It will not.
    Refused(Refusal),
    /// It waits for the announced TCP connections.
    Expecting,
    /// They are there.
    Streaming,
    /// They have ended.
    Streamed {
        /// What was seen.
        side: Box<Side>,
        /// What the agent tells of its host.
        facts: Box<HostFacts>,
    },
}

/// The agent's first words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// What it allows.
    pub limits: Limits,
    /// Resolution of its clock.
    pub resolution: Nanos,
    /// Its clock.
    pub clock: ClockReading,
}

/// What tells whether a clock was stepped: CLOCK_REALTIME minus CLOCK_MONOTONIC.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// The difference.
    pub realtime_minus_monotonic: Nanos,
}

impl ClockReading {
    /// A bracketed reading is sharper than this by far, and a step that small changes no result.
    const NOTICEABLE: Nanos = Nanos(100_000);

    /// Of this host, now.
    #[must_use]
    pub fn now() -> Self {
        Self { realtime_minus_monotonic: crate::clock::realtime_minus_monotonic() }
    }

    /// By how much the clock was stepped since `earlier`, if it was.
    #[must_use]
    pub fn step_since(self, earlier: Self) -> Option<Nanos> {
        let step = self.realtime_minus_monotonic - earlier.realtime_minus_monotonic;
        (step.abs() > Self::NOTICEABLE).then_some(step)
    }
}

/// What an agent allows each session, and in all.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Sessions at a time.
    pub sessions: u32,
    /// Of them, with one peer.
    pub sessions_per_peer: u32,
    /// Packets of one fleet: what a session may hold in memory.
    pub packets_per_fleet: u32,
    /// Bytes on the wire each second, of one session; for a second's worth it may be faster.
    pub bytes_per_second: u64,
    /// Packets each second, in the same way.
    pub packets_per_second: u64,
    /// The longest fleet, and the longest that TCP connections for data may last.
    pub fleet_duration: Nanos,
    /// TCP connections for data of one session: congestion control is what limits their rate.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 32,
            sessions_per_peer: 8,
            packets_per_fleet: 32_768,
            bytes_per_second: 125_000_000,
            packets_per_second: 200_000,
            fleet_duration: Nanos::from_secs(120),
            streams: 64,
        }
    }
}

/// Why an agent will not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// It has as many sessions as it allows.
    Sessions {
        /// How many that is.
        limit: u32,
    },
    /// It has as many sessions with this peer as it allows.
    SessionsOfPeer {
        /// How many that is.
        limit: u32,
    },
    /// The fleet is more load than it allows.
    Load(String),
    /// The request makes no sense at this point.
    Nonsense(String),
    /// It failed to do it.
    Failed(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sessions { limit } => {
                write!(
                    f,
                    "it has {limit} sessions already, which is its limit; try again when some have ended"
                )
            }
            Self::SessionsOfPeer { limit } => {
                write!(
                    f,
                    "it has {limit} sessions with this host's key already, which is its limit for one peer"
                )
            }
            Self::Load(why) => write!(f, "load limit: {why}"),
            Self::Nonsense(why) => write!(f, "the request makes no sense: {why}"),
            Self::Failed(why) => write!(f, "it failed there: {why}"),
        }
    }
}

impl Limits {
    /// How far a fleet may be ahead of the allowed rates.
    pub const AHEAD: Nanos = Nanos::from_secs(1);

    /// The time that a fleet takes at the allowed rates.
    #[must_use]
    pub fn cost(&self, fleet: &[Departure]) -> Nanos {
        let trains = fleet.iter().map(|departure| &departure.train);
        let (bytes, packets) = trains.fold((0u64, 0u64), |(bytes, packets), train| {
            (bytes.saturating_add(train.bytes().0), packets + train.packets.len() as u64)
        });
        let seconds = |amount: u64, each_second: u64| amount as f64 / each_second.max(1) as f64;
        let slower = seconds(bytes, self.bytes_per_second).max(seconds(packets, self.packets_per_second));
        Nanos::from_f64(slower * 1e9)
    }

    /// Whether a fleet stays within the limits that hold for one alone.
    ///
    /// # Errors
    /// Says which limit it passes.
    pub fn admit(&self, announcement: &Announcement, direction: Direction) -> Result<(), Refusal> {
        let packets = announcement.packets();
        if packets == 0 || announcement.fleet.iter().any(|departure| departure.train.packets.is_empty()) {
            return Err(Refusal::Nonsense("a train without packets".to_owned()));
        }
        if announcement.fleet.iter().any(|departure| departure.train.direction != direction) {
            return Err(Refusal::Nonsense("trains of both directions in one fleet".to_owned()));
        }
        if packets > self.packets_per_fleet as usize {
            let limit = self.packets_per_fleet;
            return Err(Refusal::Load(format!("a fleet of {packets} packets; at most {limit}")));
        }
        let duration = duration(&announcement.fleet);
        if duration > self.fleet_duration {
            let limit = self.fleet_duration;
            return Err(Refusal::Load(format!("a fleet that takes {duration}; at most {limit}")));
        }
        let ahead = self.cost(&announcement.fleet) - duration;
        if ahead > Self::AHEAD {
            let (bytes, packets) = (self.bytes_per_second, self.packets_per_second);
            return Err(Refusal::Load(format!(
                "a fleet that at {bytes} bytes and {packets} packets a second takes {ahead} longer than planned"
            )));
        }
        Ok(())
    }
}

/// The planned duration of a fleet.
#[must_use]
pub fn duration(fleet: &[Departure]) -> Nanos {
    fleet.iter().map(Departure::lasts).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::{Bytes, Train};
    use proptest::prelude::*;

    fn announcement(trains: &[(u64, i64, usize)]) -> Announcement {
        let departure = |(size, pause, count): &(u64, i64, usize)| Departure {
            pause: Nanos(*pause),
            train: Train::burst(Bytes(*size), *count),
        };
        Announcement { first: 0, grace: Nanos::ZERO, fleet: trains.iter().map(departure).collect() }
    }

    #[test]
    fn limits_name_what_is_too_much() {
        let limits = Limits::default();
        let refused = |fleet: &Announcement| limits.admit(fleet, Direction::Forward).unwrap_err().to_string();
        assert!(limits.admit(&announcement(&[(1500, 1_000_000, 100)]), Direction::Forward).is_ok());
        assert!(refused(&announcement(&[])).contains("without packets"));
        assert!(refused(&announcement(&[(100, 0, 0)])).contains("without packets"));
        assert!(refused(&announcement(&[(100, 0, 40_000)])).contains("40000 packets"));
        assert!(refused(&announcement(&[(100, i64::MAX, 1), (100, i64::MAX, 1)])).contains("takes"));
        // 300 MB in no time, where 125 MB a second are allowed.
        assert!(refused(&announcement(&[(10_000, 0, 30_000)])).contains("takes 2.4 s longer than planned"));
        assert!(refused(&announcement(&[(u64::MAX, 0, 2)])).contains("longer than planned"));
        let reverse = limits.admit(&announcement(&[(100, 0, 1)]), Direction::Reverse).unwrap_err();
        assert!(reverse.to_string().contains("both directions"), "{reverse}");
    }

    #[test]
    fn a_step_of_the_clock_is_told_from_its_reading() {
        let at = |ns| ClockReading { realtime_minus_monotonic: Nanos(ns) };
        assert_eq!(at(50_000).step_since(at(0)), None);
        assert_eq!(at(-2_000_000).step_since(at(0)), Some(Nanos(-2_000_000)));
        assert_eq!(ClockReading::now().step_since(ClockReading::now()), None);
    }

    proptest! {
        #[test]
        fn messages_survive_their_frames(key: [u8; 16], first: u32, sizes: Vec<(u16, u32)>) {
            let trains: Vec<_> = sizes.iter().map(|(size, pause)| (u64::from(*size), i64::from(*pause), 2)).collect();
            let fleet = Announcement { first, ..announcement(&trains) };
            for message in [Request::Open { key }, Request::Forward(fleet.clone()), Request::Reverse(fleet)] {
                let frame = frame(&message).unwrap();
                let length = frame_length(frame[..4].try_into().unwrap()).unwrap();
                prop_assert_eq!(length, frame.len() - 4);
                prop_assert_eq!(parse::<Request>(&frame[4..]).unwrap(), message);
            }
        }

        #[test]
        fn never_panics_on_any_bytes(bytes: Vec<u8>, start: [u8; 4]) {
            let _ = version_of(&bytes);
            let _ = frame_length(start);
            let _ = parse::<Reply>(&bytes);
            if let Ok(Request::Forward(fleet) | Request::Reverse(fleet)) = parse(&bytes) {
                let _ = Limits::default().admit(&fleet, Direction::Forward);
            }
        }

        #[test]
        fn never_panics_on_any_announcement(trains: Vec<(u64, i64, u8)>) {
            let trains: Vec<_> = trains.iter().map(|(size, pause, n)| (*size, *pause, usize::from(*n))).collect();
            let fleet = announcement(&trains);
            let _ = Limits::default().admit(&fleet, Direction::Forward);
            let _ = prober::Expectation::of(&fleet.fleet, Direction::Forward, 7, Nanos(-1));
        }
    }
}
