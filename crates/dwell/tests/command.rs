//! The command as a user meets it: a process with arguments, standard output, standard error and a status.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the command far from any home folder.
fn dwell(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dwell"))
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .expect("the command runs")
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("an exit status")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Standard error, which must be one line.
fn reason(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).expect("text");
    assert_eq!(text.lines().count(), 1, "one line of reason: {text}");
    text
}

fn json(output: &Output) -> Value {
    assert_eq!(status(output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

const SCENARIO: &str = "name = \"test\"\n\n[[links]]\nrate = \"1 Gb/s\"\npropagation = \"2 us\"\n\n\
                        [[links]]\nrate = \"100 Mb/s\"\npropagation = \"500 ns\"\n\n\
                        [destination]\nspin = \"20 us\"\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("lan.toml"), SCENARIO).expect("written");
    folder
}

/// A finding has one of the three forms.
fn assert_finding(document: &Value, key: &str) {
    let finding = &document[key];
    let has = |keys: &[&str]| keys.iter().all(|key| finding.get(key).is_some());
    assert!(
        has(&["value", "low", "high", "unit"])
            || has(&["bound", "side", "unit", "reason"])
            || has(&["unmeasurable"]),
        "{key}: {finding}"
    );
}

#[test]
fn every_verb_has_help_with_examples() {
    let here = folder();
    for verb in [
        "path", "ppt", "capacity", "delay", "local", "lab", "agent", "eval", "replay", "generate", "watch",
        "sections", "serve",
    ] {
        let output = dwell(here.path(), &[verb, "--help"]);
        assert_eq!(status(&output), 0, "{verb}");
        assert!(out(&output).contains("Examples:") && out(&output).contains("dwell "), "{verb}");
    }
    assert!(out(&dwell(here.path(), &["--help"])).contains("Exit status"));
    assert!(out(&dwell(here.path(), &["--version"])).starts_with("dwell 0."));
}

#[test]
fn bad_arguments_end_with_2() {
    let here = folder();
    for arguments in [
        &["measure"][..],
        &["ppt"],
        &["ppt", "lan.toml", "--on", "moon"],
        &["ppt", "lan.toml", "--on", "sim", "--method", "guess"],
        &["ppt", "lan.toml", "--on", "sim", "--max-load", "0"],
        &["ppt", "lan.toml", "--on", "sim", "--max-load", "1.5"],
        &["ppt", "lan.toml", "--on", "sim", "--seed", "x"],
        &["ppt", "lan.toml", "--on", "sim", "--plot", "picture.png"],
        &["ppt", "lan.toml"],
        &["eval", "nowhere.toml"],
        &["replay", "lan.toml", "--record", "again.dwell"],
        &["agent", "--plot", "a.svg"],
    ] {
        let output = dwell(here.path(), arguments);
        assert_eq!(status(&output), 2, "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
    assert!(!here.path().join("picture.png").exists());
}

#[test]
fn unknown_hosts_and_missing_agents_end_with_1_and_one_line() {
    let here = folder();
    // Without a file of peers nobody can be trusted.
    let output = dwell(here.path(), &["ppt", "127.0.0.1"]);
    assert_eq!(status(&output), 1);
    assert!(reason(&output).contains("no file of peers"));

    let key = out(&dwell(here.path(), &["agent", "--key"]));
    assert!(key.starts_with("ed25519:"), "{key}");
    fs::write(here.path().join(".config/dwell/peers"), format!("{} me\n", key.trim())).expect("written");
    // A port that was free a moment ago.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    let output = dwell(here.path(), &["ppt", "127.0.0.1", "--port", &port.to_string()]);
    assert_eq!(status(&output), 1);
    assert!(reason(&output).starts_with("dwell: no agent at 127.0.0.1:"), "{}", reason(&output));
    assert!(output.stdout.is_empty());

    let output = dwell(here.path(), &["capacity", "no-such-host.invalid"]);
    assert_eq!(status(&output), 1);
    assert!(reason(&output).contains("no-such-host.invalid"), "{}", reason(&output));
}

#[test]
fn a_home_that_can_hold_no_key_is_told_with_what_to_do() {
    let here = folder();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(["agent", "--key"]).env("HOME", "/dev/null").env_remove("XDG_CONFIG_HOME");
    let output = command.output().expect("the command runs");
    assert_eq!(status(&output), 1);
    let told = reason(&output);
    assert!(told.contains("none can be made; name another folder with --identity"), "{told}");
    assert!(told.contains("/dev/null/.config/dwell"), "{told}");
    // Who named the folder knows that much.
    let output = dwell(here.path(), &["agent", "--key", "--identity", "/dev/null/keys"]);
    assert!(status(&output) == 1 && !reason(&output).contains("another folder"), "{}", reason(&output));
}

/// All words of a text but its rules and the marks of its tables, whatever their lines.
fn figures(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text
        .split_whitespace()
        .filter(|word| word.contains(|letter: char| letter.is_ascii_digit()))
        .map(|word| word.trim_matches(['(', ')', ':']).to_owned())
        .filter(|word| word != "95")
        .collect();
    // Where cells stand below each other, each has its head.
    words.sort();
    words.dedup();
    words
}

#[test]
fn narrow_terminals_show_every_figure_within_their_columns() {
    let here = folder();
    for verb in [
        &["delay", "lan.toml", "--on", "sim"][..],
        &["path", "lan.toml", "--on", "sim"],
        &["plan", "lan.toml"],
    ] {
        let told = |columns: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
            command.args(verb).current_dir(here.path()).env("HOME", here.path()).env("COLUMNS", columns);
            let output = command.output().expect("the command runs");
            assert_eq!(status(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
            out(&output)
        };
        let wide = told("0");
        for columns in [40, 60, 80] {
            let narrow = told(&columns.to_string());
            let longest = narrow.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(columns), "{columns}:\n{narrow}");
            assert_eq!(figures(&narrow), figures(&wide), "{columns}:\n{narrow}");
        }
    }
}

#[test]
fn ppt_has_the_promised_document() {
    let here = folder();
    for (method, stamps) in
        [("knee", "application"), ("salehin2015", "capture"), ("salehin2017", "application")]
    {
        let arguments = [
            "ppt", "lan.toml", "--on", "sim", "--json", "--method", method, "--stamps", stamps, "--seed", "5",
        ];
        let document = json(&dwell(here.path(), &arguments));
        assert_eq!(document["method"], method);
        assert_eq!(document["stamps"], stamps);
        for key in [
            "application_stage",
            "ppt_heading",
            "ppt_trailing",
            "service_time",
            "differential_ppt",
            "end_link_capacity",
        ] {
            assert_finding(&document, key);
        }
        for key in ["present", "kind", "period"] {
            assert!(document["coalescence"].get(key).is_some(), "{document:#}");
        }
        for key in ["p25", "p50", "p75"] {
            assert!(document["kernel_truth"]["ppt_heading_ns"][key].is_i64(), "{document:#}");
        }
        assert!(document["probes"].as_u64().is_some_and(|probes| probes > 0));
        assert!(document["bytes"].as_u64().is_some_and(|bytes| bytes > 0));
        assert!(document["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
        assert_eq!(document["circumstances"]["world"], "simulator");
    }
}

#[test]
fn the_knee_finds_the_spin_of_the_scenario() {
    let here = folder();
    let document = json(&dwell(here.path(), &["ppt", "lan.toml", "--on", "sim", "--json"]));
    // 20 us of spin above a wake-up of about 30 us and a read of 1 us.
    let stage = document["application_stage"]["value"].as_f64().expect("a value");
    assert!((45_000.0..60_000.0).contains(&stage), "{stage}");
}

#[test]
fn the_same_seed_gives_the_same_document() {
    let here = folder();
    let run = |seed| out(&dwell(here.path(), &["ppt", "lan.toml", "--on", "sim", "--json", "--seed", seed]));
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3"), run("4"));
}

/// What a replay must repeat.
fn findings(document: &Value) -> Value {
    let mut document = document.clone();
    document.as_object_mut().expect("an object").remove("circumstances");
    document
}

#[test]
fn a_replay_repeats_the_report() {
    let here = folder();
    for verb in ["ppt", "capacity", "delay", "path", "avail"] {
        let file = format!("{verb}.dwell");
        let first =
            json(&dwell(here.path(), &[verb, "lan.toml", "--on", "sim", "--json", "--record", &file]));
        let again = json(&dwell(here.path(), &["replay", &file, "--json"]));
        assert_eq!(findings(&first), findings(&again), "{verb}");
        assert!(again["circumstances"]["notes"]["replayed"].is_string());
    }
}

/// Packets that take two links in turn overtake each other.
const IN_TURN: &str = "name = 'in turn'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nbalance = 'packet'\n\
    parallel = [ { rate = '100 Mb/s', cross = [ { kind = 'poisson', load = '50 %' } ] }, { rate = '100 Mb/s' } ]\n\
    [[links]]\nrate = '1 Gb/s'\n";

#[test]
fn a_replay_prints_what_the_run_printed() {
    let here = folder();
    fs::write(here.path().join("turn.toml"), IN_TURN).expect("written");
    // No capacity is known here, so spruce sends nothing.
    for method in ["spruce", "busy-trains"] {
        let file = format!("{method}.dwell");
        let run = ["avail", "turn.toml", "--on", "sim", "--method", method, "--record", &file];
        let first = dwell(here.path(), &run);
        let again = dwell(here.path(), &["replay", &file]);
        let said = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said(&first), said(&again), "{method}");
        let counted = said(&first).contains("which carries 200 Mb/s on parallel links");
        assert_eq!(counted, method == "busy-trains", "{}", said(&first));
    }
}

#[test]
fn a_picture_of_nothing_says_so() {
    let here = folder();
    let lossy = "name = 'lossy'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '100 Mb/s'\nloss = '60 %'\n";
    fs::write(here.path().join("lossy.toml"), lossy).expect("written");
    let title = |file: &str, run: &[&str]| {
        dwell(here.path(), &[run, &["--on", "sim", "--plot", file]].concat());
        fs::read_to_string(here.path().join(file)).expect("a picture")
    };
    let avail = title("a.svg", &["avail", "lossy.toml"]);
    assert!(avail.contains("What is free of the path could not be measured"), "{avail}");
    // Of what was sent, all is drawn.
    let sent = json(&dwell(here.path(), &["avail", "lan.toml", "--on", "sim", "--json"]));
    let all = title("d.svg", &["avail", "lan.toml"]);
    assert!(all.contains(&format!("one of {} trains", sent["probes"])), "{}: {all}", sent["probes"]);
    let bucket = title("b.svg", &["capacity", "lan.toml", "--method", "shaper-probe"]);
    assert!(bucket.contains("and shows no token bucket"), "{bucket}");
    let chirps = title("c.svg", &["avail", "lan.toml", "--method", "pathchirp"]);
    assert!(chirps.contains("gaps of chirps") && !chirps.contains("one of 0"), "{chirps}");
}

#[test]
fn the_share_of_the_end_link_is_told_where_it_limits() {
    let here = folder();
    let run =
        |verb: &[&str]| json(&dwell(here.path(), &[verb, &["lan.toml", "--on", "sim", "--json"]].concat()));
    assert_eq!(run(&["delay", "--max-load", "0.05"])["max_load"], 0.05);
    assert_eq!(run(&["avail", "--method", "spruce"])["max_load"], 0.02);
    assert!(run(&["avail"]).get("max_load").is_none() && run(&["capacity"]).get("max_load").is_none());
}

#[test]
fn a_replay_may_ask_another_question() {
    let here = folder();
    let run = ["ppt", "lan.toml", "--on", "sim", "--method", "salehin2017", "--record", "run.dwell"];
    let run = json(&dwell(here.path(), &[&run[..], &["--json"]].concat()));
    let other = json(&dwell(here.path(), &["replay", "run.dwell", "--json", "--method", "salehin2015"]));
    assert_eq!(other["method"], "salehin2015");
    // It sent nothing more.
    for cost in ["probes", "packets", "bytes"] {
        assert!(run[cost].is_number() && run[cost] == other[cost], "{cost}: {} {}", run[cost], other[cost]);
    }
    assert!(other["ppt_heading"]["value"].is_number(), "{other:#}");
    let other = json(&dwell(here.path(), &["replay", "run.dwell", "--json", "--stamps", "capture"]));
    assert_eq!((&other["method"], &other["stamps"]), (&"salehin2017".into(), &"capture".into()));
    let run = ["delay", "lan.toml", "--on", "sim", "--record", "delay.dwell"];
    assert_eq!(status(&dwell(here.path(), &run)), 0);
    let output = dwell(here.path(), &["replay", "delay.dwell", "--method", "salehin2015"]);
    assert_eq!(status(&output), 1);
    let told = reason(&output);
    assert!(told.contains("could not measure: no compound probe of these sizes was seen"), "{told}");
    // What was not probed for cannot be had, and nobody pretends it can.
    let output = dwell(here.path(), &["replay", "run.dwell", "--method", "knee"]);
    assert_eq!(status(&output), 1);
    assert!(reason(&output).contains("could not measure"));
}

#[test]
fn a_record_is_not_written_over() {
    let here = folder();
    let arguments = ["capacity", "lan.toml", "--on", "sim", "--record", "run.dwell"];
    assert_eq!(status(&dwell(here.path(), &arguments)), 0);
    let output = dwell(here.path(), &arguments);
    assert_eq!(status(&output), 2);
    assert!(reason(&output).contains("run.dwell: already exists"));
    // Nor one that grows, or that a killed run left.
    fs::write(here.path().join("other.dwell.partial"), "").expect("written");
    let output = dwell(here.path(), &["delay", "lan.toml", "--on", "sim", "--record", "other.dwell"]);
    assert_eq!(status(&output), 2);
    assert!(reason(&output).contains("other.dwell.partial: left by an earlier run"));
}

#[test]
fn a_number_below_0_is_told_by_what_its_option_takes() {
    let here = folder();
    for arguments in [
        &["delay", "lan.toml", "--on", "sim", "--max-load", "-5"][..],
        &["delay", "lan.toml", "--on", "sim", "--seed", "-5"],
        &["local", "--seconds", "-5"],
        &["sections", "--store", ".", "--last", "-5"],
        &["lab", "run", "lan.toml", "--max-load", "-0.5"],
    ] {
        let output = dwell(here.path(), arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(status(&output), 2, "{arguments:?}: {told}");
        let option = arguments[arguments.len() - 2];
        assert!(told.contains("invalid value '-") && told.contains(&format!("'{option} <")), "{told}");
    }
    let told = dwell(here.path(), &["sections", "--store", ".", "--last", "5x"]).stderr;
    assert!(String::from_utf8_lossy(&told).contains("not a whole number of seconds"));
}

#[test]
fn what_the_hosts_of_a_scenario_cannot_heed_is_refused() {
    let here = folder();
    for verb in [
        &["path", "lan.toml", "--on", "sim"][..],
        &["path", "lan.toml", "--on", "sim", "--agentless"],
        &["ppt", "lan.toml", "--on", "kernel"],
        &["ppt", "lan.toml", "--on", "sim", "--agentless", "icmp"],
        &["echo", "lan.toml", "--on", "kernel"],
    ] {
        for option in [&["--core", "0"][..], &["--real-time"]] {
            let output = dwell(here.path(), &[verb, option].concat());
            assert_eq!(status(&output), 2, "{verb:?}");
            assert!(reason(&output).contains("--core and --real-time are for"), "{}", reason(&output));
        }
    }
    assert_eq!(status(&dwell(here.path(), &["lab", "run", "lan.toml", "--on", "live"])), 2);
    let output = dwell(here.path(), &["watch", "lan.toml", "--to", "dwell://x", "--from", "300.1.1.1"]);
    assert_eq!(status(&output), 2);
    assert!(reason(&output).contains("--from 300.1.1.1: neither an address nor an interface; there are lo"));
}

#[test]
fn a_picture_makes_no_folders_and_is_refused_before_anything_is_measured() {
    let here = folder();
    for verb in [&["plan", "lan.toml"][..], &["delay", "lan.toml", "--on", "sim", "--record", "run.dwell"]] {
        let output = dwell(here.path(), &[verb, &["--plot", "none/there.svg"]].concat());
        assert_eq!(status(&output), 1);
        assert!(reason(&output).contains("cannot write none/there.svg: No such file"), "{}", reason(&output));
        assert!(output.stdout.is_empty());
    }
    assert!(!here.path().join("none").exists() && !here.path().join("run.dwell").exists());
}

#[test]
fn standard_output_that_is_full_is_told_by_name() {
    let here = folder();
    for asked in [&["plan", "lan.toml"][..], &["--help"], &["watch", "--help"], &["--version"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
        let output = command.args(asked).current_dir(here.path()).stdout(full).output();
        let output = output.expect("the command runs");
        assert_eq!(status(&output), 1, "{asked:?}");
        let reason = reason(&output);
        assert!(reason.contains("cannot write to standard output: No space left"), "{asked:?}: {reason}");
    }
}

#[test]
fn what_is_generated_onto_a_full_disk_is_told_by_the_name_of_the_file() {
    let here = folder();
    for files in [&["--out", "/dev/full"][..], &["--out", "a.pcap", "--truth", "/dev/full"]] {
        let output = dwell(here.path(), &[&["generate", "capture", "--connections", "10"], files].concat());
        assert_eq!(status(&output), 1);
        assert!(reason(&output).contains("cannot write /dev/full: No space left"), "{}", reason(&output));
    }
}

#[test]
fn damaged_records_are_refused_with_their_place() {
    let here = folder();
    let file = here.path().join("run.dwell");
    let ran = dwell(here.path(), &["ppt", "lan.toml", "--on", "sim", "--record", "run.dwell"]);
    assert_eq!(status(&ran), 0);
    let whole = fs::read(&file).expect("a record");

    fs::write(&file, &whole[..whole.len() / 2]).expect("written");
    let output = dwell(here.path(), &["replay", "run.dwell"]);
    assert_eq!(status(&output), 1);
    assert!(reason(&output).contains("run.dwell: line ") && reason(&output).contains("cut short"));
    assert!(output.stdout.is_empty(), "no partial result is presented");
    // Unless that is what is asked for; then it says what it is.
    let output = dwell(here.path(), &["replay", "run.dwell", "--partial", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert!(document["circumstances"]["notes"]["cut_short"].is_string());
    // The account of the pauses comes last.
    assert!(document["seconds"].is_null() && document["load"].is_null(), "{document}");
    assert!(document["packets"].as_u64() > Some(0), "{document}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("of a run that did not end"));
    let output = dwell(here.path(), &["replay", "run.dwell", "--partial"]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("of sending"), "{output:?}");

    let text = String::from_utf8(whole).expect("text");
    let altered = text.replacen("\"application\":", "\"application\":1", 40);
    fs::write(&file, altered).expect("written");
    let output = dwell(here.path(), &["replay", "run.dwell"]);
    assert_eq!(status(&output), 1);
    assert!(reason(&output).contains("altered after it was written"), "{}", reason(&output));
}

#[test]
fn mistakes_in_scenarios_are_told_with_file_line_and_key() {
    let here = folder();
    for (text, line, key) in [
        (SCENARIO.replace("\"100 Mb/s\"", "\"fast\""), "bad.toml:8", "rate"),
        (SCENARIO.replace("spin", "spni"), "bad.toml:12", "spni"),
        (SCENARIO.replace("name = \"test\"", "name = 3"), "bad.toml:1", "name"),
        (SCENARIO.replace("[destination]", "[destination"), "bad.toml:11", ""),
    ] {
        fs::write(here.path().join("bad.toml"), text).expect("written");
        let output = dwell(here.path(), &["ppt", "bad.toml", "--on", "sim"]);
        assert_eq!(status(&output), 2);
        assert!(reason(&output).contains(line) && reason(&output).contains(key), "{}", reason(&output));
    }
    let output = dwell(here.path(), &["ppt", "none.toml", "--on", "sim"]);
    assert_eq!(status(&output), 2);
    assert!(reason(&output).contains("none.toml"));
}

#[test]
fn nothing_but_a_terminal_gets_colour_or_progress() {
    let here = folder();
    for verb in ["path", "ppt", "capacity", "delay"] {
        let output = dwell(here.path(), &[verb, "lan.toml", "--on", "sim"]);
        assert_eq!(status(&output), 0, "{verb}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!out(&output).contains('\x1b'), "{verb}");
        assert!(output.stderr.is_empty(), "{verb}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let here = folder();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = out(&dwell(here.path(), &["generate", "completions", shell]));
        assert!(script.contains("capacity"), "{shell}");
    }
    assert_eq!(status(&dwell(here.path(), &["generate", "man", "pages"])), 0);
    let page = fs::read_to_string(here.path().join("pages/dwell-ppt.1")).expect("a page");
    assert!(page.contains(".TH") && page.contains("salehin2015"));
}

#[test]
fn pictures_are_whole() {
    let here = folder();
    for (verb, unit) in [("path", "µs"), ("ppt", "µs"), ("capacity", "b/s"), ("delay", "µs")] {
        for kind in ["svg", "html"] {
            let file = format!("{verb}.{kind}");
            let output = dwell(here.path(), &[verb, "lan.toml", "--on", "sim", "--plot", &file]);
            assert_eq!(status(&output), 0, "{file}: {}", String::from_utf8_lossy(&output.stderr));
            let text = fs::read_to_string(here.path().join(&file)).expect("a picture");
            assert!(text.contains("<svg") && text.contains("</svg>") && text.contains(unit), "{file}");
            assert!(!text.contains("NaN"), "{file}");
            // A page is as wide as what shows it.
            assert_eq!(
                text.contains("<meta name=\"viewport\" content=\"width=device-width\">"),
                kind == "html"
            );
        }
    }
}

fn grid(here: &Path) -> PathBuf {
    let text = "world = \"sim\"\nruns = 2\n\n[[method]]\nname = \"end-link\"\n\n[[method]]\nname = \"knee\"\n\n\
                [[method]]\nname = \"salehin2015\"\nstamps = \"capture\"\n\n[[method]]\nname = \"delay\"\n\n\
                [[block]]\nname = \"spins\"\n\
                base = \"lan.toml\"\n\n[block.axis]\n\"destination.spin\" = [\"0 us\", \"20 us\"]\n";
    let file = here.join("grid.toml");
    fs::write(&file, text).expect("written");
    file
}

#[test]
fn eval_has_the_promised_rows() {
    let here = folder();
    grid(here.path());
    let document = json(&dwell(here.path(), &["eval", "grid.toml", "--json"]));
    let rows = document["rows"].as_array().expect("rows");
    for row in rows {
        for key in [
            "world",
            "place",
            "condition",
            "run",
            "method",
            "quantity",
            "truth",
            "estimate",
            "low",
            "high",
            "verdict",
            "inside",
            "outside",
            "probes",
            "bytes",
            "seconds",
        ] {
            assert!(row.get(key).is_some(), "{key} in {row}");
        }
        assert!(["value", "bound", "unmeasurable"].contains(&row["verdict"].as_str().expect("text")));
        assert_eq!(row["verdict"] == "value", row["estimate"].is_number(), "{row}");
    }
    let stages: Vec<&Value> =
        rows.iter().filter(|row| row["method"] == "knee" && row["quantity"] == "application_stage").collect();
    assert_eq!(stages.len(), 4, "two spins, two runs");
    for row in stages {
        let (truth, estimate) =
            (row["truth"].as_f64().expect("a truth"), row["estimate"].as_f64().expect("a value"));
        assert!((estimate - truth).abs() < 5_000.0, "{row}");
    }
    for method in ["end-link", "salehin2015", "delay"] {
        assert!(rows.iter().any(|row| row["method"] == method), "{method}");
    }
}

/// Twelve short runs: three drawn paths and one with three spins, twice each.
fn short_grid(here: &Path) {
    let text = "world = \"sim\"\nruns = 2\nquantities = [\"application_stage\", \"ppt_heading\"]\n\n\
                [[method]]\nname = \"knee\"\n\n[[block]]\nname = \"drawn\"\nrandom = 3\n\n\
                [[block]]\nname = \"spins and links\"\nbase = \"lan.toml\"\n\n\
                [block.axis]\n\"destination.spin\" = [\"0 us\", \"20 us\", \"80 us\"]\n";
    fs::write(here.join("short.toml"), text).expect("written");
}

fn eval_rows(here: &Path, more: &[&str]) -> Vec<Value> {
    let document = json(&dwell(here, &[&["eval", "short.toml", "--json"], more].concat()));
    document["rows"].as_array().expect("rows").clone()
}

/// Whatever is evaluated beside it, and on however many cores, a run gives the same rows.
#[test]
fn a_part_of_an_evaluation_gives_the_rows_of_the_whole() {
    let here = folder();
    short_grid(here.path());
    let whole = eval_rows(here.path(), &[]);
    assert_eq!(whole.len(), 24);
    for only in ["drawn:1", "spins and links:2:1", "spins and links"] {
        let part = eval_rows(here.path(), &["--only", only]);
        let place = |row: &Value| row["place"].as_str().expect("a place").to_owned();
        let same: Vec<Value> = whole
            .iter()
            .filter(|row| format!("{}:", place(row)).starts_with(&format!("{only}:")))
            .cloned()
            .collect();
        assert!(!same.is_empty() && part == same, "{only}: {part:#?} is not {same:#?}");
    }
    let other = eval_rows(here.path(), &["--seed", "2", "--only", "spins and links:2:1"]);
    assert_ne!(other, eval_rows(here.path(), &["--only", "spins and links:2:1"]));
    let output = dwell(here.path(), &["eval", "short.toml", "--only", "drawn:7"]);
    assert_eq!(status(&output), 2);
    assert!(reason(&output).contains("no such condition or run"));
}

#[test]
fn a_killed_evaluation_goes_on() {
    let here = folder();
    short_grid(here.path());
    let whole = eval_rows(here.path(), &[]);
    let mut killed = Command::new(env!("CARGO_BIN_EXE_dwell"))
        .args(["eval", "short.toml", "--rows", "rows.jsonl"])
        .current_dir(here.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let file = here.path().join("rows.jsonl");
    let lines = || fs::read_to_string(&file).map_or(0, |text| text.lines().count());
    while lines() < 3 && killed.try_wait().expect("its state").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    killed.kill().expect("killed");
    let _ = killed.wait();
    assert!(lines() >= 3, "the first line and two runs");
    // As if it had been killed in the middle of a line.
    let mut text = fs::read_to_string(&file).expect("rows");
    text.truncate(text.len() - 20);
    fs::write(&file, text).expect("written");
    assert_eq!(eval_rows(here.path(), &["--rows", "rows.jsonl"]), whole);
    assert_eq!(lines(), 13);
    // All is there: nothing is measured again, and the file stays as it is.
    let held = fs::read(&file).expect("rows");
    assert_eq!(eval_rows(here.path(), &["--rows", "rows.jsonl"]), whole);
    assert_eq!(fs::read(&file).expect("rows"), held);
    // Rows of other evaluations are not mixed in, and the file is not harmed.
    let grid = fs::read_to_string(here.path().join("short.toml")).expect("the grid");
    let refused = dwell(here.path(), &["eval", "short.toml", "--rows", "rows.jsonl", "--seed", "9"]);
    assert!(reason(&refused).contains("rows.jsonl: its rows are of seed 1, and 9 is asked for"));
    fs::write(here.path().join("short.toml"), grid.replace("80 us", "90 us")).expect("written");
    let refused = dwell(here.path(), &["eval", "short.toml", "--rows", "rows.jsonl"]);
    assert_eq!(status(&refused), 2);
    assert!(reason(&refused).contains("another grid"), "{}", reason(&refused));
    assert_eq!(fs::read(&file).expect("rows"), held);
}

#[test]
fn a_full_disk_ends_an_evaluation_with_its_reason() {
    let here = folder();
    short_grid(here.path());
    let output = dwell(here.path(), &["eval", "short.toml", "--rows", "/dev/full"]);
    assert_eq!(status(&output), 1);
    assert!(reason(&output).contains("/dev/full: cannot add") && reason(&output).contains("No space left"));
}

/// The worst case first, with a command that repeats it.
#[test]
fn the_worst_cases_come_first_and_can_be_repeated() {
    let here = folder();
    short_grid(here.path());
    let text = out(&dwell(here.path(), &["eval", "short.toml"]));
    let (worst, summary) =
        (text.find("The worst cases").expect("them"), text.find("all of drawn").expect("it"));
    assert!(worst < summary, "{text}");
    let command = text.lines().find_map(|line| line.strip_prefix("    dwell eval ")).expect("a command");
    // As a shell would part it.
    let parts: Vec<&str> = command.split('\'').enumerate().fold(Vec::new(), |mut parts, (place, part)| {
        if place % 2 == 0 {
            parts.extend(part.split_whitespace())
        } else {
            parts.push(part)
        }
        parts
    });
    let output = dwell(here.path(), &[&["eval"], &parts[..]].concat());
    assert_eq!(status(&output), 0, "{command}");
    assert!(out(&output).contains("2 rows"), "{command}: {}", out(&output));
}

#[test]
fn eval_tells_mistakes_of_the_grid() {
    let here = folder();
    let file = grid(here.path());
    let text = fs::read_to_string(&file).expect("a grid");
    fs::write(&file, text.replace("destination.spin", "destination.spni")).expect("written");
    let output = dwell(here.path(), &["eval", "grid.toml"]);
    assert_eq!(status(&output), 2);
    assert!(reason(&output).contains("grid.toml: block `spins`") && reason(&output).contains("spni"));
}

/// On the kernel, where this machine lets us make namespaces; where it does not, one line says why.
#[test]
fn the_lab_measures_on_the_kernel_or_says_why_not() {
    let here = folder();
    let output = dwell(here.path(), &["ppt", "lan.toml", "--on", "kernel", "--json"]);
    if status(&output) == 0 {
        let document = json(&output);
        assert_eq!(document["circumstances"]["world"], "lab");
        assert!(document["circumstances"]["notes"].as_object().is_some_and(|notes| !notes.is_empty()));
        assert!(document["kernel_truth"]["ppt_heading_ns"]["p50"].as_i64().is_some_and(|ns| ns > 20_000));
    } else {
        assert_eq!(status(&output), 1);
        println!("skipped: {}", reason(&output));
    }
}

/// Other tools enter it as it says. Where no lab is possible, nothing is there to be entered.
#[test]
fn a_lab_that_is_up_says_how_to_enter_it() {
    let here = folder();
    let mut lab = Command::new(env!("CARGO_BIN_EXE_dwell"))
        .args(["lab", "up", "lan.toml"])
        .current_dir(here.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the command runs");
    let lines = std::io::BufRead::lines(std::io::BufReader::new(lab.stdout.take().expect("its output")));
    let mut said = Vec::new();
    for line in lines.map_while(Result::ok) {
        said.push(line);
        if said.last().is_some_and(|line| line.starts_with("  destination: ")) {
            break;
        }
    }
    let entering = |name: &str| said.iter().find_map(|line| line.strip_prefix(&format!("  {name}: ")));
    let addresses = ["source", "destination"].map(|name| {
        let line = format!("{} ip -brief -4 address show eth0", entering(name)?);
        Some(out(&Command::new("sh").args(["-c", &line]).output().expect("a shell")))
    });
    lab.kill().expect("a lab that is up, or has ended");
    lab.wait().expect("its end");
    if let [Some(source), Some(destination)] = addresses {
        assert!(source.contains("10.77.0.1/24") && destination.contains("10.77.0.2/24"), "{said:?}");
        assert!(said[0].ends_with("its agent at 10.77.0.2; interrupt to end it"), "{said:?}");
    } else {
        assert!(said.is_empty(), "{said:?}");
        println!("skipped: no lab is possible here");
    }
}

/// Two hosts with keys of their own, over the loopback.
#[test]
fn two_hosts_measure_over_the_loopback() {
    let (near, far) = (folder(), folder());
    let key = |folder: &tempfile::TempDir| out(&dwell(folder.path(), &["agent", "--key"])).trim().to_owned();
    let (near_key, far_key) = (key(&near), key(&far));
    fs::write(near.path().join(".config/dwell/peers"), format!("{far_key} far\n")).expect("written");
    fs::write(far.path().join(".config/dwell/peers"), format!("{near_key} near\n")).expect("written");

    let mut agent = Command::new(env!("CARGO_BIN_EXE_dwell"))
        .args(["agent", "--listen", "127.0.0.1:0", "--json"])
        .env("HOME", far.path())
        .env_remove("XDG_CONFIG_HOME")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the agent starts");
    // The document ends with the line `}`.
    let mut told = String::new();
    let mut lines = std::io::BufReader::new(agent.stdout.take().expect("its output"));
    while !told.ends_with("}\n") {
        assert!(std::io::BufRead::read_line(&mut lines, &mut told).expect("a line") > 0, "{told}");
    }
    let told: Value = serde_json::from_str(&told).expect("one document");
    let port = told["listen"].as_str().and_then(|at| at.rsplit(':').next()).expect("a port").to_owned();

    let measured = dwell(near.path(), &["delay", "127.0.0.1", "--port", &port, "--json"]);
    let run = ["--port", &port, "--connections", "1", "--seconds", "1", "--json"];
    let carried = dwell(near.path(), &[&["throughput", "127.0.0.1"], &run[..]].concat());
    // A key that the agent does not know.
    let stranger = folder();
    let _ = key(&stranger);
    fs::write(stranger.path().join(".config/dwell/peers"), format!("{far_key} far\n")).expect("written");
    let refused = dwell(stranger.path(), &["capacity", "127.0.0.1", "--port", &port]);
    // An agent with another key than expected.
    fs::write(near.path().join(".config/dwell/peers"), format!("{near_key} wrong\n")).expect("written");
    let mistrusted = dwell(near.path(), &["capacity", "127.0.0.1", "--port", &port]);
    agent.kill().expect("killed");
    let _ = agent.wait();

    let document = json(&measured);
    assert_eq!(document["circumstances"]["world"], "live");
    assert!(document["round_trip"]["value"].as_f64().is_some_and(|ns| ns > 0.0), "{document:#}");
    // No fewer bytes than came at that rate in that time, where segments grow as the loopback's do.
    let carried = json(&carried);
    let [bps, seconds] =
        [&carried["throughput"]["value"], &carried["seconds"]].map(|told| told.as_f64().expect("a figure"));
    let bytes = carried["bytes"].as_f64().expect("bytes");
    assert!(8.0 * bytes >= bps * seconds, "{bytes} bytes, {bps} b/s in {seconds} s");
    for (output, words) in [(refused, "does not know this host"), (mistrusted, "another key than expected")] {
        assert_eq!(status(&output), 1);
        assert!(output.stdout.is_empty());
        assert!(reason(&output).contains(words), "{}", reason(&output));
    }
}

/// A scenario in which nothing arrives gives a reason, not a result.
#[test]
fn all_packets_lost_is_no_measurement() {
    let here = folder();
    let lossy = SCENARIO.replace("propagation = \"2 us\"", "propagation = \"2 us\"\nloss = \"100 %\"");
    fs::write(here.path().join("lossy.toml"), lossy).expect("written");
    for verb in ["path", "ppt", "capacity", "delay"] {
        let output = dwell(here.path(), &[verb, "lossy.toml", "--on", "sim"]);
        assert_eq!(status(&output), 1, "{verb}");
        assert!(reason(&output).contains("could not measure"), "{verb}: {}", reason(&output));
    }
}
