//! Echoes: who answers them, and who asks.

mod prober;
mod responder;
mod round;
mod stream;
mod tap;

pub use prober::EchoProber;
pub use responder::{Responder, ResponderConfig, Transport};
pub(crate) use round::go_round;
pub use round::{Asking, ask};
pub use tap::EchoTap;
