//! What the lab found of itself.

use super::delivered::Delivered;
use super::nic::NicCheck;
use super::train::TrainCheck;
use crate::placement::Cores;
use crate::testbed::Carriage;
use dwell_core::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// What a lab carries of what its scenario asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabCheck {
    /// Name of the scenario.
    pub scenario: String,
    /// What carries the packets.
    pub carriage: Carriage,
    /// Where its threads run.
    pub cores: Cores,
    /// Whether they have real-time priority.
    pub real_time: bool,
    /// What is worse here than it could be, and why.
    pub cautions: Vec<String>,
    /// Size of the large packets of the check.
    pub size: Bytes,
    /// Packets sent, but for the flood.
    pub sent: u64,
    /// Lost as the scenario asks.
    pub lost_as_asked: u64,
    /// Lost by the lab, or by queues that the lab's kernel keeps.
    pub lost_otherwise: u64,
    /// Time between the two packets of a pair sent back to back.
    pub dispersion: Option<Delivered>,
    /// The same of the smallest packets: no smaller dispersion comes out of this lab.
    pub smallest_dispersion: Option<Delivered>,
    /// From the sending kernel's stamp to the receiving one's, of packets that went alone.
    pub one_way_delay: Option<Delivered>,
    /// How much longer a large packet alone takes than a small one: a token bucket passes both at once.
    pub size_against_delay: Option<Delivered>,
    /// Between the quartiles of the delay.
    pub jitter: Option<Delivered>,
    /// What the receiver's NIC does, where the scenario gives it one.
    pub nic: Option<NicCheck>,
    /// The narrowest link's, as the scenario has it.
    pub rate_asked: Option<BitRate>,
    /// The same as packets back to back show it, their frames' gaps counted.
    pub rate_delivered: Option<BitRate>,
    /// What became of trains whose packets were sent one by one, where a link is limited.
    pub trains: Option<TrainCheck>,
    /// Small packets a second that it carried when as many were sent as it took.
    pub packets_per_second: u64,
    /// Processor time of the lab's own threads for each of them.
    pub cost_per_packet: Nanos,
    /// Share of one core that they took then.
    pub own_share: f64,
    /// Condition by condition: whether the lab carries it, or it is for the simulator alone.
    pub verdicts: Vec<Verdict>,
}

/// On one condition of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Which.
    pub condition: String,
    /// Whether the lab carries it.
    pub carried: bool,
    /// The figures behind that, or the reason.
    pub reason: String,
}
