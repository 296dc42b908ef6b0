//! The warehouse that a command line names.

use crate::failure::bad_argument;
use anyhow::Result;
use dwell_store::warehouse::{At, ClickHouse, Credentials, Sqlite, Store};
use std::env;
use std::path::Path;

/// The warehouse at a place, made there if it is not: a folder for SQLite, or
/// `http://HOST:PORT[,HOST:PORT...]/DATABASE[?cluster=NAME]` for ClickHouse, whose user and password stand in the
/// environment as for its own client.
pub(crate) fn create(place: &str) -> Result<Box<dyn Store>> {
    if !place.contains("://") {
        return Ok(Box::new(Sqlite::create(Path::new(place))?));
    }
    let at: At = place.parse().map_err(bad_argument)?;
    Ok(Box::new(ClickHouse::create(at, credentials())?))
}

fn credentials() -> Credentials {
    let set = |name| env::var(name).unwrap_or_default();
    let user = Some(set("CLICKHOUSE_USER")).filter(|user| !user.is_empty());
    Credentials { user: user.unwrap_or_else(|| "default".to_owned()), password: set("CLICKHOUSE_PASSWORD") }
}
