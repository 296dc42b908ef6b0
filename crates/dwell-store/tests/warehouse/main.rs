//! Warehouses: one suite for both back ends, and what each of them must bear.

mod batches;
mod cluster;
mod conformance;
mod sample;
#[path = "../support/small_disk.rs"]
mod small_disk;
mod sqlite;
mod suite;
