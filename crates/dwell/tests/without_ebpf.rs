//! `dwell local` where eBPF is not to be had: Dwell's own probes, or one line that says why live traffic cannot be seen.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// An ordinary user.
const NOBODY: u32 = 65_534;

/// As an ordinary user, which whoever is not root is already. The folder becomes everybody's.
fn unprivileged(folder: &Path, arguments: &[&str]) -> Output {
    let program = folder.join("dwell");
    // By another process: a child of another test that had our file open for writing would keep it from being run.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_dwell")).arg(&program).status();
    assert!(copied.unwrap().success());
    for path in [folder, &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new(program);
    if nix::unistd::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.args(arguments).current_dir(folder).env("HOME", folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// What must hold of own probes wherever they are sent: both ways told, each stage with its ends, summing to the total.
fn measured(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["observer"], &told["interface"]), (&"stamps".into(), &"lo".into()));
    let stages = |way: &str| -> Vec<String> {
        let way = &told[way];
        assert!(way["packets"].as_u64() > Some(20), "{way}");
        let sum = |row: &Value| row["sum_ns"].as_i64().unwrap();
        let rows = way["stages"].as_array().unwrap();
        assert_eq!(rows.iter().map(sum).sum::<i64>(), sum(&way["total"]));
        assert!(rows.iter().all(|row| row["p50_ns"].as_i64() > Some(0)), "{way}");
        rows.iter().map(|row| format!("{}-{}", row["from"], row["to"]).replace('"', "")).collect()
    };
    assert_eq!(stages("receive"), ["driver-stamped"]);
    assert_eq!(stages("send"), ["called-discipline", "discipline-xmit"]);
    assert!(told["answer"].is_null());
    let missing = told["missing"].as_array().unwrap();
    for point in ["protocol", "queue", "waking", "running", "asked", "read", "handed"] {
        let its = missing.iter().find(|one| one["point"] == point).expect(point);
        assert!(its["reason"].as_str().unwrap().starts_with("only eBPF sees it, and "), "{its}");
    }
    told
}

#[test]
fn without_privileges_own_probes_are_measured() {
    let here = tempfile::tempdir().unwrap();
    let run = ["local", "--seconds", "0.5", "--json", "--overhead", "--record", "run.dwell"];
    let output = unprivileged(here.path(), &run);
    let told = measured(&output);
    assert!(told["overhead"]["kernel_ns"].is_null() && told["overhead"]["user_ns"].as_i64() > Some(0));
    assert!(told["receive"]["kernel_stamp_difference"]["value"].is_null(), "it would check itself");
    let said = said(&output);
    let first = said.lines().next().unwrap();
    for words in ["no eBPF here: ", "CAP_BPF", "Dwell's own probes on 127.0.0.1 are measured"] {
        assert!(first.contains(words), "{said}");
    }
    // The points of one reason are told on one line.
    assert_eq!(said.lines().filter(|line| line.contains("only eBPF")).count(), 1, "{said}");

    let again = unprivileged(here.path(), &["replay", "run.dwell", "--json"]);
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap(), told);
}

#[test]
fn without_btf_own_probes_are_measured() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root can hide the kernel's BTF");
        return;
    }
    let script = format!(
        "mount -t tmpfs none /sys/kernel/btf && ip link set lo up && ip link add near type veth peer far && \
         ip address add 10.9.9.1/24 dev near && exec {} local near --seconds 0.5 --json",
        env!("CARGO_BIN_EXE_dwell")
    );
    let output = Command::new("unshare").args(["--mount", "--net", "sh", "-c", &script]).output().unwrap();
    let told = measured(&output);
    let flow = &told["send"]["flows"][0]["flow"];
    assert!(flow["local"].as_str().unwrap().starts_with("10.9.9.1:"), "the interface's own address: {flow}");
    assert!(said(&output).contains("no BTF"), "{}", said(&output));
}

#[test]
fn own_probes_are_no_answer_where_live_traffic_is_asked_for() {
    let here = tempfile::tempdir().unwrap();
    let own = std::process::id().to_string();
    for asked in [
        &["local", "lo", "--port", "1"][..],
        &["local", "--pid", &own],
        &["local", "--address", "127.0.0.1"],
        &["lab", "case", "healthy"],
    ] {
        let output = unprivileged(here.path(), asked);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{asked:?}: {said}");
        assert!(output.stdout.is_empty() && said.lines().count() == 1, "{asked:?}: {said}");
        assert!(asked[0] == "lab" || said.starts_with("dwell: cannot watch the kernel: "), "{said}");
    }
}

#[test]
fn an_interface_without_an_address_has_no_probes() {
    let output = Command::new("unshare")
        .args(["--user", "--net", env!("CARGO_BIN_EXE_dwell"), "local", "lo", "--seconds", "1"])
        .output()
        .unwrap();
    let said = said(&output);
    if said.contains("unshare") {
        eprintln!("skipped: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.lines().count() == 1 && said.contains("lo has no address of its own"), "{said}");
}
