//! The kernel's own answers, as an observer inside this machine sees them.

use anyhow::Result;
use dwell_core::Nanos;
use dwell_core::echo::Inside;
use dwell_core::inside::{Event, Journey, Protocol, Way};
use dwell_net::clock;
use dwell_net::inside::{Observer, Watching};
use std::time::Duration;

/// An observer of ICMP.
pub(super) struct Answers {
    observer: Observer,
    journeys: Vec<Journey>,
}

impl Answers {
    pub(super) fn watch() -> Result<Self> {
        let watching = Watching { ways: vec![Way::Answer], ..Watching::default() };
        Ok(Self { observer: Observer::attach(&watching)?, journeys: Vec::new() })
    }

    /// Takes what was seen since the last call.
    pub(super) fn take(&mut self) -> Result<()> {
        let journeys = &mut self.journeys;
        Ok(self.observer.wait(Duration::ZERO, &mut |event| match event {
            Event::Journey(journey) if journey.flow.protocol == Protocol::Icmp => journeys.push(*journey),
            _ => {}
        })?)
    }

    /// What was seen, by the clock of the taps' stamps.
    pub(super) fn finish(mut self) -> Result<Inside> {
        self.take()?;
        let zero = Nanos::ZERO - clock::realtime_minus_monotonic();
        let journeys: Vec<_> = self.journeys.into_iter().map(|journey| journey.since(zero)).collect();
        Ok(Inside::of(&journeys))
    }
}
