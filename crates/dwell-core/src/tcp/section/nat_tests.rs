use super::super::{Connection, Ends, Sight};
use super::{NatJoin, WINDOW};
use crate::tcp::{Endpoint, Flag, Flags, Half, Quality};
use crate::unit::Nanos;

fn seen(client: u8, isn: u32, at: Nanos, probes: &[usize]) -> Connection {
    let end = |last| Endpoint { address: [192, 0, 2, last].into(), port: 1 };
    let ends = Ends { client: end(client), server: end(9), isn_client: isn, isn_server: 4 };
    let sight = |probe: &usize| Sight {
        probe: *probe,
        server: Half::Exact(Nanos(5)),
        client: Half::Exact(Nanos(6)),
        quality: Quality::Exact,
        flags: Flags::default(),
    };
    Connection { ends, first_at: at, sights: probes.iter().map(sight).collect() }
}

fn joined(probes: usize, offered: Vec<Connection>) -> (Vec<Connection>, u64, u64) {
    let mut join = NatJoin::new(probes);
    let mut out: Vec<Connection> = offered.into_iter().filter_map(|one| join.offer(one)).collect();
    join.finish(|one| out.push(one));
    out.sort_by_key(|one| (one.ends, one.first_at));
    (out, join.joined(), join.refused())
}

#[test]
fn rewritten_addresses_are_joined_and_flagged() {
    let offered =
        vec![seen(1, 7, Nanos(10), &[0, 1]), seen(2, 7, Nanos(20), &[2]), seen(3, 8, Nanos(9), &[2])];
    let (out, matches, refused) = joined(3, offered);
    assert_eq!((out.len(), matches, refused), (2, 1, 0));
    assert_eq!(out[0].ends, seen(1, 7, Nanos(10), &[]).ends, "as the first probe has it");
    assert_eq!(out[0].sights.iter().map(|one| one.probe).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(out[0].sights.iter().all(|one| one.flags.has(Flag::Nat)));
    assert!(!out[1].sights[0].flags.has(Flag::Nat));
}

#[test]
fn what_is_whole_is_not_kept() {
    let whole = seen(1, 7, Nanos(10), &[0, 1]);
    assert_eq!(NatJoin::new(2).offer(whole.clone()), Some(whole));
}

#[test]
fn the_same_numbers_twice_at_one_probe_are_refused() {
    let offered = vec![seen(1, 7, Nanos(10), &[0]), seen(2, 7, Nanos(11), &[1]), seen(3, 7, Nanos(12), &[1])];
    let (out, matches, refused) = joined(2, offered);
    assert_eq!((out.len(), matches, refused), (3, 0, 1));
    assert!(out.iter().all(|one| one.sights.len() == 1));
}

#[test]
fn the_same_numbers_at_another_time_are_another_connection() {
    let later = WINDOW + Nanos(11);
    let offered = vec![seen(1, 7, Nanos(10), &[0]), seen(2, 7, later, &[1])];
    let (out, matches, refused) = joined(2, offered);
    assert_eq!((out.len(), matches, refused), (2, 0, 0));
}
