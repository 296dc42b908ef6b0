//! Watching interfaces.

use super::WatchArgs;
use super::account::{self, Account};
use super::live;
use super::output::{Outputs, Targets};
use super::table;
use super::taken::{Figures, Taken};
use crate::failure::bad_argument;
use crate::figure::counted;
use crate::screen::Progress;
use crate::terminal::Live;
use crate::verb::ends::{Ends, Over};
use anyhow::{Context, Result};
use dwell_core::Nanos;
use dwell_core::tcp::continuous::RoundTrips;
use dwell_core::tcp::{Handshake, Observed, Seen};
use dwell_net::capture::{Event, Ring, RingConfig, RingError, Rings, Stamping, Wanted};
use dwell_net::interface::Interface;
use dwell_net::{clock, drop_privileges, have_packets_stamped};
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a ring is waited for; also when it is told to stop: what passed before comes with the last block, which the
/// kernel gives after some 20 ms.
const PATIENCE: Duration = Duration::from_millis(100);
/// A packet is handed over at most so long after its stamp.
const LATEST: Nanos = Nanos::from_secs(1);
/// What is written at once, at least so often.
const FLUSH: Duration = Duration::from_millis(500);
/// Batches on their way to the outputs. Where these are slower than the wire, the ring fills, and the kernel counts.
const BATCHES: usize = 256;

