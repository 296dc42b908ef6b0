//! Scenario files.
#![no_main]

use dwell_sim::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(scenario) = Scenario::parse("scenario.toml", text) {
        let again =
            Scenario::parse("scenario.toml", &scenario.to_toml()).expect("what was read can be written");
        assert_eq!(again, scenario);
    }
});
