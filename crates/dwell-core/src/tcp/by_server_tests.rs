use super::*;
use crate::tcp::{Endpoint, Flags, Half};
use std::net::Ipv4Addr;

/// A connection to the n-th network, whose server half is of so many us; `None`: nobody answered.
fn to(network: u32, half: Option<i64>) -> Handshake {
    let end = |address: u32| Endpoint { address: Ipv4Addr::from_bits(address).into(), port: 1 };
    let halves = half.map_or(Half::Unknown, |us| Half::Exact(Nanos(us * 1_000)));
    Handshake {
        client: end(1),
        server: end(network << 8),
        isn_client: 1,
        isn_server: half.map(|_| 2),
        first_at: Nanos(0),
        syn_at: Some(Nanos(0)),
        server_half: halves,
        client_half: halves,
        total: halves.then(halves),
        ending: if half.is_some() { Ending::Established } else { Ending::Unfinished },
        syns: 1,
        syn_acks: half.is_some().into(),
        flags: Flags::default(),
    }
}

fn of(handshakes: impl IntoIterator<Item = Handshake>) -> ByServer {
    let mut all = ByServer::default();
    handshakes.into_iter().for_each(|one| all.add(&one));
    all
}

/// All that was counted, wherever.
fn counted(all: &ByServer) -> ToServer {
    let mut sum = *all.others();
    all.ranked().iter().for_each(|(_, to)| sum.merge(to));
    sum
}

const MOST: u32 = MOST_PREFIXES as u32;

#[test]
fn a_network_that_comes_late_has_its_place_and_is_told_as_a_part() {
    let early = (0..MOST + 500).map(|n| to(n, Some(9)));
    let all = of(early.chain((0..5_000).map(|_| to(9_999, Some(500)))));
    let ranked = all.ranked();
    assert_eq!((ranked.len(), ranked[0].0), (MOST_PREFIXES, Prefix::of(to(9_999, None).server.address)));
    let (late, others) = (ranked[0].1, all.others());
    assert_eq!((late.connections, late.exact, late.is_part), (5_000, 5_000, true));
    assert_eq!((late.least(), late.mean()), (us(500), us(500)));
    assert_eq!((others.connections, others.least(), others.mean()), (501, us(9), us(9)));
    // Whoever came before any gave way is told whole.
    assert!(ranked.iter().any(|(_, to)| !to.is_part));
    assert_eq!(counted(&all).connections, 6_500);
}

fn us(us: i64) -> Option<Nanos> {
    Some(Nanos(us * 1_000))
}

#[test]
fn who_takes_the_first_place_that_is_given_up_is_told_whole() {
    let all = of((0..=MOST).map(|n| to(n, Some(9))));
    assert!(all.ranked().iter().all(|(_, to)| !to.is_part));
    assert_eq!(all.others().connections, 1);
}

#[test]
fn a_scan_takes_no_place_from_what_is_answered() {
    let scan = |from: u32| (from..from + 30_000).map(|n| to(n, None));
    // Before, and after.
    let before = of(scan(100_000).chain((0..MOST).map(|n| to(n, Some(9)))));
    let after = of((0..MOST).map(|n| to(n, Some(9))).chain(scan(100_000)));
    for all in [before, after] {
        assert!(all.ranked().iter().all(|(_, to)| to.exact == 1));
        assert_eq!((all.others().connections, all.others().exact), (30_000, 0));
    }
}

/// After two connections to each network that has a place, of 200,000 more each 500th goes to one network, and all others to another
/// each: in between, 499 others take a place.
#[test]
fn a_network_with_more_than_a_thousandth_has_a_place_among_whatever_others() {
    let early = (0..2 * MOST).map(|n| (2 << 20) + n % MOST);
    let late = (0..200_000).map(|n| if n % 500 == 0 { 1 << 20 } else { n });
    let all = of(early.chain(late).map(|network| to(network, Some(9))));
    let (network, most) = all.ranked()[0];
    assert_eq!(network, Prefix::of(to(1 << 20, None).server.address));
    // It is outside for a thousandth of all at most.
    assert!((400 - 202..=400).contains(&most.connections), "{most:?}");
    assert_eq!(counted(&all).connections, 202_000);
}
