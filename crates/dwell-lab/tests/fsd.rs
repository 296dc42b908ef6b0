//! `fsd` over routers of this machine's kernel. Bounds are those that hold on a loaded machine.

use dwell_core::{Finding, Nanos, Quantity, fsd};
use dwell_lab::{FsdHeard, FsdLab, LabError, LabOptions};
use dwell_net::echo::Asking;
use dwell_sim::Scenario;

/// A path of so many links; `None` where the system refuses namespaces.
fn lab(links: &str, hop: u8, ipv6: bool) -> Result<Option<FsdLab>, LabError> {
    let scenario = Scenario::parse("test.toml", &format!("name = 'routers'\n{links}")).unwrap();
    match FsdLab::up(&scenario, LabOptions { ipv6, ..LabOptions::default() }, hop) {
        Err(error @ (LabError::Refused { .. } | LabError::NoIpv6)) => {
            eprintln!("skipped: {error}");
            Ok(None)
        }
        other => other.map(Some),
    }
}

const LINK: &str = "[[links]]\nrate = 'unshaped'\n";

fn run(links: usize, hop: u8, ipv6: bool) -> Option<FsdHeard> {
    let lab = lab(&LINK.repeat(links), hop, ipv6).unwrap()?;
    let asking = Asking { count: 100, interval: Nanos::from_millis(16) };
    Some(lab.run(asking, &mut |_| {}).unwrap())
}

#[test]
fn the_estimate_is_what_the_router_took() {
    for (links, hop, ipv6) in [(2, 1, false), (3, 1, false), (3, 2, false), (2, 1, true)] {
        let Some(heard) = run(links, hop, ipv6) else { continue };
        // Linux fills its messages, so that all packets are of one size.
        let full = if ipv6 { 1280 } else { 576 };
        assert_eq!((heard.router.even, heard.router.message), (full, full));
        assert_eq!(heard.ends.router, Some(heard.router.address));
        let tally = &heard.ends.tally;
        assert!(tally.pairs >= 95 && tally.asked == 100, "{tally:?}");
        assert_eq!((tally.duplicated, tally.foreign, tally.other_router, tally.not_expired), (0, 0, 0, 0));
        let report = fsd::report(&heard.ends.pairs);
        let Finding::Value { value, low, high, .. } = report.finding(Quantity::IcmpGeneration) else {
            panic!("{report:?}");
        };
        let truth = heard.truth().expect("the router's own taps saw the pairs");
        let pairs = &heard.inside.pairs;
        let more = pairs.iter().filter(|pair| pair.limited.apart() > pair.direct.apart()).count();
        // Pair by pair a message takes more than forwarding. If it took nothing, half of them would seem to.
        assert!(truth > 0.0 && 4 * more >= 3 * pairs.len(), "{more} of {}, {truth}", pairs.len());
        let reach = (high - low) / 2.0;
        assert!((value - truth).abs() < 2.0 * reach + 3_000.0, "{value} ({low} to {high}), in truth {truth}");
        assert!((value - truth).abs() < truth / 2.0, "{value} ({low} to {high}), in truth {truth}");
        // All taps read one clock: what they see lies in order, pair by pair.
        for (ends, inside) in heard.ends.pairs.iter().zip(&heard.inside.pairs) {
            for (end, within) in [(ends.direct, inside.direct), (ends.limited, inside.limited)] {
                let in_order = end.left <= within.left && within.arrived <= end.arrived;
                assert!(in_order || heard.ends.pairs.len() != heard.inside.pairs.len(), "{end:?} {within:?}");
            }
        }
    }
}

#[test]
fn what_is_no_path_of_routers_is_refused() {
    let refused = |links: &str, hop, says: &str| {
        let text = match lab(links, hop, false) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{links}, hop {hop}: a lab"),
        };
        assert!(text.contains(says), "{text}");
    };
    refused(LINK, 1, "hop 1 is no router: 1 links are joined by 0");
    refused(&LINK.repeat(3), 3, "hop 3 is no router: 3 links are joined by 2");
    refused("[[links]]\nrate = '10 Mb/s'\n[[links]]\nrate = 'unshaped'\n", 1, "plain wires");
}
