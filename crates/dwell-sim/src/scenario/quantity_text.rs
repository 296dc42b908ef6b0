//! Quantities as people write them in scenario files: `"100 Mb/s"`, `"5 us"`, `"64 KiB"`, `"30 %"`.

use dwell_core::{BitRate, Bytes, Nanos};
use schemars::{Schema, json_schema};
use serde::de::{self, Deserializer, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A quantity that is written as a number with its unit.
pub trait QuantityText: Sized {
    /// What is allowed, with an example; completes the sentence "expected ...".
    const EXPECTED: &'static str;

    /// Reads the quantity.
    ///
    /// # Errors
    /// Says what is wrong with `text`, and what is allowed.
    fn read(text: &str) -> Result<Self, String>;

    /// What a schema can say of the text: a regular expression.
    fn pattern() -> String {
        String::new()
    }

    /// What a schema says of the quantity.
    fn schema() -> Schema {
        let text = json_schema!({ "type": "string", "pattern": Self::pattern() });
        let zero = Self::read_number(0.0).is_ok().then(|| json_schema!({ "const": 0 }));
        let ways: Vec<_> = std::iter::once(text).chain(zero).collect();
        json_schema!({ "description": format!("Quantity: {}.", Self::EXPECTED), "anyOf": ways })
    }

    /// Reads a number that came without quotes, and so without a unit.
    ///
    /// # Errors
    /// If it is not zero, which needs no unit, or a quantity that has none.
    fn read_number(number: f64) -> Result<Self, String> {
        if number == 0.0 {
            Self::read("0")
        } else {
            Err(format!("{number} has no unit; expected {}", Self::EXPECTED))
        }
    }
}

/// Most that a time may be: 11 days, so that sums of a few never come near the end of the clock.
const MOST_NANOS: f64 = 1e15;
const MOST_RATE: f64 = 1e12;
const LEAST_RATE: f64 = 1e3;
const MOST_BYTES: f64 = 1e12;

const TIMES: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10)];
const RATES: &[(&str, f64)] = &[
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("mb/s", 1e6),
    ("gb/s", 1e9),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("mbit/s", 1e6),
    ("gbit/s", 1e9),
    ("bps", 1.0),
    ("kbps", 1e3),
    ("mbps", 1e6),
    ("gbps", 1e9),
];
const SIZES: &[(&str, f64)] = &[
    ("b", 1.0),
    ("byte", 1.0),
    ("bytes", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
];

/// Splits `text` into its number and the factor of its unit.
fn measure(text: &str, units: &[(&str, f64)], expected: &str) -> Result<f64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '_' | '+' | '-')).unwrap_or(text.len());
    let (number, unit) = (text[..end].replace('_', ""), text[end..].trim());
    let number: f64 = number
        .parse()
        .map_err(|_| format!("\"{text}\" does not start with a number; expected {expected}"))?;
    if unit.is_empty() {
        return if number == 0.0 {
            Ok(0.0)
        } else {
            Err(format!("\"{text}\" has no unit; expected {expected}"))
        };
    }
    let factor = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let (_, factor) = factor.ok_or_else(|| format!("unknown unit \"{unit}\"; expected {expected}"))?;
    Ok(number * factor)
}

/// Regular expressions of JSON Schema have no word for it that case does not matter.
fn in_any_case(word: &str) -> String {
    let either = |letter: char| match (letter.to_ascii_lowercase(), letter.to_ascii_uppercase()) {
        (lower, upper) if lower == upper => letter.to_string(),
        (lower, upper) => format!("[{lower}{upper}]"),
    };
    word.chars().map(either).collect()
}

/// A regular expression for a number with one of `units`. `digits` is a class of digits of which there must be one.
fn pattern_of(sign: &str, digits: &str, units: &[(&str, f64)]) -> String {
    let units: Vec<String> = units.iter().map(|(unit, _)| in_any_case(unit)).collect();
    let units = units.join("|");
    let number = number_pattern(digits, "[0-9_]");
    if digits == ABOVE_ZERO {
        return format!("^\\s*{sign}{number}\\s*({units})\\s*$");
    }
    // Zero needs no unit, and has no sign.
    let zero = number_pattern("0", "[0_]");
    format!("^\\s*({sign}{number}\\s*({units})|[+-]?{zero}\\s*({units})?)\\s*$")
}

