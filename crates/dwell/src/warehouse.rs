//! The warehouse that a command line names.

use crate::failure::bad_argument;
use crate::identity::IdentityArgs;
use anyhow::{Context, Error, Result, anyhow, bail};
use dwell_store::warehouse::{At, ClickHouse, Credentials, Sqlite, Store, WarehouseError};
use serde::Deserialize;
use std::env;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Of ClickHouse, in the folder of settings: who asks.
const FILE: &str = "clickhouse.toml";

/// A name in the environment goes before the file.
const USER: &str = "DWELL_CLICKHOUSE_USER";
const PASSWORD: &str = "DWELL_CLICKHOUSE_PASSWORD";

/// The warehouse at a place, made there if it is not: a folder for SQLite, or
/// `http://HOST:PORT[,HOST:PORT...]/DATABASE[?cluster=NAME]` for ClickHouse.
pub(crate) fn create(place: &str, settings: &IdentityArgs) -> Result<Box<dyn Store>> {
    if !place.contains("://") {
        return Ok(Box::new(Sqlite::create(Path::new(place))?));
    }
    let at: At = place.parse().map_err(bad_argument)?;
    Ok(Box::new(ClickHouse::create(at, credentials(&settings.folder()?)?)?))
}

/// The same, of a warehouse that is there.
pub(crate) fn open(place: &str) -> Result<Box<dyn Store>> {
    if !place.contains("://") {
        return Ok(Box::new(Sqlite::open(Path::new(place)).map_err(absent)?));
    }
    let at: At = place.parse().map_err(bad_argument)?;
    let who = credentials(&IdentityArgs::default().folder()?)?;
    Ok(Box::new(ClickHouse::open(at, who).map_err(absent)?))
}

/// That there is none is a mistake in the arguments; that it cannot be had is not.
fn absent(error: WarehouseError) -> Error {
    if matches!(error, WarehouseError::Absent { .. }) { bad_argument(error) } else { error.into() }
}

/// `clickhouse.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    user: String,
    password: String,
}

/// Who asks ClickHouse: as the environment says, or a file that nobody else may read. There is no default.
fn credentials(folder: &Path) -> Result<Credentials> {
    match (env::var(USER), env::var(PASSWORD)) {
        (Ok(user), Ok(password)) => return Ok(Credentials { user, password }),
        (Ok(_), Err(_)) => bail!("{USER} is set, and {PASSWORD} is not"),
        (Err(_), Ok(_)) => bail!("{PASSWORD} is set, and {USER} is not"),
        (Err(_), Err(_)) => {}
    }
    let path = folder.join(FILE);
    let place = path.display();
    let mut file = match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "ClickHouse wants a user and a password: {USER} is not set, and there is no {place} \
             with `user = \"...\"` and `password = \"...\"`"
        ),
        opened => opened.with_context(|| format!("cannot open {place}"))?,
    };
    let mode =
        file.metadata().with_context(|| format!("cannot look at {place}"))?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        bail!("{place} holds a password, and others may read it (mode {mode:o}); chmod 600 {place}");
    }
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(|| format!("cannot read {place}"))?;
    // What is told of the mistake could be the password.
    let Settings { user, password } = toml::from_str(&text)
        .map_err(|_| anyhow!("{place} is to hold `user = \"...\"`, `password = \"...\"` and nothing else"))?;
    Ok(Credentials { user, password })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_file_of_the_password_is_nobody_elses() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        let read = || credentials(folder.path()).map_err(|error| error.to_string());
        let write = |text: &str, mode| {
            fs::write(&path, text).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        };
        assert!(read().expect_err("no file").contains("DWELL_CLICKHOUSE_USER is not set"));
        let good = "user = \"dwell\"\npassword = \"se\\\"cret\"\n";
        write(good, 0o640);
        let told = read().expect_err("others may read it");
        assert!(told.contains("mode 640") && told.contains("chmod 600"), "{told}");
        write(good, 0o600);
        let found = read().expect("as it should be");
        assert_eq!((found.user.as_str(), found.password.as_str()), ("dwell", "se\"cret"));
        for bad in
            ["user = \"dwell\"", "user = \"dwell\"\npassword = 'hush'\nport = 9", "password = hush-hush"]
        {
            write(bad, 0o600);
            let told = read().expect_err(bad);
            assert!(told.contains("clickhouse.toml") && !told.contains("hush"), "{told}");
        }
    }
}
