use super::super::{Connection, Ends, Sight, Votes};
use crate::tcp::{Endpoint, Flags, Half, Quality};
use crate::unit::Nanos;

/// A connection that passes these probes one after the other, 10 us apart.
fn passing(probes: &[usize]) -> Connection {
    let end = |port| Endpoint { address: [192, 0, 2, 1].into(), port };
    let ends = Ends { client: end(1), server: end(2), isn_client: 3, isn_server: 4 };
    let half = |steps: usize| Half::Exact(Nanos::from_micros(10 * steps as i64));
    let sight = |(place, probe): (usize, &usize)| Sight {
        probe: *probe,
        server: half(probes.len() - place),
        client: half(place + 1),
        quality: Quality::Exact,
        flags: Flags::default(),
        syn_acks: 1,
    };
    let mut sights: Vec<Sight> = probes.iter().enumerate().map(sight).collect();
    sights.sort_by_key(|sight| sight.probe);
    Connection { ends, first_at: Nanos::ZERO, sights }
}

fn votes(probes: usize, passing_so: &[(u32, &[usize])]) -> Votes {
    let mut votes = Votes::new(probes);
    for (count, probes) in passing_so {
        (0..*count).for_each(|_| votes.hear(&passing(probes)));
    }
    votes
}

#[test]
fn the_line_is_sure_whichever_way_connections_run_and_most_say_which_end_is_first() {
    let both = |right, left| votes(3, &[(right, &[2, 0, 1]), (left, &[1, 0, 2])]).order();
    for (right, left, probes) in [(80, 20, [2, 0, 1]), (20, 80, [1, 0, 2]), (51, 49, [2, 0, 1])] {
        let order = both(right, left);
        assert_eq!((order.probes(), order.sure(), order.voters()), (&probes[..], Some(1.0), Some(100)));
    }
}

#[test]
fn probes_that_miss_some_of_either_way_break_no_line() {
    // Most that pass 0 and 1 run to the right, most that pass 2 and 3 to the left; pair by pair no order is in that.
    let heard: [(u32, &[usize]); 4] =
        [(30, &[0, 1, 2, 3]), (29, &[3, 2, 1, 0]), (10, &[0, 1]), (20, &[3, 2])];
    let order = votes(4, &heard).order();
    assert_eq!((order.probes(), order.sure()), (&[3, 2, 1, 0][..], Some(1.0)));
}

#[test]
fn neighbours_alone_are_turned_by_most_of_them() {
    let heard: [(u32, &[usize]); 4] = [(3, &[1, 0]), (9, &[0, 1]), (2, &[2, 1]), (9, &[1, 2])];
    let order = votes(3, &heard).order();
    assert_eq!((order.probes(), order.sure(), order.voters()), (&[0, 1, 2][..], Some(1.0), Some(11)));
}
