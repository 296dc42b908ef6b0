//! Where the time goes, part by part: for a terminal here, as a picture in `picture::waterfall`.

use crate::screen::{columns, paint};
use dwell_core::{Finding, Side};
use std::fmt::Write as _;

/// What is known of a length, in microseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Extent {
    /// A value with its 95 % interval.
    Value {
        /// The estimate.
        value: f64,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// The truth is at most this.
    AtMost(f64),
    /// The truth is at least this.
    AtLeast(f64),
    /// Nothing.
    Unknown,
}

impl From<&Finding> for Extent {
    /// Of a time in nanoseconds.
    fn from(finding: &Finding) -> Self {
        match finding {
            Finding::Value { value, low, high, .. } => {
                Self::Value { value: value / 1e3, low: low / 1e3, high: high / 1e3 }
            }
            Finding::Bound { bound, side: Side::Upper, .. } => Self::AtMost(bound / 1e3),
            Finding::Bound { bound, side: Side::Lower, .. } => Self::AtLeast(bound / 1e3),
            Finding::Unmeasurable { .. } => Self::Unknown,
        }
    }
}

impl Extent {
    /// How far its bar reaches.
    pub(crate) fn length(self) -> f64 {
        match self {
            Self::Value { value, .. } => value.max(0.0),
            Self::AtMost(bound) | Self::AtLeast(bound) => bound.max(0.0),
            Self::Unknown => 0.0,
        }
    }

    /// How far anything of it reaches, its interval too.
    pub(crate) fn reach(self) -> f64 {
        match self {
            Self::Value { high, .. } => high.max(0.0),
            other => other.length(),
        }
    }

    /// In words. A value whose interval is nothing has none.
    pub(crate) fn text(self, unit: Unit) -> String {
        let Unit { name, us, digits } = unit;
        let figure = |figure: f64| format!("{:.digits$}", figure / us);
        match self {
            Self::Value { value, low, high } if low == high => format!("{} {name}", figure(value)),
            Self::Value { value, low, high } => {
                format!("{} {name} ({} to {})", figure(value), figure(low), figure(high))
            }
            Self::AtMost(bound) => format!("at most {} {name}", figure(bound)),
            Self::AtLeast(bound) => format!("at least {} {name}", figure(bound)),
            Self::Unknown => "not known".into(),
        }
    }
}

/// A unit of time to tell lengths in.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Its name.
    pub(crate) name: &'static str,
    /// Microseconds that it is.
    pub(crate) us: f64,
    /// Digits behind the point.
    digits: usize,
}

/// Where letters are few.
const PLAIN_US: Unit = Unit { name: "us", us: 1.0, digits: 1 };
/// Of most times here.
pub(crate) const US: Unit = Unit { name: "µs", us: 1.0, digits: 1 };
const MS: Unit = Unit { name: "ms", us: 1e3, digits: 3 };

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// Of the part.
    pub(crate) name: String,
    /// Where it begins, in microseconds from the start.
    pub(crate) start: f64,
    /// What is known of its length.
    pub(crate) extent: Extent,
}

/// All bars, and the whole that they add up to.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    /// In the order of a packet's way.
    pub(crate) bars: Vec<Bar>,
    /// The whole.
    pub(crate) whole: Bar,
    /// What is counted along the bars.
    pub(crate) axis: &'static str,
}

/// Columns of the terminal that bars take, where it has as many.
const COLUMNS: usize = 44;

/// In fewer no bar tells anything: the figures stand alone.
const LEAST_COLUMNS: usize = 6;

/// ANSI colours of the parts.
const COLOURS: [u8; 6] = [36, 37, 35, 31, 33, 34];

impl Bars {
    /// The end of the longest bar, in microseconds.
    pub(crate) fn longest(&self) -> f64 {
        let ends = self.bars.iter().chain([&self.whole]).map(|bar| bar.start + bar.extent.reach());
        ends.fold(1e-3, f64::max)
    }

