//! The exit status: the same of every verb for the same fault, as the book's page on it has it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// An ordinary user.
const NOBODY: u32 = 65_534;

const SCENARIO: &str = "name = \"lossy\"\n\n[[links]]\nrate = \"100 Mb/s\"\nloss = \"100 %\"\n";

/// What every fault is tried on.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).expect("written");
    put("lossy.toml", SCENARIO.as_bytes());
    put("text", b"neither a capture nor a record nor a scenario");
    put("text2", b"neither a capture nor a record nor a scenario");
    put("empty.pcap", b"");
    put("none.pcap", b"");
    fs::create_dir(folder.path().join("folder")).expect("made");
    // Where there is nothing, there may be a warehouse soon.
    put("folder/something", b"else");
    fs::create_dir(folder.path().join("folder2")).expect("made");
    folder
}

/// Statuses and what was said, of commands that end as they should; each is one line.
fn check(here: &Path, status: i32, fault: &str, commands: &[&str]) {
    for line in commands {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
        command.args(line.split(' ')).current_dir(here).env("HOME", here).env_remove("XDG_CONFIG_HOME");
        judge(&mut command, status, fault, line);
    }
}

fn judge(command: &mut Command, status: i32, fault: &str, line: &str) -> String {
    for name in ["DWELL_CLICKHOUSE_USER", "DWELL_CLICKHOUSE_PASSWORD"] {
        command.env_remove(name);
    }
    let output = command.output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{fault}: dwell {line}: {said}");
    assert!(said.lines().next_back().is_some_and(|reason| reason.starts_with("dwell: ")), "{line}: {said}");
    said
}

#[test]
fn what_is_not_there_is_2() {
    let here = folder();
    check(
        here.path(),
        2,
        "no such file",
        &[
            "path none.toml --on sim",
            "ppt none.toml --on kernel",
            "capacity none.toml --on sim",
            "avail none.toml --on sim",
            "throughput none.toml --on kernel",
            "delay none.toml --on sim",
            "echo none.toml --on kernel",
            "echo --tap missing.pcap",
            "plan none.toml",
            "plan none.json",
            "watch missing.pcap",
            "sections missing.pcap empty.pcap",
            "sections --store missing",
            "replay missing.dwell",
            "eval none.toml",
            "lab up none.toml",
            "lab run none.toml",
            "lab check none.toml",
            "throughput 127.0.0.1 --method udpst --secret missing",
        ],
    );
    check(here.path(), 2, "no such interface", &["watch nothere0", "local nothere0"]);
}

#[test]
fn what_is_something_else_is_2() {
    let here = folder();
    check(
        here.path(),
        2,
        "another kind of file",
        &[
            "path text --on sim",
            "echo --tap text",
            "plan text",
            "watch text",
            "sections text text2",
            "sections --store text",
            "replay text",
            "eval text",
            "lab run text",
        ],
    );
    check(
        here.path(),
        2,
        "a folder",
        &[
            "path folder --on sim",
            "echo --tap folder",
            "plan folder",
            "watch folder",
            "sections folder folder2",
            "sections --store folder",
            "replay folder",
            "eval folder",
            "lab run folder",
            "throughput 127.0.0.1 --method udpst --secret folder",
        ],
    );
}

#[test]
fn options_that_cannot_be_are_2() {
    let here = folder();
    for verb in [
        "path",
        "ppt",
        "capacity",
        "avail",
        "throughput",
        "delay",
        "echo",
        "plan",
        "local",
        "watch",
        "sections",
        "lab run",
        "agent",
        "serve",
        "eval",
        "replay",
        "generate",
    ] {
        check(here.path(), 2, "no such option", &[&format!("{verb} --nosuch")]);
        check(here.path(), 2, "no number", &[&format!("{verb} --seed x")]);
    }
    check(here.path(), 2, "no verb", &["lab", "generate"]);
}

