//! Handshakes of real kernels under forced loss: what the tracker says is what the hosts' own taps tell.

use dwell_core::Nanos;
use dwell_core::tcp::Handshake;
use dwell_lab::{ForcedHeard, ForcedLosses, LabError};
use dwell_sim::passing::{Judge, Wrong};

/// Manners of talking, ways to lose, versions of IP, settings of the hosts.
const CONNECTIONS: usize = 7 * 39 * 2 * 4;

fn run(scatter: Nanos) -> Option<ForcedHeard> {
    match (ForcedLosses { rounds: 1, scatter, seed: 1 }).run() {
        Ok(heard) => Some(heard),
        Err(error @ (LabError::Refused { .. } | LabError::NoIpv6)) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// What is wrong, in a line.
fn brief(wrong: &Wrong) -> String {
    match wrong {
        Wrong::Half { half, said, truth } => {
            let Handshake { server_half, client_half, total, flags, syns, syn_acks, .. } = **said;
            let values = truth.halves().map(|(_, half)| (half.values.clone(), half.least));
            format!(
                "{half} of {:?}: said {server_half:?} {client_half:?} {total:?} ({syns} SYNs, {syn_acks} SYN/ACKs, \
                 {flags:?}), true {values:?}",
                truth.labels
            )
        }
        other => format!("{other:?}"),
    }
}

/// That nothing is false, and that the truth is of most connections.
fn holds(heard: &ForcedHeard, judge: &Judge) {
    let wrong: Vec<String> = judge.wrong().iter().map(brief).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), heard.truths.len(), wrong.join("\n"));
    // A loaded machine takes its time to answer.
    let told = heard.truths.len();
    assert_eq!(told + heard.doubtful, CONNECTIONS);
    assert!(told * 4 > CONNECTIONS * 3, "{told} of {CONNECTIONS}, {} doubtful", heard.doubtful);
    for half in ["server", "client", "total"] {
        let tally = judge.all(half);
        assert!(tally.found as usize * 5 > told, "{half}: {tally:?}");
        assert!(tally.withheld > 0 && tally.lucky == 0, "{half}: {tally:?}");
    }
}

#[test]
fn what_is_told_of_real_handshakes_is_true_whatever_is_lost() {
    let Some(heard) = run(Nanos::ZERO) else { return };
    let judge = heard.judged();
    holds(&heard, &judge);
    for half in ["server", "client", "total"] {
        let tally = judge.all(half);
        assert!(tally.share() > 0.97, "{half}: {tally:?}");
    }
    for (hosts, echoed) in &heard.echoed {
        for naming in [echoed.by_server, echoed.by_client] {
            assert_eq!(naming.other, 0, "{hosts}: {echoed:?}");
        }
        // Whichever they name, with time stamps: repetitions were answered.
        let named = echoed.by_server.answered + echoed.by_server.first;
        assert_eq!(named > 0, hosts.starts_with("time stamps"), "{hosts}: {echoed:?}");
    }
}

#[test]
fn what_is_told_of_real_handshakes_is_true_where_packets_overtake_each_other() {
    let Some(heard) = run(Nanos::from_millis(15)) else { return };
    let judge = heard.judged();
    holds(&heard, &judge);
}
