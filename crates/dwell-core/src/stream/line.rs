//! How far apart packets come out of a link that is never idle between them.

use super::sample::Sample;
use crate::stats::bootstrap::{intervals, small_sample_factor};
use crate::stats::{Estimate, NORMAL};

/// The line output = own + share * input: between two packets the link sends the second one, which takes `own`, and
/// the cross traffic that came since the first, which is `share` of its capacity.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// Nanoseconds that one packet of the train takes.
    pub(crate) own: Estimate,
    /// rho of the tight link.
    pub(crate) share: Estimate,
    /// (1 - share) / own: packets of the train's size that are free a nanosecond.
    pub(crate) free: Estimate,
    /// Variance of what comes between two packets, nanoseconds of the link's work, for each nanosecond between them.
    pub(crate) noise: f64,
    /// Where all samples begin if nothing is known of it.
    pub(crate) begins: Option<Estimate>,
    /// What `own` may be off by that resampling does not show, nanoseconds.
    pub(crate) unshown: Unshown,
}

/// What all samples, and so all resamples, have in common.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(crate) struct Unshown {
    /// By what was known of it: half of a 95 % interval.
    pub(crate) known: f64,
    /// By clocks, and by packets that were read in batches: at most.
    pub(crate) read: f64,
}

impl Line {
    /// What a packet takes, as a result tells it: with all that it may be off by, of stamps that are so many nanoseconds
    /// apart. (What searches for more goes by `own`.)
    pub(crate) fn each(&self, stamps: f64) -> Estimate {
        let Estimate { value, low, high } = self.own;
        let around = |side: f64| side.hypot(self.unshown.known) + self.unshown.read.max(stamps);
        let low = (value - around(value - low)).max(LEAST.min(value));
        Estimate { value, low, high: value + around(high - value) }
    }

    /// What the link carries, packets a nanosecond, by those stamps.
    pub(crate) fn carries(&self, stamps: f64) -> Estimate {
        let Estimate { value, low, high } = self.each(stamps);
        Estimate { value: 1.0 / value, low: 1.0 / high, high: 1.0 / low }
    }

    /// What is free, as a result tells it beside that: no more than the link carries.
    pub(crate) fn left(&self, stamps: f64) -> Estimate {
        Estimate { high: self.free.high.min(self.carries(stamps).high), ..self.free }
    }

    /// The same of so many looks at the link. Where none of them met anything, resampling shows no doubt: traffic in
    /// bursts longer than a train may take so much of the time and stay unseen.
    pub(crate) fn of_looks(mut self, looks: usize) -> Self {
        if self.share.high < RESOLUTION {
            let unseen = (UNSEEN / looks.max(1) as f64).min(1.0);
            self.free.low = self.free.low.min(self.free.value * (1.0 - unseen));
        }
        self
    }
}

/// What is known of `own` from packets that nothing parted: a figure and its standard error.
pub(crate) type Known = (f64, f64);

/// No gap is taken for more certain than a ten-thousandth of itself, as a variance: what is known of `own` must count
/// beside samples that agree to the last digit.
const LEAST_NOISE: f64 = 1e-8;

/// Nor is what is free known better than to this share of the link: clocks, stamps and the rates of shapers are off by
/// as much.
pub(crate) const RESOLUTION: f64 = 1e-3;

/// Or than to half a nanosecond a packet, for stamps are whole ones.
const STAMP: f64 = 0.5;

/// No link takes less for a packet, nanoseconds: of coarser stamps nothing else is left at its upper end.
const LEAST: f64 = 1.0;

/// The interval of where samples begin is so many times as wide before it contradicts what is known.
const CONTRADICTION: f64 = 2.0;

/// And only where it is no wider than this share of what is known.
const SURE: f64 = 0.2;

/// So many packets as large as ours may come at the mean in the time in which none was seen, with some 90 % confidence; and
/// so many of all looks may meet a burst at the mean where none did.
pub(crate) const UNSEEN: f64 = 2.3;

const RESAMPLES: usize = 500;

const SEED: u64 = 9;

/// The line through samples at the link's pace (`full`) and `near` to what is free, with what is `known` of its
/// beginning; `None` without enough of either.
///
/// Where its beginning is known, either kind of samples says how steep it is. At the pace, other loaded links part packets
/// as well. So it is those near to what is free that count, where there are any.
///
/// What is known goes by the board where all samples together clearly begin elsewhere: between packets that regular traffic
/// always parts, nothing shows what one of them takes.
pub(crate) fn line(full: &[Sample], near: &[Sample], known: Option<Known>) -> Option<Line> {
    let both = [full, near].concat();
    let alone = fitted(&both, None);
    let contradicts = |(value, _): &Known| {
        alone.as_ref().is_some_and(|line| {
            let wide = line.own.widened(CONTRADICTION);
            wide.high < *value && wide.high - wide.low < SURE * value
        })
    };
    let Some(known) = known.filter(|known| !contradicts(known)) else { return alone };
    let line = fitted(if near.is_empty() { full } else { near }, Some(known))?;
    Some(Line { begins: alone.map(|alone| alone.own), ..line })
}

