use super::super::{Connection, Ends, Estimate, Order, Sight};
use super::{Place, SectionQuality, split};
use crate::tcp::{Endpoint, Flag, Flags, Half, Quality};
use crate::unit::Nanos;
use proptest::prelude::*;

fn sight(probe: usize, server: Half, client: Half) -> Sight {
    Sight { probe, server, client, quality: Quality::Exact, flags: Flags::default(), syn_acks: 1 }
}

fn exact(ns: i64) -> Half {
    Half::Exact(Nanos(ns))
}

fn connection(sights: Vec<Sight>) -> Connection {
    let end = |port| Endpoint { address: [192, 0, 2, 1].into(), port };
    let ends = Ends { client: end(1), server: end(2), isn_client: 3, isn_server: 4 };
    Connection { ends, first_at: Nanos::ZERO, sights }
}

fn of(one: [Half; 2], two: [Half; 2]) -> super::Section {
    let seen = connection(vec![sight(0, one[0], one[1]), sight(1, two[0], two[1])]);
    split(&seen, &Order::pinned(vec![0, 1]))[1]
}

#[test]
fn two_probes_make_three_sections() {
    // papers/003, Figure 2: alpha and beta.
    let seen =
        connection(vec![sight(0, exact(90_000), exact(10_000)), sight(1, exact(30_000), exact(72_000))]);
    let sections = split(&seen, &Order::pinned(vec![0, 1]));
    let told: Vec<_> = sections.iter().map(|one| (one.from, one.to, one.rtt, one.consistency)).collect();
    assert_eq!(
        told,
        [
            (Place::Client, Place::Probe(0), Some(Nanos(10_000)), None),
            (Place::Probe(0), Place::Probe(1), Some(Nanos(61_000)), Some(Nanos(-2_000))),
            (Place::Probe(1), Place::Server, Some(Nanos(30_000)), None),
        ]
    );
    assert_eq!(sections[1].server_side, Estimate::Exact(Nanos(60_000)));
    assert_eq!(sections[1].client_side, Estimate::Exact(Nanos(62_000)));
    assert!(sections.iter().all(|one| one.quality == SectionQuality::Exact));
}

#[test]
fn a_probe_that_is_absent_leaves_a_longer_section() {
    let seen = connection(vec![sight(0, exact(90), exact(10)), sight(2, exact(30), exact(70))]);
    let sections = split(&seen, &Order::pinned(vec![0, 1, 2]));
    assert_eq!((sections[1].from, sections[1].to), (Place::Probe(0), Place::Probe(2)));
    let sections = split(&seen, &Order::pinned(vec![1, 2]));
    assert_eq!((sections[0].from, sections[0].to), (Place::Client, Place::Probe(1)));
    assert_eq!(sections[0].rtt, Some(Nanos(70)));
    assert!(split(&seen, &Order::pinned(vec![1])).is_empty());
}

#[test]
fn what_is_negative_is_told_and_not_clamped() {
    let section = of([exact(50_000), exact(10_000)], [exact(60_000), exact(5_000)]);
    assert_eq!((section.rtt, section.quality), (Some(Nanos(-7_500)), SectionQuality::Inconsistent));
    assert_eq!(section.measured(), Some(Nanos(-7_500)));
    // What stamps of microseconds make of nothing is nothing.
    let section = of([exact(50_000), exact(10_000)], [exact(52_000), exact(8_000)]);
    assert_eq!((section.rtt, section.quality), (Some(Nanos(-2_000)), SectionQuality::Exact));
}

#[test]
fn bounds_stay_bounds() {
    let at_most = |ns| Half::AtMost(Nanos(ns));
    let none = Half::Unknown;
    let cases = [
        (of([exact(90), at_most(50)], [exact(30), at_most(99)]), Some(60), SectionQuality::OneSided),
        (of([at_most(90), none], [exact(30), none]), Some(60), SectionQuality::UpperBound),
        (of([exact(90), none], [at_most(30), none]), Some(60), SectionQuality::LowerBound),
        (of([none, exact(20)], [none, at_most(80)]), Some(60), SectionQuality::UpperBound),
        (of([none, exact(20)], [exact(9), none]), None, SectionQuality::Unfinished),
        (of([at_most(90), none], [at_most(30), none]), None, SectionQuality::Unfinished),
        (of([at_most(30_000), none], [exact(90_000), none]), None, SectionQuality::Inconsistent),
    ];
    for (case, (section, rtt, quality)) in cases.into_iter().enumerate() {
        assert_eq!((section.rtt, section.quality), (rtt.map(Nanos), quality), "case {case}");
    }
}

