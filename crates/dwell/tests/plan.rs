//! `dwell plan` as a user meets it.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Configuration C3-100 of papers/000.
const C3: &str = "100 Mb/s, 10 Mb/s, 155 Mb/s, 100 Mb/s";

fn dwell(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dwell"))
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .output()
        .expect("the command runs")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    (output.status.code().expect("a status"), text(&output.stdout), text(&output.stderr))
}

fn plan(folder: &Path, arguments: &[&str]) -> Value {
    let (status, out, err) = told(&dwell(folder, &[&["plan", "--json"], arguments].concat()));
    assert_eq!((status, err.as_str()), (0, ""), "{arguments:?}");
    serde_json::from_str(&out).expect("one JSON document")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn cost<'a>(plan: &'a Value, method: &str) -> &'a Value {
    let costs = plan["costs"].as_array().expect("costs");
    costs.iter().find(|cost| cost["method"] == method).expect("its cost")
}

/// The dispersion of the pair with this trailing size and so many packets of others.
fn dispersion(plan: &Value, packets: u64, trailing: u64) -> &Value {
    let all = plan["dispersion"].as_array().expect("dispersion");
    let wanted = |entry: &&Value| entry["cross_packets"] == packets && entry["trailing_bytes"] == trailing;
    all.iter().find(wanted).expect("this entry")
}

/// Papers/000, Table 2, Figure 16 and section 7.4 through the command: s_h = 1500 B there, 1512 B here.
#[test]
fn the_papers_figures_come_out() {
    let here = folder();
    let bare = ["--framing", "none", "--mtu", "1474 B", "--resolution", "1 us"];
    let document = plan(here.path(), &[&["--links", C3][..], &bare].concat());
    assert_eq!(document["heading_bytes"], 1500);
    assert_eq!(document["trailing_bytes"], serde_json::json!([87, 112]));
    assert_eq!(document["step_bytes"], 25);
    assert_eq!(format!("{:.2}", number(&document["alpha"]["published"])), "6.47");
    assert_eq!(document["alpha"]["published_node"], 2);
    assert_eq!(format!("{:.1}", number(&document["alpha"]["every_link"])), "15.5");
    assert_eq!(format!("{:.1}", number(&document["largest_trailing_bytes"])), "231.8");
    let ratios: Vec<&Value> =
        document["links"].as_array().expect("links").iter().map(|link| &link["ratio"]).collect();
    assert_eq!(ratios[1..], [&serde_json::json!(0.1), &serde_json::json!(15.5), &Value::from(100.0 / 155.0)]);
    for (packets, together) in [(0, true), (1, true), (5, false), (10, false)] {
        let entry = dispersion(&document, packets, 112);
        assert_eq!(entry["together"], together, "{packets}: {entry}");
        assert_eq!(entry["estimated_capacity_bps"] == 100_000_000, together, "{packets}: {entry}");
        assert_eq!(entry["gap_ns"].as_array().map(Vec::len), Some(4));
    }
    // (29) on the quiet path: 112 B at 100 Mb/s.
    assert_eq!(dispersion(&document, 0, 112)["gap_ns"][3], 8_960);

    // 500 pairs of 1512 + 87 B and as many of 1512 + 112 B: 12.892 Mb, printed 12.89; at 100 ms apart 128.9 kb/s,
    // between the 127.92 of the one size and the 129.92 of the other.
    let document = plan(here.path(), &["--links", "10 Mb/s", "--framing", "none", "--mtu", "1486 B"]);
    let cost = cost(&document, "salehin2015");
    assert_eq!(cost["bytes"], 500 * (1512 + 87 + 1512 + 112));
    assert_eq!((&cost["probes"], &cost["packets"]), (&1000.into(), &2000.into()));
    assert!((number(&cost["seconds"]) - 100.0).abs() < 0.02, "{cost}");
    assert!((number(&cost["rate_bps"]) - 128_920.0).abs() < 30.0, "{cost}");
    assert_eq!(format!("{:.3}", number(&cost["load"])), "0.013");
}

