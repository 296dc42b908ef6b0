//! What a coalescing NIC does to a short train, as equations.

use crate::nic::Kind;

/// A kind with its figures, in nanoseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Behaviour {
    /// Each packet is handed on at once.
    None,
    /// All that came within the period after the first are handed on when it is over.
    Hold(f64),
    /// At most one interrupt in a period; the first packet after a rest is handed on at once.
    Throttle(f64),
    /// The same, and polls go on every period until `polls` of them, the first included, found nothing.
    Deferred {
        /// Between polls.
        period: f64,
        /// How many empty ones.
        polls: u32,
    },
}

impl Behaviour {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::None => Kind::None,
            Self::Hold(_) => Kind::Hold,
            Self::Throttle(_) => Kind::Throttle,
            Self::Deferred { .. } => Kind::Deferred,
        }
    }

    /// Its period; zero for none.
    #[must_use]
    pub fn period(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Hold(period) | Self::Throttle(period) | Self::Deferred { period, .. } => period,
        }
    }

    /// When packets that arrive at `arrivals` (ascending, after a rest) are handed on.
    pub(super) fn delivered(&self, arrivals: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = Vec::with_capacity(arrivals.len());
        // The last interrupt, and until when polls go on after it.
        let mut last = f64::NEG_INFINITY;
        for &at in arrivals {
            let due = match *self {
                Self::None => at,
                Self::Hold(period) => out.last().copied().filter(|due| at < *due).unwrap_or(at + period),
                Self::Throttle(period) => {
                    let together = out.last().copied().filter(|due| at <= *due);
                    together.unwrap_or_else(|| (last + period).max(at))
                }
                Self::Deferred { period, polls } => {
                    let together = out.last().copied().filter(|due| at <= *due);
                    together.unwrap_or_else(|| {
                        let poll = ((at - last) / period).ceil().max(1.0);
                        if poll <= f64::from(polls) { last + poll * period } else { at }
                    })
                }
            };
            last = due;
            out.push(due);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_hands_on_as_it_is_defined() {
        let arrivals = [0.0, 10.0, 90.0, 250.0, 290.0];
        assert_eq!(Behaviour::None.delivered(&arrivals), arrivals);
        assert_eq!(Behaviour::Hold(100.0).delivered(&arrivals), [100.0, 100.0, 100.0, 350.0, 350.0]);
        assert_eq!(Behaviour::Throttle(100.0).delivered(&arrivals), [0.0, 100.0, 100.0, 250.0, 350.0]);
        let deferred = Behaviour::Deferred { period: 100.0, polls: 2 };
        assert_eq!(deferred.delivered(&arrivals), [0.0, 100.0, 100.0, 300.0, 300.0]);
    }
}
