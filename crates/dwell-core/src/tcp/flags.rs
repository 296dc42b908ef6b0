//! What was peculiar about a handshake.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Something peculiar about a handshake, as it was seen at one place.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Flag {
    /// More than one SYN passed.
    SynRepeated,
    /// More than one SYN/ACK passed.
    SynAckRepeated,
    /// The first ACK carried data.
    AckWithData,
    /// A segment passed twice, as from a mirror of both directions.
    Duplicated,
    /// A segment passed before the one that it answers.
    OutOfOrder,
    /// TCP Fast Open: data on the SYN, or a cookie asked for.
    FastOpen,
    /// Multipath TCP.
    Mptcp,
    /// ECN was offered.
    Ecn,
    /// At least one end sends no time stamps.
    NoTimestamps,
    /// Both ends sent a SYN.
    SimultaneousOpen,
    /// It was refused by an ICMP message, not by an RST.
    RefusedByIcmp,
    /// The server closed it by an RST after its SYN/ACK, or the client did.
    Reset,
    /// The clock that stamps its segments ran backwards during it, or was set, whichever way.
    ClockStepped,
    /// Another SYN took its ports before it was finished.
    PortsReused,
    /// The capture cut the options of one of its segments.
    OptionsCut,
    /// Joined with other places by its initial sequence numbers alone: addresses are rewritten between them.
    Nat,
}

/// All of them, in their order.
const ALL: [Flag; 16] = [
    Flag::SynRepeated,
    Flag::SynAckRepeated,
    Flag::AckWithData,
    Flag::Duplicated,
    Flag::OutOfOrder,
    Flag::FastOpen,
    Flag::Mptcp,
    Flag::Ecn,
    Flag::NoTimestamps,
    Flag::SimultaneousOpen,
    Flag::RefusedByIcmp,
    Flag::Reset,
    Flag::ClockStepped,
    Flag::PortsReused,
    Flag::OptionsCut,
    Flag::Nat,
];

impl Flag {
    /// Its name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SynRepeated => "syn-repeated",
            Self::SynAckRepeated => "syn-ack-repeated",
            Self::AckWithData => "ack-with-data",
            Self::Duplicated => "duplicated",
            Self::OutOfOrder => "out-of-order",
            Self::FastOpen => "fast-open",
            Self::Mptcp => "mptcp",
            Self::Ecn => "ecn",
            Self::NoTimestamps => "no-timestamps",
            Self::SimultaneousOpen => "simultaneous-open",
            Self::RefusedByIcmp => "refused-by-icmp",
            Self::Reset => "reset",
            Self::ClockStepped => "clock-stepped",
            Self::PortsReused => "ports-reused",
            Self::OptionsCut => "options-cut",
            Self::Nat => "nat",
        }
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of [`Flag`]s. Serialised as the list of their names.
#[derive(Copy, Clone, Default, PartialEq, Eq, Hash)]
pub struct Flags(u32);

impl Flags {
    /// The set with these bits, of which bit `n` stands for the `n`th flag; `None` when there is no such flag.
    #[must_use]
    pub fn from_bits(bits: u32) -> Option<Self> {
        (bits >> ALL.len() == 0).then_some(Self(bits))
    }

    /// The bits of [`Self::from_bits`].
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Adds one.
    pub fn set(&mut self, flag: Flag) {
        self.0 |= 1 << flag as u8;
    }

    /// Whether it is in the set.
    #[must_use]
    pub const fn has(self, flag: Flag) -> bool {
        self.0 & 1 << flag as u8 != 0
    }

    /// Both.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Those in the set.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        ALL.into_iter().filter(move |flag| self.has(*flag))
    }
}

impl FromIterator<Flag> for Flags {
    fn from_iter<I: IntoIterator<Item = Flag>>(flags: I) -> Self {
        flags.into_iter().fold(Self::default(), |mut set, flag| {
            set.set(flag);
            set
        })
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for Flags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_seq(self.iter())
        } else {
            serializer.serialize_u32(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Flags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            Ok(Vec::<Flag>::deserialize(deserializer)?.into_iter().collect())
        } else {
            let bits = u32::deserialize(deserializer)?;
            Self::from_bits(bits).ok_or_else(|| D::Error::custom("a flag that this version does not know"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, Flags};

    #[test]
    fn every_flag_has_its_bit_and_its_name() {
        for (bit, flag) in ALL.into_iter().enumerate() {
            assert_eq!(Flags::from_iter([flag]).bits(), 1 << bit);
            assert_eq!(serde_json::to_string(&flag).expect("text"), format!("{:?}", flag.name()));
        }
        assert_eq!(Flags::from_bits(1 << ALL.len()), None);
    }

    #[test]
    fn a_set_is_written_as_names() {
        let set: Flags = [ALL[0], ALL[4]].into_iter().collect();
        let text = serde_json::to_string(&set).expect("text");
        assert_eq!(text, r#"["syn-repeated","out-of-order"]"#);
        assert_eq!(serde_json::from_str::<Flags>(&text).expect("a set"), set);
    }
}
