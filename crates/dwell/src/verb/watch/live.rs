//! What the terminal shows while connections pass.

use super::table::{self, connection};
use super::taken::Figures;
use crate::figure::counted;
use crate::terminal::View;
use dwell_core::tcp::Handshake;
use std::time::Duration;

/// The run so far.
pub(super) fn view(
    probe: &str,
    span: Duration,
    figures: &Figures,
    latest: &[Handshake],
    passed: String,
) -> View {
    let (handshakes, seconds) = (figures.handshakes.handshakes(), span.as_secs_f64());
    let rate = handshakes as f64 / seconds.max(1e-3);
    let head = format!(
        "dwell watch: {probe}; {} in {seconds:.1} s, {rate:.0}/s; q ends it",
        counted(handshakes, "handshake")
    );
    let mut parts = vec![passed, "\n".to_owned(), table::figures(figures), "\n".to_owned()];
    parts.extend(latest.iter().rev().map(connection));
    View { head, parts }
}
