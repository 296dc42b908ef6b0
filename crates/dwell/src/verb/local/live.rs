//! What the terminal shows while packets pass.

use super::table::{lost, way_text, wrapped};
use super::told::Told;
use crate::terminal::View;
use dwell_core::inside::grouped;

/// The run so far.
pub(super) fn view(what: &str, told: &Told<'_>) -> View {
    let (packets, span) = (told.tally.packets(), told.watched.span.as_secs_f64());
    let rate = packets as f64 / span.max(1e-3);
    let head =
        format!("dwell local: {what}; {} packets in {span:.1} s, {rate:.0}/s; q ends it", grouped(packets));
    let mut parts = Vec::new();
    for (way, seen) in told.ways() {
        parts.extend(["\n".to_owned(), way_text(way, seen, false)]);
    }
    parts.extend(["\n".to_owned(), lost(told)]);
    parts.extend(told.diagnosis().iter().map(|one| wrapped(&one.sentence)));
    View { head, parts }
}