pub(super) fn watch(
    interfaces: &[String],
    args: &WatchArgs,
    targets: &Targets,
) -> Result<(Figures, Account)> {
    let stamping = if args.hardware_stamps { Stamping::Hardware } else { Stamping::Kernel };
    let wanted = if args.continuous { Wanted::Throughout } else { Wanted::Handshakes };
    let config = RingConfig { wanted, stamping, promiscuous: args.promiscuous, rings: args.cores };
    // The kernel stamps a packet as it comes in once somebody wants it, and else when the ring gets it.
    let _stamps = have_packets_stamped().context("cannot have the kernel stamp packets")?;
    let names: Vec<&str> = interfaces.iter().map(String::as_str).collect();
    let opened = Rings::open(&names, &config);
    let Rings { rings, mut gauge } = opened.map_err(|error| match error {
        RingError::NoInterface(_) | RingError::UnknownLink { .. } | RingError::SeveralClocks(_) => {
            bad_argument(error)
        }
        other => other.into(),
    })?;
    // Whoever sees the privileges gone may interrupt it, and is told what passed by then.
    let ends = Ends::new(args.seconds, None, None, None)?;
    let mut run = ends.begin(true)?;
    drop_privileges().context("cannot give privileges back")?;
    let mut taken = Taken::by(Outputs::open(targets)?);

    let show = !targets.json && io::stdout().is_terminal();
    let mut live = show.then(Live::open).transpose()?;
    let progress = if show { Progress::hidden() } else { Progress::start() };
    let (mut ended, mut latest) = (None, Vec::new());
    let mut links = interfaces.iter().map(|name| Link::of(name)).collect::<Result<Vec<_>>>()?;
    let stop = AtomicBool::new(false);
    let (tell, told) = sync_channel::<Found>(BATCHES);
    let mut flushed = Instant::now();
    let read = thread::scope(|scope| -> Result<Vec<Seen>> {
        let stop = Stop(&stop);
        let readers: Vec<_> = rings
            .into_iter()
            .map(|ring| {
                let (tell, stop, observed) = (tell.clone(), stop.0, args.observed());
                scope.spawn(move || read(ring, observed, stop, stamping, &tell))
            })
            .collect();
        drop(tell);
        while let Over::No(patience) = run.over(0) {
            match told.recv_timeout(patience) {
                Ok(batch) => take(&batch, &mut taken, &mut latest)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if flushed.elapsed() >= FLUSH {
                flushed = Instant::now();
                taken.dropped(gauge.counts().dropped)?;
                taken.flush()?;
                if taken.is_unread() {
                    break;
                }
                let found = counted(taken.figures.handshakes.handshakes(), "handshake");
                progress.say(before(&links, found));
                for change in links.iter_mut().filter_map(Link::change) {
                    if live.is_none() {
                        progress.tell(&change);
                    }
                }
            }
            if let Some(live) = &mut live
                && live.show(|| {
                    let passed = before(&links, table::kernel(&gauge.counts()));
                    live::view(&targets.probe, run.span(), &taken.figures, &latest, passed)
                })?
            {
                run.interrupt();
            }
        }
        stop.0.store(true, Ordering::Relaxed);
        while let Ok(batch) = told.recv() {
            take(&batch, &mut taken, &mut latest)?;
        }
        let mut all = Vec::new();
        for reader in readers {
            let (seen, failed) = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all.push(seen);
            ended = ended.take().or(failed.map(|error| error.to_string()));
        }
        Ok(all)
    });
    drop(live);
    let seconds = run.span().as_secs_f64();
    let counts = gauge.counts();
    // Where one output failed, the others come to their ends.
    let dropped = taken.dropped(counts.dropped);
    let figures = taken.finish();
    let seen = read?;
    dropped?;
    let figures = figures?;
    let unfiltered = gauge.unfiltered().map(str::to_owned);
    let live = account::Live { counts, unfiltered, seconds, ended };
    Ok((figures, Account { seen, live: Some(live), remarks: Vec::new() }))
}

/// Whether the interface is up. While it is not, nothing passes, and it is waited for.
struct Link {
    name: String,
    interface: Interface,
    is_up: bool,
    /// At the last look.
    was_up: bool,
}

impl Link {
    fn of(name: &str) -> Result<Self> {
        Ok(Self { name: name.to_owned(), interface: Interface::named(name)?, is_up: true, was_up: true })
    }

    /// Looks at it; what is to be said where it has changed for longer than until the next look: one that is taken away goes down
    /// first, and whoever reads its packets tells that.
    fn change(&mut self) -> Option<String> {
        let is_up = self.interface.is_on()?;
        let is_lasting = std::mem::replace(&mut self.was_up, is_up) == is_up;
        if !is_lasting || is_up == self.is_up {
            return None;
        }
        self.is_up = is_up;
        let what = if is_up { "is up again" } else { "went down; nothing passes until it is up again" };
        Some(format!("{} {what}", self.name))
    }
}

/// What else is to be said, behind which interfaces are down.
fn before(links: &[Link], told: String) -> String {
    let down = links.iter().filter(|link| !link.is_up).map(|link| format!("{} is down; ", link.name));
    down.chain([told]).collect()
}

/// Ends the readers, also where we leave with an error.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Connections that the live view shows by themselves.
const LATEST_SHOWN: usize = 12;

/// What one reader found since it last told.
#[derive(Default)]
struct Found {
    handshakes: Vec<Handshake>,
    round_trips: Vec<RoundTrips>,
}

impl Found {
    fn see(&mut self, event: Event<'_>, observed: &mut Observed) {
        match event {
            Event::Packet(captured) => {
                observed.see(captured, &mut |handshake| self.handshakes.push(handshake))
            }
            Event::ClockStepped => observed.clock_stepped(),
        }
    }

    const fn is_empty(&self) -> bool {
        self.handshakes.is_empty() && self.round_trips.is_empty()
    }
}

fn take(found: &Found, taken: &mut Taken, latest: &mut Vec<Handshake>) -> Result<()> {
    let Found { handshakes, round_trips } = found;
    handshakes.iter().try_for_each(|handshake| taken.handshake(handshake))?;
    round_trips.iter().try_for_each(|told| taken.round_trips(told))?;
    latest.extend_from_slice(&handshakes[handshakes.len().saturating_sub(LATEST_SHOWN)..]);
    latest.drain(..latest.len().saturating_sub(LATEST_SHOWN));
    Ok(())
}

/// Reads a ring until it is told to stop, or there is no more.
fn read(
    mut ring: Ring,
    mut observed: Observed,
    stop: &AtomicBool,
    stamping: Stamping,
    tell: &SyncSender<Found>,
) -> (Seen, Option<RingError>) {
    let mut found = Found::default();
    let mut failed = None;
    let mut until: Option<Instant> = None;
    while failed.is_none() && until.is_none_or(|until| Instant::now() < until) {
        if stop.load(Ordering::Relaxed) {
            until.get_or_insert_with(|| Instant::now() + PATIENCE);
        }
        let patience =
            until.map_or(PATIENCE, |until| until.saturating_duration_since(Instant::now()).min(PATIENCE));
        let mut passed = false;
        failed = ring
            .take(patience, &mut |event| {
                passed |= matches!(event, Event::Packet(_));
                found.see(event, &mut observed);
            })
            .err();
        // What waits in the ring may have been stamped long ago, where somebody kept this program from reading on.
        if !passed && !ring.holds() && stamping == Stamping::Kernel {
            observed.pass(clock::realtime() - LATEST, &mut |handshake| found.handshakes.push(handshake));
        }
        found.round_trips.extend(observed.round_trips().into_iter().flatten());
        if !found.is_empty() && tell.send(std::mem::take(&mut found)).is_err() {
            break;
        }
    }
    ring.take_rest(&mut |event| found.see(event, &mut observed));
    found.round_trips.extend(observed.last_round_trips());
    let seen = observed.finish(&mut |handshake| found.handshakes.push(handshake));
    // Nobody listens where the outputs failed.
    let _ = tell.send(found);
    (seen, failed)
}
