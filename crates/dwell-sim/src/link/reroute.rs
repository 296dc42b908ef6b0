//! A way that becomes another one.

use crate::scenario::quantity_text;
use dwell_core::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Another way from some time on, as when a route changes. What is on the old one comes first all the same.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reroute {
    /// True time of the change.
    #[serde(with = "quantity_text::duration")]
    pub at: Nanos,
    /// Time that a bit takes to the far end from then on.
    #[serde(with = "quantity_text::duration")]
    pub propagation: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Balance, LinkSpec};

    #[test]
    fn the_least_and_the_most_are_over_all_ways() {
        let way = |before: i64, after: Option<i64>| LinkSpec {
            propagation: Nanos(before),
            reroute: after.map(|after| Reroute { at: Nanos(9), propagation: Nanos(after) }),
            ..LinkSpec::new(None)
        };
        assert_eq!(way(5, None).propagations(), (Nanos(5), Nanos(5)));
        assert_eq!(way(5, Some(2)).propagations(), (Nanos(2), Nanos(5)));
        assert_eq!(way(5, Some(7)).propagations(), (Nanos(5), Nanos(7)));
        let both = LinkSpec::bundle(vec![way(5, Some(2)), way(6, Some(8))], Balance::default());
        assert_eq!(both.propagations(), (Nanos(2), Nanos(8)));
    }
}
