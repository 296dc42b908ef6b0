//! What is known of one half of a round trip.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is known of one half of a handshake's round trip, or of the whole of it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Half {
    /// Nothing.
    #[default]
    Unknown,
    /// So long.
    Exact(Nanos),
    /// So long or shorter: what ended it was later than the answer itself.
    AtMost(Nanos),
    /// One of the two, and nothing tells which: the answer may be to the first segment or to its repetition. It may lie
    /// between them: of several repetitions the shortest and the longest are told, and what seems the answer may be a
    /// repetition itself, which a timer sent before the newest segment's answer.
    OneOf(Nanos, Nanos),
}

impl Half {
    /// Its value, if it is known exactly.
    #[must_use]
    pub const fn exact(self) -> Option<Nanos> {
        match self {
            Self::Exact(value) => Some(value),
            _ => None,
        }
    }

    /// Its value, or what it cannot exceed by the word of [`Self::AtMost`]. An ambiguous one has none.
    #[must_use]
    pub const fn value(self) -> Option<Nanos> {
        match self {
            Self::Exact(value) | Self::AtMost(value) => Some(value),
            Self::Unknown | Self::OneOf(..) => None,
        }
    }

    /// Both, one after the other: the round trip of two halves.
    #[must_use]
    pub fn then(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Exact(one), Self::Exact(two)) => Self::Exact(one + two),
            (Self::OneOf(short, long), Self::Exact(more)) | (Self::Exact(more), Self::OneOf(short, long)) => {
                Self::OneOf(short + more, long + more)
            }
            // The sum of two that are not certain is certain of its longest alone.
            _ => Self::AtMost(self.longest() + other.longest()),
        }
    }

    fn longest(self) -> Nanos {
        match self {
            Self::Unknown => Nanos::MAX,
            Self::Exact(value) | Self::AtMost(value) => value,
            Self::OneOf(one, two) => one.max(two),
        }
    }
}

/// How far the figures of a handshake can be trusted. The worst of what is known of its halves.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// Both halves are exact.
    Exact,
    /// A half is at most what is told: the third ACK was lost, and data came instead.
    UpperBound,
    /// An answer may be to the first segment or to its repetition: its half is withheld.
    Ambiguous,
    /// One direction was seen, from SYN to ACK: the whole round trip, not its halves.
    TotalOnly,
    /// Answered by an RST, or by an ICMP message: a round trip of a host, not of a connection.
    Refused,
    /// Not all of its segments passed.
    Unfinished,
}

impl Quality {
    /// All, the best first.
    pub const ALL: [Self; 6] =
        [Self::Exact, Self::UpperBound, Self::Ambiguous, Self::TotalOnly, Self::Refused, Self::Unfinished];

    /// Its name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::UpperBound => "upper-bound",
            Self::Ambiguous => "ambiguous",
            Self::TotalOnly => "total-only",
            Self::Refused => "refused",
            Self::Unfinished => "unfinished",
        }
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{Half, Nanos, Quality};

    #[test]
    fn a_round_trip_is_as_certain_as_its_halves() {
        let exact = Half::Exact(Nanos(5));
        assert_eq!(exact.then(Half::Exact(Nanos(2))), Half::Exact(Nanos(7)));
        assert_eq!(exact.then(Half::AtMost(Nanos(2))), Half::AtMost(Nanos(7)));
        assert_eq!(Half::OneOf(Nanos(1), Nanos(9)).then(exact), Half::OneOf(Nanos(6), Nanos(14)));
        assert_eq!(Half::OneOf(Nanos(1), Nanos(9)).then(Half::AtMost(Nanos(1))), Half::AtMost(Nanos(10)));
        assert_eq!(exact.then(Half::Unknown), Half::Unknown);
    }

    #[test]
    fn the_qualities_are_written_by_their_names() {
        for quality in Quality::ALL {
            assert_eq!(serde_json::to_string(&quality).expect("text"), format!("{:?}", quality.name()));
        }
    }
}
