//! Why a frame is of no use here, and how many were not.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::fmt;

/// Why a frame tells nothing of TCP.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Skipped {
    /// Taken of a link whose frames are not known here.
    UnknownLink,
    /// It carries no IP packet: ARP, management of Wi-Fi, control of PPP.
    NotIp,
    /// Its packet carries no TCP, no UDP and no word of a refusal.
    NotTcp,
    /// A fragment that is not the first: the ports are in another one.
    Fragment,
    /// The capture kept too little of it.
    CutShort,
    /// Its headers contradict themselves, or end too early.
    Malformed,
    /// More headers in headers than any network has.
    TooDeep,
    /// Wi-Fi or IPsec, encrypted.
    Encrypted,
    /// Several packets in one frame of Wi-Fi.
    Aggregated,
    /// Its time is outside the years 1677 to 2262, which nanoseconds in 64 bits can tell.
    Time,
}

impl Skipped {
    /// All of them, in their order.
    pub const ALL: [Self; 10] = [
        Self::UnknownLink,
        Self::NotIp,
        Self::NotTcp,
        Self::Fragment,
        Self::CutShort,
        Self::Malformed,
        Self::TooDeep,
        Self::Encrypted,
        Self::Aggregated,
        Self::Time,
    ];

    /// Its name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownLink => "unknown-link",
            Self::NotIp => "not-ip",
            Self::NotTcp => "not-tcp",
            Self::Fragment => "fragment",
            Self::CutShort => "cut-short",
            Self::Malformed => "malformed",
            Self::TooDeep => "too-deep",
            Self::Encrypted => "encrypted",
            Self::Aggregated => "aggregated",
            Self::Time => "time",
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many frames were of no use, by reason. Serialised as the reasons' names with what was counted, if anything was.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally([u64; Skipped::ALL.len()]);

impl Tally {
    /// One more.
    pub fn count(&mut self, reason: Skipped) {
        self.0[reason as usize] += 1;
    }

    /// How many for this reason.
    #[must_use]
    pub const fn of(&self, reason: Skipped) -> u64 {
        self.0[reason as usize]
    }

    /// The reasons that there were, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Skipped, u64)> {
        Skipped::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// Both together.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
        self
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (reason, count) in self.iter() {
            map.serialize_entry(reason.name(), &count)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::{Skipped, Tally};

    #[test]
    fn each_reason_is_counted_by_itself() {
        let mut tally = Tally::default();
        for (times, reason) in Skipped::ALL.into_iter().enumerate() {
            (0..=times).for_each(|_| tally.count(reason));
        }
        for (times, reason) in Skipped::ALL.into_iter().enumerate() {
            assert_eq!(tally.of(reason), times as u64 + 1, "{reason}");
        }
        let mut one = Tally::default();
        one.count(Skipped::Fragment);
        assert_eq!(serde_json::to_string(&one.with(&one)).expect("text"), r#"{"fragment":2}"#);
    }
}
