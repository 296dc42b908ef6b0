//! Echoes: who answers them, and who asks.

mod responder;
mod stream;

pub use responder::{Responder, ResponderConfig, Transport};
