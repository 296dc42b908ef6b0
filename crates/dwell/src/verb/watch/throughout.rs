//! Round trips throughout connections, as they are told.

use super::row::Sure;
use dwell_core::Nanos;
use dwell_core::inside::Distribution;
use dwell_core::tcp::continuous::{By, End, RoundTrips};
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr};

/// Those of one interval to one end of a connection, as every output tells them.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) probe: &'a str,
    pub(super) to: IpAddr,
    pub(super) to_port: u16,
    pub(super) other: IpAddr,
    pub(super) other_port: u16,
    pub(super) end: Option<End>,
    pub(super) by: By,
    pub(super) t_from_ns: i64,
    pub(super) t_until_ns: i64,
    pub(super) least_ns: Option<i64>,
    pub(super) mean_ns: i64,
    pub(super) quality: Sure,
    pub(super) samples: u64,
}

impl<'a> Line<'a> {
    /// Of no interval: for the names of its columns.
    pub(super) const NONE: Self = Self {
        probe: "",
        to: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        to_port: 0,
        other: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        other_port: 0,
        end: None,
        by: By::Timestamps,
        t_from_ns: 0,
        t_until_ns: 0,
        least_ns: None,
        mean_ns: 0,
        quality: Sure::Unknown,
        samples: 0,
    };

    pub(super) fn of(probe: &'a str, told: &RoundTrips) -> Self {
        let RoundTrips { from, until, to, end, other, by, least, mean, samples } = *told;
        Self {
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

/// What the shortest of an interval is a figure of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    ServerHalf,
    ClientHalf,
    /// Of an end of which nobody knows which one it is.
    UnnamedHalf,
    /// The server's, its program's time too.
    Response,
}

impl Figure {
    pub(super) const ALL: [Self; 4] = [Self::ServerHalf, Self::ClientHalf, Self::UnnamedHalf, Self::Response];

    /// With its value, where that is exact. How long a client thinks tells nothing of the network or the server.
    pub(super) fn of(told: &RoundTrips) -> Option<(Self, Nanos)> {
        let figure = match (told.by, told.end) {
            (By::Response, Some(End::Server)) => Self::Response,
            (By::Response, _) => return None,
            (_, Some(End::Server)) => Self::ServerHalf,
            (_, Some(End::Client)) => Self::ClientHalf,
            (_, None) => Self::UnnamedHalf,
        };
        Some((figure, told.least.exact()?))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::ServerHalf => "server half",
            Self::ClientHalf => "client half",
            Self::UnnamedHalf => "half of an end whose connection was there before",
            Self::Response => "response of the server, its program's time too",
        }
    }
}

/// How the shortest of each interval are distributed, exact ones.
#[derive(Default)]
pub(super) struct Throughout([Distribution; Figure::ALL.len()]);

impl Throughout {
    pub(super) fn add(&mut self, told: &RoundTrips) {
        if let Some((figure, least)) = Figure::of(told) {
            self.0[figure as usize].add(least);
        }
    }

    /// Those that there are, by their names.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, &Distribution)> {
        let all = Figure::ALL.into_iter().zip(&self.0);
        all.filter(|(_, spans)| spans.count() > 0).map(|(figure, spans)| (figure.name(), spans))
    }
}
