//! A tap that hears echoes.

use crate::tap::Tap;
use dwell_core::echo::{Asked, Exchange, Exchanges, Tally};
use std::io;

/// Hears the echoes that pass an interface of the network namespace in which it was opened.
pub struct EchoTap {
    tap: Tap,
    exchanges: Exchanges,
}

impl EchoTap {
    /// On `interface`. It takes CAP_NET_RAW.
    ///
    /// # Errors
    /// When there is no such interface, or that is not permitted.
    pub fn open(interface: &str, asked: Asked) -> io::Result<Self> {
        Ok(Self { tap: Tap::open(interface)?, exchanges: Exchanges::new(asked) })
    }

    /// Takes what passed since the last call.
    ///
    /// # Errors
    /// The operating system's, such as an interface that went down.
    pub fn listen(&mut self) -> io::Result<()> {
        let exchanges = &mut self.exchanges;
        self.tap.listen(|packet| exchanges.hear(packet))
    }

    /// What it heard.
    #[must_use]
    pub fn finish(self) -> (Vec<Exchange>, Tally) {
        self.exchanges.finish()
    }
}
