//! What a method found: each figure is a value with its interval, a bound with its reason, or a reason why it
//! cannot be had here. There is no fourth kind.

use crate::coalescence::Kind;
use crate::limit::{Limit, Verdict};
use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// The unit of a finding's figures.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Bits per second.
    Bps,
    /// Parts per million.
    Ppm,
    /// A share of one.
    Ratio,
    /// Bytes.
    Bytes,
    /// Yes or no: 1 or 0.
    Flag,
    /// A kind of interrupt coalescence: its place in [`Kind::ALL`].
    Kind,
}

impl Unit {
    /// Whether the figure is an answer from a list, so that no interval belongs to it.
    #[must_use]
    pub const fn is_named(self) -> bool {
        matches!(self, Self::Flag | Self::Kind)
    }
}

/// Which side a bound is on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The truth is at most the bound.
    Upper,
    /// The truth is at least the bound.
    Lower,
}

/// One figure of a report.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Finding {
    /// A value with its 95 % interval.
    Value {
        /// The estimate.
        #[serde(deserialize_with = "figure")]
        value: f64,
        /// Lower end of the 95 % interval.
        #[serde(deserialize_with = "figure")]
        low: f64,
        /// Upper end of the 95 % interval.
        #[serde(deserialize_with = "figure")]
        high: f64,
        /// Of all three.
        unit: Unit,
    },
    /// A one-sided bound.
    Bound {
        /// The figure that the truth does not pass.
        bound: f64,
        /// On which side it lies.
        side: Side,
        /// Of the bound.
        unit: Unit,
        /// Why no value can be had.
        reason: String,
    },
    /// Nothing can be said.
    Unmeasurable {
        /// Why not.
        #[serde(rename = "unmeasurable")]
        reason: String,
    },
}

impl Finding {
    /// A value in nanoseconds; the interval's ends are put in order and around the value.
    #[must_use]
    pub fn nanos(value: f64, low: f64, high: f64) -> Self {
        Self::value(value, low, high, Unit::Ns)
    }

    /// A value with its interval; the interval's ends are put in order and around the value. A figure that is not
    /// finite makes the finding unmeasurable, so that no NaN leaves the house.
    #[must_use]
    pub fn value(value: f64, low: f64, high: f64, unit: Unit) -> Self {
        if !(value.is_finite() && low.is_finite() && high.is_finite()) {
            return Self::unmeasurable("the estimate is not finite on this data");
        }
        Self::Value { value, low: low.min(high).min(value), high: low.max(high).max(value), unit }
    }

    /// Yes or no.
    #[must_use]
    pub fn flag(yes: bool) -> Self {
        let value = f64::from(u8::from(yes));
        Self::value(value, value, value, Unit::Flag)
    }

    /// A kind of interrupt coalescence.
    #[must_use]
    pub fn kind(kind: Kind) -> Self {
        Self::value(kind.code(), kind.code(), kind.code(), Unit::Kind)
    }

    /// At most `bound`.
    #[must_use]
    pub fn at_most(bound: f64, unit: Unit, reason: impl Into<String>) -> Self {
        Self::Bound { bound, side: Side::Upper, unit, reason: reason.into() }
    }

    /// At least `bound`.
    #[must_use]
    pub fn at_least(bound: f64, unit: Unit, reason: impl Into<String>) -> Self {
        Self::Bound { bound, side: Side::Lower, unit, reason: reason.into() }
    }

    /// Not measurable here.
    #[must_use]
    pub fn unmeasurable(reason: impl Into<String>) -> Self {
        Self::Unmeasurable { reason: reason.into() }
    }

    /// The value, where there is one.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        match self {
            Self::Value { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// Whether `truth` agrees with the finding: inside the interval, or on the right side of the bound;
    /// `None` where nothing was claimed.
    #[must_use]
    pub fn holds(&self, truth: f64) -> Option<bool> {
        match self {
            Self::Value { low, high, .. } => Some((*low..=*high).contains(&truth)),
            Self::Bound { bound, side: Side::Upper, .. } => Some(truth <= *bound),
            Self::Bound { bound, side: Side::Lower, .. } => Some(truth >= *bound),
            Self::Unmeasurable { .. } => None,
        }
    }
}

/// A figure as [`Finding`] writes it: a number, yes or no, or the name of a kind.
fn figure<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Figure {
        Number(f64),
        Flag(bool),
        Kind(Kind),
    }
    match Figure::deserialize(from) {
        Ok(Figure::Number(number)) => Ok(number),
        Ok(Figure::Flag(yes)) => Ok(f64::from(u8::from(yes))),
        Ok(Figure::Kind(kind)) => Ok(kind.code()),
        Err(_) => Err(D::Error::custom("expected a number, true or false, or a kind of coalescence")),
    }
}