#[test]
fn what_looks_at_what_comes_back_gets_a_range() {
    let here = folder();
    let document = plan(here.path(), &["--links", "1 Gb/s"]);
    for method in ["knee", "coalescence", "end-link"] {
        let seconds = &cost(&document, method)["seconds"];
        let [low, value, high] = ["low", "value", "high"].map(|key| number(&seconds[key]));
        assert!(0.0 < low && low <= value && value <= high, "{method}: {seconds}");
    }
    assert!(number(&cost(&document, "knee")["probes"]["high"]) <= 320.0);
    assert_eq!(cost(&document, "knee")["most_probes"], 320);
    // (72 + 12) B at 1 Gb/s.
    assert_eq!(document["smallest_stage_ns"], 672);
}

#[test]
fn a_coarse_clock_widens_the_step_and_the_errors() {
    let here = folder();
    let fine = plan(here.path(), &["--links", "10 Mb/s"]);
    let coarse = plan(here.path(), &["--links", "10 Mb/s", "--resolution", "20 us"]);
    // 2 R c_n = 40 us * 10 Mb/s = 50 B.
    assert_eq!((&fine["trailing_bytes"][1], &coarse["trailing_bytes"][1]), (&112.into(), &(87 + 50).into()));
    let error = |document: &Value, figure: &str| {
        let errors = document["clock"]["errors"].as_array().expect("errors");
        let row = errors.iter().find(|row| row["figure"] == figure).expect("its row");
        assert_eq!(row["error"]["side"], "upper", "{row}");
        number(&row["error"]["bound"])
    };
    assert_eq!((error(&fine, "PPT_t"), error(&coarse, "PPT_t")), (2.0, 40_000.0));
    assert_eq!(error(&coarse, "1 / c_n"), 1.0);
    assert!(
        coarse["warnings"].to_string().contains("hardly tells such sizes apart"),
        "{}",
        coarse["warnings"]
    );
}

/// A scenario says which links have cross traffic; an unshaped link takes no time.
#[test]
fn a_scenario_is_a_path() {
    let here = folder();
    let text = "name = \"s\"\nmtu = \"1400 B\"\n\n[[links]]\nrate = \"unshaped\"\n\n[[links]]\nrate = \"1 Gb/s\"\n\n\
                [[links]]\nrate = \"200 Mb/s\"\n\n[[links.cross]]\nkind = \"poisson\"\nload = 0.9\n\n\
                [[links]]\nrate = \"100 Mb/s\"\n\n[destination.clock]\nresolution = \"1 us\"\n";
    fs::write(here.path().join("s.toml"), text).expect("written");
    let document = plan(here.path(), &["s.toml"]);
    assert_eq!((&document["source"], &document["heading_bytes"]), (&"scenario".into(), &1426.into()));
    let crossed: Vec<bool> = document["links"]
        .as_array()
        .expect("links")
        .iter()
        .map(|link| link["cross_traffic"].as_bool().expect("a flag"))
        .collect();
    assert_eq!(crossed, [false, true, false]);
    assert_eq!(document["clock"]["resolution_ns"], 1_000);
    assert!(document["warnings"].to_string().contains("1 of 4 links are unshaped"));
}

/// What `dwell capacity` measured, as JSON and as a record, gives a plan whose measured figures are findings.
#[test]
fn a_measurement_is_a_path() {
    let here = folder();
    let text = "name = \"s\"\n[[links]]\nrate = \"1 Gb/s\"\n[[links]]\nrate = \"10 Mb/s\"\n[[links]]\nrate = \"100 Mb/s\"\n";
    fs::write(here.path().join("s.toml"), text).expect("written");
    let measure =
        ["capacity", "s.toml", "--on", "sim", "--method", "end-link", "--json", "--record", "run.dwell"];
    let (status, out, err) = told(&dwell(here.path(), &measure));
    assert_eq!(status, 0, "{err}");
    fs::write(here.path().join("run.json"), out).expect("written");
    for (file, source) in [("run.json", "result"), ("run.dwell", "record")] {
        let document = plan(here.path(), &[file]);
        assert_eq!(document["source"], source);
        let measured = &document["measured"];
        // The narrowest link of three, and the end link behind it: the truth asks for (1526 + 12) / 10 - 12 = 141 B.
        let alpha = number(&measured["alpha"]["bound"]);
        assert!((1526.0 / 141.9..1526.0 / 130.0).contains(&alpha), "{measured}");
        let stage = &measured["smallest_stage"];
        assert!(number(&stage["low"]) <= 67_200.0 && number(&stage["high"]) >= 67_200.0, "{stage}");
        assert!(document["warnings"][0].as_str().is_some_and(|text| text.contains("links are not")));
    }
}