#[test]
fn what_is_ambiguous_or_refused_is_withheld() {
    let mut seen = connection(vec![sight(0, Half::Unknown, Half::Unknown), sight(1, exact(3), exact(4))]);
    seen.sights[0].quality = Quality::Ambiguous;
    let order = Order::pinned(vec![0, 1]);
    let qualities =
        |seen: &Connection| -> Vec<_> { split(seen, &order).iter().map(|one| one.quality).collect() };
    use SectionQuality::{Ambiguous, Exact, OneSided, Refused};
    // A probe at which everything is withheld parts nothing.
    assert_eq!(qualities(&seen), [Exact, Exact]);
    seen.sights[0].server = exact(5);
    assert_eq!(qualities(&seen), [Ambiguous, OneSided, Exact]);
    // Refused after the SYN/ACK: the server half is to that.
    seen.sights[1].quality = Quality::Refused;
    assert_eq!(qualities(&seen), [Ambiguous, OneSided, Exact]);
    seen.sights[0] = sight(0, Half::Unknown, exact(2));
    assert_eq!(qualities(&seen), [Exact, Refused, Exact]);
    seen.sights.remove(0);
    assert_eq!(qualities(&seen), [Refused, Exact]);
    seen.sights[0] = sight(0, Half::Unknown, Half::Unknown);
    assert_eq!(qualities(&seen), [SectionQuality::Unfinished; 2]);
}

#[test]
fn halves_of_different_packets_make_no_section() {
    let mut seen =
        connection(vec![sight(0, exact(90_000), exact(10_000)), sight(1, exact(30_000), exact(72_000))]);
    let middle = |seen: &Connection| split(seen, &Order::pinned(vec![0, 1]))[1];
    // The ACK to the first SYN/ACK was lost between the probes, and the second probe saw that to another.
    seen.sights[1].syn_acks = 2;
    assert_eq!((middle(&seen).rtt, middle(&seen).client_side), (Some(Nanos(60_000)), Estimate::Unknown));
    assert_eq!(middle(&seen).quality, SectionQuality::OneSided);
    // Where SYNs were repeated too, the first SYN/ACK may have been lost there, and the first probe have seen another.
    seen.sights[0].flags.set(Flag::SynRepeated);
    assert_eq!((middle(&seen).rtt, middle(&seen).quality), (None, SectionQuality::Ambiguous));
    // With as many at both they are the same.
    seen.sights[0].syn_acks = 2;
    assert_eq!((middle(&seen).rtt, middle(&seen).quality), (Some(Nanos(61_000)), SectionQuality::Exact));
    // Unless one of them saw copies.
    seen.sights[0].flags.set(Flag::Duplicated);
    assert_eq!((middle(&seen).rtt, middle(&seen).quality), (None, SectionQuality::Ambiguous));
}

#[test]
fn a_probe_that_missed_segments_may_have_seen_another_syn_ack() {
    // Both saw one SYN/ACK. The second probe missed the first SYN, and the SYN/ACK that the client answered.
    let mut one = sight(0, exact(24_921_866), exact(3_453_579));
    one.flags.set(Flag::SynRepeated);
    let two = sight(1, exact(21_462_783), Half::AtMost(Nanos(1_009_101_717)));
    let middle = |sights: Vec<Sight>| split(&connection(sights), &Order::pinned(vec![0, 1]))[1];
    let told = middle(vec![one, two]);
    assert_eq!((told.server_side, told.quality), (Estimate::Unknown, SectionQuality::UpperBound));
    // Where each knows that its SYN/ACK was answered, it is the same.
    let told = middle(vec![one, Sight { client: exact(6_912_662), ..two }]);
    assert_eq!((told.server_side, told.quality), (Estimate::Exact(Nanos(3_459_083)), SectionQuality::Exact));
}

