//! Scenario files: a path, its hosts and its cross traffic as one TOML text, for the simulator and the testbed alike.

mod check;
mod check_link;
mod check_traffic;
mod drawn;
mod drawn_traffic;
mod error;
mod host_spec;
mod place;
mod problem;
pub(crate) mod quantity_text;
mod ranges;

pub use error::ScenarioError;
pub use host_spec::{BusySpec, ClockSpec, ClockStep, HostSpec};
pub use quantity_text::QuantityText;
pub use ranges::Ranges;

use crate::link::LinkSpec;
use crate::traffic::{CapturesRead, CrossKind, CrossSpec, Offered};
use dwell_core::Bytes;
use dwell_core::unit::{ETHERNET_MIN, ETHERNET_OVERHEAD};
use place::{Places, line_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A testbed as data.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Largest IP packet that the path carries.
    #[serde(with = "quantity_text::size", default = "ethernet_mtu")]
    pub mtu: Bytes,
    /// The host that measures.
    #[serde(default)]
    pub source: HostSpec,
    /// The host under test.
    #[serde(default)]
    pub destination: HostSpec,
    /// How a testbed builds this.
    #[serde(default)]
    pub lab: LabSpec,
    /// From the source to the destination.
    #[schemars(length(min = 1, max = 64))]
    pub links: Vec<LinkSpec>,
    /// From the destination to the source; without it, the same links the other way round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub reverse: Option<Vec<LinkSpec>>,
}

/// How a testbed builds a scenario; the simulator has no use for it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LabSpec {
    /// What carries packets over a shaped link.
    pub carrier: Carrier,
    /// What holds packets where a host has a `nic`.
    pub nic: LabNic,
}

/// What holds packets as a host's `nic` says, in a testbed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LabNic {
    /// Dwell's own forwarder, as the simulator does.
    #[default]
    Emulated,
    /// The host's own kernel, which knows `deferred` alone.
    Kernel,
}

/// What carries packets over a shaped link of a testbed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// Dwell's own forwarder, which serialises every packet.
    #[default]
    Emulated,
    /// Linux's token bucket filter.
    Tbf,
    /// Linux's hierarchical token bucket.
    Htb,
}

fn ethernet_mtu() -> Bytes {
    Bytes(1500)
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// If it cannot be read, or is no scenario; the error names file, line and key.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScenarioError::Unreadable { file: file.clone(), source })?;
        Self::parse(&file, &text)
    }

    /// Reads a scenario from `text`; `file` is the name for errors, and captures that the scenario names are read from
    /// its folder.
    ///
    /// # Errors
    /// If it is no scenario; the error names file, line and key.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let wrong = |offset: usize, key: &str, problem: String| ScenarioError::Wrong {
            file: file.to_owned(),
            line: line_of(text, offset),
            key: key.to_owned(),
            problem,
        };
        let table = toml::de::DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let near = text.get(span.clone()).map(str::trim).filter(|near| !near.is_empty());
            let near = near.map_or(String::new(), |near| format!(" (at `{near}`)"));
            wrong(span.start, "", format!("not TOML: {}{near}", error.message()))
        })?;
        let places = Places::of(table.get_ref());
        let mut scenario: Self = toml::from_str(text).map_err(|error| {
            // What takes no stretch of text is missing from the document itself.
            let span = error.span().filter(|span| !span.is_empty());
            let (offset, key) = span.map_or((0, ""), |span| (span.start, places.key_at(&span)));
            wrong(offset, key, error.message().to_owned())
        })?;
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        match scenario.read_captures(folder).or_else(|| check::first_problem(&scenario)) {
            Some((key, problem)) => Err(wrong(places.start_of(&key), &key, problem)),
            None => Ok(scenario),
        }
    }

    /// Reads the captures that cross traffic names, each file once. Returns the key of the first one that is unfit,
    /// and why it is.
    fn read_captures(&mut self, folder: &Path) -> Option<(String, String)> {
        fn read_all(
            here: &str,
            links: &mut [LinkSpec],
            folder: &Path,
            read: &mut CapturesRead,
        ) -> Option<(String, String)> {
            links.iter_mut().enumerate().find_map(|(index, link)| {
                for (number, cross) in link.cross.iter_mut().enumerate() {
                    let CrossKind::Capture(capture) = &mut cross.kind else { continue };
                    if let Err(error) = capture.read(folder, read) {
                        let key = format!("{here}[{index}].cross[{number}].kind.capture.file");
                        return Some((key, format!("{} {error}", capture.file())));
                    }
                }
                read_all(&format!("{here}[{index}].parallel"), &mut link.parallel, folder, read)
            })
        }
        let mut read = CapturesRead::new();
        let ways = [("links", Some(&mut self.links)), ("reverse", self.reverse.as_mut())];
        ways.into_iter().find_map(|(way, links)| read_all(way, links?, folder, &mut read))
    }

    /// A JSON Schema (draft 2020-12) of scenario files. It says of each key alone what may stand there; what depends on
    /// several keys only [`Scenario::parse`] tells.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        let mut schema = schemars::schema_for!(Self);
        schema.insert("title".to_owned(), "A scenario file of Dwell".into());
        // TOML has no null: what need not be there is left out.
        let null = schemars::json_schema!({ "type": "null" });
        let without_null = |schema: &mut schemars::Schema| {
            for key in ["type", "anyOf"] {
                if let Some(ways) = schema.get_mut(key).and_then(|ways| ways.as_array_mut()) {
                    ways.retain(|way| way != "null" && way != null.as_value());
                }
            }
        };
        schemars::transform::transform_subschemas(
            &mut schemars::transform::RecursiveTransform(without_null),
            &mut schema,
        );
        schema.to_value()
    }

    /// The scenario as a file would hold it; reads back as the same scenario.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario holds nothing but tables, strings and numbers")
    }

    /// The links from the destination to the source: those of the file, or the forward ones mirrored, their cross
    /// traffic with them.
    #[must_use]
    pub fn reverse_links(&self) -> Vec<LinkSpec> {
        self.reverse.clone().unwrap_or_else(|| mirrored(&self.links))
    }

    /// The largest packet of this path on the wire.
    #[must_use]
    pub fn max_size(&self) -> Bytes {
        (self.mtu + ETHERNET_OVERHEAD).max(ETHERNET_MIN)
    }
}

/// The same links the other way round. A flow that passes several links enters at its last and leaves at its first,
/// with the same bits per second.
fn mirrored(links: &[LinkSpec]) -> Vec<LinkSpec> {
    let count = links.len();
    let mut mirror: Vec<LinkSpec> =
        links.iter().rev().map(|link| LinkSpec { cross: Vec::new(), ..link.clone() }).collect();
    for (index, link) in links.iter().enumerate() {
        for cross in &link.cross {
            let last = (index + cross.hops).min(count) - 1;
            let offered = match (cross.offered, link.rate) {
                (Offered::Load(load), Some(rate)) if cross.hops > 1 => {
                    Offered::Rate(dwell_core::BitRate((load * rate.0 as f64).round() as u64))
                }
                (offered, _) => offered,
            };
            mirror[count - 1 - last].cross.push(CrossSpec { offered, ..cross.clone() });
        }
    }
    mirror
}
