//! What a method found: each figure is a value with its interval, a bound with its reason, or a reason why it
//! cannot be had here. There is no fourth kind.

mod finding;
mod quantity;

pub use finding::{Finding, Side, Unit};
pub use quantity::Quantity;

use crate::limit::{Limit, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which of the receiver's stamps a method reads.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vantage {
    /// The program's own, after its read.
    #[default]
    Application,
    /// The kernel's, as a capture shows them.
    Capture,
}

impl Vantage {
    /// The stamp of an arrival that this vantage reads; `None` where it was not taken.
    #[must_use]
    pub fn read(self, stamps: &crate::train::Stamps) -> Option<crate::unit::Nanos> {
        match self {
            Self::Application => Some(stamps.application),
            Self::Capture => stamps.kernel,
        }
    }
}

/// What a method found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its published name.
    pub method: String,
    /// Which of the receiver's stamps it read.
    pub stamps: Vantage,
    /// Quantity by quantity.
    pub findings: BTreeMap<Quantity, Finding>,
    /// Doubts, each a sentence that says what to do about it.
    pub warnings: Vec<String>,
    /// What held the measurement back, where the method tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn new(method: &str, stamps: Vantage) -> Self {
        Self {
            method: method.to_owned(),
            stamps,
            findings: BTreeMap::new(),
            warnings: Vec::new(),
            verdict: None,
        }
    }

    /// Adds a finding.
    #[must_use]
    pub fn with(mut self, quantity: Quantity, finding: Finding) -> Self {
        self.findings.insert(quantity, finding);
        self
    }

    /// Says what held it back, and what that was seen by.
    #[must_use]
    pub fn limited(mut self, limit: Limit, reason: impl Into<String>) -> Self {
        self.verdict = Some(Verdict { limit, reason: reason.into() });
        self
    }

    /// The finding on `quantity`, or the plain statement that this method does not look for it.
    #[must_use]
    pub fn finding(&self, quantity: Quantity) -> Finding {
        self.findings.get(&quantity).cloned().unwrap_or_else(|| {
            Finding::unmeasurable(format!("{} does not measure {}", self.method, quantity.name()))
        })
    }
}
