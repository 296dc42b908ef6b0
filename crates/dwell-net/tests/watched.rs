//! From a capture file to handshakes: what is passed over at a first look must not have mattered.

#[path = "../benches/watch_file/write.rs"]
mod write;

use dwell_core::Nanos;
use dwell_core::tcp::{Endpoint, Half, Handshake, Limits, Observed, Tracker};
use dwell_net::capture::{End, File};
use dwell_sim::passing::{Passed, Population, Seen, Told};
use std::collections::BTreeMap;
use std::io::Cursor;

/// In an order that does not depend on when they were told.
fn ordered(mut handshakes: Vec<Handshake>) -> Vec<Handshake> {
    handshakes.sort_by_key(|found| (found.first_at, found.client, found.server, found.isn_client));
    handshakes
}

#[test]
fn a_capture_gives_the_handshakes_that_its_segments_give() {
    [write::Format::Pcap, write::Format::Pcapng].into_iter().for_each(gives_what_its_segments_give);
}

fn gives_what_its_segments_give(format: write::Format) {
    let population = Population { connections: 3_000, data: 12, flood: 2_000, ..Population::default() };
    let file = tempfile::NamedTempFile::new().expect("a file");
    let wrote = write::write(file.path(), population, 96, format);
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

/// The values that are told for certain of a capture of these bytes, by connection.
fn certain(bytes: Vec<u8>) -> BTreeMap<(Endpoint, Endpoint, u32), [Half; 3]> {
    let (mut found, mut observed) = (Vec::new(), Observed::new(Limits::default()));
    let mut file = File::of(Cursor::new(bytes)).expect("a capture");
    file.each(&mut |packet| observed.see(&packet, &mut |handshake| found.push(handshake))).expect("read");
    observed.finish(&mut |handshake| found.push(handshake));
    let halves = |told: &Handshake| {
        [told.server_half, told.client_half, told.total].map(|half| match half {
            Half::Exact(_) => half,
            _ => Half::Unknown,
        })
    };
    found.iter().map(|told| ((told.client, told.server, told.isn_client), halves(told))).collect()
}

/// As a file shows it that is cut off while it is mapped: the packet that the cut goes through has zeros from there on.
#[test]
fn a_packet_whose_end_is_zeros_makes_no_value_wrong() {
    let population = Population { connections: 30, data: 2, ..Population::default() };
    let file = tempfile::NamedTempFile::new().expect("a file");
    write::write(file.path(), population, 96, write::Format::Pcap);
    let bytes = std::fs::read(file.path()).expect("written");
    let (mut at, mut cuts, mut told) = (24, 0, 0);
    while let Some(head) = bytes[at..].first_chunk::<16>() {
        let kept = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let end = at + 16 + kept;
        let [without, with] = [at, end].map(|end| certain(bytes[..end].to_vec()));
        for cut in (at + 16..end).step_by(3) {
            let torn = [&bytes[..cut], &vec![0; end - cut]].concat();
            for (name, halves) in certain(torn) {
                for (index, half) in halves.into_iter().enumerate().filter(|(_, half)| *half != Half::Unknown)
                {
                    let was = [&without, &with].map(|all| all.get(&name).map(|halves| halves[index]));
                    assert!(
                        was.contains(&Some(half)),
                        "cut at {cut} of {at} to {end}: {name:?} {half:?}, {was:?}"
                    );
                    told += 1;
                }
            }
            cuts += 1;
        }
        at = end;
    }
    assert!(cuts > 1_000 && told > 1_000, "{cuts} {told}");
}
