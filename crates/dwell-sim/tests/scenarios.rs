//! The scenario files that come with Dwell.

use dwell_sim::Scenario;
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
