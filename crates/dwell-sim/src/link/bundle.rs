//! Several links between the same two points, and how a scenario file writes them: a link that has nothing but
//! `parallel` and `balance`.

use super::LinkSpec;
use dwell_core::BitRate;
use schemars::{JsonSchema, Schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// How packets are spread over parallel links.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Balance {
    /// Each flow takes one of them, by chance. The probes are one flow, and each source of cross traffic is another.
    #[default]
    Flow,
    /// Each packet takes the one after its predecessor's.
    Packet,
}

impl Balance {
    /// Whether each flow keeps to one link.
    #[must_use]
    pub fn is_flow(&self) -> bool {
        *self == Self::Flow
    }
}

/// Stands for a rate that the file does not give; no file can give it.
pub(super) fn no_rate_given() -> Option<BitRate> {
    Some(BitRate(0))
}

/// A link has a rate, unless it is a bundle.
pub(super) fn with_rate_or_links(schema: &mut Schema) {
    schema.insert(
        "anyOf".to_owned(),
        serde_json::json!([{ "required": ["rate"] }, { "required": ["parallel"] }]),
    );
    if let Some(rate) = schema.pointer_mut("/properties/rate").and_then(|rate| rate.as_object_mut()) {
        rate.remove("default");
    }
}

/// The links of a bundle.
pub(super) fn at_least_one<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<LinkSpec>, D::Error> {
    let links = Vec::<LinkSpec>::deserialize(from)?;
    if links.is_empty() {
        return Err(de::Error::custom("is empty; give at least one link"));
    }
    Ok(links)
}

struct LinkVisitor;

impl<'de> Visitor<'de> for LinkVisitor {
    type Value = LinkSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a link such as { rate = \"100 Mb/s\" }")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LinkSpec, A::Error> {
        let mut link = LinkSpec::deserialize(MapAccessDeserializer::new(map))?;
        if link.rate == no_rate_given() {
            if link.parallel.is_empty() {
                return Err(de::Error::missing_field("rate"));
            }
            link.rate = None;
        }
        Ok(link)
    }
}

impl<'de> Deserialize<'de> for LinkSpec {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(LinkVisitor)
    }
}

impl Serialize for LinkSpec {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.parallel.is_empty() {
            return Self::serialize(self, to);
        }
        let mut bundle = to.serialize_struct("LinkSpec", 2)?;
        bundle.serialize_field("balance", &self.balance)?;
        bundle.serialize_field("parallel", &self.parallel)?;
        bundle.end()
    }
}
