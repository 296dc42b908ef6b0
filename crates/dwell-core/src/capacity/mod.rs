//! How much a link can carry.

pub mod end_link;

pub use end_link::EndLink;
