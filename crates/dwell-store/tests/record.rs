//! A record gives back what was put in, or says what happened to it.

use dwell_core::inside::{Dropped, Event, Watch, Watched, Way};
use dwell_core::truth::LinkUse;
use dwell_core::{
    Arrival, BitRate, Bytes, Circumstances, Direction, Effort, Fate, Finding, Nanos, Observation, Packet,
    PacketTruth, Passage, PathFacts, Quantity, Report, Stamps, Vantage,
};
use dwell_store::{Ask, FORMAT, Found, Header, Record, RecordWriter, StoreError, partial_name};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn header() -> Header {
    let ask = Ask {
        verb: "ppt".into(),
        target: "10.0.0.2".into(),
        method: Some("knee".into()),
        seed: 42,
        config: [("max-load".to_owned(), "0.02".to_owned())].into(),
        ..Ask::default()
    };
    let facts = PathFacts {
        max_size: Bytes(1526),
        min_size: Bytes(72),
        resolution: Nanos(1),
        end_link: None,
        narrow_link: None,
        coalescence: None,
    };
    Header::now(ask, Some(facts), Circumstances { world: "simulator".into(), ..Circumstances::default() })
}

fn passage(at: i64, lost: bool) -> Passage {
    let stamps = |ns| Stamps { application: Nanos(ns), kernel: Some(Nanos(ns - 40)), hardware: None };
    let arrival = Arrival { stamps: stamps(at + 90_000), order: 0, copies: 1 };
    let fate = Fate {
        packet: Packet { size: Bytes(72), hold: Nanos::ZERO },
        sent: stamps(at),
        arrival: (!lost).then_some(arrival),
    };
    let truth = PacketTruth {
        held: Nanos::ZERO,
        handed_over: Nanos(at),
        left_sender: Nanos(at + 1),
        reached_receiver: Nanos(at + 2),
        queued: Nanos(at + 3),
        stamped: Nanos(at + 4),
        waited: Nanos::ZERO,
    };
    let observation = Observation { direction: Direction::Forward, fates: vec![fate], overflowed: 0 };
    Passage { observation, truth: Some(vec![(!lost).then_some(truth)]) }
}

fn found() -> Found {
    let report = Report::new("knee", Vantage::Application)
        .with(Quantity::ApplicationStage, Finding::nanos(31_400.0, 30_000.0, 33_000.0));
    let link = LinkUse {
        link: 1,
        capacity: Some(BitRate::from_mbps(100)),
        share: 0.5,
        own: 1e6,
        cross: 5e7,
        offered: 5e7,
    };
    let used = Some((Nanos::from_secs(1), vec![link]));
    Found { stage: "knee".into(), report, effort: Effort { probes: 3, ..Effort::default() }, used }
}

/// A whole record of `count` passages.
fn write(folder: &Path, count: i64) -> PathBuf {
    let file = folder.join("run.dwell");
    let mut writer = RecordWriter::create(&file, &header()).unwrap();
    for i in 0..count {
        writer.push("knee", passage(i * 1_000_000, i % 3 == 2)).unwrap();
    }
    assert_eq!(writer.finish(&[found()]).unwrap(), file);
    file
}

#[test]
fn what_was_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let record = Record::load(&write(folder.path(), 5)).unwrap();
    assert!(record.whole);
    assert_eq!(record.header.ask, header().ask);
    assert_eq!(record.header.facts, header().facts);
    assert_eq!(record.passages.len(), 5);
    assert_eq!(record.passages[4].passage, passage(4_000_000, false));
    assert_eq!(record.found, [found()]);
    assert_eq!(record.effort().probes, 3);
    assert!(!partial_name(&folder.path().join("run.dwell")).exists());
}

#[test]
fn a_killed_run_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.dwell");
    let mut writer = RecordWriter::create(&file, &header()).unwrap();
    for i in 0..3 {
        writer.push("knee", passage(i, false)).unwrap();
    }
    // What a kill does: neither a drop nor a finish.
    std::mem::forget(writer);
    assert!(!file.exists());
    let partial = partial_name(&file);
    let error = Record::load(&partial).unwrap_err();
    assert!(matches!(error, StoreError::CutShort { line: 5, passages: 3, .. }), "{error}");
    let (record, cut) = Record::load_partial(&partial).unwrap();
    assert!(cut.is_some());
    assert!(!record.whole && record.passages.len() == 3 && record.found.is_empty());
}

#[test]
fn nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 1);
    assert!(matches!(RecordWriter::create(&file, &header()), Err(StoreError::Exists { .. })));
    fs::rename(&file, partial_name(&file)).unwrap();
    assert!(matches!(RecordWriter::create(&file, &header()), Err(StoreError::PartialExists { .. })));
}

