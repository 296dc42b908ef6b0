use super::super::{Connection, Ends, Sight};
use super::Votes;
use crate::tcp::{Endpoint, Flag, Flags, Half, Quality};
use crate::unit::Nanos;
use proptest::prelude::*;

fn seen(sights: &[(usize, i64, i64)]) -> Connection {
    let end = |port| Endpoint { address: [192, 0, 2, 1].into(), port };
    let ends = Ends { client: end(1), server: end(2), isn_client: 3, isn_server: 4 };
    let sight = |(probe, server, client): &(usize, i64, i64)| Sight {
        probe: *probe,
        server: Half::Exact(Nanos(*server)),
        client: Half::Exact(Nanos(*client)),
        quality: Quality::Exact,
        flags: Flags::default(),
        syn_acks: 1,
    };
    Connection { ends, first_at: Nanos::ZERO, sights: sights.iter().map(sight).collect() }
}

#[test]
fn the_order_is_told_by_what_falls_and_what_rises() {
    let mut votes = Votes::new(3);
    for n in 0..99 {
        votes.hear(&seen(&[(0, 10 + n, 90), (1, 90 + n, 10), (2, 50 + n, 50)]));
    }
    assert_eq!((votes.order().probes(), votes.order().sure()), (&[1, 2, 0][..], Some(1.0)));
    // One that says the contrary makes it less sure.
    votes.hear(&seen(&[(1, 10, 90), (2, 50, 50)]));
    assert_eq!((votes.order().probes(), votes.order().sure()), (&[1, 2, 0][..], Some(0.99)));
    assert_eq!(votes.connections(), 100);
}

#[test]
fn probes_are_put_in_order_by_way_of_others() {
    let mut votes = Votes::new(3);
    votes.hear(&seen(&[(0, 50, 50), (2, 90, 10)]));
    votes.hear(&seen(&[(0, 50, 50), (1, 10, 90)]));
    assert_eq!(votes.order().probes(), [2, 0, 1]);
    // Nothing compares 2 with 1, but they are no neighbours.
    assert_eq!(votes.order().sure(), Some(1.0));
    assert_eq!(votes.share(1, 2), None);
}

#[test]
fn halves_that_contradict_each_other_say_nothing() {
    let mut votes = Votes::new(2);
    votes.hear(&seen(&[(0, 50, 50), (1, 90, 90)]));
    votes.hear(&seen(&[(0, 50, 50), (1, 50, 50)]));
    assert_eq!((votes.connections(), votes.order().sure()), (0, None));
    votes.hear(&seen(&[(0, 50, 50), (1, 90, 50)]));
    assert_eq!(votes.order().probes(), [1, 0]);
}

#[test]
fn what_both_ends_opened_says_nothing() {
    let mut votes = Votes::new(2);
    let mut crossed = seen(&[(0, 10, 90), (1, 90, 10)]);
    crossed.sights[0].flags.set(Flag::SimultaneousOpen);
    votes.hear(&crossed);
    assert_eq!((votes.connections(), votes.order().sure()), (0, None));
}

/// How many votes agree with an order.
fn agree(votes: &Votes, probes: &[usize]) -> u64 {
    let pairs = (0..probes.len()).flat_map(|two| (0..two).map(move |one| (one, two)));
    pairs.map(|(one, two)| votes.nearer[probes[one]][probes[two]]).sum()
}

/// All orders of so many.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let with = |order: Vec<usize>, place| [&order[..place], &[last][..], &order[place..]].concat();
    orders(last)
        .into_iter()
        .flat_map(|order| (0..=last).map(move |place| with(order.clone(), place)))
        .collect()
}

proptest! {
    /// Whatever pairs are compared beside the neighbours, however often, and whatever the list's order.
    #[test]
    fn votes_that_agree_are_all_kept(
        (true_order, compared) in (2usize..24).prop_flat_map(|count| {
            let list: Vec<usize> = (0..count).collect();
            let compared = prop::collection::vec(prop::option::weighted(0.2, 1u64..500), count * count);
            (Just(list).prop_shuffle(), compared)
        })
    ) {
        let count = true_order.len();
        let mut votes = Votes::new(count);
        for two in 0..count {
            for one in 0..two {
                let least = u64::from(one + 1 == two);
                votes.nearer[true_order[one]][true_order[two]] = compared[one * count + two].unwrap_or(least);
            }
        }
        let order = votes.order();
        prop_assert_eq!(order.probes(), &true_order[..]);
        prop_assert_eq!(order.sure(), Some(1.0));
        let fewest = true_order.windows(2).map(|pair| votes.nearer[pair[0]][pair[1]]).min();
        prop_assert_eq!(order.voters(), fewest);
    }

    #[test]
    fn no_order_has_more_votes(count in 1usize..7, drawn in prop::collection::vec(0u64..6, 36)) {
        let mut votes = Votes::new(count);
        for (place, drawn) in drawn.iter().enumerate() {
            let (one, two) = (place / 6, place % 6);
            if one != two && one.max(two) < count {
                votes.nearer[one][two] = *drawn;
            }
        }
        let most = orders(count).iter().map(|order| agree(&votes, order)).max();
        prop_assert_eq!(Some(agree(&votes, votes.order().probes())), most);
    }

    /// More of them than all orders of are tried: none stands better elsewhere.
    #[test]
    fn of_many_none_stands_better_elsewhere(drawn in prop::collection::vec(0u64..6, 225)) {
        let mut votes = Votes::new(15);
        for (place, drawn) in drawn.iter().enumerate().filter(|(place, _)| place / 15 != place % 15) {
            votes.nearer[place / 15][place % 15] = *drawn;
        }
        let found = votes.order().probes().to_vec();
        for from in 0..15 {
            for to in 0..15 {
                let mut moved = found.clone();
                let probe = moved.remove(from);
                moved.insert(to, probe);
                prop_assert!(agree(&votes, &moved) <= agree(&votes, &found));
            }
        }
    }
}
