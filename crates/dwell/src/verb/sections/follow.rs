//! Going on with what is new in a warehouse.

use super::lines::Lines;
use super::outcome::Outcome;
use super::source::{self, Source, now};
use crate::figure::counted;
use crate::interrupted::interrupted;
use crate::screen::{coloured, print};
use crate::terminal::{Live, View};
use anyhow::{Result, bail};
use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Ends};
use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often new data is looked for.
const EACH: Duration = Duration::from_secs(1);

/// How often keys are heard.
const KEYS: Duration = Duration::from_millis(50);

/// How far back it is looked for, where nobody says: probes ship later than they see.
const BACK: u32 = 120;

/// A connection that not every probe has told of is told without the others after this time.
const PATIENCE: Nanos = Nanos::from_secs(30);

/// A connection that the warehouse hands out no longer is known as told for so long.
const REMEMBERED: Nanos = Nanos::from_secs(120);

/// So many connections tell the order of the probes, or as many as there are after [`PATIENCE`]: what was told in one
/// order cannot be taken back in another.
const VOTERS: u64 = 30;

/// Connections that have been told, and when each was last among what the warehouse hands out.
#[derive(Default)]
struct Told(HashMap<Ends, Nanos>);

impl Told {
    /// Whether it has been told already.
    fn has(&mut self, ends: &Ends, now: Nanos) -> bool {
        self.0.get_mut(ends).map(|seen| *seen = now).is_some()
    }

    fn note(&mut self, ends: Ends, now: Nanos) {
        self.0.insert(ends, now);
    }

    /// What the warehouse hands out no longer need not be remembered, but for a while, as a probe whose clock is ahead may ship
    /// late.
    fn forget(&mut self, now: Nanos) {
        self.0.retain(|_, seen| now - *seen <= REMEMBERED);
    }
}

/// Tells what is new, each second, until interrupted; then what has waited for other probes, as it is.
pub(super) fn follow(
    source: &mut Source,
    order: &[String],
    outcome: &mut Outcome,
    lines: &mut Lines,
    json: bool,
) -> Result<()> {
    let interrupted = interrupted()?;
    source.narrow(BACK);
    let mut live = (!json && io::stdout().is_terminal()).then(Live::open).transpose()?;
    let (mut began, mut ordered, mut missing) = (now(), false, None);
    let (mut told, mut waits, mut late) = (Told::default(), None, Vec::new());
    'on: while !interrupted.load(Ordering::Relaxed) {
        let (looked, before) = (Instant::now(), outcome.connections());
        // What was told in one order cannot be taken back in another: until then, whoever sends has a place in it, and more
        // connections tell of it.
        if before == 0 {
            missing = source.ask(order)?;
            if missing.is_none() && outcome.be_of(source.asked()) {
                (began, ordered) = (now(), false);
            }
        } else if order.is_empty() {
            late.extend(source.newcomers()?.iter().map(|name| source::late(name)));
        }
        if missing.is_none() && before == 0 {
            let voters = outcome.learn_order(source)?;
            ordered |= voters.is_none_or(|count| count >= VOTERS || count > 0 && now() - began > PATIENCE);
        }
        if ordered {
            hear(source, outcome, lines, &mut told, PATIENCE)?;
        }
        if live.is_none() {
            let waits_now = waiting(missing.as_deref(), ordered, outcome);
            if waits_now != waits {
                waits_now.iter().for_each(|why| eprintln!("{why}"));
                waits = waits_now;
            }
            late.drain(..).for_each(|why| eprintln!("{why}"));
            if !json && outcome.connections() > before {
                print(&format!("{}\n", outcome.text(coloured())))?;
            }
        }
        while looked.elapsed() < EACH && !interrupted.load(Ordering::Relaxed) {
            if let Some(live) = &mut live
                && live.show(|| view(outcome, waiting(missing.as_deref(), ordered, outcome), &late))?
            {
                break 'on;
            }
            sleep(KEYS);
        }
    }
    drop(live);
    if let Some(missing) = missing {
        bail!(missing);
    }
    if !ordered {
        outcome.learn_order(source)?;
    }
    hear(source, outcome, lines, &mut told, Nanos::ZERO)
}

/// What is waited for before anything can be told.
fn waiting(missing: Option<&str>, ordered: bool, outcome: &Outcome) -> Option<String> {
    match (missing, ordered, outcome.connections()) {
        (Some(missing), ..) => Some(format!("waiting: {missing}")),
        (None, false, _) => Some("waiting for connections that tell the order of the probes".to_owned()),
        (None, true, 0) => Some("waiting for connections".to_owned()),
        _ => None,
    }
}

/// Hears each connection once, when every probe has told of it or it has waited for so long.
fn hear(
    source: &mut Source,
    outcome: &mut Outcome,
    lines: &mut Lines,
    told: &mut Told,
    patience: Nanos,
) -> Result<()> {
    let (now, probes) = (now(), outcome.order().probes().len());
    let mut wanted = |connection: &Connection| {
        let ripe = connection.sights.len() == probes || now - connection.first_at >= patience;
        let is_new = !told.has(&connection.ends, now) && ripe;
        if is_new {
            told.note(connection.ends, now);
        }
        is_new
    };
    outcome.hear_some(source, lines, &mut wanted)?;
    told.forget(now);
    lines.flush()
}

/// The run so far.
fn view(outcome: &Outcome, waits: Option<String>, late: &[String]) -> View {
    let head = format!("dwell sections: {}; q ends it", counted(outcome.connections(), "connection"));
    let told = || vec!["\n".to_owned(), outcome.text(false), "\n".to_owned(), outcome.account(late)];
    View { head, parts: waits.map_or_else(told, |waits| vec![waits]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_core::tcp::Endpoint;
    use std::net::Ipv4Addr;

    #[test]
    fn what_is_handed_out_no_longer_is_forgotten_after_a_while() {
        let end = |port| Endpoint { address: Ipv4Addr::LOCALHOST.into(), port };
        let ends = |port| Ends { client: end(port), server: end(443), isn_client: 1, isn_server: 2 };
        let mut told = Told::default();
        assert!(!told.has(&ends(1), Nanos::ZERO));
        (1..=2).for_each(|port| told.note(ends(port), Nanos::ZERO));
        for second in 0..600 {
            assert!(told.has(&ends(1), Nanos::from_secs(second)));
            told.forget(Nanos::from_secs(second));
        }
        assert_eq!(told.0.len(), 1);
        told.forget(Nanos::from_secs(1_000));
        assert!(told.0.is_empty());
    }
}
