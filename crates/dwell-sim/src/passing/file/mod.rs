//! Captures as files: what passed, as frames of many kinds.

mod format;
mod frame;
mod headers;
mod wrapping;

pub use format::{CaptureFile, CaptureFormat, CaptureLink};
