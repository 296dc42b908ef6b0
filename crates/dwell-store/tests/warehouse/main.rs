//! Warehouses: one suite for both back ends, and what each of them must bear.

mod batches;
mod cluster;
mod conformance;
mod sample;
mod sqlite;
mod suite;
