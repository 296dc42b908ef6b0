//! The published schema of scenario files is that of the code, and tells good files from bad ones.

use dwell_sim::{Ranges, Scenario};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const PUBLISHED: &str = include_str!("../../../docs/schema/scenario.json");

static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(PUBLISHED).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
});

/// What the schema says against `text`; empty if nothing. TOML that is none counts as bad.
fn objections(text: &str) -> Vec<String> {
    match toml::from_str::<Value>(text) {
        Ok(file) => {
            SCHEMA.iter_errors(&file).map(|error| format!("{}: {error}", error.instance_path())).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

#[track_caller]
fn fits(what: &str, text: &str) {
    assert_eq!(objections(text), Vec::<String>::new(), "{what}:\n{text}");
}

#[test]
fn the_published_schema_is_that_of_the_code() {
    // As values: the order of keys depends on the features that a build of the whole workspace turns on.
    let published: Value = serde_json::from_str(PUBLISHED).unwrap();
    assert!(
        Scenario::schema() == published,
        "docs/schema/scenario.json is out of date: cargo run -p dwell-sim --example schema > docs/schema/scenario.json"
    );
    let schema = Scenario::schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(jsonschema::meta::is_valid(&schema));
}

/// All files below `folder` that end in `.toml`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect()
}

#[test]
fn every_shipped_scenario_fits() {
    let mut scenarios = 0;
    for file in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")) {
        let text = std::fs::read_to_string(&file).unwrap();
        // The grids of `dwell eval` stand there too.
        let is_grid = toml::from_str::<Value>(&text).unwrap().get("world").is_some();
        if !is_grid {
            fits(&file.display().to_string(), &text);
            scenarios += 1;
        }
    }
    assert!(scenarios >= 7, "only {scenarios} scenarios found");
}

#[test]
fn random_scenarios_fit() {
    for seed in 0..300 {
        fits(&format!("seed {seed}"), &Scenario::random(seed, &Ranges::default()).to_toml());
    }
}

#[test]
fn the_examples_of_the_page_fit() {
    let page = include_str!("../../../docs/book/src/reference/scenario.md");
    let shown: Vec<_> = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(shown.len() >= 4);
    for example in shown {
        match example.contains("name = ") {
            true => fits("page", example),
            false => fits("page", &format!("name = \"x\"\n[[links]]\nrate = \"1 Gb/s\"\n{example}")),
        }
    }
}

/// Objections to a link with `more`.
fn with(more: &str) -> Vec<String> {
    objections(&format!("name = \"x\"\n[[links]]\nrate = \"100 Mb/s\"\n{more}"))
}

#[test]
fn bad_files_do_not_fit() {
    for whole in [
        "",
        "name = \"x\"\n",
        "name = 3\n[[links]]\nrate = \"1 Gb/s\"",
        "name = \"x\"\nlinks = []",
        "name = \"x\"\nlinks = 3",
        "name = \"x\"\n[[links]]\nloss = 0.1",
        "name = \"x\"\n[[links]]\nrate = \"0 Mb/s\"",
        "name = \"x\"\n[[links]]\nrate = 100",
        "name = \"x\"\n[[links]]\nrate = \"12 MB/s\"",
        "name = \"x\"\nmtu = \"1500 bits\"\n[[links]]\nrate = \"1 Gb/s\"",
    ] {
        assert!(!objections(whole).is_empty(), "{whole}");
    }
    assert_eq!(with(""), Vec::<String>::new());
    let cross = |kind: &str, rest: &str| format!("[[links.cross]]\nkind = {kind}\n{rest}");
    let poisson = |rest: &str| cross("\"poisson\"", rest);
    let pareto = |inner: &str| cross(&format!("{{ pareto = {{ {inner} }} }}"), "load = 0.3");
    let burst = "shape = 1.5, on = \"10 ms\", peak = \"80 Mb/s\"";
    assert_eq!(with(&pareto(burst)), Vec::<String>::new());
    for bad in [
        "colour = \"red\"",
        "[destination]\nwakeup = \"3 us\"",
        "[source.clock]\nskew = 3",
        "[source.clock]\nstep = { at = \"1 s\" }",
        "framing = \"token-ring\"",
        "jitter = { gamma = {} }",
        "jitter = { normal = { mean = \"3 us\" } }",
        "jitter = [\"1 us\"]",
        "jitter = { mixture = [] }",
        "jitter = { mixture = [ { weight = 0, of = \"1 us\" } ] }",
        "jitter = { mixture = [ { weight = 1, of = \"-3 us\" } ] }",
        "jitter = { lognormal = { median = \"3 us\", spread = -1.0 } }",
        "[lab]\ncarrier = \"pigeon\"",
        "[[link]]\nrate = \"1 Gb/s\"",
        "propagation = true",
        "propagation = 5",
        "propagation = \"5\"",
        "propagation = \"5 parsec\"",
        "propagation = \"us\"",
        "propagation = \"1.2.3 us\"",
        "propagation = \"-1 us\"",
        "queue = \"many\"",
        "queue = \"-3 packets\"",
        "loss = \"a bit\"",
        "loss = -0.1",
        "loss = nan",
        "[source]\nkernel_stamps = \"yes\"",
        "[source]\nkernel_stamp_at = 2",
        "[destination.clock]\nskew_ppm = 1e6",
        "[destination]\nnic = \"slow\"",
        "[destination]\nnic = { hold = { frames = 3 } }",
        "[destination]\nnic = { hold = { period = \"3 us\", frames = -1 } }",
        "[destination]\nnic_change = { at = \"1 s\" }",
        "reverse = []",
        "duplication = -1",
        "reordering = { share = 0.1 }",
        "discipline = \"lifo\"",
        "discipline = { priority = { probes = 8 } }",
        "shaper = { rate = \"1 Mb/s\" }",
        "shaper = { rate = \"0 b/s\", burst = \"3 kB\" }",
        "[[links]]\nparallel = []",
        "[[links]]\nparallel = [ {} ]",
        "[[links]]\nbalance = \"packet\"",
        &poisson("priority = 9"),
        &poisson("speed = 1"),
        &poisson("hops = 0"),
        &poisson("sizes = []"),
        &poisson("sizes = [ { size = \"80 B\", weight = 0 } ]"),
        &poisson("sizes = [ { size = \"80 B\" } ]"),
        &poisson("sizes = [ { size = 80, weight = 1 } ]"),
        &cross("\"bursty\"", "load = 0.1"),
        &cross("{ capture = {} }", ""),
        &cross("{ capture = { file = 3 } }", ""),
        &cross("{ capture = { file = \"x.pcap\", loop = true } }", ""),
        &pareto(&burst.replace("1.5", "1")),
        &pareto(&burst.replace("1.5", "2.0")),
        &pareto(&burst.replace("10 ms", "-1 ms")),
        &pareto(&burst.replace("80", "0")),
        &pareto(&format!("{burst}, mean = 3")),
        &pareto("shape = 1.5"),
    ] {
        assert!(!with(bad).is_empty(), "{bad}");
        let whole = format!("name = \"x\"\n[[links]]\nrate = \"100 Mb/s\"\n{bad}");
        assert!(Scenario::parse("bad", &whole).is_err(), "Dwell takes it: {bad}");
    }
}

#[test]
fn what_is_read_forgivingly_fits() {
    fits(
        "units",
        "name = \"x\"\n[[links]]\nrate = \"2.5gbit/s\"\npropagation = \" 1_000.5us\"\nloss = \"2 %\"\n\
         queue = \"1 packet\"\n[[links]]\nrate = \"Unshaped\"\npropagation = 0\nqueue = \"1.5 KiB\"\n\
         [source.clock]\noffset = \"-1.000000001 s\"\n",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn what_dwell_takes_fits(
        key in "(rate|propagation|queue|loss|jitter)",
        value in prop_oneof![
            "[-+]?[0-9_]{0,3}\\.?[0-9_]{0,3} ?([nuµm]?s|min|US|B|KiB|b/s|Mb/s|kbps|MB/s|GBIT/S|%|packets?|)",
            "( ?unshaped|Unlimited|[0-9]e[0-9])",
        ],
    ) {
        let text = format!("name = \"x\"\n[[links]]\nrate = \"1 Gb/s\"\n{key} = \"{value}\"\n");
        let text = if key == "rate" { text.replacen("rate = \"1 Gb/s\"\n", "", 1) } else { text };
        if Scenario::parse("any", &text).is_ok() {
            prop_assert_eq!(objections(&text), Vec::<String>::new());
        }
    }
}
