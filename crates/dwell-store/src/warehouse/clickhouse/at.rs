//! Where the servers are, and who asks.

use crate::warehouse::{Batch, WarehouseError};
use std::fmt;
use std::str::FromStr;

/// Where a ClickHouse warehouse is: `http://HOST:PORT[,HOST:PORT...]/DATABASE[?cluster=NAME]`. Of a cluster, all hosts
/// are named, so that each gets its tables; the first is the one that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    pub(super) hosts: Vec<String>,
    pub(super) database: String,
    pub(super) cluster: Option<String>,
}

/// Who asks. There is none by default.
#[derive(Clone)]
pub struct Credentials {
    /// The user.
    pub user: String,
    /// And the password.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl FromStr for At {
    type Err = WarehouseError;

    fn from_str(text: &str) -> Result<Self, WarehouseError> {
        let wrong = |why: &str| WarehouseError::Failed {
            place: text.to_owned(),
            doing: "understand where that is",
            why: why.to_owned(),
        };
        let form = "it is to be http://HOST:PORT[,HOST:PORT...]/DATABASE[?cluster=NAME]";
        let rest = text.strip_prefix("http://").ok_or_else(|| wrong(form))?;
        if rest.contains('@') {
            return Err(wrong("the user and the password are not part of it"));
        }
        let (rest, cluster) = match rest.split_once("?cluster=") {
            Some((rest, cluster)) => (rest, Some(cluster.to_owned())),
            None => (rest, None),
        };
        let (hosts, database) = rest.split_once('/').unwrap_or((rest, ""));
        let database = if database.is_empty() { "default" } else { database };
        for name in cluster.iter().map(String::as_str).chain([database]) {
            // They stand in statements as a probe's name does.
            Batch::check_letters(name).map_err(|_| wrong(form))?;
        }
        let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-:[]".contains(letter);
        if hosts.iter().any(|host| host.is_empty() || !host.chars().all(plain)) {
            return Err(wrong(form));
        }
        if hosts.len() > 1 && cluster.is_none() {
            return Err(wrong(
                "several hosts are a cluster: add ?cluster= and its name in the servers' settings",
            ));
        }
        Ok(Self { hosts, database: database.to_owned(), cluster })
    }
}

#[cfg(test)]
mod tests {
    use super::At;

    #[test]
    fn places_are_read_or_refused() {
        let at: At = "http://a:8123,b:8123/dwell?cluster=two".parse().expect("a place");
        assert_eq!((at.hosts.len(), at.database.as_str(), at.cluster.as_deref()), (2, "dwell", Some("two")));
        let at: At = "http://[::1]:8123".parse().expect("a place");
        assert_eq!((at.hosts[0].as_str(), at.database.as_str(), at.cluster), ("[::1]:8123", "default", None));
        for wrong in ["a:8123", "https://a", "http://u:p@a", "http://a,b/x", "http://a/x;y", "http:///x"] {
            assert!(wrong.parse::<At>().is_err(), "{wrong}");
        }
    }
}