#[test]
fn two_figures_are_not_made_more_of_than_they_are() {
    let here = folder();
    let write = |name: &str, text: &str| fs::write(here.path().join(name), text).expect("written");
    let value = |bps: &str| format!("{{\"value\":{bps},\"low\":{bps},\"high\":{bps},\"unit\":\"bps\"}}");
    let lower = "{\"bound\":50000000,\"side\":\"lower\",\"unit\":\"bps\",\"reason\":\"hosts\"}";
    let both = |end: &str, narrow: &str| {
        format!("{{\"end_link_capacity\":{end},\"narrow_link_capacity\":{narrow}}}")
    };
    // The end link is the narrowest: nothing before it matters.
    write("same.json", &both(&value("1e7"), &value("1e7")));
    assert_eq!(plan(here.path(), &["same.json"])["measured"]["alpha"]["bound"], 1.0);
    // Only bounds: no ratio, and no more than a bound of the stage.
    write("lower.json", &both(lower, lower));
    let measured = plan(here.path(), &["lower.json"])["measured"].clone();
    assert!(measured["alpha"]["unmeasurable"].is_string() && measured["smallest_stage"]["side"] == "upper");
    // No narrow link: it may be anywhere.
    write("end.json", &format!("{{\"end_link_capacity\":{}}}", value("1e7")));
    let measured = plan(here.path(), &["end.json"])["measured"].clone();
    assert!(measured["alpha"]["unmeasurable"].is_string() && measured["smallest_stage"]["side"] == "lower");
}

#[test]
fn a_path_without_a_size_says_so() {
    let here = folder();
    let document = plan(here.path(), &["--links", "10 Mb/s, 10 Gb/s"]);
    assert!(document["trailing_bytes"].is_null() && document["largest_trailing_bytes"].is_null());
    assert!(
        document["warnings"][0].as_str().is_some_and(|text| text.contains("`salehin2015` cannot work here"))
    );
    // Where the paper's rule allows too much, the plan does not.
    let document = plan(here.path(), &["--links", "10 Mb/s, 155 Mb/s, 20 Mb/s, 100 Mb/s"]);
    assert!(document["warnings"].to_string().contains("closes before the end link and opens again"));
    assert!(number(&document["largest_trailing_bytes"]) < 305.0);
}

