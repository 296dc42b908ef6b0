//! The observer of a host's inside, against what programs see from outside. Without privilege or BTF the tests say so,
//! and are skipped.

mod udp;

use dwell_core::inside::{Dropped, Event, Journey};
use dwell_net::inside::{Observer, Watching};
use std::time::Duration;

/// An observer, or `None` where there can be none here, which is then said.
fn observer(watching: &Watching) -> Option<Observer> {
    if let Err(reason) = Observer::survey(watching) {
        eprintln!("skipped: {reason}");
        return None;
    }
    Some(Observer::attach(watching).expect("what the survey promised"))
}

/// All that was told until nothing more comes.
fn told(observer: &mut Observer) -> (Vec<Journey>, Vec<Dropped>) {
    let (mut journeys, mut drops) = (Vec::new(), Vec::new());
    loop {
        let before = journeys.len() + drops.len();
        let mut tell = |event| match event {
            Event::Journey(journey) => journeys.push(*journey),
            Event::Dropped(dropped) => drops.push(dropped),
        };
        observer.wait(Duration::from_millis(150), &mut tell).expect("a ring that can be read");
        if journeys.len() + drops.len() == before {
            return (journeys, drops);
        }
    }
}