#[test]
fn who_does_not_answer_is_1() {
    let here = folder();
    check(
        here.path(),
        1,
        "nobody is known",
        &["delay 127.0.0.1", "agent --listen 127.0.0.1:0", "serve --warehouse kept --listen 127.0.0.1:0"],
    );
    check(here.path(), 1, "no password", &["sections --store http://127.0.0.1:9/x"]);
    let mut agent = Command::new(env!("CARGO_BIN_EXE_dwell"));
    agent.args(["agent", "--key"]).env("HOME", here.path()).env_remove("XDG_CONFIG_HOME");
    let key = agent.output().expect("the command runs").stdout;
    let peers = format!("{} me\n", String::from_utf8_lossy(&key).trim());
    fs::write(here.path().join(".config/dwell/peers"), peers).expect("written");
    for verb in ["path", "ppt", "capacity", "avail", "throughput", "delay"] {
        check(here.path(), 1, "no such host", &[&format!("{verb} nowhere.invalid")]);
        // Nobody listens on the discard port.
        check(here.path(), 1, "no agent", &[&format!("{verb} 127.0.0.1 --port 9")]);
    }
    check(
        here.path(),
        1,
        "an address of others",
        &["agent --listen 192.0.2.1:1", "serve --warehouse kept --listen 192.0.2.1:1"],
    );
    check(
        here.path(),
        1,
        "no such host",
        &["watch empty.pcap --ipfix nowhere.invalid:4739", "watch empty.pcap --netflow nowhere.invalid:4739"],
    );
}

#[test]
fn what_cannot_be_measured_or_written_is_1() {
    let here = folder();
    check(
        here.path(),
        1,
        "nothing to be told",
        &[
            "path lossy.toml --on sim",
            "ppt lossy.toml --on sim",
            "capacity lossy.toml --on sim",
            "avail lossy.toml --on sim",
            "delay lossy.toml --on sim",
            "echo --tap empty.pcap",
            "watch empty.pcap",
            "sections empty.pcap none.pcap",
        ],
    );
    check(
        here.path(),
        1,
        "an output that cannot be made",
        &[
            "delay lossy.toml --on sim --plot none/there.svg",
            "plan lossy.toml --plot none/there.svg",
            "watch empty.pcap --csv none/there.csv",
            "generate capture --out none/there.pcap",
            "generate man /dev/null/there",
            "serve --warehouse text/there --listen 127.0.0.1:0",
        ],
    );
}

/// Of files and of interfaces; whoever is not root needs not become anybody else.
#[test]
fn what_is_not_allowed_is_1() {
    let here = folder();
    let program = here.path().join("dwell");
    // By another process: a child of another test that had our file open for writing would keep it from being run.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_dwell")).arg(&program).status();
    assert!(copied.expect("cp runs").success());
    for path in [here.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("set");
    }
    for name in ["text", "lossy.toml", "empty.pcap", "none.pcap", "folder"] {
        fs::set_permissions(here.path().join(name), fs::Permissions::from_mode(0o0)).expect("set");
    }
    for line in [
        "path lossy.toml --on sim",
        "echo --tap empty.pcap",
        "plan text",
        "plan lossy.toml",
        "watch empty.pcap",
        "sections empty.pcap none.pcap",
        "sections --store folder",
        "replay text",
        "eval text",
        "lab check lossy.toml",
        "throughput 127.0.0.1 --method udpst --secret text",
        "watch lo",
        "local --port 80",
        "echo 127.0.0.1 --tap lo",
        "ppt 127.0.0.1 --agentless icmp",
        "lab case busy-core",
    ] {
        let mut command = Command::new(&program);
        if nix::unistd::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.args(line.split(' ')).current_dir(here.path()).env("HOME", here.path());
        let said = judge(&mut command, 1, "not allowed", line);
        // User namespaces, which make all other labs, would be no help.
        assert_eq!(line.starts_with("lab case"), said.contains("takes root"), "{line}: {said}");
    }
}