#[test]
fn a_refused_connection_does_not_tell_which_of_several_syn_acks_was_heard() {
    // The client sent three SYNs and refused what came. The second probe heard one of them, and two of the three SYN/ACKs: the first of
    // these another than the first probe's.
    let refused = |probe, server| Sight {
        quality: Quality::Refused,
        syn_acks: 2,
        ..sight(probe, exact(server), Half::Unknown)
    };
    let mut one = refused(0, 150_988);
    let told =
        |one| split(&connection(vec![one, refused(1, 4_808)]), &Order::pinned(vec![0, 1]))[1].server_side;
    assert_eq!(told(one), Estimate::Exact(Nanos(146_180)));
    one.flags.set(Flag::SynRepeated);
    assert_eq!(told(one), Estimate::Unknown);
}

#[test]
fn where_both_ends_opened_none_is_the_client() {
    let mut seen = connection(vec![sight(0, exact(90), exact(10)), sight(1, exact(30), exact(70))]);
    seen.sights[1].flags.set(Flag::SimultaneousOpen);
    let told = split(&seen, &Order::pinned(vec![0, 1]));
    let told: Vec<_> = told.iter().map(|one| (one.from, one.to, one.rtt, one.quality)).collect();
    let withheld = |from, to| (from, to, None, SectionQuality::Ambiguous);
    let [one, two] = [0, 1].map(Place::Probe);
    assert_eq!(told, [withheld(Place::Client, one), withheld(one, two), withheld(two, Place::Server)]);
}

proptest! {
    /// Whatever the sections and whichever probes saw it, each estimate is the sum of the sections that it spans, and
    /// all of them make up the whole round trip.
    #[test]
    fn sections_sum_to_the_round_trip(
        parts in prop::collection::vec(0i64..1_000_000_000, 2..7),
        seen in prop::collection::vec(any::<bool>(), 6),
        offset in any::<u64>(),
    ) {
        let probes = parts.len() - 1;
        let total: i64 = parts.iter().sum();
        let sights: Vec<Sight> = (0..probes)
            .filter(|probe| seen[*probe])
            .map(|probe| {
                let client: i64 = parts[..=probe].iter().sum();
                sight(probe, exact(total - client), exact(client))
            })
            .collect();
        prop_assume!(!sights.is_empty());
        // Clocks differ as they like: no clock is read here.
        let mut seen = connection(sights);
        seen.first_at = Nanos(offset as i64);
        let sections = split(&seen, &Order::pinned((0..probes).collect()));
        prop_assert_eq!(sections.len(), seen.sights.len() + 1);
        prop_assert_eq!(sections.iter().map(|one| one.rtt.expect("exact").0).sum::<i64>(), total);
        for section in &sections {
            prop_assert_eq!(section.quality, SectionQuality::Exact);
            prop_assert!(section.consistency.unwrap_or(Nanos::ZERO) == Nanos::ZERO);
            let rank = |place| match place {
                Place::Client => 0,
                Place::Probe(rank) => rank + 1,
                Place::Server => parts.len(),
            };
            let spanned: i64 = parts[rank(section.from)..rank(section.to)].iter().sum();
            prop_assert_eq!(section.rtt, Some(Nanos(spanned)));
        }
    }

    /// Foreign figures of any size end in some quality, never in a panic.
    #[test]
    fn any_halves_are_borne(ns in prop::collection::vec((0u8..4, any::<i64>()), 8)) {
        let half = |place: usize| match ns[place] {
            (0, _) => Half::Unknown,
            (1, time) => Half::AtMost(Nanos(time)),
            (_, time) => Half::Exact(Nanos(time)),
        };
        let section = of([half(0), half(1)], [half(2), half(3)]);
        prop_assert_eq!(section.rtt.is_none() && section.quality.name() == "exact", false);
    }
}
