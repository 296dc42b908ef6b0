use super::super::{Connection, Ends, Order, Place, Section, SectionQuality, Sight, Votes, split};
use super::Way;
use crate::tcp::{Endpoint, Flag, Flags, Half, Quality};
use crate::unit::Nanos;

/// Halves in microseconds, by probe: `S` and `C`.
fn seen(sights: &[(usize, i64, i64)]) -> Connection {
    let end = |port| Endpoint { address: [192, 0, 2, 1].into(), port };
    let ends = Ends { client: end(1), server: end(2), isn_client: 3, isn_server: 4 };
    let half = |micros| if micros == 0 { Half::Unknown } else { Half::Exact(Nanos::from_micros(micros)) };
    let sight = |(probe, server, client): &(usize, i64, i64)| Sight {
        probe: *probe,
        server: half(*server),
        client: half(*client),
        quality: Quality::Exact,
        flags: Flags::default(),
        syn_acks: 1,
    };
    Connection { ends, first_at: Nanos::ZERO, sights: sights.iter().map(sight).collect() }
}

/// What is told of a connection where so many others were heard.
fn told(others: &[(u32, Connection)], connection: &Connection) -> Vec<Section> {
    split(connection, &learned(others))
}

fn learned(others: &[(u32, Connection)]) -> Order {
    let mut votes = Votes::new(3);
    for (count, other) in others {
        (0..*count).for_each(|_| votes.hear(other));
    }
    votes.order()
}

fn lengths(sections: &[Section]) -> Vec<(Place, Place, i64)> {
    sections.iter().map(|one| (one.from, one.to, one.rtt.expect("a value").0 / 1_000)).collect()
}

/// From left to right 10, 20, 30 and 40 us.
fn rightwards() -> Connection {
    seen(&[(0, 90, 10), (1, 70, 30), (2, 40, 60)])
}

fn leftwards() -> Connection {
    seen(&[(0, 10, 90), (1, 30, 70), (2, 60, 40)])
}

#[test]
fn what_is_opened_from_the_other_side_is_told_from_there() {
    use Place::{Client, Probe, Server};
    let others = [(9, rightwards())];
    let sections = told(&others, &rightwards());
    assert!(sections.iter().all(|one| one.way == Way::Along));
    let path =
        [(Client, Probe(0), 10), (Probe(0), Probe(1), 20), (Probe(1), Probe(2), 30), (Probe(2), Server, 40)];
    assert_eq!(lengths(&sections), path);
    let sections = told(&others, &leftwards());
    assert!(sections.iter().all(|one| (one.way, one.quality) == (Way::Against, SectionQuality::Exact)));
    let path =
        [(Client, Probe(0), 40), (Probe(0), Probe(1), 30), (Probe(1), Probe(2), 20), (Probe(2), Server, 10)];
    assert_eq!(lengths(&sections), path);
    let order = learned(&others);
    assert_eq!([0, 1, 2].map(|rank| order.probe(Way::Against, rank)), [2, 1, 0]);
    // A probe is missing: the section spans both that it would have parted.
    let mut partly = leftwards();
    partly.sights.remove(1);
    let path = [(Client, Probe(0), 40), (Probe(0), Probe(2), 50), (Probe(2), Server, 10)];
    assert_eq!(lengths(&told(&others, &partly)), path);
}

