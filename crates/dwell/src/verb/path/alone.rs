//! `dwell path --agentless`: a path to a host that runs no agent, by what the routers on it say.

use super::hops;
use crate::picture::Panel;
use crate::run::{Finished, Run};
use crate::verb::{Measuring, warnings};
use anyhow::Result;
use dwell_core::{Quantity, Report, Vantage};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The analysis.
pub(crate) struct PathAlone;

/// Key of a record's settings.
const AGENTLESS: &str = "agentless";
/// What stands there.
const HOPS: &str = "hops";

impl PathAlone {
    /// The settings that a record keeps.
    pub(crate) fn config() -> BTreeMap<String, String> {
        [(AGENTLESS.to_owned(), HOPS.to_owned())].into()
    }

    /// Whether a record's settings say that its host had no agent, and its path was looked at.
    pub(crate) fn recorded(config: &BTreeMap<String, String>) -> bool {
        config.get(AGENTLESS).is_some_and(|value| value == HOPS)
    }
}

impl Measuring for PathAlone {
    fn verb(&self) -> &'static str {
        "path"
    }

    fn method(&self) -> (Option<&'static str>, Vantage) {
        (Some(hops::STAGE), Vantage::Capture)
    }

    fn limits_load(&self) -> bool {
        false
    }

    fn analyse(&self, run: &mut Run) -> Result<()> {
        run.walk()
    }

    fn main_report<'a>(&self, finished: &'a Finished) -> Option<&'a Report> {
        finished.report(hops::STAGE)
    }

    fn asked(&self) -> &'static [Quantity] {
        &[Quantity::NarrowLinkCapacity]
    }

    fn json(&self, finished: &Finished, document: &mut Map<String, Value>) -> Result<()> {
        document.insert("method".into(), json!(hops::STAGE));
        hops::insert(finished, document);
        document.insert("warnings".into(), json!(warnings(finished)));
        Ok(())
    }

    fn text(&self, finished: &Finished, colour: bool) -> String {
        hops::text(finished, colour)
    }

    fn panels(&self, finished: &Finished) -> (String, Vec<Box<dyn Panel>>) {
        match &finished.hops {
            Some(Ok(joined)) => (hops::sentence(joined), vec![Box::new(hops::bars(joined))]),
            _ => ("nothing was measured".to_owned(), Vec::new()),
        }
    }
}
