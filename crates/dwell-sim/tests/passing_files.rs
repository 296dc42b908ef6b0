//! Captures that the generator writes are read back as what passed.

use dwell_core::Nanos;
use dwell_core::capture::{ReadError, each_packet};
use dwell_core::tcp::dissect::{Passing, Skipped, dissect};
use dwell_core::tcp::{Limits, Segment, TcpFlags, Tracker};
use dwell_sim::passing::{CaptureFile, CaptureFormat, CaptureLink, Judge, Passed, Population, Seen, Told};

fn written(population: Population, format: CaptureFormat) -> (Judge, Vec<Passed>, Vec<u8>) {
    let mut file = CaptureFile::new(Vec::new(), format).expect("a header");
    let (mut judge, mut packets) = (Judge::default(), Vec::new());
    for told in population.passings() {
        match told {
            Told::Truth(truth) => judge.expect(*truth),
            Told::Passed(passed) => {
                file.write(&passed).expect("a packet");
                packets.push(passed);
            }
        }
    }
    (judge, packets, file.finish().expect("the end"))
}

const FORMATS: [(bool, bool, bool, CaptureLink); 8] = [
    (false, true, false, CaptureLink::Ethernet),
    (false, false, false, CaptureLink::Raw),
    (false, true, true, CaptureLink::Cooked),
    (false, false, true, CaptureLink::Cooked2),
    (true, true, false, CaptureLink::Ethernet),
    (true, false, false, CaptureLink::Cooked2),
    (true, true, true, CaptureLink::Raw),
    (true, false, true, CaptureLink::Loopback),
];

fn formats() -> impl Iterator<Item = (Population, CaptureFormat)> {
    FORMATS.into_iter().map(|(next_generation, nanoseconds, big_endian, link)| {
        let resolution = Nanos(if nanoseconds { 1 } else { 1_000 });
        let population = Population { connections: 300, seed: 3, resolution, ..Population::default() };
        (
            population,
            CaptureFormat { next_generation, nanoseconds, big_endian, link, ..CaptureFormat::default() },
        )
    })
}

#[test]
fn what_is_written_is_read_back_in_every_format() {
    for (population, format) in formats() {
        let (_, packets, bytes) = written(population, format);
        let mut expected = packets.iter();
        let mut fragments = 0;
        each_packet(bytes.as_slice(), |captured| {
            let read = match dissect(&captured) {
                Ok(Passing::Segment(segment)) => Seen::Segment(segment),
                Ok(Passing::Unreachable(message)) => Seen::Unreachable(message),
                Err(Skipped::Fragment) => {
                    fragments += 1;
                    return Ok::<_, ReadError>(());
                }
                other => panic!("{other:?} in {format:?}"),
            };
            let passed = expected.next().expect("no more than was written").what;
            match (read, passed) {
                (Seen::Segment(read), Seen::Segment(passed)) if read.payload < passed.payload => {
                    assert!(!passed.flags.has(TcpFlags::SYN), "a fragment");
                    assert_eq!(Segment { payload: passed.payload, ..read }, passed, "{format:?}");
                }
                (read, passed) => assert_eq!(read, passed, "{format:?}"),
            }
            Ok(())
        })
        .expect("a whole capture");
        assert!(expected.next().is_none() && fragments > 10, "{fragments} fragments in {format:?}");
    }
}

/// However little of each packet is kept, nothing wrong is said.
#[test]
fn cut_packets_make_nothing_wrong() {
    for snap in [40, 54, 60, 66, 70, 74, 86, 96, 120] {
        let population = Population { connections: 2_000, seed: 4, ..Population::default() };
        let (mut judge, _, bytes) = written(population, CaptureFormat { snap, ..CaptureFormat::default() });
        let mut tracker = Tracker::new(Limits::default());
        let mut said = Vec::new();
        each_packet(bytes.as_slice(), |captured| {
            match dissect(&captured) {
                Ok(Passing::Segment(segment)) => tracker.see(&segment, &mut |told| said.push(told)),
                Ok(Passing::Unreachable(message)) => tracker.refused(&message, &mut |told| said.push(told)),
                Ok(Passing::Datagram(_)) | Err(_) => {}
            }
            Ok::<_, ReadError>(())
        })
        .expect("a whole capture");
        tracker.finish(&mut |told| said.push(told));
        said.iter().for_each(|told| judge.hear(told));
        let server = judge.all("server");
        println!("snap {snap}: {} wrong, found {} of {}", judge.wrong().len(), server.found, server.knowable);
        assert_eq!(judge.wrong(), [], "at a snap length of {snap}");
    }
}
