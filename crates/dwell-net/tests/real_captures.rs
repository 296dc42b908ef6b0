//! Real captures beside tshark: wherever both tell a half for certain, it is the same to the nanosecond.

use dwell_core::Nanos;
use dwell_core::tcp::{Half, Handshake, Limits, Observed};
use dwell_net::capture::File;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What names a connection in one capture, whatever tunnel it goes through: its SYN's time, the client's port and the server's.
type Name = (Nanos, u16, u16);

/// What tshark tells of a connection of which one SYN, one SYN/ACK and an ACK passed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Plain {
    server: Nanos,
    client: Nanos,
}

#[derive(Default)]
struct Stream {
    syns: Vec<Name>,
    answers: Vec<Nanos>,
    round_trip: Option<Nanos>,
}

/// Seconds with nine digits behind the point.
fn nanos(text: &str) -> Option<Nanos> {
    let (seconds, behind) = text.split_once('.')?;
    let behind = format!("{behind:0<9}");
    let whole = seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?;
    Some(Nanos(whole.checked_add(behind.get(..9)?.parse().ok()?)?))
}

/// The connections of a capture that tshark finds nothing ambiguous about.
fn by_tshark(path: &Path) -> BTreeMap<Name, Plain> {
    let fields = [
        "tcp.stream",
        "frame.time_epoch",
        "tcp.flags.syn",
        "tcp.flags.ack",
        "tcp.srcport",
        "tcp.dstport",
        "tcp.analysis.initial_rtt",
    ];
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-o", "tcp.analyze_sequence_numbers:TRUE", "-T", "fields", "-r"]).arg(path);
    tshark.args(["-Y", "tcp.flags.syn == 1 || tcp.analysis.initial_rtt"]);
    fields.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let output = tshark.output().expect("tshark is installed");
    let mut streams = BTreeMap::<u64, Stream>::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut told = line.split('\t').map(|field| field.split(',').next_back().unwrap_or_default());
        let mut next = || told.next().unwrap_or_default();
        let (stream, at, syn, ack) = (next(), next(), next(), next());
        let (from, to, round_trip) = (next(), next(), next());
        let (Ok(stream), Some(at), Ok(from), Ok(to)) = (stream.parse(), nanos(at), from.parse(), to.parse())
        else {
            continue;
        };
        let stream = streams.entry(stream).or_default();
        match (is_set(syn), is_set(ack)) {
            (true, false) => stream.syns.push((at, from, to)),
            (true, true) => stream.answers.push(at),
            _ => {}
        }
        stream.round_trip = stream.round_trip.or(nanos(round_trip));
    }
    let plain = |stream: Stream| match (&stream.syns[..], &stream.answers[..], stream.round_trip) {
        ([syn], [answer], Some(round_trip)) if *answer >= syn.0 => {
            let server = *answer - syn.0;
            Some((*syn, Plain { server, client: round_trip - server }))
        }
        _ => None,
    };
    streams.into_values().filter_map(plain).collect()
}

fn is_set(flag: &str) -> bool {
    matches!(flag, "1" | "True")
}

fn by_dwell(path: &Path) -> Vec<Handshake> {
    let (mut found, mut observed) = (Vec::new(), Observed::new(Limits::default()));
    let Ok(mut file) = File::open(path) else { return found };
    file.each(&mut |packet| observed.see(&packet, &mut |handshake| found.push(handshake))).expect("read");
    observed.finish(&mut |handshake| found.push(handshake));
    found
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, into);
        } else {
            into.push(path);
        }
    }
}

/// `CAPTURES=folder cargo test -p dwell-net --test real_captures -- --ignored --nocapture`, with tshark installed.
#[test]
#[ignore = "takes captures and tshark"]
fn what_tshark_and_dwell_are_sure_of_is_the_same() {
    let folder = std::env::var_os("CAPTURES").expect("CAPTURES names a folder");
    let mut paths = Vec::new();
    files(Path::new(&folder), &mut paths);
    paths.sort();
    let (mut captures, mut equal, mut differing, mut wrong, mut missing) = (0, 0, 0, 0, 0);
    for path in paths {
        let mut plain = by_tshark(&path);
        let found = by_dwell(&path);
        captures += usize::from(!found.is_empty());
        for told in found {
            let name = told.syn_at.map(|at| (at, told.client.port, told.server.port));
            let Some(of_tshark) = name.and_then(|name| plain.remove(&name)) else { continue };
            let halves = [told.server_half, told.client_half];
            let same = [of_tshark.server, of_tshark.client].map(Half::Exact);
            if halves == same {
                equal += 1;
                continue;
            }
            differing += 1;
            println!("{}: {:?}, {of_tshark:?} by tshark", path.display(), halves);
            // A round trip of 0 is none to tshark, which then takes a later acknowledgment.
            let is_zero = told.total == Half::Exact(Nanos::ZERO);
            let contradicts = |(half, other): (&Half, &Half)| half.exact().is_some() && half != other;
            wrong += usize::from(!is_zero && halves.iter().zip(&same).any(contradicts));
        }
        for (name, of_tshark) in plain {
            missing += 1;
            println!("{}: nothing of {name:?}, {of_tshark:?} by tshark", path.display());
        }
    }
    println!("{captures} captures with connections: {equal} of {} are equal", equal + differing + missing);
    assert!(equal > 0, "no capture has a plain connection");
    assert_eq!((wrong, missing), (0, 0), "contradicted, and not told of");
}
