use super::super::{Connection, Ends, Sight};
use super::{Clocks, Seen, TOGETHER};
use crate::tcp::{Endpoint, Flags, Half, Quality};
use crate::unit::Nanos;
use std::ops::ControlFlow;

fn ends(port: u16) -> Ends {
    let end = |port| Endpoint { address: [192, 0, 2, 1].into(), port };
    Ends { client: end(port), server: end(443), isn_client: 1, isn_server: 2 }
}

/// A record of this probe, that many seconds after some instant.
fn at(probe: usize, second: i64) -> Seen {
    let sight = Sight {
        probe,
        server: Half::Exact(Nanos(second)),
        client: Half::Unknown,
        quality: Quality::Exact,
        flags: Flags::default(),
        syn_acks: 1,
    };
    Seen { first_at: Nanos::from_secs(second), sight }
}

/// Which records, by probe and second, make a connection each, as ports are given.
fn told(most: usize, keys: &[(u16, &[Seen])]) -> Vec<Vec<(usize, i64)>> {
    let mut clocks = Clocks { most, ..Clocks::new(3) };
    let mut all: Vec<Connection> = Vec::new();
    let mut take = |connection, _| {
        all.push(connection);
        ControlFlow::Continue(())
    };
    for (port, seen) in keys {
        assert!(clocks.part(ends(*port), seen.to_vec(), &mut take).is_continue());
    }
    assert!(clocks.finish(&mut take).is_continue());
    all.sort_by_key(|one| (one.ends, one.first_at));
    let second = |sight: &Sight| match sight.server {
        Half::Exact(time) => time.0,
        _ => unreachable!("as made above"),
    };
    all.iter().map(|one| one.sights.iter().map(|sight| (sight.probe, second(sight))).collect()).collect()
}

#[test]
fn of_each_connection_it_is_known_how_many_records_were_left_out() {
    let (mut clocks, mut all) = (Clocks::new(3), Vec::new());
    let mut take = |_, left_out| {
        all.push(left_out);
        ControlFlow::Continue(())
    };
    for seen in
        [vec![at(0, 0)], vec![at(0, 0), at(1, 1), at(0, 2), at(0, 3)], vec![at(1, 0), at(0, 300), at(0, 301)]]
    {
        assert!(clocks.part(ends(1), seen, &mut take).is_continue());
    }
    assert!(clocks.finish(&mut take).is_continue());
    assert_eq!(all, [0, 2, 0, 1]);
}

#[test]
fn what_comes_again_with_the_same_numbers_is_another_connection() {
    let others = [(1, &[at(0, 0), at(1, 1)][..]), (2, &[at(0, 5), at(1, 5)]), (3, &[at(0, 9), at(1, 9)])];
    let alone = |parted: &[Seen]| {
        told(9, &[&others[..], &[(9, parted)]].concat()).into_iter().skip(others.len()).collect::<Vec<_>>()
    };
    assert_eq!(alone(&[at(0, 0), at(1, 300)]), [[(0, 0)], [(1, 300)]]);
    assert_eq!(alone(&[at(1, 0), at(0, 300)]), [[(1, 0)], [(0, 300)]]);
    // One that both saw, and one that one of them missed.
    let seen = [at(0, 0), at(0, 300), at(1, 300), at(2, 301)];
    assert_eq!(alone(&seen), [vec![(0, 0)], vec![(0, 300), (1, 300), (2, 301)]]);
    // The last SYN of one, and its first; a capture that was begun anew.
    assert_eq!(alone(&[at(0, 0), at(1, 63)]), [[(0, 0), (1, 63)]]);
    assert_eq!(alone(&[at(0, 2), at(0, 1), at(1, 1)]), [[(0, 1), (1, 1)]]);
}

#[test]
fn clocks_are_as_far_apart_as_most_connections_tell() {
    let hour = 3_600;
    let far = |second: i64| [at(0, second), at(1, second + hour), at(2, second - hour)];
    let (one, two, three) = (far(0), far(300), far(600));
    let parted = [at(0, 0), at(1, hour + 300), at(2, 300 - hour)];
    let keys: [(u16, &[Seen]); 4] = [(1, &one), (2, &two), (3, &three), (4, &parted)];
    let pairs = |second: i64| vec![(0, second), (1, second + hour), (2, second - hour)];
    let expected = [pairs(0), pairs(300), pairs(600), vec![(1, hour + 300), (2, 300 - hour)], vec![(0, 0)]];
    let sorted = |mut told: Vec<Vec<(usize, i64)>>| {
        told.sort();
        told
    };
    for most in [3, 9] {
        assert_eq!(sorted(told(most, &keys)), sorted(expected.to_vec()), "{most}");
    }
    // Of a single one, that clocks are apart is likelier than the same numbers twice.
    assert_eq!(told(9, &keys[..1]), [pairs(0)]);
}

#[test]
fn clocks_that_drift_within_the_bound_are_together() {
    let edge = TOGETHER.0 / 1_000_000_000;
    let others = [(1, &[at(0, 0), at(1, 0)][..]), (2, &[at(0, 0), at(1, 0)])];
    let last = |second| told(9, &[&others[..], &[(3, &[at(0, 0), at(1, second)])]].concat()).len();
    assert_eq!((last(edge), last(edge + 1)), (3, 4));
}
