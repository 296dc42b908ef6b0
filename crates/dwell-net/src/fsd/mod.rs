//! `fsd`: who sends its pairs of probes, and who hears them.

mod error;
mod prober;
mod scout;
mod wire;

pub use error::FsdError;
pub use prober::FsdProber;
pub use scout::Router;

use crate::echo::{Asking, go_round};
use crate::tap::Tap;
use dwell_core::fsd;
use std::io;

/// Hears probes and routers' messages that pass an interface of the network namespace in which it was opened.
pub struct FsdTap {
    tap: Tap,
    heard: fsd::Tap,
}

impl FsdTap {
    /// On `interface`. It takes CAP_NET_RAW.
    ///
    /// # Errors
    /// When there is no such interface, or that is not permitted.
    pub fn open(interface: &str) -> io::Result<Self> {
        Ok(Self { tap: Tap::open(interface)?, heard: fsd::Tap::default() })
    }

    fn listen(&mut self) -> io::Result<()> {
        let heard = &mut self.heard;
        self.tap.listen(|packet| heard.hear(packet))
    }

    /// What it heard.
    #[must_use]
    pub fn finish(self) -> fsd::Tap {
        self.heard
    }
}

/// Sends `asking.count` pairs with `prober`, or waits for what others send, and lets all taps listen. `told` hears how
/// many pairs went.
///
/// # Errors
/// The first of the prober's or a tap's.
pub fn probe(
    mut prober: Option<&mut FsdProber>,
    taps: &mut [FsdTap],
    asking: Asking,
    told: &mut dyn FnMut(u32),
) -> io::Result<()> {
    let each = Asking { count: asking.count.saturating_mul(2), interval: asking.interval / 2 };
    let send = &mut || prober.as_deref_mut().map_or(Ok(()), FsdProber::send);
    go_round(each, send, &mut || taps.iter_mut().try_for_each(FsdTap::listen), &mut |number| told(number / 2))
}
