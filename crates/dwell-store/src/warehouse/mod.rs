//! Where the handshakes of several probes come together, and are joined into connections.
//!
//! A probe sends [`Batch`]es, at least once each; a [`Store`] keeps each once. There are two: [`Sqlite`], the default,
//! one file a day in a folder, and [`ClickHouse`], over HTTP, when one machine is outgrown. Both join by the same SQL.

mod batch;
mod clickhouse;
mod day;
mod error;
mod join;
mod parts;
mod row;
mod sqlite;
mod store;

pub use batch::{Batch, MAX_MINUTES, MAX_PROBE_NAME};
pub use clickhouse::{At, ClickHouse, Credentials};
pub use day::{Day, Minute, Span};
pub use error::WarehouseError;
pub use sqlite::Sqlite;
pub use store::{Account, SLACK, Store};

/// The layout of the tables. Another one has another number.
pub const FORMAT: i64 = 3;

/// The layout before: batches had no digest. It is read as it is, and made into ours when something is kept in it.
const NO_DIGESTS: i64 = 2;