impl Serialize for Finding {
    /// Times and rates as integers (architecture.md, section 3), names as names, everything else as it is.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn put<T: SerializeStruct>(
            to: &mut T,
            key: &'static str,
            figure: f64,
            unit: Unit,
        ) -> Result<(), T::Error> {
            match unit {
                Unit::Ns | Unit::Bps | Unit::Bytes => to.serialize_field(key, &(figure.round() as i64)),
                Unit::Ppm | Unit::Ratio => to.serialize_field(key, &figure),
                Unit::Flag => to.serialize_field(key, &(figure != 0.0)),
                Unit::Kind => to.serialize_field(key, &Kind::of_code(figure)),
            }
        }
        match self {
            Self::Value { value, low, high, unit } => {
                let mut to = serializer.serialize_struct("Finding", 4)?;
                put(&mut to, "value", *value, *unit)?;
                put(&mut to, "low", *low, *unit)?;
                put(&mut to, "high", *high, *unit)?;
                to.serialize_field("unit", unit)?;
                to.end()
            }
            Self::Bound { bound, side, unit, reason } => {
                let mut to = serializer.serialize_struct("Finding", 4)?;
                put(&mut to, "bound", *bound, *unit)?;
                to.serialize_field("side", side)?;
                to.serialize_field("unit", unit)?;
                to.serialize_field("reason", reason)?;
                to.end()
            }
            Self::Unmeasurable { reason } => {
                let mut to = serializer.serialize_struct("Finding", 1)?;
                to.serialize_field("unmeasurable", reason)?;
                to.end()
            }
        }
    }
}

/// The quantities that a report can hold, by the names of the design (host-delay.md, bandwidth.md) and of JSON.
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

/// Which of the receiver's stamps a method reads.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vantage {
    /// The program's own, after its read.
    #[default]
    Application,
    /// The kernel's, as a capture shows them.
    Capture,
}

impl Vantage {
    /// The stamp of an arrival that this vantage reads; `None` where it was not taken.
    #[must_use]
    pub fn read(self, stamps: &crate::train::Stamps) -> Option<crate::unit::Nanos> {
        match self {
            Self::Application => Some(stamps.application),
            Self::Capture => stamps.kernel,
        }
    }
}

/// What a method found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its published name.
    pub method: String,
    /// Which of the receiver's stamps it read.
    pub stamps: Vantage,
    /// Quantity by quantity.
    pub findings: BTreeMap<Quantity, Finding>,
    /// Doubts, each a sentence that says what to do about it.
    pub warnings: Vec<String>,
    /// What held the measurement back, where the method tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn new(method: &str, stamps: Vantage) -> Self {
        Self {
            method: method.to_owned(),
            stamps,
            findings: BTreeMap::new(),
            warnings: Vec::new(),
            verdict: None,
        }
    }

    /// Adds a finding.
    #[must_use]
    pub fn with(mut self, quantity: Quantity, finding: Finding) -> Self {
        self.findings.insert(quantity, finding);
        self
    }

    /// Says what held it back, and what that was seen by.
    #[must_use]
    pub fn limited(mut self, limit: Limit, reason: impl Into<String>) -> Self {
        self.verdict = Some(Verdict { limit, reason: reason.into() });
        self
    }

    /// The finding on `quantity`, or the plain statement that this method does not look for it.
    #[must_use]
    pub fn finding(&self, quantity: Quantity) -> Finding {
        self.findings.get(&quantity).cloned().unwrap_or_else(|| {
            Finding::unmeasurable(format!("{} does not measure {}", self.method, quantity.name()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_have_the_promised_json() {
        let value = serde_json::to_string(&Finding::nanos(31_400.4, 30_000.0, 33_000.0)).unwrap();
        assert_eq!(value, r#"{"value":31400,"low":30000,"high":33000,"unit":"ns"}"#);
        let bound = Finding::at_most(67_200.0, Unit::Ns, "smallest dispersion");
        let text = serde_json::to_string(&bound).unwrap();
        assert_eq!(text, r#"{"bound":67200,"side":"upper","unit":"ns","reason":"smallest dispersion"}"#);
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), bound);
        let none = Finding::unmeasurable("no kernel stamps");
        assert_eq!(serde_json::to_string(&none).unwrap(), r#"{"unmeasurable":"no kernel stamps"}"#);
        let kind = serde_json::to_string(&Finding::kind(Kind::Hold)).unwrap();
        assert_eq!(kind, r#"{"value":"hold","low":"hold","high":"hold","unit":"kind"}"#);
        assert_eq!(serde_json::from_str::<Finding>(&kind).unwrap(), Finding::kind(Kind::Hold));
        let flag = serde_json::to_string(&Finding::flag(true)).unwrap();
        assert_eq!(flag, r#"{"value":true,"low":true,"high":true,"unit":"flag"}"#);
        assert_eq!(serde_json::from_str::<Finding>(&flag).unwrap(), Finding::flag(true));
    }

    #[test]
    fn quantity_names_are_those_of_serde() {
        for quantity in [Quantity::ApplicationStage, Quantity::EndLinkCapacity, Quantity::TwoWayPpt] {
            assert_eq!(serde_json::to_value(quantity).unwrap(), quantity.name());
        }
    }

    #[test]
    fn no_nan_becomes_a_value() {
        assert!(matches!(Finding::nanos(f64::NAN, 0.0, 1.0), Finding::Unmeasurable { .. }));
    }
}
