//! Round trips throughout connections, as they are told.

use super::row::Sure;
use dwell_core::inside::Distribution;
use dwell_core::tcp::continuous::{By, End, RoundTrips};
use serde::Serialize;
use std::net::IpAddr;

/// Those of one interval to one end of a connection: a line of JSON.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    kind: &'static str,
    probe: &'a str,
    to: IpAddr,
    to_port: u16,
    other: IpAddr,
    other_port: u16,
    end: Option<End>,
    by: By,
    t_from_ns: i64,
    t_until_ns: i64,
    least_ns: Option<i64>,
    mean_ns: i64,
    quality: Sure,
    samples: u64,
}

impl<'a> Line<'a> {
    pub(super) fn of(probe: &'a str, told: &RoundTrips) -> Self {
        let RoundTrips { from, until, to, end, other, by, least, mean, samples } = *told;
        Self {
            kind: "round-trips",
            probe,
            to: to.address,
            to_port: to.port,
            other: other.address,
            other_port: other.port,
            end,
            by,
            t_from_ns: from.0,
            t_until_ns: until.0,
            least_ns: least.value().map(|least| least.0),
            mean_ns: mean.0,
            quality: Sure::of(least),
            samples,
        }
    }
}

/// How the shortest of each interval are distributed, exact ones.
#[derive(Default)]
pub(super) struct Throughout {
    server: Distribution,
    client: Distribution,
    either: Distribution,
    responses: Distribution,
}

impl Throughout {
    pub(super) fn add(&mut self, told: &RoundTrips) {
        let Some(least) = told.least.exact() else { return };
        let spans = match (told.by, told.end) {
            (By::Response, Some(End::Server)) => &mut self.responses,
            // How long a client thinks tells nothing of the network or the server.
            (By::Response, _) => return,
            (_, Some(End::Server)) => &mut self.server,
            (_, Some(End::Client)) => &mut self.client,
            (_, None) => &mut self.either,
        };
        spans.add(least);
    }

    /// Those that there are, by their names.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, &Distribution)> {
        let all = [
            ("server half", &self.server),
            ("client half", &self.client),
            ("half of an end whose connection was there before", &self.either),
            ("response of the server, its program's time too", &self.responses),
        ];
        all.into_iter().filter(|(_, spans)| spans.count() > 0)
    }
}
