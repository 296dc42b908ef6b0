//! The judge of bandwidth tools in small: a grid in the simulator end to end, and programs of others in the lab. What is
//! asserted holds on a loaded machine.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const BASE: &str = "name = 'base'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nrate = '20 Mb/s'\n\
                    [[links.cross]]\nkind = 'poisson'\nload = 0.5\nsize = '800 B'\n[[links]]\nrate = '1 Gb/s'\n";

const SIM: &str = "description = 'small & <plain>'\nworld = 'sim'\nruns = 2\n\
    [[block]]\nname = 'loads'\nbase = 'base.toml'\n\
    bandwidth = { methods = ['busy-trains', 'pathload', 'spruce'], \
    originals = [{ method = 'spruce', truth_mbps = 10.0, found_mbps = [99.0] }] }\n\
    [block.axis]\n'links.1.cross.0.load' = [0.2, 0.6]\n\
    [[block]]\nname = 'again'\nbase = 'base.toml'\n\
    bandwidth = { methods = ['busy-trains'], continuous = 8 }\n";

fn eval(folder: &Path, grid: &str, more: &[&str]) -> Output {
    fs::write(folder.join("base.toml"), BASE).expect("written");
    fs::write(folder.join("grid.toml"), grid).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(["eval", "grid.toml"]).args(more);
    command.current_dir(folder).env("HOME", folder).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn document(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_small_grid_is_judged_against_the_counters() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = document(&eval(
        folder.path(),
        SIM,
        &["--json", "--rows", "rows", "--html", "page.html", "--plot", "p.svg"],
    ));
    let rows = told["rows"].as_array().expect("rows");
    let cells = told["bandwidth"]["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2 * 3 + 1);
    for row in rows {
        let met = &row["met"];
        assert_eq!(met["capacity_bps"], 20_000_000);
        let sum = met["free_bps"].as_f64().unwrap() + met["cross_bps"].as_f64().unwrap();
        assert!((sum - 20e6).abs() <= 2.0, "{met}");
        assert_eq!(met["free_bps"].as_f64(), row["truth"].as_f64().map(f64::round), "{row}");
        assert!(met["tool_bps"].as_f64().unwrap() > 0.0 && row["seconds"].as_f64().unwrap() > 0.0);
    }
    // The longer the measurement, the nearer is what was free to what was asked for.
    for cell in cells.iter().filter(|cell| cell["method"] == "pathload") {
        let load = cell["condition"]["links.1.cross.0.load"].as_f64().expect("a load");
        let free = cell["free_bps"]["mean"].as_f64().unwrap() / 20e6;
        assert!((free - (1.0 - load)).abs() < 0.05, "{free} at {load}");
        assert!(cell["median_error"].as_f64().is_some_and(|error| error < 0.25), "{cell}");
    }
    let again = rows.iter().filter(|row| row["place"] == "again:0:0").collect::<Vec<_>>();
    let began = |row: &Value| row["met"]["began_ns"].as_i64().unwrap();
    assert!(again.len() > 2 && again.windows(2).all(|pair| began(pair[0]) < began(pair[1])));
    assert!(began(again[again.len() - 1]) < 8_000_000_000, "none begins after its time");
    // Every cell of our own, and spruce beside its original, which was off by nine times the truth.
    let goals = told["bandwidth"]["goals"].as_array().expect("goals");
    assert_eq!(goals.iter().filter(|goal| goal["method"] == "busy-trains").count(), 3);
    let spruce: Vec<_> = goals.iter().filter(|goal| goal["method"] == "spruce").collect();
    assert!(spruce.len() == 2 && spruce.iter().all(|goal| goal["missed"] == Value::Array(Vec::new())));
    assert_eq!(told["bandwidth"]["interarrival"].as_array().map(Vec::len), Some(3));

    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.contains("small &amp; &lt;plain&gt;") && page.contains("Goals: "));
    assert!(page.matches("<svg").count() >= 6, "accuracy, time, two costs, series, traffic");
    for foreign in ["<script", "href=", "src=", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(fs::read_to_string(folder.path().join("p.svg")).expect("a picture").starts_with("<svg"));

    // The same rows again, from the file, with those of another evaluation beside them: the text has both once.
    let other = SIM.replace("name = 'loads'", "name = 'others'").replace("0.2, 0.6", "0.4");
    let only = ["--only", "others", "--beside", "rows"];
    let output = eval(folder.path(), &other, &only);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("others, load 0.4") && said.contains("loads, load 0.6"), "{said}");
    assert!(said.contains("Bandwidth tools in the simulator") && said.contains("Goals: "), "{said}");
}

#[test]
fn what_must_know_the_capacity_is_told_that_of_a_bucket() {
    let folder = tempfile::tempdir().expect("a folder");
    let bucket = "description = 'bucket'\nworld = 'sim'\nruns = 1\n[[block]]\nname = 'bucket'\nbase = 'base.toml'\n\
        bandwidth = { methods = ['spruce'] }\n[block.set]\n'links.1.rate' = '1 Gb/s'\n'links.1.cross.0.load' = 0.008\n\
        'links.1.shaper' = { rate = '20 Mb/s', burst = '1538 B' }\n";
    let told = document(&eval(folder.path(), bucket, &["--json"]));
    // Of pairs as far apart as a packet takes at 1 Gb/s it would read nothing.
    let found = told["rows"][0]["estimate"].as_f64().expect("a value");
    assert!((5e6..20e6).contains(&found), "{found}");
}

#[test]
fn a_part_made_again_gives_the_same_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let part = ["--json", "--only", "loads:1:1"];
    let rows = |output: &Output| document(output)["rows"].clone();
    let first = rows(&eval(folder.path(), SIM, &part));
    assert_eq!(first, rows(&eval(folder.path(), SIM, &part)));
    assert_eq!(first.as_array().map(Vec::len), Some(3));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = |from: &str, to: &str, more: &[&str]| {
        assert!(SIM.contains(from));
        let output = eval(folder.path(), &SIM.replace(from, to), more);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(
        fails("'spruce']", "'spruse']", &[])
            .contains("block `loads`: bandwidth: there is no method `spruse`")
    );
    assert!(
        fails("methods = ['busy-trains'], ", "", &[]).contains("block `again`: bandwidth: names neither")
    );
    assert!(fails("continuous = 8", "tools = ['x.toml']", &[]).contains("`tools` are for the lab"));
    assert!(fails("found_mbps = [99.0]", "found_mbps = []", &[]).contains("at least one figure found"));
    assert!(
        fails("[{ method = 'spruce'", "[{ method = 'topp'", &[])
            .contains("`topp` is none of this block's methods")
    );
    let of_none = fails("runs = 2\n", "runs = 2\nquantities = ['application_stage']\n", &[]);
    assert!(of_none.contains("and there is none"), "{of_none}");
    fs::write(folder.path().join("diary"), "dear diary\n").expect("written");
    assert!(fails("runs = 2", "runs = 2", &["--beside", "diary"]).contains("is no file of rows"));
    let other =
        "world = 'sim'\nruns = 1\n[[method]]\nname = 'knee'\n[[block]]\nname = 'b'\nbase = 'base.toml'\n";
    let output = eval(folder.path(), other, &["--html", "x.html"]);
    assert!(text(&output.stderr).contains("judges no bandwidth tools"), "{}", text(&output.stderr));
}

/// A tool that sends as fast as it can for a while and says so, one that hangs, and one that is not there.
#[test]
fn programs_of_others_stand_in_the_same_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = |name: &str, script: &str| {
        let text = format!(
            "name = '{name}'\nabout = 'x'\ntime_limit_seconds = 2\n[client]\nat = 'source'\n\
             command = ['sh', '-ec', '''{script}''']\n[value]\nquantity = 'available-bandwidth'\n\
             regex = 'free (?<value>[0-9.]+) (?<unit>\\S+)'\n"
        );
        fs::write(folder.path().join(format!("{name}.toml")), text).expect("written");
    };
    // A hundred requests of 1,000 bytes each: 1,042 on the link, and what surrounds them.
    plugin("honest", "ping -q -c 100 -i 0.002 -s 1000 {destination} > told; echo free 9.5 Mb/s");
    plugin("hanging", "echo thinking; sleep 60");
    plugin("missing", "no-such-program-7");
    let grid = "world = 'lab'\nruns = 1\n[[block]]\nname = 'b'\nbase = 'base.toml'\n\
                set = { 'lab.carrier' = 'tbf' }\n\
                bandwidth = { tools = ['honest.toml', 'hanging.toml', 'missing.toml'], seconds = 1 }\n";
    let output = eval(folder.path(), grid, &["--json"]);
    let said = text(&output.stderr);
    if said.contains("network namespace") || said.contains("needs the command") {
        return eprintln!("left out: {said}");
    }
    let told = document(&output);
    let rows = told["rows"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["method"] == name).expect("a row");
    let honest = row("honest");
    assert_eq!((&honest["verdict"], &honest["estimate"]), (&"value".into(), &9.5e6.into()));
    let met = &honest["met"];
    assert_eq!(met["capacity_bps"], 20_000_000);
    // What it sent is counted as its own, and no more: others send ten times as much.
    let bytes = honest["bytes"].as_f64().expect("bytes");
    assert!((105_000.0..125_000.0).contains(&bytes), "{honest}");
    assert!(met["cross_bps"].as_f64().unwrap() > 5e6, "{met}");
    for (name, why) in [("hanging", "was killed; its last words: thinking"), ("missing", "exit status 127")] {
        assert_eq!(row(name)["verdict"], "unmeasurable");
        assert!(row(name)["reason"].as_str().is_some_and(|reason| reason.contains(why)), "{}", row(name));
    }
    assert_eq!(told["bandwidth"]["cells"].as_array().map(Vec::len), Some(3));
}

