//! A round of probes, and taps that listen meanwhile.

use super::{EchoProber, EchoTap};
use dwell_core::Nanos;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// How a round asks.
#[derive(Copy, Clone, Debug)]
pub struct Asking {
    /// So many times; of a round without a prober, for so many intervals.
    pub count: u32,
    /// Once in this time.
    pub interval: Nanos,
}

impl Default for Asking {
    /// The paper's 500 echoes, 10 ms apart.
    fn default() -> Self {
        Self { count: 500, interval: Nanos::from_millis(10) }
    }
}

/// How long the last answer may take.
const LINGER: Duration = Duration::from_millis(300);

/// Asks with `prober`, or waits for what others ask, and lets all taps listen. `told` hears how often was asked.
///
/// # Errors
/// The first of the prober's or a tap's.
pub fn ask(
    mut prober: Option<&mut EchoProber>,
    taps: &mut [EchoTap],
    asking: Asking,
    told: &mut dyn FnMut(u32),
) -> io::Result<()> {
    let send = &mut || prober.as_deref_mut().map_or(Ok(()), EchoProber::ask);
    go_round(asking, send, &mut || taps.iter_mut().try_for_each(EchoTap::listen), told)
}

/// Sends and listens in turn, as often and as far apart as asked, and listens once more for what is late.
pub(crate) fn go_round(
    asking: Asking,
    send: &mut dyn FnMut() -> io::Result<()>,
    listen: &mut dyn FnMut() -> io::Result<()>,
    told: &mut dyn FnMut(u32),
) -> io::Result<()> {
    let interval = Duration::from_nanos(asking.interval.0.max(1).unsigned_abs());
    let mut next = Instant::now();
    for number in 1..=asking.count {
        send()?;
        // One that was kept from its core does not catch up: two requests at once would not be lone ones.
        next = (next + interval).max(Instant::now());
        thread::sleep(next.saturating_duration_since(Instant::now()));
        listen()?;
        told(number);
    }
    thread::sleep(LINGER);
    listen()
}
