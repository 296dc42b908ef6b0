//! A congestion window, in packets.

use super::Algorithm;

/// RFC 6928.
const INITIAL: f64 = 10.0;

/// RFC 9438, sections 4.1 and 4.6.
const CUBIC_GROWTH: f64 = 0.4;
const CUBIC_DECREASE: f64 = 0.7;

/// RFC 5681.
const RENO_DECREASE: f64 = 0.5;

/// No less than this after a loss.
const LEAST: f64 = 2.0;

#[derive(Clone, Debug)]
pub(super) struct Window {
    algorithm: Algorithm,
    size: f64,
    threshold: f64,
    most: f64,
    /// Of cubic: when it was last reduced, to what, and from what.
    epoch: Option<Epoch>,
}

#[derive(Copy, Clone, Debug)]
struct Epoch {
    began: i64,
    from: f64,
    before: f64,
    /// What Reno would have by now.
    reno: f64,
}

impl Window {
    pub(super) fn new(algorithm: Algorithm, most: f64) -> Self {
        Self { algorithm, size: INITIAL.min(most), threshold: f64::INFINITY, most, epoch: None }
    }

    pub(super) fn packets(&self) -> f64 {
        self.size.max(1.0)
    }

    /// A packet was acknowledged at `now`, in picoseconds.
    pub(super) fn grow(&mut self, now: i64, round_trip: i64) {
        self.size = if self.size < self.threshold {
            self.size + 1.0
        } else {
            match (self.algorithm, &mut self.epoch) {
                (Algorithm::Cubic, Some(epoch)) => self.size + epoch.growth(self.size, now, round_trip),
                _ => self.size + 1.0 / self.size,
            }
        }
        .min(self.most);
    }

    /// Packets were lost, and others came.
    pub(super) fn halve(&mut self, now: i64) {
        let decrease = match self.algorithm {
            Algorithm::Reno => RENO_DECREASE,
            Algorithm::Cubic => CUBIC_DECREASE,
        };
        // Fast convergence: who had less than before makes room.
        let before = match self.epoch {
            Some(epoch) if self.size < epoch.before => self.size * (1.0 + CUBIC_DECREASE) / 2.0,
            _ => self.size,
        };
        self.size = (self.size * decrease).max(LEAST);
        self.threshold = self.size;
        self.epoch = Some(Epoch { began: now, from: self.size, before, reno: self.size });
    }

    /// Nothing came any more.
    pub(super) fn restart(&mut self) {
        self.threshold = (self.size / 2.0).max(LEAST);
        self.size = 1.0;
        self.epoch = None;
    }
}

impl Epoch {
    /// What one acknowledgement adds to a window of `size` (RFC 9438, sections 4.2 to 4.5).
    fn growth(&mut self, size: f64, now: i64, round_trip: i64) -> f64 {
        let seconds = |picos: i64| picos as f64 / 1e12;
        let inflection = ((self.before - self.from).max(0.0) / CUBIC_GROWTH).cbrt();
        let since = seconds(now - self.began);
        let cubic = |since: f64| CUBIC_GROWTH * (since - inflection).powi(3) + self.before;
        let target = cubic(since + seconds(round_trip)).clamp(size, 1.5 * size);
        let friendly = 3.0 * (1.0 - CUBIC_DECREASE) / (1.0 + CUBIC_DECREASE);
        self.reno += friendly / size;
        if cubic(since) < self.reno { (self.reno - size).max(0.0) } else { (target - size) / size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000_000;

    #[test]
    fn cubic_comes_back_to_where_it_was_when_its_function_says_so() {
        let mut window =
            Window { threshold: 1.0, size: 1_000.0, ..Window::new(Algorithm::Cubic, f64::INFINITY) };
        window.halve(0);
        assert_eq!(window.packets(), 700.0);
        // K = cbrt(300 / 0.4) = 9.09 s; one acknowledgement for each packet of each round trip of 100 ms.
        for round in 1..=91i64 {
            for _ in 0..window.packets() as usize {
                window.grow(round * 100 * MS, 100 * MS);
            }
        }
        assert!((980.0..1_010.0).contains(&window.packets()), "{}", window.packets());
    }

    #[test]
    fn reno_adds_a_packet_a_round_trip_and_halves() {
        let mut window = Window { threshold: 1.0, size: 20.0, ..Window::new(Algorithm::Reno, f64::INFINITY) };
        for _ in 0..20 {
            window.grow(0, 10 * MS);
        }
        assert!((20.9..21.1).contains(&window.packets()), "{}", window.packets());
        window.halve(0);
        assert!((10.4..10.6).contains(&window.packets()));
        window.restart();
        assert_eq!(window.packets(), 1.0);
        (0..4).for_each(|_| window.grow(0, 10 * MS));
        assert_eq!(window.packets(), 5.0, "slow start up to the threshold");
    }
}
