//! Programs of others that measure a path and print what they find: each is described by a TOML file, which says how
//! both its ends are started, how long it may take, and where in its text the figure stands.
//!
//! ```toml
//! name = "ping"
//! about = "round-trip time"
//! time_limit_seconds = 5                # beyond {seconds}, where a command names it
//!
//! [client]
//! at = "source"
//! command = ["ping", "-n", "-q", "-w", "{seconds}", "{destination}"]
//!
//! [value]
//! quantity = "round-trip"
//! regex = 'rtt min/avg/max/mdev = (?<low>[\d.]+)/(?<value>[\d.]+)/(?<high>[\d.]+)'
//! unit = "ms"
//! ```
//!
//! In commands `{source}` and `{destination}` stand for the addresses of the two ends of the path, `{port}` for the
//! `port` of the description, `{seconds}` for how long the tool is asked to measure, `{rate}` for a rate in bits per
//! second and `{rate_mbps}` for the same in millions of them. Both ends work in one folder, which is gone afterwards.
//!
//! A tool is never waited for beyond its time: it is killed, with all that it started, daemons too. Nothing but a figure that stands where the
//! description says is ever taken for one.

mod description;
mod error;
mod gives;
mod listening;
mod program;
mod reading;
mod run;
mod units;

pub use description::{At, Plugin};
pub use error::{PluginError, Role};
pub use gives::Gives;
pub use reading::Reading;
pub use run::{Asked, Ended, Enter, Started, Told};
