//! Going on with what is new in a warehouse.

use super::lines::Lines;
use super::outcome::Outcome;
use super::source::{Source, now};
use crate::screen::{coloured, print};
use anyhow::{Context, Result};
use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Ends};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// How often new data is looked for.
const EACH: Duration = Duration::from_secs(1);

/// How far back it is looked for, where nobody says: probes ship later than they see.
const BACK: u32 = 120;

/// A connection that not every probe has told of is told without the others after this time.
const PATIENCE: Nanos = Nanos::from_secs(30);

/// Tells what is new, each second, until interrupted.
pub(super) fn follow(
    source: &mut Source,
    outcome: &mut Outcome,
    lines: &mut Lines,
    json: bool,
) -> Result<()> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted)).context("cannot wait for signals")?;
    }
    source.narrow(BACK);
    let probes = outcome.order().probes().len();
    let mut told: HashMap<Ends, Nanos> = HashMap::new();
    while !interrupted.load(Ordering::Relaxed) {
        let (before, now) = (outcome.connections(), now());
        if before == 0 {
            outcome.learn_order(source)?;
        }
        let mut wanted = |connection: &Connection| {
            let ripe = connection.sights.len() == probes || now - connection.first_at > PATIENCE;
            ripe && told.insert(connection.ends, now).is_none()
        };
        outcome.hear_some(source, lines, &mut wanted)?;
        // What is no longer looked at need not be remembered.
        let forgotten = now - Nanos::from_secs(86_400);
        told.retain(|_, at| *at > forgotten);
        lines.flush()?;
        if outcome.connections() > before && !json {
            print(&format!("{}\n", outcome.text(coloured())))?;
        }
        sleep(EACH);
    }
    Ok(())
}