/// A number with a point somewhere or nowhere, at least one of `digits`, and any number of `others`.
fn number_pattern(digits: &str, others: &str) -> String {
    format!("({others}*{digits}{others}*\\.?{others}*|{others}*\\.{others}*{digits}{others}*)")
}

const ANY: &str = "[0-9]";
const ABOVE_ZERO: &str = "[1-9]";
const PLUS: &str = "\\+?";
const EITHER: &str = "[+-]?";

/// A regular expression for a word in any case.
pub(crate) fn word_pattern(word: &str) -> String {
    format!("^\\s*{}\\s*$", in_any_case(word))
}

/// `value` if it lies between `least` and `most`.
fn within(text: &str, value: f64, least: f64, most: f64, range: &str) -> Result<f64, String> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(format!("\"{text}\" is out of range: {range}"))
    }
}

impl QuantityText for BitRate {
    const EXPECTED: &'static str = "a rate in b/s, kb/s, Mb/s or Gb/s, such as \"100 Mb/s\"";

    fn read(text: &str) -> Result<Self, String> {
        // Capital B is a byte everywhere else, and "MB/s" is eight times "Mb/s".
        if text.contains('B') {
            return Err(format!("\"{text}\" is in bytes; expected {}", Self::EXPECTED));
        }
        let rate = measure(text, RATES, Self::EXPECTED)?;
        within(text, rate, LEAST_RATE, MOST_RATE, "1 kb/s to 1000 Gb/s").map(|rate| Self(rate.round() as u64))
    }

    fn pattern() -> String {
        // No capital B: that is a byte.
        pattern_of(PLUS, ABOVE_ZERO, RATES).replace("[bB]", "b")
    }
}

impl QuantityText for Bytes {
    const EXPECTED: &'static str = "a size in B, kB, KiB or MiB, such as \"64 KiB\"";

    fn read(text: &str) -> Result<Self, String> {
        let size = measure(text, SIZES, Self::EXPECTED)?;
        within(text, size, 0.0, MOST_BYTES, "0 B to 1,000,000 MB").map(|size| Self(size.round() as u64))
    }

    fn pattern() -> String {
        pattern_of(PLUS, ANY, SIZES)
    }
}

/// A time that may be negative: an offset, not a duration.
#[derive(Copy, Clone)]
pub(crate) struct Signed(pub(crate) Nanos);

impl QuantityText for Signed {
    const EXPECTED: &'static str = "a time in ns, us, ms or s, such as \"5 us\" or \"-5 us\"";

    fn read(text: &str) -> Result<Self, String> {
        let ns = measure(text, TIMES, Self::EXPECTED)?;
        within(text, ns, -MOST_NANOS, MOST_NANOS, "at most 11 days either way")
            .map(|ns| Self(Nanos::from_f64(ns)))
    }

    fn pattern() -> String {
        pattern_of(EITHER, ANY, TIMES)
    }
}

impl QuantityText for Nanos {
    const EXPECTED: &'static str = "a time in ns, us, ms or s, such as \"5 us\"";

    fn read(text: &str) -> Result<Self, String> {
        let ns = measure(text, TIMES, Self::EXPECTED)?;
        within(text, ns, 0.0, MOST_NANOS, "no less than 0 and at most 11 days").map(Self::from_f64)
    }

    fn pattern() -> String {
        pattern_of(PLUS, ANY, TIMES)
    }
}

/// A share of one.
#[derive(Copy, Clone)]
pub(crate) struct Share(pub(crate) f64);

impl QuantityText for Share {
    const EXPECTED: &'static str = "a share such as 0.3 or \"30 %\"";

    fn read(text: &str) -> Result<Self, String> {
        let bare = text.trim().parse().or_else(|_| measure(text, &[("%", 0.01)], Self::EXPECTED));
        bare.and_then(Self::read_number)
    }

    fn pattern() -> String {
        let (number, zero) = (number_pattern(ANY, "[0-9_]"), number_pattern("0", "[0_]"));
        format!("^\\s*(\\+?{number}|-{zero})([eE][+-]?[0-9]+)?\\s*%?\\s*$")
    }

