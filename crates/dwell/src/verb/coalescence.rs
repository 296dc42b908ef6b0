//! What the verbs share about interrupt coalescence: they find out whether the receiver holds packets back before
//! they look for anything else that would be mistaken for it.

use crate::run::Run;
use anyhow::Result;
use dwell_core::coalescence::Coalescence;
use dwell_core::{Finding, PathFacts, Quantity, Report, Unit};
use serde_json::{Value, json};
use std::time::Duration;

/// Name of the measurement in records.
pub(crate) const STAGE: &str = "coalescence";

/// The method for a path of which so much is known.
pub(crate) fn build(facts: &PathFacts) -> Coalescence {
    Coalescence::new(Default::default(), facts)
}

/// Measures it, and lets the methods that follow know.
pub(crate) fn measure_coalescence(run: &mut Run) -> Result<(Report, Duration)> {
    let mut method = build(run.facts());
    let (report, took) = run.measure(STAGE, &mut method)?;
    run.learn_coalescence(method.coalesced());
    Ok((report, took))
}

/// `coalescence` of a JSON document: `present` and `kind` are null where they could not be told, and `reason` says why.
pub(crate) fn document(report: Option<&Report>) -> Value {
    let finding = |quantity| {
        report.map_or_else(
            || Finding::unmeasurable("this run did not look for interrupt coalescence"),
            |report| report.finding(quantity),
        )
    };
    let named = |quantity| match finding(quantity) {
        Finding::Value { value, unit: Unit::Flag, .. } => json!(value != 0.0),
        Finding::Value { value, .. } => json!(dwell_core::nic::Kind::of_code(value)),
        _ => Value::Null,
    };
    let reason = match finding(Quantity::CoalescenceKind) {
        Finding::Unmeasurable { reason } => json!(reason),
        _ => Value::Null,
    };
    json!({
        "present": named(Quantity::CoalescencePresent),
        "kind": named(Quantity::CoalescenceKind),
        "reason": reason,
        "period": finding(Quantity::CoalescencePeriod),
        "nic_hold": finding(Quantity::NicHold),
    })
}