#[test]
fn every_cut_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 3);
    let bytes = fs::read(&file).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in (first..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
        fs::write(&file, &bytes[..length]).unwrap();
        let error = Record::load(&file).unwrap_err();
        assert!(matches!(error, StoreError::CutShort { .. }), "cut to {length}: {error}");
        assert!(error.to_string().contains("run.dwell: line "), "{error}");
    }
}

#[test]
fn every_altered_figure_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 2);
    let bytes = fs::read(&file).unwrap();
    for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit()) {
        let mut altered = bytes.clone();
        altered[at] = if *byte == b'9' { b'8' } else { byte + 1 };
        fs::write(&file, &altered).unwrap();
        assert!(Record::load(&file).is_err(), "digit at byte {at} changed unseen");
    }
}

#[test]
fn lines_taken_out_or_added_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), 3);
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let without: Vec<&str> = [&lines[..2], &lines[3..]].concat();
    fs::write(&file, without.join("\n") + "\n").unwrap();
    assert!(matches!(Record::load(&file), Err(StoreError::Altered { .. })));
    fs::write(&file, text.clone() + lines[1] + "\n").unwrap();
    assert!(matches!(Record::load(&file), Err(StoreError::Altered { .. })));
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.dwell");
    for text in ["", "\n", "hello\n", "{}\n", "[1,2]\n", "{\"dwell_record\":0}\n"] {
        fs::write(&file, text).unwrap();
        let error = Record::load(&file).unwrap_err();
        assert!(matches!(error, StoreError::NotARecord { .. }), "{text:?}: {error}");
    }
    fs::write(&file, format!("{{\"dwell_record\":{},\"dwell\":\"9.1.0\",\"odd\":1}}\n", FORMAT + 1)).unwrap();
    let error = Record::load(&file).unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
    assert!(error.to_string().contains("by dwell 9.1.0"), "{error}");
    assert!(matches!(Record::load(folder.path()), Err(StoreError::NotARecord { .. })));
    assert!(matches!(Record::load(&folder.path().join("none")), Err(StoreError::Io { doing: "open", .. })));
}

#[test]
fn a_line_without_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.dwell");
    fs::write(&file, vec![b'x'; (dwell_store::MAX_LINE_BYTES + 2) as usize]).unwrap();
    let error = Record::load(&file).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { line: 1, .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the bytes, an answer and no panic.
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.dwell");
        fs::write(&file, &bytes).unwrap();
        prop_assert!(Record::load(&file).is_err());
    }

    /// A record with any one byte changed is refused, unless the change leaves the same bytes.
    #[test]
    fn any_changed_byte_is_seen(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let folder = tempfile::tempdir().unwrap();
        let file = write(folder.path(), 2);
        let mut bytes = fs::read(&file).unwrap();
        let at = at.index(bytes.len());
        let same = bytes[at] == to;
        bytes[at] = to;
        fs::write(&file, &bytes).unwrap();
        prop_assert_eq!(Record::load(&file).is_ok(), same, "byte {}", at);
    }
}

#[test]
fn a_run_of_watching_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("watch.dwell");
    let watch = Watch { interface: Some("lo".into()), observer: "ebpf".into(), ..Watch::default() };
    let (way, reason) = (Way::Receive, "SOCKET_RCVBUFF".to_owned());
    let event = |ns| Event::Dropped(Dropped { at: Nanos(ns), way, flow: None, reason: reason.clone() });
    let watched =
        Watched { span: Nanos::from_secs(2), ended: Some("eth0 went down".into()), ..Watched::default() };
    let mut writer = RecordWriter::create(&file, &header()).unwrap();
    writer.watch(&watch).unwrap();
    (0..3).for_each(|ns| writer.push_event(&event(ns)).unwrap());
    writer.finish_watch(&watched).unwrap();

    let record = Record::load(&file).unwrap();
    assert_eq!(record.events, (0..3).map(event).collect::<Vec<_>>());
    assert_eq!((record.watch, record.watched), (Some(watch), Some(watched)));

    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let cut = folder.path().join("cut.dwell");
    fs::write(&cut, lines[..4].join("\n") + "\n").unwrap();
    let (record, error) = Record::load_partial(&cut).unwrap();
    assert!(matches!(error, Some(StoreError::CutShort { passages: 2, .. })), "{error:?}");
    assert_eq!((record.events.len(), record.watched), (2, None));
    // An event that was taken out.
    let fewer = folder.path().join("fewer.dwell");
    fs::write(&fewer, [&lines[..3], &lines[4..]].concat().join("\n") + "\n").unwrap();
    assert!(matches!(Record::load(&fewer), Err(StoreError::Altered { .. })));
}
