//! The warehouse that a command line names.

use crate::failure::bad_argument;
use dwell_store::warehouse::{At, ClickHouse, Credentials, Sqlite, Store, WarehouseError};
use std::env;
use std::path::Path;

/// The warehouse at a place, made there if it is not: a folder for SQLite, or
/// `http://HOST:PORT[,HOST:PORT...]/DATABASE[?cluster=NAME]` for ClickHouse, whose user and password stand in the
/// environment; there is no default.
pub(crate) fn create(place: &str) -> anyhow::Result<Box<dyn Store>> {
    if !place.contains("://") {
        return Ok(Box::new(Sqlite::create(Path::new(place))?));
    }
    let at: At = place.parse().map_err(bad_argument)?;
    Ok(Box::new(ClickHouse::create(at, credentials(place).map_err(bad_argument)?)?))
}

/// The same, of a warehouse that is there.
pub(crate) fn open(place: &str) -> Result<Box<dyn Store>, WarehouseError> {
    if !place.contains("://") {
        return Ok(Box::new(Sqlite::open(Path::new(place))?));
    }
    Ok(Box::new(ClickHouse::open(place.parse::<At>()?, credentials(place)?)?))
}

fn credentials(place: &str) -> Result<Credentials, WarehouseError> {
    let said = |name: &'static str| {
        env::var(name).map_err(|_| WarehouseError::Failed {
            place: place.to_owned(),
            doing: "ask without a user and a password",
            why: format!("{name} is not set"),
        })
    };
    Ok(Credentials { user: said("DWELL_CLICKHOUSE_USER")?, password: said("DWELL_CLICKHOUSE_PASSWORD")? })
}
