//! Days, minutes and spans of time.

use dwell_core::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use time::{Date, Duration};

/// A day of UTC, counted from 1970-01-01.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);

const DAY: i64 = 86_400_000_000_000;
const FIRST: Date = time::macros::date!(1970 - 01 - 01);

impl Day {
    /// The day of an instant.
    #[must_use]
    pub fn of(at: Nanos) -> Self {
        // 64 bits of nanoseconds are 106,752 days either way.
        Self(at.0.div_euclid(DAY) as i32)
    }

    /// When it begins.
    #[must_use]
    pub fn start(self) -> Nanos {
        Nanos(i64::from(self.0).saturating_mul(DAY))
    }

    /// The first and the last day whose batches may hold something of a span: a batch is kept under one day, none of its records is
    /// further from that than one, and the probes' clocks differ.
    pub(super) fn around(span: Span) -> (Self, Self) {
        (Self(Self::of(span.from).0 - 2), Self(Self::of(span.until).0 + 2))
    }

    /// From `2026-11-21`, as it is displayed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let format = time::macros::format_description!("[year]-[month]-[day]");
        let days = (Date::parse(text, format).ok()? - FIRST).whole_days();
        // Other ways to write a day would name other files.
        Some(Self(i32::try_from(days).ok()?)).filter(|day| day.to_string() == text)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match FIRST.checked_add(Duration::days(i64::from(self.0))) {
            Some(date) => write!(f, "{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day()),
            None => write!(f, "day {}", self.0),
        }
    }
}

/// A minute of UTC, counted from 1970-01-01.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Minute(pub i32);

const MINUTE: i64 = 60_000_000_000;

impl Minute {
    /// The minute of an instant.
    #[must_use]
    pub fn of(at: Nanos) -> Self {
        // 64 bits of nanoseconds are 153,722,867 minutes either way.
        Self(at.0.div_euclid(MINUTE) as i32)
    }

    /// When it begins.
    #[must_use]
    pub fn start(self) -> Nanos {
        Nanos(i64::from(self.0).saturating_mul(MINUTE))
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, of_day) = (Day(self.0.div_euclid(1_440)), self.0.rem_euclid(1_440));
        write!(f, "{day} {:02}:{:02}", of_day / 60, of_day % 60)
    }
}

/// A span of time, by the probes' clocks: from its beginning up to, and not with, its end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub from: Nanos,
    /// Its end.
    pub until: Nanos,
}

impl Span {
    /// All of time.
    pub const ALL: Self = Self { from: Nanos(i64::MIN), until: Nanos::MAX };

    /// With so much before and behind.
    pub(super) fn widened(self, by: Nanos) -> Self {
        Self { from: self.from - by, until: self.until + by }
    }

    /// Whether an instant lies in it.
    #[must_use]
    pub fn holds(&self, at: Nanos) -> bool {
        (self.from..self.until).contains(&at)
    }
}

#[cfg(test)]
mod tests {
    use super::{Day, Minute, Nanos};

    #[test]
    fn a_day_is_written_as_it_is_read() {
        for days in [-106_751, -1, 0, 20_778, 106_751] {
            let day = Day(days);
            assert_eq!(Day::parse(&day.to_string()), Some(day));
            assert_eq!(Day::of(day.start()), day);
            assert_eq!(Day::of(day.start() - Nanos(1)), Day(days - 1));
        }
        assert_eq!(Day(20_778).to_string(), "2026-11-21");
        for other in ["2026-13-01", "-0001-01-01", "+2026-11-21"] {
            assert_eq!(Day::parse(other), None);
        }
    }

    #[test]
    fn a_minute_is_told_with_its_day() {
        let at = Day(20_778).start() + Nanos::from_secs(19 * 3_600 + 40 * 60 + 59);
        assert_eq!(Minute::of(at).to_string(), "2026-11-21 19:40");
        assert_eq!(Minute::of(Nanos(-1)).to_string(), "1969-12-31 23:59");
        for odd in [i32::MIN, i32::MAX] {
            assert!(!Minute(odd).to_string().is_empty());
        }
        assert_eq!(Minute::of(Nanos(i64::MIN)).start().0.div_euclid(1 << 40), i64::MIN >> 40);
    }
}