/// The variance of what comes between two packets grows with the time between them, and the mean of n gaps has an nth
/// of it: the weight of a sample is gaps / input.
fn fitted(samples: &[Sample], known: Option<Known>) -> Option<Line> {
    // One by itself does not show how far it may be off.
    if samples.len() < 2 {
        return None;
    }
    let noise = residual(samples, known)?;
    let fit = |samples: &[Sample]| {
        let (own, share) = solve(samples, known, noise)?;
        let share = share.min(1.0);
        Some([own, share, (1.0 - share) / own])
    };
    let [own, share, free] =
        intervals(&[samples], RESAMPLES, SEED, |groups: &[Vec<Sample>]| fit(&groups[0]))?;
    let factor = small_sample_factor(samples.len());
    let mut line = Line {
        own: own.widened(factor),
        share: share.widened(factor),
        free: free.widened(factor),
        noise,
        begins: None,
        unshown: Unshown::default(),
    };
    // A receiver that reads in batches may make every train longer, or shorter, by what its packets cannot show.
    let blur = samples.iter().map(|sample| sample.blur).sum::<f64>() / samples.len() as f64;
    line.unshown.read = (RESOLUTION * line.own.value).max(blur).max(STAMP);
    let resolution = line.unshown.read / line.own.value.powi(2);
    let watched: f64 = samples.iter().map(|sample| sample.input * sample.gaps).sum();
    line.free.low = line.free.low.min(line.free.value - resolution.max(UNSEEN / watched));
    line.free.high = line.free.high.max(line.free.value + resolution);
    if let Some((value, error)) = known {
        let moved = solve(samples, Some((value + error, error)), noise)?.0 - line.own.value;
        line.unshown.known = NORMAL * moved.abs();
        // The resamples all have the same knowledge: its own doubt comes on top. free = (1 - share) / own, and own's
        // error moves share by -own's error over the mean input, so both add up.
        let input = samples.iter().map(|sample| sample.input).sum::<f64>() / samples.len() as f64;
        let slope = 1.0 / (input * value) - (1.0 - line.share.value) / value.powi(2);
        let doubt = NORMAL * error * slope.abs();
        let around = |side: f64| (side.powi(2) + doubt.powi(2)).sqrt();
        line.free.low = line.free.value - around(line.free.value - line.free.low);
        line.free.high = line.free.value + around(line.free.high - line.free.value);
    }
    Some(line)
}

/// Variance of one gap at an input of one, by how the samples lie about their line.
fn residual(samples: &[Sample], known: Option<Known>) -> Option<f64> {
    // A first guess of the noise does no harm: it only weighs what is known against the samples.
    let guess = samples.iter().map(|sample| sample.input).sum::<f64>() / samples.len().max(1) as f64;
    let (own, share) = solve(samples, known, guess)?;
    let freedom = samples.len().saturating_sub(1).max(1) as f64;
    let sum: f64 = samples
        .iter()
        .map(|sample| (sample.output - own - share * sample.input).powi(2) * sample.gaps / sample.input)
        .sum();
    Some((sum / freedom).max(LEAST_NOISE * guess))
}

