//! Handshakes of real kernels under forced loss: what the tracker says is what the hosts' own taps tell.

use dwell_core::Nanos;
use dwell_core::capture::{Captured, LinkType};
use dwell_core::tcp::{Ending, Limits, Observed};
use dwell_lab::{ForcedHeard, ForcedLosses, LabError};
use dwell_sim::passing::Judge;

fn run(scatter: Nanos) -> Option<Vec<ForcedHeard>> {
    match (ForcedLosses { rounds: 1, scatter, seed: 1 }).run() {
        Ok(heard) => Some(heard),
        Err(error @ (LabError::Refused { .. } | LabError::NoIpv6)) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// What the tracker says of it, judged; and how many handshakes it tells as established.
fn judged(heard: &ForcedHeard) -> (Judge, usize) {
    let mut judge = Judge::default();
    heard.truths.iter().for_each(|truth| judge.expect(truth.clone()));
    let (mut observed, mut established) = (Observed::new(Limits::default()), 0);
    let mut hear = |said| {
        judge.hear(&said);
        established += usize::from(said.ending == Ending::Established);
    };
    for tapped in &heard.passed {
        let (at, bytes) = (tapped.at.0.into(), tapped.bytes.as_slice());
        let length = bytes.len() as u32;
        observed.see(&Captured { at, link: LinkType::ETHERNET, bytes, length }, &mut hear);
    }
    observed.finish(&mut hear);
    (judge, established)
}

#[test]
fn what_is_told_of_real_handshakes_is_true_whatever_is_lost() {
    let Some(all) = run(Nanos::ZERO) else { return };
    for heard in all {
        let (judge, established) = judged(&heard);
        eprintln!(
            "{}: {} truths, {} doubtful, {established} established, {:?}",
            heard.hosts,
            heard.truths.len(),
            heard.doubtful,
            heard.echoed
        );
        for half in ["server", "client", "total"] {
            eprintln!("  {half}: {:?}", judge.all(half));
        }
        for wrong in judge.wrong().iter().take(5) {
            eprintln!("  {wrong:?}");
        }
        assert!(judge.wrong().is_empty());
    }
}