#[test]
fn both_estimates_must_say_it_and_nothing_the_contrary() {
    let way = |connection| told(&[(9, rightwards())], &connection)[0].way;
    assert_eq!(way(seen(&[(0, 10, 90), (1, 30, 70)])), Way::Against);
    // One alone may be of different packets.
    assert_eq!(way(seen(&[(0, 10, 0), (1, 30, 0)])), Way::Along);
    assert_eq!(way(seen(&[(0, 0, 90), (1, 0, 70)])), Way::Along);
    assert_eq!(way(seen(&[(0, 10, 30), (1, 30, 70)])), Way::Along);
    // Nothing compares them, or no more than is rounded off.
    assert_eq!(way(seen(&[(0, 10, 0), (1, 0, 70)])), Way::Along);
    assert_eq!(way(seen(&[(1, 10, 90)])), Way::Along);
    assert_eq!(way(seen(&[(0, 10, 90), (1, 12, 88)])), Way::Along);
    // One pair says it, and another the contrary: no line of probes is like that.
    assert_eq!(way(seen(&[(0, 60, 40), (1, 90, 10), (2, 30, 70)])), Way::Along);
    // Neither end is the client.
    let mut crossed = leftwards();
    crossed.sights[0].flags.set(Flag::SimultaneousOpen);
    assert_eq!(way(crossed), Way::Along);
}

#[test]
fn noise_of_stamps_is_no_way() {
    // Next to each other, by stamps that err by some 10 us; and one far from both.
    let noisy = |server: i64, client: i64| seen(&[(0, 90, 10), (1, 90 + server, 10 + client), (2, 40, 60)]);
    let heard = [(6, noisy(-9, 9)), (4, noisy(9, -9)), (3, noisy(9, 9)), (3, noisy(-9, -9))];
    let sections = told(&heard, &noisy(9, -9));
    assert_eq!((sections[1].way, sections[1].quality), (Way::Along, SectionQuality::Inconsistent));
    assert_eq!(sections[1].rtt, Some(Nanos(-9_000)));
    // Where so many say the contrary of most and of the few that are torn, these connections run the other way.
    let way = |torn| {
        let pair = |server: i64, client: i64| seen(&[(0, 50, 50), (1, 50 + server, 50 + client)]);
        told(&[(6, pair(-9, 9)), (4, pair(9, -9)), (torn, pair(9, 9))], &pair(9, -9))[0].way
    };
    assert_eq!([0, 2, 3].map(way), [Way::Against, Way::Against, Way::Along]);
}

#[test]
fn an_order_that_is_given_is_turned_too_where_connections_are_heard() {
    let order = Order::pinned(vec![0, 1, 2]);
    assert_eq!(split(&leftwards(), &order)[0].way, Way::Along, "for all connections, as somebody says");
    let mut votes = Votes::new(3);
    votes.hear(&leftwards());
    let order = votes.pinned(vec![0, 1, 2]);
    assert_eq!((order.probes(), order.sure()), (&[0, 1, 2][..], None));
    assert_eq!(split(&leftwards(), &order)[0].way, Way::Against);
    assert_eq!(split(&rightwards(), &order)[0].way, Way::Along);
}

#[test]
fn where_others_run_both_ways_one_that_does_not_say_which_stands_apart() {
    let lone = seen(&[(0, 10, 90)]);
    let way = |against, lone: &Connection| told(&[(198, rightwards()), (against, leftwards())], lone)[0].way;
    // From 1 of 100 on: fewer move no 99th percentile.
    assert_eq!([0, 1, 2].map(|against| way(against, &lone)), [Way::Along, Way::Along, Way::Unknown]);
    assert_eq!([rightwards(), leftwards()].map(|one| way(9, &one)), [Way::Along, Way::Against]);
    // One estimate alone is enough for what most do, and for the contrary it is not.
    assert_eq!(way(9, &seen(&[(0, 90, 0), (1, 70, 0)])), Way::Along);
    assert_eq!(way(9, &seen(&[(0, 10, 0), (1, 30, 0)])), Way::Unknown);
    let sections = told(&[(3, rightwards()), (2, leftwards())], &lone);
    assert_eq!(
        lengths(&sections),
        [(Place::Client, Place::Probe(0), 90), (Place::Probe(0), Place::Server, 10)]
    );
    let mut crossed = leftwards();
    crossed.sights[0].flags.set(Flag::SimultaneousOpen);
    assert_eq!(way(9, &crossed), Way::Unknown);
}