/// Weighted least squares with a prior on the intercept.
fn solve(samples: &[Sample], known: Option<Known>, noise: f64) -> Option<(f64, f64)> {
    let (mut w, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for sample in samples {
        let weight = sample.gaps / (sample.input * noise);
        w += weight;
        x += weight * sample.input;
        y += weight * sample.output;
        xx += weight * sample.input.powi(2);
        xy += weight * sample.input * sample.output;
    }
    let (prior, value) = known.map_or((0.0, 0.0), |(value, error)| (error.max(1e-3).powi(-2), value));
    let (w, y) = (w + prior, y + prior * value);
    let determinant = w * xx - x * x;
    if determinant <= 1e-9 * w * xx {
        return None;
    }
    let share = (w * xy - x * y) / determinant;
    // Packets sent further apart do not come nearer to each other: an idle link's all come as far apart.
    let (own, share) = if share < 0.0 { (y / w, 0.0) } else { ((y - share * x) / w, share) };
    (own > 0.0).then_some((own, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Passed;
    use proptest::prelude::*;

    fn samples(own: f64, share: f64, inputs: &[f64]) -> Vec<Sample> {
        let of = |input: &f64| Sample {
            input: *input,
            output: own + share * input,
            gaps: 10.0,
            blur: 0.0,
            scatter: 0.0,
        };
        inputs.iter().map(of).collect()
    }

    /// What comes of a train of so many packets `input` apart, by stamps that are whole numbers of `stamps`.
    fn stamped(own: f64, share: f64, input: f64, packets: usize, began: f64, stamps: f64) -> Sample {
        let came =
            |number: usize| ((began + (own + share * input) * number as f64) / stamps).floor() * stamps;
        let passed: Vec<Passed> = (0..packets)
            .map(|number| Passed { number, sent: input * number as f64, came: came(number) - came(0) })
            .collect();
        Sample::of(&passed, &vec![true; packets - 1]).unwrap()
    }

    #[test]
    fn one_train_makes_no_line_whatever_is_known() {
        let known = Some((1e5, 10.0));
        assert_eq!(line(&samples(1e5, 0.5, &[1e5]), &[], known), None);
        assert_eq!(line(&[], &samples(1e5, 0.5, &[1.2e5]), known), None);
        assert!(line(&[], &samples(1e5, 0.5, &[1.2e5; 2]), known).is_some());
    }

    proptest! {
        #[test]
        fn two_spacings_make_a_line(own in 1e3..1e6f64, share in 0.0..0.95f64) {
            let inputs = [own, 1.3 * own, own, 1.2 * own];
            let line = line(&[], &samples(own, share, &inputs), None).unwrap();
            prop_assert!((line.own.value / own - 1.0).abs() < 1e-6, "{line:?}");
            prop_assert!((line.share.value - share).abs() < 1e-6, "{line:?}");
        }

        #[test]
        fn where_nothing_was_met_a_burst_may_have_been_missed(own in 1e3..1e6f64, looks in 5usize..100) {
            let idle = line(&[], &samples(own, 0.0, &[own; 5]), Some((own, own * 1e-6))).unwrap();
            let half = line(&[], &samples(own, 0.5, &[own; 5]), Some((own, own * 1e-6))).unwrap();
            let told = idle.of_looks(looks);
            prop_assert!(told.free.low * own <= 1.0 - UNSEEN / looks as f64 + 1e-9 && told.free.value == idle.free.value);
            prop_assert_eq!(half.of_looks(looks), half);
        }

        #[test]
        fn trains_read_in_batches_are_as_sure_as_a_gap(own in 1e3..1e6f64, share in 0.0..0.9f64) {
            let mut read = samples(own, share, &[own, 1.3 * own, own, 1.2 * own]);
            read.iter_mut().for_each(|sample| sample.blur = sample.output / 50.0);
            let free = line(&[], &read, None).unwrap().free;
            prop_assert!((free.high - free.value) * own >= 0.02 - 1e-6 && (free.value - free.low) * own >= 0.02 - 1e-6, "{free:?}");
        }

        /// By stamps of any resolution, and with a beginning that is known to within its error, or not known.
        #[test]
        fn what_a_link_carries_is_told_with_all_that_it_may_be_off_by(
            own in 1e2..1e6f64, share in 0.0..0.95f64, coarse in 0.0..0.05f64, known in proptest::option::of((1e-5..1e-2f64, -1.0..1.0f64)),
            began in prop::collection::vec(0.0..1.0f64, 12), packets in 4usize..30,
        ) {
            let stamps = (coarse * own).ceil().max(1.0);
            let train = |(place, began): (usize, &f64)| {
                stamped(own, share, own * [0.8, 1.25][place % 2], packets, began * stamps, stamps)
            };
            let (full, near): (Vec<_>, Vec<_>) = began.iter().enumerate().map(train).partition(|sample| sample.input < own);
            let known = known.map(|(error, off)| (own * (1.0 + error * off), own * error));
            if let Some(line) = line(&full, &near, known) {
                let (carries, left) = (line.carries(stamps), line.left(stamps));
                prop_assert!(carries.holds(1.0 / own), "{own} {carries:?} {line:?}");
                prop_assert!(left.high <= carries.high && left.value <= left.high && left.low == line.free.low, "{left:?} {carries:?}");
            }
        }

        #[test]
        fn one_spacing_needs_to_know_its_beginning(own in 1e3..1e6f64, share in 0.0..0.95f64) {
            let one = samples(own, share, &[own; 5]);
            prop_assert!(line(&[], &one, None).is_none());
            let line = line(&[], &one, Some((own, own * 1e-3))).unwrap();
            prop_assert!((line.share.value - share).abs() < 1e-2, "{line:?}");
        }
    }
}
