use super::super::{Connection, Ends, Sight};
use super::Votes;
use crate::tcp::{Endpoint, Flag, Flags, Half, Quality};
use crate::unit::Nanos;

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