    /// The unit of a picture: of long times milliseconds.
    pub(crate) fn unit(&self) -> Unit {
        if self.longest() < 1e4 { US } else { MS }
    }

    /// One line a part. A solid bar is a value, a shaded one an upper bound, an arrow a lower one.
    pub(crate) fn text(&self, colour: bool) -> String {
        self.within(columns(), colour)
    }

    fn within(&self, columns: Option<usize>, colour: bool) -> String {
        let longest = |told: fn(&Bar) -> String| {
            let told = self.bars.iter().chain([&self.whole]).map(told);
            told.map(|told| told.chars().count()).max().unwrap_or(0)
        };
        let widest = longest(|bar| bar.name.clone());
        let figures = longest(|bar| bar.extent.text(PLAIN_US));
        let room =
            columns.map_or(COLUMNS, |columns| columns.saturating_sub(widest + figures + 6).min(COLUMNS));
        let is_drawn = room >= LEAST_COLUMNS;
        let scale = room as f64 / self.longest();
        let mut text = String::new();
        let rows = self.bars.iter().zip(COLOURS.into_iter().cycle()).chain([(&self.whole, 32)]);
        for (bar, code) in rows {
            let (before, drawn) = if is_drawn { drawn(bar, scale) } else { (0, String::new()) };
            let used = before + drawn.chars().count();
            let after = if is_drawn { (room + 2).saturating_sub(used) } else { 0 };
            let _ = writeln!(
                text,
                "  {:<widest$}  {}{}{}{}",
                bar.name,
                " ".repeat(before),
                paint(&drawn, code, colour),
                " ".repeat(after),
                bar.extent.text(PLAIN_US),
            );
        }
        text
    }
}

/// The columns before a bar, and the bar, in eighths of a column.
fn drawn(bar: &Bar, scale: f64) -> (usize, String) {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let before = (bar.start.max(0.0) * scale).floor() as usize;
    let columns = bar.extent.length() * scale;
    let whole = columns.floor() as usize;
    let solid = || {
        let part = ((columns - columns.floor()) * 8.0) as usize;
        let bar = format!("{}{}", "█".repeat(whole), EIGHTHS[part.min(7)]);
        if bar.is_empty() { "▏".to_owned() } else { bar }
    };
    let drawn = match bar.extent {
        Extent::Value { .. } => solid(),
        Extent::AtMost(_) => "░".repeat((columns.round() as usize).max(1)),
        Extent::AtLeast(_) => format!("{}▶", solid()),
        Extent::Unknown => "·".to_owned(),
    };
    (before, drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, start: f64, extent: Extent) -> Bar {
        Bar { name: name.to_owned(), start, extent }
    }

    #[test]
    fn bars_follow_one_another_and_bounds_look_like_bounds() {
        let value = |value: f64| Extent::Value { value, low: value, high: value };
        let bars = Bars {
            bars: vec![
                bar("path", 0.0, value(50.0)),
                bar("kernel", 50.0, Extent::AtMost(10.0)),
                bar("application", 50.0, Extent::AtLeast(50.0)),
            ],
            whole: bar("all", 0.0, value(100.0)),
            axis: "Time",
        };
        let text = bars.text(false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].matches('█').count(), 22);
        assert!(lines[1].contains('░') && lines[1].contains("at most 10.0 us"), "{text}");
        assert!(lines[2].contains('▶') && lines[2].contains("at least 50.0 us"), "{text}");
        assert_eq!(lines[3].matches('█').count(), 44);
        assert_eq!(lines[2].find('█').map(|at| lines[2][..at].chars().count()), Some(15 + 22));
        assert!(!text.contains('\x1b'));
        assert!(bars.text(true).contains('\x1b'));
        // On a narrow terminal bars are shorter, or there are none; the figures stay.
        for columns in [60, 40, 32] {
            let text = bars.within(Some(columns), false);
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}:\n{text}");
            assert!(text.contains("at most 10.0 us") && text.contains("at least 50.0 us"), "{text}");
            assert_eq!(text.contains('█'), columns > 32, "{text}");
        }
    }
}