const CAPACITY: &str = "description = 'capacity'\nworld = 'sim'\nruns = 2\n\
    [[block]]\nname = 'loads'\nbase = 'base.toml'\n\
    bandwidth = { methods = ['spared-runs', 'pathload'] }\n\
    [block.axis]\n'links.1.cross.0.load' = [0.2, 0.6]\n";

#[test]
fn a_capacity_is_held_against_the_narrow_link_and_traffic_against_what_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = document(&eval(folder.path(), CAPACITY, &["--json"]));
    let cells = told["bandwidth"]["cells"].as_array().expect("cells");
    for cell in cells.iter().filter(|cell| cell["method"] == "spared-runs") {
        assert_eq!(cell["quantity"], "narrow_link_capacity");
        assert_eq!(cell["truth"]["mean"].as_f64(), Some(20e6), "{cell}");
        assert!(cell["median_error"].as_f64().unwrap() < 0.02, "{cell}");
    }
    let goals = told["bandwidth"]["goals"].as_array().expect("goals");
    assert_eq!(goals.iter().filter(|goal| goal["method"] == "spared-runs").count(), 2);
    // Four measurements of each condition: off by chance, but not by much.
    let offered = told["bandwidth"]["offered"].as_array().expect("what was offered");
    assert_eq!(offered.len(), 2);
    for (one, load) in offered.iter().zip([0.2, 0.6]) {
        assert_eq!(one["asked_bps"].as_f64(), Some(20e6 * load), "{one}");
        assert!(one["off"].as_f64().unwrap().abs() < 0.05 && one["seconds"].as_f64().unwrap() > 2.0, "{one}");
    }
    // Pathload sees that the load changed; a capacity does not change.
    let changes = told["bandwidth"]["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0]["method"], "pathload");
    assert!((changes[0]["ratio"].as_f64().unwrap() - 1.0).abs() < 0.3, "{changes:?}");
}

#[test]
fn a_tool_for_the_kernel_is_none_for_the_simulator() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = eval(folder.path(), &CAPACITY.replace("pathload", "tcp"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`tcp` is the kernel's"), "{}", text(&output.stderr));
}
