//! The signed-rank test of Wilcoxon (1945): whether the differences of pairs lie around zero.

use statrs::function::erf::erfc;

/// What the differences of pairs say.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SignedRank {
    /// Pairs with a difference: those without have no sign, and are left out.
    pub pairs: usize,
    /// The sum of the ranks of the differences above zero.
    pub above: f64,
    /// The sum of the ranks of those below.
    pub below: f64,
    /// The smaller sum less what is expected of it, in standard deviations (equal differences share their rank, which
    /// makes these smaller): never above zero.
    pub z: f64,
    /// How probable a `z` as far from zero is where nothing differs, by the normal distribution; below some twenty
    /// pairs that is rough.
    pub p: f64,
}

impl SignedRank {
    /// Of the differences that are finite. `None` where none differs from zero.
    #[must_use]
    pub fn of(differences: &[f64]) -> Option<Self> {
        let signed = |difference: &f64| difference.is_finite() && *difference != 0.0;
        let mut signed: Vec<f64> = differences.iter().copied().filter(signed).collect();
        signed.sort_unstable_by(|one, other| one.abs().total_cmp(&other.abs()));
        let (mut above, mut below, mut ties, mut before) = (0.0, 0.0, 0.0, 0.0);
        for equal in signed.chunk_by(|one, other| one.abs() == other.abs()) {
            let count = equal.len() as f64;
            let rank = before + f64::midpoint(1.0, count);
            let positive = equal.iter().filter(|difference| **difference > 0.0).count() as f64;
            above += rank * positive;
            below += rank * (count - positive);
            ties += count * (count * count - 1.0);
            before += count;
        }
        let variance = before * (before + 1.0) * (2.0 * before + 1.0) / 24.0 - ties / 48.0;
        let z = (above.min(below) - before * (before + 1.0) / 4.0) / variance.sqrt();
        z.is_finite().then(|| Self {
            pairs: signed.len(),
            above,
            below,
            z,
            p: erfc(z.abs() / std::f64::consts::SQRT_2),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: f64, wanted: f64, within: f64) {
        assert!((found - wanted).abs() <= within, "{found}, wanted {wanted}");
    }

    fn differences(one: &[f64], other: &[f64]) -> Vec<f64> {
        one.iter().zip(other).map(|(one, other)| one - other).collect()
    }

    /// Hollander and Wolfe (1973), p. 29, the example of R's `wilcox.test`: V = 40; without correction z = 2.073, P =
    /// 0.03815.
    #[test]
    fn the_textbook_example_comes_out() {
        let first = [1830.0, 500.0, 1620.0, 2480.0, 1680.0, 1880.0, 1550.0, 3060.0, 1300.0];
        let second = [878.0, 647.0, 598.0, 2050.0, 1060.0, 1290.0, 1060.0, 3140.0, 1290.0];
        let found = SignedRank::of(&differences(&first, &second)).unwrap();
        assert_eq!((found.pairs, found.above, found.below), (9, 40.0, 5.0));
        near(found.z, -2.0732, 5e-5);
        near(found.p, 0.03815, 5e-6);
    }

    /// With equal differences and a pair without any: ranks are shared, W+ = 27, W- = 18, and the deviation is that of
    /// nine pairs less ties of two and of three: 71.25 - (6 + 24) / 48.
    #[test]
    fn equal_differences_share_their_ranks() {
        let first = [125.0, 115.0, 130.0, 140.0, 140.0, 115.0, 140.0, 125.0, 140.0, 135.0];
        let second = [110.0, 122.0, 125.0, 120.0, 140.0, 124.0, 123.0, 137.0, 135.0, 145.0];
        let found = SignedRank::of(&differences(&first, &second)).unwrap();
        assert_eq!((found.pairs, found.above, found.below), (9, 27.0, 18.0));
        near(found.z, -4.5 / (71.25_f64 - 6.0 / 48.0).sqrt(), 1e-12);
    }

    /// The three z of paper 003 follow from their W with 194, 195 and 188 pairs (docs/book: papers/003), and their P
    /// with them. Ranks get signs so that the smaller sum is the printed W; one that is half a rank takes two equal
    /// differences of both signs.
    #[test]
    fn the_figures_of_paper_003_come_out() {
        for (w, pairs, z, p) in
            [(9442.0, 194, -0.0198, 0.98), (9030.5, 195, -0.6647, 0.51), (8034.5, 188, -1.1357, 0.26)]
        {
            let equal = if f64::fract(w) == 0.0 { vec![] } else { vec![1.5, -1.5] };
            let mut rest = w - equal.iter().copied().fold(0.0, f64::max);
            let mut differences = equal.clone();
            for rank in (equal.len() + 1..=pairs).rev().map(|rank| rank as f64) {
                let below = rank <= rest;
                rest -= if below { rank } else { 0.0 };
                differences.push(if below { -rank } else { rank });
            }
            let found = SignedRank::of(&differences).unwrap();
            assert_eq!((found.pairs, found.above.min(found.below)), (pairs, w));
            near(found.z, z, 5e-5);
            near(found.p, p, 5e-3);
        }
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(SignedRank::of(&[]), None);
        assert_eq!(SignedRank::of(&[0.0, f64::NAN, 0.0]), None);
    }

    proptest! {
        /// Ranks are all there, the other sign is the other sum, and what is symmetric is not significant.
        #[test]
        fn sums_are_those_of_all_ranks(values in prop::collection::vec(-50_i32..50, 1..80)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            match (SignedRank::of(&values), SignedRank::of(&turned)) {
                (Some(found), Some(turned)) => {
                    let count = found.pairs as f64;
                    prop_assert!((found.above + found.below - count * (count + 1.0) / 2.0).abs() < 1e-6);
                    prop_assert!(found.z <= 1e-12 && (0.0..=1.0).contains(&found.p));
                    prop_assert_eq!((turned.above, turned.below, turned.z), (found.below, found.above, found.z));
                }
                (none, also) => prop_assert_eq!(none, also),
            }
            let both = [values, turned].concat();
            if let Some(found) = SignedRank::of(&both) {
                prop_assert!(found.z.abs() < 1e-9 && found.p > 0.999_999);
            }
        }
    }
}
