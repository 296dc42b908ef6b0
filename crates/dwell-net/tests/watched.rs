//! From a capture file to handshakes: what is passed over at a first look must not have mattered.

#[path = "../benches/watch_file/write.rs"]
mod write;

use dwell_core::Nanos;
use dwell_core::tcp::{Handshake, Limits, Observed, Tracker};
use dwell_net::capture::{End, File};
use dwell_sim::passing::{Passed, Population, Seen, Told};

/// In an order that does not depend on when they were told.
fn ordered(mut handshakes: Vec<Handshake>) -> Vec<Handshake> {
    handshakes.sort_by_key(|found| (found.first_at, found.client, found.server, found.isn_client));
    handshakes
}

#[test]
fn a_capture_gives_the_handshakes_that_its_segments_give() {
    let population = Population { connections: 3_000, data: 12, flood: 2_000, ..Population::default() };
    let file = tempfile::NamedTempFile::new().expect("a file");
    let wrote = write::write(file.path(), population, 96);
    assert!(
        wrote.packets > 20_000 && wrote.connections > 0,
        "{} {} {}",
        wrote.packets,
        wrote.connections,
        wrote.bytes
    );

    let (mut found, mut observed) = (Vec::new(), Observed::new(Limits::default()));
    let account = File::open(file.path())
        .expect("a capture")
        .each(&mut |packet| observed.see(&packet, &mut |handshake| found.push(handshake)))
        .expect("read");
    let seen = observed.finish(&mut |handshake| found.push(handshake));
    assert_eq!((account.packets, account.end, seen.packets), (wrote.packets, End::Whole, wrote.packets));
    assert_eq!(seen.skipped.iter().count(), 0);

    let (mut wanted, mut tracker) = (Vec::new(), Tracker::new(Limits::default()));
    for told in population.passings() {
        if let Told::Passed(Passed { what: Seen::Segment(segment), .. }) = told {
            assert!(segment.at > Nanos::ZERO);
            tracker.see(&segment, &mut |handshake| wanted.push(handshake));
        }
    }
    tracker.finish(&mut |handshake| wanted.push(handshake));
    let (found, wanted) = (ordered(found), ordered(wanted));
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found, wanted);
    }
}
