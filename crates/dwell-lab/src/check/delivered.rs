//! Times that were asked of the lab, against those that it delivered.

use dwell_core::Nanos;
use serde::{Deserialize, Serialize};

/// Quartiles.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// A quarter lies below.
    pub p25: Nanos,
    /// Half.
    pub median: Nanos,
    /// Three quarters.
    pub p75: Nanos,
}

impl Spread {
    /// Of some times; `None` of none.
    pub(crate) fn of(times: impl IntoIterator<Item = Nanos>) -> Option<Self> {
        let mut sorted: Vec<Nanos> = times.into_iter().collect();
        sorted.sort_unstable();
        let at = |quarter: usize| sorted.get(sorted.len() * quarter / 4).copied();
        Some(Self { p25: at(1)?, median: at(2)?, p75: at(3)? })
    }

    /// Between the quartiles.
    #[must_use]
    pub fn width(self) -> Nanos {
        self.p75 - self.p25
    }
}

/// A time that was asked of the lab, what it delivered, and packet by packet the difference.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// What the scenario asks; `None` where only its hosts' kernels could tell.
    pub asked: Option<Spread>,
    /// By kernel stamps.
    pub delivered: Spread,
    /// Delivered minus asked.
    pub error: Option<Spread>,
}

/// Delivered times, each with what was asked if that is known.
pub(crate) fn against(times: &[(Nanos, Option<Nanos>)]) -> Option<Delivered> {
    let asked: Vec<(Nanos, Nanos)> =
        times.iter().filter_map(|(time, asked)| Some((*time, (*asked)?))).collect();
    Some(Delivered {
        asked: Spread::of(asked.iter().map(|(_, asked)| *asked)),
        delivered: Spread::of(times.iter().map(|(time, _)| *time))?,
        error: Spread::of(asked.iter().map(|(time, asked)| *time - *asked)),
    })
}
