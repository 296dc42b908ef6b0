//! The scenario files that come with Dwell, and the page that describes them.

use dwell_core::{BitRate, Nanos};
use dwell_sim::nic::{NicChange, NicSpec};
use dwell_sim::{ClockStep, CrossKind, CrossSpec, Offered, Scenario, Times};
use std::path::Path;

#[test]
fn every_shipped_scenario_reads_and_writes_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    assert!(files.len() >= 5, "only {} scenarios found", files.len());
    for file in files {
        let scenario = Scenario::load(&file).unwrap();
        assert_eq!(
            scenario.name,
            file.file_stem().unwrap().to_str().unwrap(),
            "a file is named as its scenario"
        );
        assert!(!scenario.description.is_empty());
        let again = Scenario::parse("again", &scenario.to_toml()).unwrap();
        assert_eq!(again, scenario);
    }
}

const PAGE: &str = include_str!("../../../docs/book/src/reference/scenario.md");

#[test]
fn the_page_shows_a_scenario_that_reads() {
    let shown = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    Scenario::parse("page", shown).unwrap();
}

#[test]
fn the_page_names_every_key() {
    let mut all =
        Scenario::parse("all", "name = \"x\"\ndescription = \"y\"\n[[links]]\nrate = \"1 Gb/s\"").unwrap();
    let step = ClockStep { at: Nanos(1), by: Nanos(1) };
    for host in [&mut all.source, &mut all.destination] {
        host.wake_up_cold = Some(Times::default());
        host.clock.step = Some(step);
        host.nic = NicSpec::Adaptive {
            least: Nanos(1_000),
            most: Nanos(2_000),
            slow: 1e3,
            fast: 1e4,
            window: Nanos(1_000),
        };
        let to = NicSpec::Hold { period: Nanos(1_000), frames: Some(3) };
        host.nic_change = Some(NicChange { at: Nanos(1), to });
    }
    let flow =
        |offered| CrossSpec { kind: CrossKind::Poisson, offered, size: dwell_core::Bytes(100), hops: 1 };
    all.links[0].cross = vec![flow(Offered::Load(0.1)), flow(Offered::Rate(BitRate(1_000)))];
    all.reverse = Some(all.links.clone());
    for line in all.to_toml().lines() {
        let name = line.trim_matches(['[', ']']).split(" = ").next().unwrap().trim();
        let last = name.rsplit('.').next().unwrap();
        let named = [
            format!("`{last}`"),
            format!("[{last}]"),
            format!("[[{last}]]"),
            format!(".{last}]"),
            format!("{last} = "),
        ];
        assert!(
            named.iter().any(|way| PAGE.contains(way)),
            "{name} is missing from docs/book/src/reference/scenario.md"
        );
    }
}
