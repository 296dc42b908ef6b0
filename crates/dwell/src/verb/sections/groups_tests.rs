use super::*;
use dwell_core::Nanos;
use dwell_core::tcp::section::{Ends, Order, Place, Sight, split};
use dwell_core::tcp::{Endpoint, Flags, Half, MOST_PREFIXES, Quality};
use std::net::Ipv4Addr;

/// From so many /24 on, at this minute, seen at one probe.
fn hear(groups: &mut Groups, client: u32, minute: i32) {
    let end = |address: u32| Endpoint { address: Ipv4Addr::from_bits(address).into(), port: 1 };
    let ends = Ends { client: end(client << 8), server: end(1 << 30), isn_client: 1, isn_server: 2 };
    let half = Half::Exact(Nanos(1_000_000));
    let (quality, flags) = (Quality::Exact, Flags::default());
    let sight = Sight { probe: 0, server: half, client: half, quality, flags, syn_acks: 1 };
    let connection = Connection { ends, first_at: Minute(minute).start(), sights: vec![sight] };
    for section in split(&connection, &Order::pinned(vec![0])) {
        groups.add(&connection, &section);
    }
}

/// The rows of the clients' section.
fn of_clients(groups: &Groups) -> Vec<(String, u64, u64)> {
    let rows = groups.rows().into_iter().filter(|(_, leg, _)| leg.from == Place::Client);
    rows.map(|(name, _, group)| (name.to_string(), group.connections, group.times.count())).collect()
}

#[test]
fn networks_are_a_bounded_number_and_the_busiest_come_first() {
    let mut groups = Groups::new(By::Prefix);
    (0..3_000).for_each(|client| hear(&mut groups, client, 0));
    (0..5).for_each(|_| hear(&mut groups, 900, 0));
    let rows = of_clients(&groups);
    // One of them is the server's.
    assert_eq!(rows.len(), MOST_PREFIXES);
    assert_eq!(rows[0], ("0.3.132.0/24".to_owned(), 6, 6));
    assert_eq!(rows[1].0, "0.0.0.0/24");
    assert_eq!(rows.last().unwrap(), &("other".to_owned(), 2_001, 2_001));
}

#[test]
fn the_last_minutes_are_told_whichever_order_they_come_in() {
    let most = MOST_MINUTES as i32;
    let (mut ascending, mut descending) = (Groups::new(By::Minute), Groups::new(By::Minute));
    (0..most + 7).for_each(|minute| hear(&mut ascending, 1, minute));
    (0..most + 7).rev().for_each(|minute| hear(&mut descending, 1, minute));
    // One that comes late.
    hear(&mut ascending, 1, 3);
    hear(&mut descending, 1, 3);
    let rows = of_clients(&ascending);
    assert_eq!(rows, of_clients(&descending));
    assert_eq!(rows.len(), MOST_MINUTES + 1);
    assert_eq!(rows[0], ("earlier".to_owned(), 8, 8));
    assert_eq!(rows[1], (Minute(7).to_string(), 1, 1));
    assert_eq!(rows.last().unwrap().0, Minute(most + 6).to_string());
}
