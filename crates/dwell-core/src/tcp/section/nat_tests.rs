use super::super::{Connection, Ends, Order, Sight, Votes};
use super::{NatCounts, NatJoin, WINDOW};
use crate::tcp::{Endpoint, Flag, Flags, Half, Quality};
use crate::unit::Nanos;
use std::net::IpAddr;

fn seen(client: u8, isn: u32, at: Nanos, probes: &[usize]) -> Connection {
    let end = |last| Endpoint { address: [192, 0, 2, last].into(), port: 1 };
    let ends = Ends { client: end(client), server: end(9), isn_client: isn, isn_server: 4 };
    let sight = |probe: &usize| Sight {
        probe: *probe,
        server: Half::Exact(Nanos(5)),
        client: Half::Exact(Nanos(6)),
        quality: Quality::Exact,
        flags: Flags::default(),
        syn_acks: 1,
    };
    Connection { ends, first_at: at, sights: probes.iter().map(sight).collect() }
}

fn joined(probes: usize, offered: Vec<Connection>) -> (Vec<Connection>, u64, u64) {
    let (mut join, mut out) = (NatJoin::new(probes), Vec::new());
    offered.into_iter().for_each(|one| join.offer(one, &mut |one| out.push(one)));
    join.finish(&mut |one| out.push(one));
    out.sort_by_key(|one| (one.ends, one.first_at));
    (out, join.counts().joined, join.counts().refused)
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
fn each_end_is_called_as_next_to_it_whichever_way_and_in_whichever_list() {
    // From 10 to 20 as the first on the path has it, from 11 to 20 as the second, from 11 to 21 as the third: both
    // addresses are rewritten, one by one. Halves in microseconds.
    let part = |[client, server]: [u8; 2], probe, [to_server, to_client]: [i64; 2]| {
        let mut part = seen(client, 7, Nanos(10), &[probe]);
        part.ends.server.address = [192, 0, 2, server].into();
        part.sights[0].server = Half::Exact(Nanos::from_micros(to_server));
        part.sights[0].client = Half::Exact(Nanos::from_micros(to_client));
        part
    };
    for list in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut votes = Votes::new(3);
        let rightwards = [[90, 10], [60, 40], [20, 80]];
        let on_path = [0, 1, 2].map(|place| part([1, 9], list[place], rightwards[place]));
        let mut heard = on_path[0].clone();
        heard.sights = on_path.iter().flat_map(|part| part.sights.clone()).collect();
        heard.sights.sort_by_key(|sight| sight.probe);
        (0..9).for_each(|_| votes.hear(&heard));
        for is_turned in [false, true] {
            let halves = rightwards
                .map(|[server, client]| if is_turned { [client, server] } else { [server, client] });
            let mut called = [[10, 20], [11, 20], [11, 21]];
            if is_turned {
                called.reverse();
            }
            let (mut join, mut out) = (NatJoin::in_order(votes.order()), Vec::new());
            for place in 0..3 {
                join.offer(part(called[place], list[place], halves[place]), &mut |one| out.push(one));
            }
            join.finish(&mut |one| out.push(one));
            let ends: Vec<_> =
                out.iter().map(|one| [one.ends.client, one.ends.server].map(|end| end.address)).collect();
            assert_eq!(ends, [[10, 21].map(|last| IpAddr::from([192, 0, 2, last]))], "{list:?} {is_turned}");
        }
    }
}

#[test]
fn what_is_whole_is_not_kept() {
    let whole = seen(1, 7, Nanos(10), &[0, 1]);
    let mut out = Vec::new();
    NatJoin::new(2).offer(whole.clone(), &mut |one| out.push(one));
    assert_eq!(out, [whole]);
}

#[test]
fn the_same_numbers_twice_at_one_probe_are_refused() {
    let offered = vec![seen(1, 7, Nanos(10), &[0]), seen(2, 7, Nanos(11), &[1]), seen(3, 7, Nanos(12), &[1])];
    let (out, matches, refused) = joined(2, offered);
    assert_eq!((out.len(), matches, refused), (3, 0, 1));
    assert!(out.iter().all(|one| one.sights.len() == 1));
}

