//! Packet trains, and what became of them.

use crate::nic::Coalesced;
use crate::unit::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Which way a train travels.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From this host to the host under test.
    #[default]
    Forward,
    /// From the host under test to this host.
    Reverse,
}

/// One packet of a train.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// Size on the wire, as [`Bytes`] defines it.
    pub size: Bytes,
    /// How long after the previous packet is to depart this one is; zero: back to back, in one burst. Meaningless for the
    /// first packet.
    pub hold: Nanos,
}

/// Packets that are sent as one, with asked spacing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Train {
    /// Which way it travels.
    pub direction: Direction,
    /// At least one packet.
    pub packets: Vec<Packet>,
}

impl Train {
    /// A compound probe (papers/000): heading packet P_h, then trailing packet P_t `hold` later.
    #[must_use]
    pub fn pair(heading: Bytes, trailing: Bytes, hold: Nanos) -> Self {
        let packets = vec![Packet { size: heading, hold: Nanos::ZERO }, Packet { size: trailing, hold }];
        Self { direction: Direction::Forward, packets }
    }

    /// `count` packets of one size, back to back.
    #[must_use]
    pub fn burst(size: Bytes, count: usize) -> Self {
        Self { direction: Direction::Forward, packets: vec![Packet { size, hold: Nanos::ZERO }; count] }
    }

    /// The same train, from the host under test to this host.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.direction = Direction::Reverse;
        self
    }

    /// Bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.packets.iter().map(|packet| packet.size).sum()
    }

    /// From its first departure to its last, as asked for.
    #[must_use]
    pub fn lasts(&self) -> Nanos {
        self.packets.iter().skip(1).map(|packet| packet.hold.max(Nanos::ZERO)).sum()
    }
}

/// A train, and the idle time before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// Idle time between the previous train's last departure and this one's first.
    pub pause: Nanos,
    /// What departs.
    pub train: Train,
}

impl Departure {
    /// From the last departure before it to its own last, as asked for.
    #[must_use]
    pub fn lasts(&self) -> Nanos {
        self.pause.max(Nanos::ZERO) + self.train.lasts()
    }
}

/// Trains that are sent one after another before any of them is looked at: a path pays one exchange with its far
/// end for each fleet, not for each train.
pub type Fleet = Vec<Departure>;

/// The time stamps of one packet at one host, all on that host's clock but `hardware`, which is on the NIC's.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamps {
    /// By the program: before the send call at the sender, after the read at the receiver.
    pub application: Nanos,
    /// By the kernel: at the driver at the sender, at protocol input at the receiver.
    pub kernel: Option<Nanos>,
    /// By the NIC.
    pub hardware: Option<Nanos>,
}

impl Stamps {
    /// The stamp nearest to the wire on the host's own clock: the kernel's, or else the program's.
    #[must_use]
    pub fn nearest_wire(&self) -> Nanos {
        self.kernel.unwrap_or(self.application)
    }
}

/// How a packet arrived.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// Of the first copy.
    pub stamps: Stamps,
    /// Place in the order of arrival within the train, from 0; differs from the packet's index where packets were
    /// reordered or lost.
    pub order: u32,
    /// Copies received; more than one where the path duplicates.
    pub copies: u32,
}

/// What became of one packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fate {
    /// As asked.
    pub packet: Packet,
    /// The sender's stamps.
    pub sent: Stamps,
    /// The receiver's; `None`: lost.
    pub arrival: Option<Arrival>,
}

/// What became of a train.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Which way it travelled.
    pub direction: Direction,
    /// Packet by packet, in the order of sending.
    pub fates: Vec<Fate>,
    /// Of those that were lost, how many the receiver's own socket had no room for. What is counted of a fleet is laid
    /// on its losses in their order.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overflowed: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Observation {
    /// Turns places in the order of all arrivals into those within one train.
    pub fn rank(fates: &mut [Fate]) {
        let mut places: Vec<u32> = fates.iter().filter_map(|fate| Some(fate.arrival?.order)).collect();
        places.sort_unstable();
        for arrival in fates.iter_mut().filter_map(|fate| fate.arrival.as_mut()) {
            arrival.order = places.partition_point(|other| *other < arrival.order) as u32;
        }
    }

    /// Bytes sent on the wire.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.fates.iter().map(|fate| fate.packet.size).sum()
    }
}

/// When one packet really was where, on the one true clock, in a world that knows it (the simulator).
/// Methods never see this; judges do.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketTruth {
    /// The sending program's stamp was taken.
    pub handed_over: Nanos,
    /// Its last bit left the sending host's data link.
    pub left_sender: Nanos,
    /// Its last bit reached the receiving host's data link.
    pub reached_receiver: Nanos,
    /// How long the receiver's NIC then kept it before it interrupted: IC of papers/002.
    #[serde(default)]
    pub held: Nanos,
    /// It was put into the socket queue: the kernel stage K ends, the application stage A begins.
    pub queued: Nanos,
    /// The receiving program's stamp was taken: A ends.
    pub stamped: Nanos,
    /// Time that it waited in queues on the path.
    pub waited: Nanos,
}

/// The truth of a train, packet by packet; `None` where the packet was lost.
pub type TrainTruth = Vec<Option<PacketTruth>>;

/// What a path gives back for one train.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// What both ends saw.
    pub observation: Observation,
    /// What really happened, where the world knows it.
    pub truth: Option<TrainTruth>,
}

/// What is known of a path before the first train.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathFacts {
    /// The largest packet that the path carries, on the wire.
    pub max_size: Bytes,
    /// The smallest packet that can carry a probe, on the wire.
    pub min_size: Bytes,
    /// Resolution of the receiver's clock.
    pub resolution: Nanos,
    /// Capacity of the end link, where it was told or measured.
    pub end_link: Option<BitRate>,
    /// How the receiver's NIC coalesces interrupts, where it was measured.
    #[serde(default)]
    pub coalescence: Option<Coalesced>,
    /// Capacity of the narrowest link, where it was measured: it sets the smallest dispersion that arrives.
    #[serde(default)]
    pub narrow_link: Option<BitRate>,
}
