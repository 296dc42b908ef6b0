//! What a probe and its warehouse say to each other, in frames on a [`dwell_net::Channel`]. The channel's greeting
//! tells the version, of this as of all that two Dwells say.

use dwell_store::warehouse::Batch;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Port of a warehouse, where nobody says otherwise.
pub const PORT: u16 = 7924;

/// By what a warehouse is told from an agent.
pub const SERVICE: &str = "dwell-warehouse";

/// Batches that may be under way.
pub const WINDOW: usize = 8;

/// Records of one batch: it fits into a frame even where each of them is as long as a record can be.
pub const MAX_RECORDS: usize = 8_192;

/// The first word of a warehouse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// [`SERVICE`].
    pub service: String,
    /// Why it will not listen.
    pub refused: Option<String>,
}

/// What the probe says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Upload {
    /// Who it is, first.
    Probe {
        /// Its name.
        name: String,
    },
    /// Keep this.
    Batch(Batch),
    /// No more.
    Bye,
}

/// What the warehouse answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Receipt {
    /// It takes batches of this probe.
    Admitted,
    /// It does not, or not any more.
    Refused {
        /// Why, and what to do.
        why: String,
    },
    /// The batch is kept, and will outlive the warehouse's process.
    Kept {
        /// Its epoch.
        epoch: u64,
        /// Which of the epoch.
        serial: u64,
        /// Its records that cannot be true: counted, not kept.
        absurd: u64,
    },
    /// The batch is not kept; the session ends, the batch is to be sent again.
    NotKept {
        /// Why.
        why: String,
    },
}

/// Where a warehouse is: `dwell://HOST[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarehouseAddress {
    /// Name or address of its host.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// A text that names no warehouse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' names no warehouse: expected dwell://HOST or dwell://HOST:PORT")]
pub struct WarehouseAddressError(String);

impl FromStr for WarehouseAddress {
    type Err = WarehouseAddressError;

    fn from_str(text: &str) -> Result<Self, WarehouseAddressError> {
        let parse = || {
            let place = text.strip_prefix("dwell://")?;
            let place = place.strip_suffix('/').unwrap_or(place);
            // The colons of an IPv6 address stand in brackets.
            let after_host = place.rfind(']').map_or(0, |end| end + 1);
            let (host, port) = match place[after_host..].find(':') {
                Some(colon) => {
                    let (host, port) = place.split_at(after_host + colon);
                    (host, port[1..].parse().ok()?)
                }
                None => (place, PORT),
            };
            let host = host.strip_prefix('[').map_or(Some(host), |host| host.strip_suffix(']'))?;
            let plain = !host.is_empty() && !host.contains(['/', '@', '[', ']', '?', '#', ' ']);
            plain.then(|| Self { host: host.to_owned(), port })
        };
        parse().ok_or_else(|| WarehouseAddressError(text.chars().take(80).collect()))
    }
}

impl fmt::Display for WarehouseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "dwell://[{host}]:{port}")
        } else {
            write!(f, "dwell://{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Option<(String, u16)> {
        text.parse::<WarehouseAddress>().ok().map(|address| (address.host, address.port))
    }

    #[test]
    fn a_warehouse_is_named_by_host_and_port() {
        let named = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(parse("dwell://warehouse.example"), named("warehouse.example", PORT));
        assert_eq!(parse("dwell://192.0.2.7:99/"), named("192.0.2.7", 99));
        assert_eq!(parse("dwell://[2001:db8::7]:99"), named("2001:db8::7", 99));
        assert_eq!(parse("dwell://[2001:db8::7]"), named("2001:db8::7", PORT));
        for wrong in [
            "",
            "host",
            "http://host",
            "dwell://",
            "dwell://:99",
            "dwell://a:b",
            "dwell://a/b",
            "dwell://[::1",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_on_any_text(text: String) {
            if let Ok(address) = format!("dwell://{text}").parse::<WarehouseAddress>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }

        #[test]
        fn never_panics_on_any_bytes(bytes: Vec<u8>) {
            let _ = dwell_net::protocol::parse::<Opening>(&bytes);
            let _ = dwell_net::protocol::parse::<Receipt>(&bytes);
            if let Ok(Upload::Batch(batch)) = dwell_net::protocol::parse(&bytes) {
                let _ = (batch.check(), batch.absurd());
            }
        }
    }
}
