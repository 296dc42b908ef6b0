//! What can be found, by name.

use serde::{Deserialize, Serialize};

/// The quantities that a report can hold, by their names in JSON.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// A: socket queue to application stamp.
    ApplicationStage,
    /// K: data link to socket queue.
    KernelStage,
    /// L_h: packet processing time of the heading packet.
    PptHeading,
    /// L_t: packet processing time of the trailing packet.
    PptTrailing,
    /// The mean of two: of L_h and L_t (PPT_avg of papers/000), or of the way up and the way down (PPT of papers/001).
    PptAverage,
    /// S: from one application stamp to the next when the next packet already waits.
    ServiceTime,
    /// dPPT = L_t - L_h.
    DifferentialPpt,
    /// c_n: rate of the link that the host under test hangs on.
    EndLinkCapacity,
    /// One-way delay between the two programs' stamps, clocks put right.
    ApparentOneWayDelay,
    /// One-way delay with what both hosts added taken off.
    OneWayDelay,
    /// The same from the host under test to this one.
    ReverseOneWayDelay,
    /// Receiver's clock minus sender's at the start of the run.
    ClockOffset,
    /// Rate of the receiver's clock against the sender's, minus one.
    ClockSkew,
    /// Time from the sending program's stamp to the sender's data link.
    SenderHost,
    /// Rate of the narrowest link of the path.
    NarrowLinkCapacity,
    /// Time on the path up to the end link.
    Path,
    /// Serialisation on the end link.
    EndLink,
    /// Share of packets lost.
    Loss,
    /// The same from the host under test to this one.
    ReverseLoss,
    /// How long the receiver's NIC holds a lone packet before it interrupts: IC of papers/002.
    NicHold,
    /// Whether the receiver's NIC, or the kernel above it, coalesces interrupts.
    CoalescencePresent,
    /// In which of the ways that can be told apart.
    CoalescenceKind,
    /// The longest time that it holds a packet.
    CoalescencePeriod,
    /// Sum of both one-way delays; no clock's offset is in it.
    RoundTrip,
    /// 95th percentile of the one-way delay over its least (RFC 5481).
    DelayVariation,
    /// 2 PPT of papers/001: what a host takes to bring an echo up to where it is answered, and the reply down again.
    TwoWayPpt,
    /// PPT_up: from the host's data link to where the echo is answered.
    PptUp,
    /// PPT_down: from there to the host's data link.
    PptDown,
    /// PPT_up - PPT_down.
    PptAsymmetry,
    /// t7 - t1: from the request to the reply at the tap.
    TapGap,
    /// t5 - t3: what the host takes to make the reply.
    AnswerTime,
    /// From one reply of the host's kernel to the next when the next request already waits.
    KernelServiceTime,
    /// The least time from the sending kernel's stamp of a request to its stamp of the reply.
    RoundTripMinimum,
    /// What a router takes to make an ICMP time-exceeded message, less what it takes to forward a packet.
    IcmpGeneration,
    /// Of the values that were told, the share that is wrong.
    WrongValues,
    /// Of the values that can be known, the share that was told.
    ToldValues,
    /// What the tight link of the path has free (RFC 5136, section 2.3.5), in bits that a packet takes of an Ethernet
    /// link.
    AvailableBandwidth,
    /// The time over which that is averaged: how long one stream of probes lasted.
    AveragingTime,
    /// Rate of the link that has the least free.
    TightLinkCapacity,
    /// ADR: the rate at which long trains sent back to back arrive. Neither what is free nor what the narrow link carries.
    DispersionRate,
    /// Rate of a token bucket on the path: what it lets pass for long.
    TokenRate,
    /// Depth of that bucket: what it lets pass at once.
    BucketDepth,
    /// The rate at which a program reads what TCP connections bring it: payload alone.
    Throughput,
    /// The same in IP packets, headers and all.
    IpThroughput,
    /// Of TCP's segments, the share that was sent again.
    Retransmitted,
    /// Maximum IP-layer capacity (RFC 9097, section 6): the most that arrived in one sub-interval, in IP packets.
    IpCapacity,
}

impl Quantity {
    /// The name in JSON and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ApplicationStage => "application_stage",
            Self::KernelStage => "kernel_stage",
            Self::PptHeading => "ppt_heading",
            Self::PptTrailing => "ppt_trailing",
            Self::PptAverage => "ppt_average",
            Self::ServiceTime => "service_time",
            Self::DifferentialPpt => "differential_ppt",
            Self::EndLinkCapacity => "end_link_capacity",
            Self::ApparentOneWayDelay => "apparent_one_way_delay",
            Self::OneWayDelay => "one_way_delay",
            Self::ReverseOneWayDelay => "reverse_one_way_delay",
            Self::ClockOffset => "clock_offset",
            Self::ClockSkew => "clock_skew",
            Self::SenderHost => "sender_host",
            Self::NarrowLinkCapacity => "narrow_link_capacity",
            Self::Path => "path",
            Self::EndLink => "end_link",
            Self::Loss => "loss",
            Self::ReverseLoss => "reverse_loss",
            Self::NicHold => "nic_hold",
            Self::CoalescencePresent => "coalescence_present",
            Self::CoalescenceKind => "coalescence_kind",
            Self::CoalescencePeriod => "coalescence_period",
            Self::RoundTrip => "round_trip",
            Self::DelayVariation => "delay_variation",
            Self::TwoWayPpt => "two_way_ppt",
            Self::PptUp => "ppt_up",
            Self::PptDown => "ppt_down",
            Self::PptAsymmetry => "ppt_asymmetry",
            Self::TapGap => "tap_gap",
            Self::AnswerTime => "answer_time",
            Self::KernelServiceTime => "kernel_service_time",
            Self::RoundTripMinimum => "round_trip_minimum",
            Self::IcmpGeneration => "icmp_generation",
            Self::WrongValues => "wrong_values",
            Self::ToldValues => "told_values",
            Self::AvailableBandwidth => "available_bandwidth",
            Self::AveragingTime => "averaging_time",
            Self::TightLinkCapacity => "tight_link_capacity",
            Self::DispersionRate => "dispersion_rate",
            Self::TokenRate => "token_rate",
            Self::BucketDepth => "bucket_depth",
            Self::Throughput => "throughput",
            Self::IpThroughput => "ip_throughput",
            Self::Retransmitted => "retransmitted",
            Self::IpCapacity => "ip_capacity",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantity_names_are_those_of_serde() {
        for quantity in [Quantity::ApplicationStage, Quantity::EndLinkCapacity, Quantity::TwoWayPpt] {
            assert_eq!(serde_json::to_value(quantity).unwrap(), quantity.name());
        }
    }
}
