//! Long, dense trains: what a NIC does at a high packet rate.

use crate::clock::CLOCK_RATE_DOUBT;
use crate::stats::Estimate;
use crate::stats::quantile::{mad, mean, quantile, quantile_interval, sorted};

/// One long train: when its packets were stamped, in nanoseconds, and how far apart they were sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LongTrain {
    pub(super) stamps: Vec<f64>,
    pub(super) spacing: f64,
}

/// Packets belong together if their gap is less than this share of the spacing they were sent with.
pub(super) const TOGETHER: f64 = 0.35;
/// Replies that waited on their way back are further apart, and still belong together; the silence after a batch of
/// several is longer.
pub(super) const TOGETHER_IF_LATE: f64 = 1.5;
/// Where more than this share of the gaps is near the border, batches are not told apart.
const BORDER: f64 = 0.1;
const NEAR_BORDER: f64 = 0.2;
/// So large a share of the gaps must be such before a train counts as handed on in batches.
const IN_BATCHES: f64 = 0.25;
/// Where so many times as many would, chance brings no fewer.
const SURE: f64 = 1.1;
/// Batches come evenly if their spacing varies no more than this share of itself (median absolute deviation).
const EVEN: f64 = 0.12;
/// A batch of so many packets is one, however the others are.
const SEVERAL: f64 = 1.7;
/// Kernels by themselves take packets together that come about 10 us apart; a NIC's period is longer than that makes.
const SHORTEST: f64 = 17_000.0;
/// Batches that a statement needs.
const LEAST: usize = 6;

/// The time between batches at a high packet rate, if packets come in even batches; `together` is the share of their
/// spacing below which packets belong together. Only the second half of each
/// train counts: what adapts to the rate has done so by then.
pub(super) fn batch_period(trains: &[LongTrain], together: f64, resolution: f64) -> Option<Estimate> {
    let (mut spacings, mut gaps, mut close, mut near) = (Vec::new(), 0, 0, 0);
    for train in trains {
        let half = &train.stamps[train.stamps.len() / 2..];
        let mut start = None;
        for pair in half.windows(2) {
            gaps += 1;
            let border = together * train.spacing;
            near += usize::from((pair[1] - pair[0] - border).abs() < NEAR_BORDER * border);
            if pair[1] - pair[0] < border {
                close += 1;
                continue;
            }
            // A batch begins here; the first one seen may have begun before.
            spacings.extend(start.map(|start: f64| pair[1] - start));
            start = Some(pair[1]);
        }
    }
    let in_batches = close as f64 >= IN_BATCHES * f64::from(gaps);
    let apart = together == TOGETHER || near as f64 <= BORDER * f64::from(gaps);
    if !in_batches || !apart || spacings.len() < LEAST {
        return None;
    }
    let sampled = quantile_interval(&sorted(&spacings), 0.5)?;
    let doubt = resolution + CLOCK_RATE_DOUBT * sampled.value;
    // A period that still grows with the rate: the longest that were seen often are as likely.
    let grown = quantile(&spacings, 0.9)?.max(sampled.high);
    let period = Estimate { low: sampled.low - doubt, high: grown + doubt, ..sampled };
    // Where chance brings packets together most are as far apart as they were sent, and some farther.
    let sent = trains.iter().map(|train| train.spacing).fold(0.0, f64::max);
    let alike = (period.value - mean(&spacings)?).abs() <= EVEN * period.value;
    let batches = period.value > SEVERAL * sent || (alike && period.value > SHORTEST);
    (mad(&spacings)? <= EVEN * period.value && batches).then_some(period)
}

/// A shorter period would not show in `trains` for sure: too few of their packets would come together.
pub(super) fn unseen(trains: &[LongTrain]) -> f64 {
    SURE * trains.iter().map(|train| train.spacing).fold(0.0, f64::max) / (1.0 - IN_BATCHES)
}

#[cfg(test)]
mod tests {
    use super::super::Behaviour;
    use super::*;

    fn train(behaviour: Behaviour) -> LongTrain {
        let arrivals: Vec<f64> = (0..160).map(|k| f64::from(k) * 20e3).collect();
        LongTrain { stamps: behaviour.delivered(&arrivals), spacing: 20e3 }
    }

    #[test]
    fn batches_show_the_period() {
        let found = |behaviour| batch_period(&[train(behaviour), train(behaviour)], TOGETHER, 1.0);
        assert_eq!(found(Behaviour::Throttle(150e3)).unwrap().value, 150e3);
        // The next packet after the timer starts the next: 150 us and up to one spacing.
        assert_eq!(found(Behaviour::Hold(150e3)).unwrap().value, 160e3);
        assert_eq!(found(Behaviour::None), None);
        assert_eq!(found(Behaviour::Throttle(15e3)), None);
        // Batches of one and two.
        assert!(unseen(&[train(Behaviour::None)]) < 30e3);
        assert_eq!(found(Behaviour::Throttle(30e3)).unwrap().value, 30e3);
    }

    #[test]
    fn packets_that_chance_brings_together_are_no_batches() {
        // Every third packet comes with the one before it: most are as far apart as they were sent.
        let stamps =
            (0..160).map(|k| f64::from(k / 3 * 3 + (k % 3).min(1)) * 20e3 + f64::from(k % 3) * 500.0);
        let trains = [LongTrain { stamps: stamps.collect(), spacing: 20e3 }];
        assert_eq!(batch_period(&trains, TOGETHER, 1.0), None);
    }
}
