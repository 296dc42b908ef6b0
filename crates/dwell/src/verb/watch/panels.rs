//! The picture of `dwell watch --plot`: how the halves and the round trip are distributed.

use crate::picture::{Cumulative, Curve, Panel};
use dwell_core::inside::Distribution;
use dwell_core::tcp::Summary;

/// Points of a curve.
const POINTS: u32 = 400;

/// From top to bottom.
pub(super) fn panels(summary: &Summary) -> Vec<Box<dyn Panel>> {
    let curves = [
        ("server half", summary.server()),
        ("client half", summary.client()),
        ("round trip", summary.total()),
    ];
    let curves = curves.into_iter().filter_map(|(name, spans)| curve(name, spans)).collect();
    vec![Box::new(Cumulative { curves, axis: "Exact ones (ms)" })]
}

fn curve(name: &str, spans: &Distribution) -> Option<Curve> {
    let point = |step: u32| {
        let share = f64::from(step) / f64::from(POINTS);
        Some((spans.quantile(share)?.as_micros_f64() / 1e3, share))
    };
    let points = (0..=POINTS).map(point).collect::<Option<Vec<_>>>()?;
    Some(Curve { name: format!("{name} ({})", spans.count()), points })
}