    fn schema() -> Schema {
        let text = json_schema!({ "type": "string", "pattern": Self::pattern() });
        let number = json_schema!({ "type": "number", "minimum": 0 });
        json_schema!({ "description": format!("Quantity: {}.", Self::EXPECTED), "anyOf": [text, number] })
    }

    fn read_number(number: f64) -> Result<Self, String> {
        if number.is_finite() && number >= 0.0 {
            Ok(Self(number))
        } else {
            Err(format!("{number} is not a share; expected {}", Self::EXPECTED))
        }
    }
}

/// Reads a [`QuantityText`] out of any format that serde knows.
pub(crate) struct Reader<T>(PhantomData<T>);

impl<'de, T: QuantityText> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::read(text).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::read_number(number as f64).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        T::read_number(number as f64).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        T::read_number(number).map_err(E::custom)
    }
}

/// Reads a quantity; the function of every module below.
pub(crate) fn read<'de, T: QuantityText, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(Reader(PhantomData))
}

/// The largest unit that divides `amount`, so that what is written reads back as the same number.
fn exact(amount: u64, units: &[(&str, u64)]) -> String {
    let (name, factor) = units.iter().find(|(_, factor)| amount.is_multiple_of(*factor)).unwrap_or(&("", 1));
    format!("{} {name}", amount / factor)
}

/// A time as it is written.
pub(crate) fn time_text(time: Nanos) -> String {
    let sign = if time < Nanos::ZERO { "-" } else { "" };
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    format!("{sign}{}", exact(time.0.unsigned_abs(), &units))
}

/// A rate as it is written.
pub(crate) fn rate_text(rate: BitRate) -> String {
    exact(rate.0, &[("Gb/s", 1_000_000_000), ("Mb/s", 1_000_000), ("kb/s", 1_000), ("b/s", 1)])
}

/// A size as it is written.
pub(crate) fn size_text(size: Bytes) -> String {
    exact(size.0, &[("MiB", 1_048_576), ("KiB", 1024), ("B", 1)])
}

/// What a schema says of the quantity that `_read` takes.
pub(crate) fn schema_of<T: QuantityText, V>(_read: impl Fn(T) -> V) -> Schema {
    T::schema()
}

/// Declares what serde's `with` needs to read and to write, and schemars' to describe. It is a type because the latter
/// wants one, and in lower case because the former is used to modules.
macro_rules! with {
    ($(#[$doc:meta])* $name:ident, $value:ty, $read:expr, $write:expr) => {
        $(#[$doc])*
        #[allow(non_camel_case_types)]
        pub(crate) enum $name {}

        impl $name {
            pub(crate) fn deserialize<'de, D>(from: D) -> Result<$value, D::Error>
            where
                D: serde::Deserializer<'de>,
            {
                $crate::scenario::quantity_text::read(from).map($read)
            }

            pub(crate) fn serialize<S: serde::Serializer>(value: &$value, to: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&$write(*value), to)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).trim_start_matches("some_").into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::scenario::quantity_text::schema_of::<_, $value>($read)
            }
        }
    };
}

pub(crate) use with;

with!(
    /// A duration.
    duration, Nanos, |time: Nanos| time, time_text
);
with!(
    /// A time of either sign.
    offset, Nanos, |time: Signed| time.0, time_text
);
with!(
    /// A size.
    size, Bytes, |size: Bytes| size, size_text
);
with!(
    /// A size, where there is one.
    some_size, Option<Bytes>, Some, |size: Option<Bytes>| size.map(size_text)
);
with!(
    /// A duration, where there is one.
    some_duration, Option<Nanos>, Some, |time: Option<Nanos>| time.map(time_text)
);
with!(
    /// A rate.
    rate, BitRate, |rate: BitRate| rate, rate_text
);
with!(
    /// A rate, where there is one.
    some_rate, Option<BitRate>, Some, |rate: Option<BitRate>| rate.map(rate_text)
);
with!(
    /// A share of one.
    share, f64, |share: Share| share.0, std::convert::identity
);
with!(
    /// A share of one, where there is one.
    some_share, Option<f64>, |share: Share| Some(share.0), std::convert::identity
);
