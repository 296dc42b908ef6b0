//! One figure: a value with its interval, a bound with its reason, or a reason why it cannot be had here.

use crate::nic::Kind;
use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    fn no_nan_becomes_a_value() {
        assert!(matches!(Finding::nanos(f64::NAN, 0.0, 1.0), Finding::Unmeasurable { .. }));
    }
}
