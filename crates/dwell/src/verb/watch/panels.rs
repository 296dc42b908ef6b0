//! The picture of `dwell watch --plot`: how the halves and the round trip are distributed.

use super::taken::Figures;
use crate::picture::{Cumulative, Curve, Panel};
use dwell_core::inside::Distribution;

/// Points of a curve.
const POINTS: u32 = 400;

/// From top to bottom: the handshakes', and what followed them where that is known.
pub(super) fn panels(figures: &Figures) -> Vec<Box<dyn Panel>> {
    let summary = &figures.handshakes;
    let handshakes = [
        ("server half", summary.server()),
        ("client half", summary.client()),
        ("round trip", summary.total()),
    ];
    let mut panels: Vec<Box<dyn Panel>> = vec![panel(handshakes, "Handshakes, exact ones (ms)")];
    if figures.throughout.rows().next().is_some() {
        panels.push(panel(
            figures.throughout.rows(),
            "Throughout, the shortest of each interval, exact ones (ms)",
        ));
    }
    panels
}

fn panel<'a>(
    all: impl IntoIterator<Item = (&'static str, &'a Distribution)>,
    axis: &'static str,
) -> Box<dyn Panel> {
    let curves = all.into_iter().filter_map(|(name, spans)| curve(name, spans)).collect();
    Box::new(Cumulative { curves, axis })
}

fn curve(name: &str, spans: &Distribution) -> Option<Curve> {
    let point = |step: u32| {
        let share = f64::from(step) / f64::from(POINTS);
        Some((spans.quantile(share)?.as_micros_f64() / 1e3, share))
    };
    let points = (0..=POINTS).map(point).collect::<Option<Vec<_>>>()?;
    Some(Curve { name: format!("{name} ({})", spans.count()), points })
}