#[test]
fn mistakes_are_told() {
    let here = folder();
    let write = |name: &str, text: &str| fs::write(here.path().join(name), text).expect("written");
    write("junk.txt", "hello");
    write("other.json", "{\"a\": 1}");
    write("five.json", "{\"end_link_capacity\": 5}");
    write("none.json", "{\"end_link_capacity\": {\"unmeasurable\": \"no probe arrived\"}}");
    for (arguments, words) in [
        (&[][..], "<FILE|--links <RATES>>"),
        (&["--links", "100 furlongs"], "unknown unit"),
        (&["--links", "100"], "has no unit"),
        (&["--links", "100 MB/s"], "is in bytes"),
        (&["--links", "1 Gb/s,,1 Gb/s"], "does not start with a number"),
        (&["--links", "1 Gb/s", "junk.txt"], "cannot be used with"),
        (&["junk.txt"], "junk.txt: neither a scenario (.toml), nor a record"),
        (&["gone.json"], "gone.json"),
        (&["gone.toml"], "gone.toml"),
        (&["other.json"], "no `end_link_capacity` in it"),
        (&["five.json"], "five.json: end_link_capacity: expected a value"),
        (&["none.json"], "was not measurable: no probe arrived"),
        (&["--links", "1 Gb/s", "--mtu", "20 B"], "mtu: 20 B is out of range"),
        (&["--links", "1 Gb/s", "--resolution", "0 s"], "no clock"),
        (&["--links", "1 Gb/s", "--pause", "-1 s"], "out of range"),
        (&["--links", "1 Gb/s", "--probes", "0"], "1 to 100000"),
        (&["--links", "1 Gb/s", "--cross", "0"], "0 is not in 1..=1000000"),
        (&["--links", "1 Gb/s", "--cross-links", "2"], "there is no link 2"),
        (&["--links", "1 Gb/s", "--cross-size", "0 B"], "out of range"),
        (&["--links", "1 Gb/s", "--record", "a.dwell"], "nothing to record"),
        (&["--links", "1 Gb/s", "--plot", "a.png"], "ends in .svg or .html"),
    ] {
        let (status, out, err) = told(&dwell(here.path(), &[&["plan"], arguments].concat()));
        assert_eq!(status, 2, "{arguments:?}: {err}");
        assert!(out.is_empty() && err.contains(words), "{arguments:?}: {err}");
    }
    assert!(!here.path().join("a.dwell").exists());
}

#[test]
fn text_and_picture_are_whole() {
    let here = folder();
    let (status, out, err) = told(&dwell(here.path(), &["plan", "--links", C3, "--plot", "plan.svg"]));
    assert_eq!((status, err.as_str()), (0, ""));
    for words in ["Packet sizes", "Dispersion gap", "Cost of a run", "Smallest application stage", "Error by"]
    {
        assert!(out.contains(words), "{words} in {out}");
    }
    assert!(!out.contains('\x1b') && !out.contains("NaN") && !out.contains("inf "), "{out}");
    let picture = fs::read_to_string(here.path().join("plan.svg")).expect("a picture");
    // The bounds with the inter-frame gap, of the quiet path and of one packet; for 5 and 10 there is none.
    assert!(picture.contains("α ≥ 6.76") && picture.contains("α ≥ 10.05"));
    assert!(picture.contains("u = v = 5 of 64 B: no size reaches it") && !picture.contains("NaN"));
    let (_, help, _) = told(&dwell(here.path(), &["plan", "--help"]));
    assert!(help.contains("Examples:") && help.contains("dwell plan --links"));
    // The same plan, the same seed, the same document.
    let twice = [(); 2].map(|()| plan(here.path(), &["--links", "10 Mb/s", "--seed", "7"]));
    assert_eq!(twice[0], twice[1]);
}

/// Behind a token bucket `dwell capacity` tells no more of the end link than that none is narrower than the narrowest.
#[test]
fn what_was_found_behind_a_token_bucket_is_planned_for() {
    let here = tempfile::tempdir().expect("a folder");
    let found = r#"{"narrow_link_capacity": {"bound": 2e8, "side": "lower", "unit": "bps", "reason": "r"},
        "token_rate": {"value": 5e7, "low": 4.9e7, "high": 5.1e7, "unit": "bps"}}"#;
    fs::write(here.path().join("found.json"), found).expect("written");
    let output = dwell(here.path(), &["plan", "found.json", "--probes", "10"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("a token bucket lets no more than 50 Mb/s through"), "{said}");
}

#[test]
fn what_of_a_scenario_is_not_planned_for_is_said() {
    let here = tempfile::tempdir().expect("a folder");
    let text = "name = 's'\n[[links]]\nrate = '1 Gb/s'\n\
        [[links]]\nrate = '100 Mb/s'\nshaper = { rate = '10 Mb/s', burst = '64 KiB' }\n\
        [[links]]\nparallel = [ { rate = '100 Mb/s' }, { rate = '100 Mb/s' } ]\n[[links]]\nrate = '1 Gb/s'\n";
    fs::write(here.path().join("s.toml"), text).expect("written");
    let output = dwell(here.path(), &["plan", "s.toml", "--probes", "10"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("link 2 has a shaper") && said.contains("link 3 is of parallel links"), "{said}");
}
