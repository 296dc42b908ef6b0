//! Paper 003's testbed in small. Bounds are those that hold on a loaded machine.

use dwell_core::Nanos;
use dwell_core::tcp::section::SectionQuality;
use dwell_lab::{LabError, LabOptions, SectionAsking, SectionHeard, SectionLab};
use dwell_sim::Scenario;

fn lab(text: &str, alone: bool) -> Result<Option<SectionLab>, LabError> {
    let scenario = Scenario::parse("test.toml", &format!("name = 'sections'\n{text}")).unwrap();
    match SectionLab::up(&scenario, LabOptions::default(), alone) {
        Err(error @ (LabError::Refused { .. } | LabError::MissingCommand { .. })) => {
            eprintln!("skipped: {error}");
            Ok(None)
        }
        other => other.map(Some),
    }
}

fn links(milliseconds: &[u32]) -> String {
    let link = |ms: &u32| format!("[[links]]\nrate = 'unshaped'\npropagation = '{ms} ms'\n");
    milliseconds.iter().map(link).collect()
}

const ASKING: SectionAsking = SectionAsking { pings: 3, interval: Nanos(20_000_000) };

/// What a loaded machine may be late by.
const LATE: Nanos = Nanos(50_000_000);

fn holds(heard: &[SectionHeard], round_trips: &[u32]) {
    assert_eq!(heard.len(), round_trips.len());
    for (one, ms) in heard.iter().zip(round_trips) {
        let told = Nanos::from_millis(i64::from(*ms));
        assert_eq!(one.section.quality, SectionQuality::Exact, "{one:?}");
        let truth = one.truth.expect("nothing is lost");
        assert!(truth >= told && truth < told + LATE, "{one:?}");
        let found = one.section.rtt.expect("exact");
        for figure in [found, one.ping] {
            assert!(figure > told - Nanos(300_000) && figure < told + LATE, "{one:?}");
        }
    }
}

#[test]
fn each_section_is_what_its_link_was_told() {
    let Some(three) = lab(&links(&[10, 40, 25]), true).unwrap() else { return };
    holds(&three.run(ASKING).unwrap(), &[20, 80, 50]);
    // Once more in the same lab: nothing of the first run is left.
    holds(&three.run(ASKING).unwrap(), &[20, 80, 50]);
    drop(three);
    // Another delay each way, and four sections.
    let reverse = links(&[5, 20, 15, 1]).replace("[[links]]", "[[reverse]]");
    let Some(four) = lab(&format!("{}{reverse}", links(&[30, 0, 2, 10])), false).unwrap() else { return };
    holds(&four.run(ASKING).unwrap(), &[31, 15, 22, 15]);
}

#[test]
fn what_is_no_path_of_sections_is_refused() {
    let refused = |text: &str, says: &str| {
        let told = match lab(text, true) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{text}: a lab"),
        };
        assert!(told.contains(says), "{told}");
    };
    refused(&links(&[1]), "two links at least");
    let reverse = links(&[1]).replace("[[links]]", "[[reverse]]");
    refused(&format!("{}{reverse}", links(&[1, 1])), "as many links");
    refused(&format!("{}[destination]\nspin = '5 us'\n", links(&[1, 1])), "set nothing of source");
}
