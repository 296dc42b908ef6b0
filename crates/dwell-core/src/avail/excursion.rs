//! The queueing-delay signature of a chirp, and what pathchirp reads from its excursions (Ribeiro et al., PAM 2003,
//! section 3 and its appendix).

use crate::clock::CLOCK_RATE_DOUBT;

/// F: an excursion is over when the queueing delay has fallen below its largest by this factor.
const DECREASE_FACTOR: f64 = 1.5;

/// L: a shorter one is only noise.
const BUSY_PERIOD: usize = 5;

/// Where an excursion that begins at `from` ends.
enum End {
    /// It was none, or it was too short.
    Noise,
    /// At this packet.
    At(usize),
    /// Not before the chirp's last packet.
    Never,
}

fn end(delays: &[f64], from: usize) -> End {
    let mut largest = 0.0_f64;
    for (packet, delay) in delays.iter().enumerate().skip(from + 1) {
        let rise = delay - delays[from];
        if rise <= largest / DECREASE_FACTOR {
            return if packet - from >= BUSY_PERIOD { End::At(packet) } else { End::Noise };
        }
        largest = largest.max(rise);
    }
    End::Never
}

/// What one chirp says is free: `delays` of N packets, the `gaps` between them as they were sent, and the `rates` of
/// these gaps, which grow. `None` without a gap. Delays rise where they do by more than a `tick` of the clocks and what
/// these may drift in a gap: or else excursions begin where nothing waits, and the last one with the first packet.
///
/// Each gap k gets an estimate E_k: its own rate while delays rise in an excursion that ends (case a), the rate at which
/// the last excursion began if that never ends (case b), and in all other places that rate too (case c); the chirp's
/// estimate is their mean, weighted by the gaps.
pub(super) fn estimate(delays: &[f64], gaps: &[f64], rates: &[f64], tick: f64) -> Option<f64> {
    let count = gaps.len();
    if count == 0 || rates.len() != count || delays.len() != count + 1 {
        return None;
    }
    let mut own: Vec<Option<f64>> = vec![None; count];
    let mut last = count - 1;
    let mut packet = 0;
    while packet < count {
        if delays[packet + 1] - delays[packet] <= tick + CLOCK_RATE_DOUBT * gaps[packet] {
            packet += 1;
            continue;
        }
        match end(delays, packet) {
            End::Noise => packet += 1,
            End::At(end) => {
                for gap in packet..end {
                    own[gap] = (delays[gap] < delays[gap + 1]).then_some(rates[gap]);
                }
                packet = end;
            }
            End::Never => {
                last = packet;
                break;
            }
        }
    }
    let of = |gap: usize| own[gap].unwrap_or(rates[last]);
    let weighted: f64 = (0..count).map(|gap| of(gap) * gaps[gap]).sum();
    Some(weighted / gaps.iter().sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chirp(delays: &[f64]) -> f64 {
        let rates: Vec<f64> = (0..delays.len() - 1).map(|gap| 1.2_f64.powi(gap as i32)).collect();
        let gaps: Vec<f64> = rates.iter().map(|rate| 1.0 / rate).collect();
        estimate(delays, &gaps, &rates, 0.1).unwrap()
    }

    /// N packets, whose delays rise for good from packet `turn` on.
    fn rising_from(turn: usize) -> Vec<f64> {
        (0..20).map(|packet: usize| packet.saturating_sub(turn) as f64).collect()
    }

    #[test]
    fn the_last_excursion_tells_where_it_begins() {
        for turn in [3, 8, 15] {
            let rate = 1.2_f64.powi(turn as i32);
            assert!((chirp(&rising_from(turn)) - rate).abs() < 1e-9, "{turn}");
        }
    }

    #[test]
    fn an_excursion_that_ends_lowers_the_estimate() {
        let mut delays = rising_from(15);
        for (packet, bump) in [1.0, 2.0, 3.0, 4.0, 3.5, 3.2, 1.0].into_iter().enumerate() {
            delays[packet + 2] = bump;
        }
        let (with, without) = (chirp(&delays), chirp(&rising_from(15)));
        assert!(with < without && with > 0.3 * without, "{with} {without}");
    }

    #[test]
    fn a_short_one_does_not() {
        let mut delays = rising_from(15);
        delays[4] = 2.0;
        assert!((chirp(&delays) - chirp(&rising_from(15))).abs() < 1e-9);
    }

    #[test]
    fn what_drifts_does_not_rise() {
        let drifting = |steps: (f64, f64)| steps.0 + 0.09 * steps.1;
        let drift: Vec<f64> = rising_from(15).into_iter().zip((0..).map(f64::from)).map(drifting).collect();
        assert!((chirp(&drift) - chirp(&rising_from(15))).abs() < 1e-9);
    }

    #[test]
    fn delays_that_never_rise_give_the_last_rate() {
        assert!((chirp(&[1.0; 20]) - 1.2_f64.powi(18)).abs() < 1e-9);
        assert_eq!(estimate(&[1.0], &[], &[], 0.1), None);
    }
}
