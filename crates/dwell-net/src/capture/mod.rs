//! Capture files: whatever they are packed with, from wherever they come.

mod file;
mod merged;
mod packed;

pub use file::{Account, End, File};
pub use merged::Merged;