#[test]
fn numbers_that_every_probe_saw_of_another_connection_join_nothing() {
    let window = |n: i64| Nanos(WINDOW.0 * n);
    let (near, far) = ([&[0][..], &[1]], window(2) + Nanos(30));
    let parts = |at: Nanos| [seen(1, 7, at, near[0]), seen(2, 7, at + Nanos(1), near[1])];
    for whole in [Nanos(10), Nanos(30)] {
        let offered = [vec![seen(3, 7, whole, &[0, 1])], parts(Nanos(20)).to_vec()].concat();
        let (out, matches, refused) = joined(2, offered);
        assert_eq!((out.len(), matches, refused), (3, 0, 1));
    }
    // At another time, and other numbers.
    for whole in [seen(3, 7, far, &[0, 1]), seen(3, 8, Nanos(10), &[0, 1])] {
        let (out, matches, refused) = joined(2, [vec![whole], parts(Nanos(20)).to_vec()].concat());
        assert_eq!((out.len(), matches, refused), (2, 1, 0));
    }
    // Again and again.
    let again = [seen(3, 7, Nanos(10), &[0, 1]), seen(4, 7, far, &[0, 1])].to_vec();
    assert_eq!(joined(2, [again, parts(window(1)).to_vec()].concat()).1, 0);
}

#[test]
fn the_same_numbers_at_another_time_are_another_connection() {
    let later = WINDOW + Nanos(11);
    let offered = vec![seen(1, 7, Nanos(10), &[0]), seen(2, 7, later, &[1])];
    let (out, matches, refused) = joined(2, offered);
    assert_eq!((out.len(), matches, refused), (2, 0, 0));
}

#[test]
fn packet_time_settles_what_waits() {
    let (mut join, mut out) = (NatJoin::new(2), Vec::new());
    let second = |number: i64| Nanos::from_secs(number);
    let offered = [
        seen(1, 7, second(0), &[0]),
        seen(1, 8, second(100), &[0]),
        seen(2, 8, second(200), &[1]),
        seen(2, 7, second(300), &[1]),
    ];
    for (one, waiting) in offered.into_iter().zip([1, 2, 2, 3]) {
        join.pass(one.first_at, &mut |one| out.push(one));
        join.offer(one, &mut |one| out.push(one));
        // The first is settled when the third comes, 200 s after it; the pair waits for the window after its last.
        assert_eq!(join.count, waiting);
    }
    assert_eq!(out.iter().map(|one| one.sights.len()).collect::<Vec<_>>(), [1]);
    join.pass(second(321), &mut |one| out.push(one));
    assert_eq!(out.iter().map(|one| one.sights.len()).collect::<Vec<_>>(), [1, 2]);
    join.finish(&mut |one| out.push(one));
    assert_eq!((join.count, join.ages.len(), join.waiting.len()), (0, 0, 0));
    assert_eq!(join.counts(), NatCounts { joined: 1, refused: 0, aged: 2, crowded: 0 });
}

#[test]
fn too_many_make_place_the_oldest_first() {
    let (mut join, mut out) = (NatJoin::bounded(Order::pinned(vec![0, 1]), 10), Vec::new());
    for number in 0..1_000u32 {
        join.offer(seen(1, number, Nanos(number.into()), &[0]), &mut |one| out.push(one));
        assert!(join.count <= 10 && join.waiting.len() == join.ages.len());
    }
    let isns: Vec<u32> = out.iter().map(|one| one.ends.isn_client).collect();
    assert_eq!(isns, (0..990).collect::<Vec<_>>());
    // A match of one that is still there is made, of one that is gone is not.
    join.offer(seen(2, 995, Nanos(1_000), &[1]), &mut |one| out.push(one));
    join.offer(seen(2, 5, Nanos(1_001), &[1]), &mut |one| out.push(one));
    join.finish(&mut |one| out.push(one));
    assert_eq!(join.counts(), NatCounts { joined: 1, refused: 0, aged: 8, crowded: 992 });
    assert_eq!(out.len(), 1_001);
}
