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
