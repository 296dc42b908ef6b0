//! A run cut into slices of time: for the heat map, and for how sure a share of the time is.

use super::cause::Cause;
use super::journey::Journey;
use super::stage::Stage;
use crate::unit::Nanos;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// At most so many slices; when a run outgrows them, each two become one.
pub const SLICES: usize = 128;
/// Width of the first slices.
const FIRST: Nanos = Nanos::from_millis(1);
/// Bins of a decade of latency, the latency where the first begins, and how many there are: to 10 s.
const BINS_PER_DECADE: f64 = 8.0;
const LEAST_EXPONENT: f64 = 2.0;
/// Latency bins of a slice.
pub const BINS: usize = 64;

/// A share of a time, with its 95 % interval.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share.
    pub share: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What passed in one slice of time.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Packets by latency.
    pub packets: [u64; BINS],
    total: Nanos,
    stages: [Nanos; Stage::ALL.len()],
    causes: [Nanos; Cause::ALL.len()],
}

impl Default for Slice {
    fn default() -> Self {
        Self {
            packets: [0; BINS],
            total: Nanos::ZERO,
            stages: [Nanos::ZERO; Stage::ALL.len()],
            causes: [Nanos::ZERO; Cause::ALL.len()],
        }
    }
}

impl Slice {
    fn merge(&mut self, other: &Self) {
        let add =
            |to: &mut [Nanos], from: &[Nanos]| to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
        self.packets.iter_mut().zip(other.packets).for_each(|(to, from)| *to += from);
        self.total += other.total;
        add(&mut self.stages, &other.stages);
        add(&mut self.causes, &other.causes);
    }
}

/// The slices of a run.
#[derive(Clone, Debug)]
pub struct Slices {
    began: Option<Nanos>,
    width: Nanos,
    all: Vec<Slice>,
}

impl Default for Slices {
    fn default() -> Self {
        Self { began: None, width: FIRST, all: Vec::new() }
    }
}

impl Slices {
    /// Adds a journey and what its time is put down to.
    pub(super) fn add(&mut self, journey: &Journey, causes: &[(Cause, Nanos)]) {
        let Some((_, at)) = journey.times.seen().next() else { return };
        let since = at - *self.began.get_or_insert(at);
        while since.0 / self.width.0 >= SLICES as i64 {
            self.halve();
        }
        // A packet that was begun before the first that was told, and told later, belongs to the first slice.
        let index = (since.0 / self.width.0).max(0) as usize;
        if self.all.len() <= index {
            self.all.resize_with(index + 1, Slice::default);
        }
        let slice = &mut self.all[index];
        let mut total = Nanos::ZERO;
        for (stage, span) in journey.stages() {
            slice.stages[stage as usize] += span;
            total += span;
        }
        slice.total += total;
        slice.packets[bin(total)] += 1;
        causes.iter().for_each(|(cause, span)| slice.causes[*cause as usize] += *span);
    }

    fn halve(&mut self) {
        self.width = self.width * 2;
        let mut merged: Vec<Slice> = Vec::with_capacity(SLICES);
        for (index, slice) in self.all.drain(..).enumerate() {
            match merged.last_mut() {
                Some(last) if index % 2 == 1 => last.merge(&slice),
                _ => merged.push(slice),
            }
        }
        self.all = merged;
    }

    /// The slices, in the order of time, each as wide as [`width`](Self::width).
    #[must_use]
    pub fn all(&self) -> &[Slice] {
        &self.all
    }

    /// How long a slice is.
    #[must_use]
    pub const fn width(&self) -> Nanos {
        self.width
    }

    /// The share of `stage` in the time of all packets.
    pub(super) fn of_stage(&self, stage: Stage) -> Share {
        self.share(|slice| slice.stages[stage as usize])
    }

    /// The share that is put down to `cause`.
    pub(super) fn of_cause(&self, cause: Cause) -> Share {
        self.share(|slice| slice.causes[cause as usize])
    }

    /// A ratio of sums. Packets that follow each other fare alike, so it is the slices that count as independent.
    fn share(&self, part: impl Fn(&Slice) -> Nanos) -> Share {
        let slices: Vec<(f64, f64)> = self
            .all
            .iter()
            .filter(|slice| slice.total > Nanos::ZERO)
            .map(|slice| (part(slice).as_f64(), slice.total.as_f64()))
            .collect();
        let (parts, whole) = slices.iter().fold((0.0, 0.0), |sum, slice| (sum.0 + slice.0, sum.1 + slice.1));
        let share = if whole > 0.0 { parts / whole } else { 0.0 };
        let count = slices.len() as f64;
        let Ok(student) = StudentsT::new(0.0, 1.0, count - 1.0) else {
            return Share { share, low: 0.0, high: 1.0 };
        };
        let squares: f64 = slices.iter().map(|(part, total)| (part - share * total).powi(2)).sum();
        let reach = student.inverse_cdf(0.975) * (squares * count / (count - 1.0)).sqrt() / whole;
        Share { share, low: (share - reach).max(0.0), high: (share + reach).min(1.0) }
    }
}

/// The latency bin of a span.
fn bin(span: Nanos) -> usize {
    let place = (span.as_f64().max(1.0).log10() - LEAST_EXPONENT) * BINS_PER_DECADE;
    (place.max(0.0) as usize).min(BINS - 1)
}

/// Where a latency bin begins.
#[must_use]
pub fn bin_start(bin: usize) -> Nanos {
    Nanos::from_f64(10f64.powf(LEAST_EXPONENT + bin as f64 / BINS_PER_DECADE))
}

#[cfg(test)]
mod tests {
    use super::super::made::{received, sleeper};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_run_of_any_length_keeps_few_slices_and_every_packet() {
        let mut slices = Slices::default();
        for second in 0..10_000 {
            slices.add(&received(Nanos::from_secs(second), sleeper(2_000)), &[]);
        }
        assert!(slices.all().len() <= SLICES && slices.all().len() > SLICES / 2);
        let packets: u64 = slices.all().iter().flat_map(|slice| slice.packets).sum();
        assert_eq!(packets, 10_000);
    }

    #[test]
    fn a_lone_slice_says_nothing_of_its_share() {
        let mut slices = Slices::default();
        slices.add(&received(Nanos(5), sleeper(2_000)), &[]);
        let share = slices.of_stage(Stage::WakeUp);
        assert!(share.share > 0.2 && share.low == 0.0 && share.high == 1.0, "{share:?}");
    }

    #[test]
    fn a_bin_begins_where_it_says() {
        for number in 1..BINS {
            assert_eq!(bin(bin_start(number) + Nanos(1)), number);
        }
        assert_eq!((bin(Nanos::ZERO), bin(Nanos::MAX)), (0, BINS - 1));
    }

    proptest! {
        #[test]
        fn shares_of_the_stages_sum_to_one(wakes in prop::collection::vec(1_i64..1_000_000, 3..80)) {
            let mut slices = Slices::default();
            for (packet, wake) in wakes.iter().enumerate() {
                slices.add(&received(Nanos::from_millis(3 * packet as i64), sleeper(*wake)), &[]);
            }
            let sum: f64 = Stage::ALL.iter().map(|stage| slices.of_stage(*stage).share).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9);
            let share = slices.of_stage(Stage::WakeUp);
            prop_assert!(share.low <= share.share && share.share <= share.high);
        }
    }
}
