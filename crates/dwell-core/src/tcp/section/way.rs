//! Which way a connection runs: from either side of a path some are opened.

use super::split::{ROUNDING, client_side, server_side};
use super::{Connection, Estimate, Order, Sight};
use std::cmp::Ordering;

/// Which way a connection passes the probes, from its client to its server.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// As the probes' order has it.
    Along,
    /// It was opened from the other side, and passes them from the last to the first.
    Against,
    /// Its halves do not say which, where others run either way. It is told as if it ran along the order.
    Unknown,
}

impl Way {
    /// Its name in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Along => "along",
            Self::Against => "against",
            Self::Unknown => "unknown",
        }
    }

    /// What its halves say. It runs the other way if both estimates say so at some two probes, and nothing says the
    /// contrary at any: where they say both, the probes stand in another order. One estimate alone may be of different
    /// packets. One that both ends opened has no way.
    pub(super) fn of(connection: &Connection, order: &Order) -> Self {
        let sights: Vec<&Sight> = order.probes().iter().filter_map(|probe| connection.by(*probe)).collect();
        let pairs = sights
            .iter()
            .enumerate()
            .flat_map(|(place, one)| sights[place + 1..].iter().map(move |two| (*one, *two)));
        let said: Vec<Vec<Ordering>> = pairs
            .filter(|(one, two)| !connection.both_opened() && order.parts(one.probe, two.probe))
            .map(|(one, two)| first(one, two))
            .collect();
        let is_along =
            said.iter().any(|said| matches!(said[..], [Ordering::Less] | [Ordering::Less, Ordering::Less]));
        let is_turned = said.iter().any(|said| said[..] == [Ordering::Greater; 2]);
        match (is_along, is_turned) {
            (false, true) => Self::Against,
            (false, false) if order.is_mixed() => Self::Unknown,
            _ => Self::Along,
        }
    }
}

/// Which of two probes a connection passes first on its way to the server, by each estimate that is exact: `Less` says the
/// first. What passes that one passes the other and comes back later, so no estimate is below zero but by what is rounded
/// off; nearer to zero than that it says nothing.
pub(super) fn first(one: &Sight, two: &Sight) -> Vec<Ordering> {
    let says = |time| {
        if time > ROUNDING {
            Ordering::Less
        } else if time < -ROUNDING {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    };
    let estimates = [server_side(one, two), client_side(one, two)];
    estimates.into_iter().filter_map(Estimate::exact).map(says).collect()
}

#[cfg(test)]
#[path = "way_tests.rs"]
mod tests;
