use super::*;
use crate::unit::Bytes;
use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;

fn flow(six: bool) -> Flow {
    let (near, far) = if six { ("2001:db8::1", "2001:db8::7") } else { ("192.0.2.1", "192.0.2.7") };
    Flow { near: near.parse().unwrap(), far: far.parse().unwrap(), ports: [40_000, 33_434] }
}

/// A router's message about `packet`, of which it quotes `quoted` bytes.
fn message(flow: Flow, packet: &[u8], kind: [u8; 2], quoted: usize) -> Vec<u8> {
    let quote = &packet[..quoted.min(packet.len())];
    let mut bytes = Vec::new();
    if flow.far.is_ipv4() {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [192, 0, 2, 1], 64);
        builder.icmpv4_raw(kind[0], kind[1], [0; 4]).write(&mut bytes, quote).unwrap();
        bytes
    } else {
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64);
        builder.icmpv6_raw(kind[0], kind[1], [0; 4]).write(&mut bytes, quote).unwrap();
        bytes[40..].to_vec()
    }
}

/// Whether a host would take the packet's checksum for right.
fn right(packet: &[u8], flow: Flow) -> bool {
    let sliced = SlicedPacket::from_ip(packet).unwrap();
    let Some(TransportSlice::Udp(udp)) = sliced.transport else { panic!("no UDP") };
    let header = udp.to_header();
    let mut anew = Vec::new();
    let builder = match (flow.near, flow.far) {
        (IpAddr::V4(near), IpAddr::V4(far)) => PacketBuilder::ipv4(near.octets(), far.octets(), 64),
        (IpAddr::V6(near), IpAddr::V6(far)) => PacketBuilder::ipv6(near.octets(), far.octets(), 64),
        _ => unreachable!(),
    };
    builder.udp(header.source_port, header.destination_port).write(&mut anew, udp.payload()).unwrap();
    let Some(TransportSlice::Udp(expected)) = SlicedPacket::from_ip(&anew).unwrap().transport else {
        panic!()
    };
    expected.checksum() == header.checksum
}

proptest! {
    #[test]
    fn any_number_is_borne_by_a_right_checksum_and_read_again(number in 1u16.., size in 72u64..1526, six: bool, reached: bool) {
        let flow = flow(six);
        let packet = flow.write(Bytes(size), Some(3), number).unwrap();
        prop_assert!(right(&packet, flow));
        let kind = match (six, reached) { (false, false) => [11, 0], (false, true) => [3, 3], (true, false) => [3, 0], (true, true) => [1, 4] };
        // The least that a router may quote, and as much as fits.
        for quoted in [if six { 48 } else { 28 }, 1_200] {
            let heard = message(flow, &packet, kind, quoted);
            let reply = flow.read(&heard, heard.len()).unwrap();
            let says = if reached { Says::Reached } else { Says::Exceeded };
            prop_assert_eq!((reply.says, reply.number), (says, number));
        }
        let other = Flow { ports: [40_001, 33_434], ..flow };
        let heard = message(flow, &packet, kind, 48);
        prop_assert_eq!(other.read(&heard, heard.len()), None);
    }

    #[test]
    fn load_has_a_false_checksum(number in 1u16.., size in 72u64..1526, six: bool) {
        let flow = flow(six);
        prop_assert!(!right(&flow.write(Bytes(size), None, number).unwrap(), flow));
    }

    #[test]
    fn no_bytes_upset_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..120), six: bool, kind in 0u8..16, length: u16) {
        let _ = flow(six).read(&bytes, length.into());
        let mut packet = vec![0x45; 20];
        packet.extend([kind, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend(&bytes);
        let _ = flow(six).read(if six { &packet[20..] } else { &packet }, length.into());
    }

    /// Whatever comes back, however late, early, large or false: no method panics, stops asking never, or tells a figure
    /// that is not one.
    #[test]
    fn foreign_replies_upset_no_method(seed: u64, even in 72u64..1526, hops in 0u8..6) {
        let mut chance = crate::stats::bootstrap::Indices::new(seed);
        let stop = |hop| Stop { hop, address: None, says: Some(Says::Exceeded), addresses: 1, round_trip: Some(Nanos(1)) };
        let route = Route { stops: (1..=hops).map(stop).collect(), even: Bytes(even), most: Bytes(1_526), serialisation: Nanos(seed as i64 >> 20) };
        let facts = HopFacts { least: Bytes(72), most: Bytes(1_526) };
        let (mut survey, mut pathchar) = (Survey::new(facts), Pathchar::new(&route, Walk::PATIENCE));
        let (mut segment, mut pathneck) = (Segment::new(&route, [(1, Alone { round_trip: seed as f64, links: -1.0 })].into(), Walk::PATIENCE), Pathneck::new(&route, Some(Nanos(seed as i64 >> 8)), Walk::PATIENCE));
        for method in [&mut survey as &mut dyn HopMethod, &mut pathchar, &mut segment, &mut pathneck] {
            let mut rounds = 0usize;
            while let HopStep::Fire(round) = method.next() {
                rounds += 1;
                prop_assert!(rounds < 5_000, "never stops");
                for volley in round {
                    let mut time = |pick: usize| match pick { 0 => i64::MIN, 1 => i64::MAX, 2 => -5, _ => chance.below(1 << 40) as i64 };
                    let says = [Says::Exceeded, Says::Reached, Says::Refused];
                    let mut sighting: Sighting = volley.shots.iter().enumerate().map(|(place, shot)| {
                        let pick = (seed as usize).wrapping_add(place * 7 + rounds);
                        let answer = Answer { says: says[pick % 11 % 3], by: None, size: Bytes(pick as u64), at: Nanos(time(pick % 9)) };
                        Spent { shot: *shot, left: Nanos(time(pick % 8)), answer: (!pick.is_multiple_of(4)).then_some(answer) }
                    }).collect();
                    if rounds.is_multiple_of(5) { sighting.reverse(); }
                    method.see(&sighting);
                }
            }
        }
        let joined = join(&survey.route(), &pathchar, &segment, &pathneck);
        let other = join(&route, &pathchar, &segment, &pathneck);
        for text in [serde_json::to_string(&joined).unwrap(), serde_json::to_string(&other).unwrap()] {
            prop_assert!(!text.contains("null,\"low\""), "{}", text);
        }
    }
}
