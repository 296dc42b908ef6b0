use super::{Blame, NoBlame, REACH};
use crate::tcp::section::{Course, Summary};
use crate::unit::Nanos;
use proptest::prelude::*;

fn of(times: impl IntoIterator<Item = i64>) -> Summary {
    let mut summary = Summary::default();
    times.into_iter().for_each(|time| summary.rtt.add(Nanos(time)));
    summary
}

fn among(sections: &[Summary]) -> Result<Blame, NoBlame> {
    let course = Course::default();
    Blame::among(&sections.iter().map(|summary| (summary, &course)).collect::<Vec<_>>())
}

#[test]
fn the_section_that_reaches_farthest_is_to_blame() {
    let jumpy = || (0..1_000).map(|number| if number % 10 < 7 { 100 } else { 900 });
    let blame = among(&[of([500; 1_000]), of(jumpy())]).expect("a blame");
    assert_eq!((blame.section, blame.median, blame.spread), (1, Nanos(100), Nanos(800)));
    assert!((blame.median_share().expect("a share") - 100.0 / 600.0).abs() < 1e-9);
    assert_eq!(blame.spread_share(), Some(1.0));
}

#[test]
fn what_cannot_be_compared_is_not() {
    let steady = || of([500; 100]);
    assert_eq!(among(&[steady(), of([-100; 100])]), Err(NoBlame::Negative(1)));
    assert_eq!(among(&[steady(), of([])]), Err(NoBlame::Unmeasured(1)));
    assert_eq!(among(&[of([0; 100]), of([0; 100])]), Err(NoBlame::NoTime));
    // By hand: 0.95^72 < 0.025 < 0.95^71.
    assert_eq!(among(&[steady(), of([1; 71])]), Err(NoBlame::TooFew(1, 71)));
    assert_eq!(among(&[steady(), of([1; 72])]).map(|blame| blame.section), Ok(0));
}

#[test]
fn what_hardly_differs_does_not_stand_out() {
    let Err(NoBlame::Close(most, next)) = among(&[of([80; 500]), of([99; 500])]) else { panic!("close") };
    assert_eq!((most.section, next.section, most.value, next.value), (1, 0, Nanos(99), Nanos(80)));
    assert_eq!(among(&[of([80; 500]), of([101; 500])]).map(|blame| blame.section), Ok(1));
    // The tails differ by far, and are of so few that chance may have made that.
    let tail = |rare: usize| of((0..100).map(move |number| if number < rare { 1_000 } else { 10 }));
    assert!(matches!(among(&[tail(4), tail(7)]), Err(NoBlame::Alike(..))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Sections of the same kind seldom have one that stands out, however few or many connections there are; of one
    /// that is twice as long as the others nobody else is named.
    #[test]
    fn chance_is_not_blamed(
        times in prop::collection::vec(prop::collection::vec(1_000i64..2_000, 300), 3), longer in 0usize..3,
    ) {
        let alike: Vec<Summary> = times.iter().map(|times| of(times.iter().copied())).collect();
        prop_assert!(among(&alike).is_err());
        let one = |(section, times): (usize, &Vec<i64>)| {
            of(times.iter().map(move |time| if section == longer { 2 * time } else { *time }))
        };
        let one: Vec<Summary> = times.iter().enumerate().map(one).collect();
        prop_assert_eq!(among(&one).map(|blame| blame.section), Ok(longer));
        prop_assert!(one[longer].rtt.interval(REACH).is_some());
    }
}
