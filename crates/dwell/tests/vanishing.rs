//! Peers that die while they are measured: each verb says so on one line, and ends with 1. And verbs of bandwidth that are
//! given what cannot be.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn dwell(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(arguments).current_dir(folder).env("HOME", folder).env_remove("XDG_CONFIG_HOME");
    command
}

/// Two homes that know each other, and an agent at the second.
struct Pair {
    near: tempfile::TempDir,
    _far: tempfile::TempDir,
    agent: Child,
    said: serde_json::Value,
    events: BufReader<std::process::ChildStderr>,
}

impl Pair {
    fn start() -> Self {
        let (near, far) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let key = |folder: &Path| dwell(folder, &["agent", "--key"]).output().expect("a key").stdout;
        for (one, other) in [(&near, &far), (&far, &near)] {
            let key = key(other.path());
            let home = one.path().join(".config/dwell");
            fs::create_dir_all(&home).expect("a folder");
            fs::write(home.join("peers"), key).expect("written");
            fs::write(one.path().join("secret"), "of both\n").expect("written");
        }
        let arguments =
            ["agent", "--listen", "127.0.0.1:0", "--udpst", "secret", "--udpst-port", "0", "--json"];
        let mut agent = dwell(far.path(), &arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let mut lines = BufReader::new(agent.stdout.take().expect("its output"));
        let mut text = String::new();
        while !text.ends_with("}\n") {
            assert!(lines.read_line(&mut text).expect("a line") > 0, "{text}");
        }
        let said = serde_json::from_str(&text).expect("one document");
        let events = BufReader::new(agent.stderr.take().expect("its events"));
        Self { near, _far: far, agent, said, events }
    }

    fn port(&self, of: &str) -> String {
        let address = self.said[of].as_str().expect("an address");
        address.rsplit(':').next().expect("a port").to_owned()
    }

    /// What a verb says when the agent dies so long after it came, and whether it was measuring then.
    fn killed(mut self, arguments: &[&str], after: Duration) -> (Output, bool) {
        let mut verb = dwell(self.near.path(), arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("dwell runs");
        if !arguments.contains(&"udpst") {
            let mut line = String::new();
            self.events.read_line(&mut line).expect("an event");
            assert!(line.contains("session of"), "{line}");
        }
        std::thread::sleep(after);
        let under_way = verb.try_wait().expect("its state").is_none();
        self.agent.kill().expect("killed");
        let _ = self.agent.wait();
        (verb.wait_with_output().expect("its end"), under_way)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

#[test]
fn an_agent_that_dies_midway_is_said_on_one_line() {
    let cases: [&[&str]; 6] = [
        &["avail", "127.0.0.1", "--method", "bart"],
        &["capacity", "127.0.0.1", "--method", "pathrate"],
        &["path", "127.0.0.1"],
        &["throughput", "127.0.0.1", "--seconds", "20"],
        &["throughput", "127.0.0.1", "--seconds", "20", "--reverse"],
        &["throughput", "127.0.0.1", "--seconds", "20", "--method", "udpst", "--secret", "secret"],
    ];
    std::thread::scope(|scope| {
        for arguments in cases {
            scope.spawn(move || {
                let pair = Pair::start();
                let udpst = arguments.contains(&"udpst");
                let port = pair.port(if udpst { "udpst" } else { "listen" });
                let arguments = [arguments, &["--port", &port]].concat();
                let (output, under_way) = pair.killed(&arguments, Duration::from_millis(1_500));
                assert!(under_way, "{arguments:?} was over");
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
                assert!(said.starts_with("dwell: ") && said.lines().count() == 1, "{arguments:?}: {said}");
                let clear = ["vanished", "ended", "nobody listens", "closed"];
                assert!(clear.iter().any(|word| said.contains(word)), "{arguments:?}: {said}");
                assert_eq!(String::from_utf8_lossy(&output.stdout), "", "no figure of half a run");
            });
        }
    });
}

#[test]
fn an_agent_serves_udpst_to_who_has_the_secret() {
    let pair = Pair::start();
    let port = pair.port("udpst");
    let test = |secret: &[&str]| {
        let usual =
            ["throughput", "127.0.0.1", "--method", "udpst", "--seconds", "5", "--json", "--port", &port];
        dwell(pair.near.path(), &[&usual[..], secret].concat()).output().expect("dwell runs")
    };
    let refused = test(&[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("wants a key"));
    let measured = test(&["--secret", "secret"]);
    assert_eq!(measured.status.code(), Some(0), "{}", String::from_utf8_lossy(&measured.stderr));
    let document: serde_json::Value = serde_json::from_slice(&measured.stdout).expect("one document");
    // A bound where nothing stopped the search.
    let found = &document["ip_capacity"];
    let found = found["value"].as_f64().or_else(|| found["bound"].as_f64());
    assert!(found.is_some_and(|bps| bps > 1e6), "{document:#}");
    assert!(document["verdict"]["limit"].is_string());
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let here = tempfile::tempdir().expect("a folder");
    fs::write(here.path().join("empty"), "").expect("written");
    let cases: [(&[&str], i32, &str); 14] = [
        (&["avail", "h", "--method", "none-such"], 2, "none-such"),
        (&["avail", "h", "--max-load", "2"], 2, "a share is above 0 and up to 1"),
        (&["avail", "h", "--max-load", "0.1"], 2, "--max-load: is a share of the end link"),
        (&["capacity", "h", "--max-load", "0.1"], 2, "--max-load: is a share of the end link"),
        (&["capacity", "h", "--port", "70000"], 2, "70000"),
        (&["throughput", "h", "--method", "udpst", "--seconds", "4"], 2, "whole seconds"),
        (&["throughput", "h", "--method", "udpst", "--connections", "2"], 2, "for the method tcp"),
        (&["throughput", "h", "--secret", "empty"], 2, "for the method udpst"),
        (&["throughput", "h:x", "--method", "udpst"], 2, "no port is called so"),
        (&["throughput", "127.0.0.1", "--method", "udpst", "--secret", "empty"], 2, "no secret"),
        (&["throughput", "h", "--seconds", "0"], 2, "0"),
        (&["throughput", "h", "--seconds", "0.1", "--connections", "1"], 2, "half a second at the least"),
        (
            &["throughput", "x", "--on", "sim", "--method", "udpst", "--secret", "no"],
            2,
            "is for a live server",
        ),
        (
            &["throughput", "x", "--on", "kernel", "--method", "udpst", "--secret", "no"],
            2,
            "is for a live server",
        ),
    ];
    for (arguments, status, says) in cases {
        let output = dwell(here.path(), arguments).output().expect("dwell runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}
