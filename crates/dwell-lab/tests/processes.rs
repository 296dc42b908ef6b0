//! Labs in processes of their own: killed, without privileges, without the commands that they need.

use dwell_core::{Bytes, Departure, Direction, Nanos, Path as _, Train};
use dwell_lab::{Footing, Lab, LabOptions, enter_user_namespace};
use dwell_sim::Scenario;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// `nobody` and `nogroup`, as most systems have them; any ordinary user does.
const ORDINARY: u32 = 65_534;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("hold") => child(hold),
        Some("measure") => child(measure),
        Some("loaded") => child(loaded),
        Some("late") => child(late),
        Some("unasked") => child(unasked),
        // What a test runner asks of a harness (`--list` and the like) is not for us.
        Some("--list") => {}
        _ => run_all(),
    }
}

/// Is given the program to start.
type Test = fn(&Path);

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn child(role: fn() -> Outcome) {
    if let Err(error) = role() {
        println!("error: {error}");
        std::process::exit(1);
    }
}

fn run_all() {
    let stage = tempfile::tempdir().unwrap();
    // A copy that an ordinary user may run, wherever the build's folder is.
    let program = stage.path().join("processes");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for path in [stage.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let tests: [(&str, Test); 6] = [
        ("a killed lab leaves nothing", a_killed_lab_leaves_nothing),
        ("an ordinary user has labs too", an_ordinary_user_has_labs_too),
        ("an ordinary user has cross traffic too", an_ordinary_user_has_cross_traffic_too),
        ("without privileges one line says what to do", without_privileges_one_line_says_what_to_do),
        ("a missing command is named", a_missing_command_is_named),
        ("threads come too early", threads_come_too_early),
    ];
    for (name, test) in tests {
        test(&program);
        println!("test {name} ... ok");
    }
}

fn scenario() -> Scenario {
    // With a NIC, whose receive ring is set up by a mount of its own.
    let text = "name = 'child'\n[[links]]\nrate = '100 Mb/s'\npropagation = '1 ms'\n\
                [destination]\nnic = { hold = { period = '100 us' } }\n";
    Scenario::parse("child.toml", text).unwrap()
}

/// Holds a lab open until somebody kills it; tells its namespaces first.
fn hold() -> Outcome {
    enter_user_namespace()?;
    let lab = Lab::up(&scenario(), LabOptions::default())?;
    let _path = lab.connect()?;
    let own: Vec<String> = namespaces_of(Path::new("/proc/self")).into_iter().collect();
    println!("{}", own.join(" "));
    thread::sleep(Duration::from_secs(60));
    Ok(())
}

fn measure() -> Outcome {
    let footing = enter_user_namespace()?;
    let lab = Lab::up(&scenario(), LabOptions::default())?;
    let fleet = vec![Departure { pause: Nanos::from_millis(1), train: Train::burst(Bytes(1000), 3) }];
    let passages = lab.connect()?.carry(&fleet)?;
    let arrived = passages[0].observation.fates.iter().filter(|fate| fate.arrival.is_some()).count();
    println!(
        "{arrived} of 3, {}",
        if footing == Footing::Privileged { "privileged" } else { "user namespace" }
    );
    Ok(())
}

/// Behind a token bucket, which takes `tc`, with others' traffic.
fn loaded() -> Outcome {
    let text = "name = 'loaded'\n[[links]]\nrate = '10 Mb/s'\n[[links.cross]]\nkind = 'poisson'\nload = 0.5\n\
                size = '800 B'\n[lab]\ncarrier = 'tbf'\n";
    enter_user_namespace()?;
    let lab = Lab::up(&Scenario::parse("loaded.toml", text)?, LabOptions::default())?;
    let mut path = lab.connect()?;
    let mut cross = || {
        let reading = path.reading(Direction::Forward)?.ok_or("a bucket has counters")?;
        Ok::<_, Box<dyn std::error::Error>>((reading.at, reading.links[0].cross))
    };
    let (began, before) = cross()?;
    thread::sleep(Duration::from_secs(1));
    let (ended, after) = cross()?;
    let load = (after - before) * 8.0 / (ended - began).as_secs_f64() / 10e6;
    let caution = path.circumstances().notes.remove("lab caution").unwrap_or_default();
    println!("{}, {caution}", if (0.3..0.7).contains(&load) { "half".to_owned() } else { load.to_string() });
    Ok(())
}

fn unasked() -> Outcome {
    Lab::up(&scenario(), LabOptions::default())?;
    Ok(())
}

fn late() -> Outcome {
    let sleeper = thread::spawn(|| thread::sleep(Duration::from_millis(200)));
    let entered = enter_user_namespace();
    sleeper.join().unwrap();
    entered?;
    Ok(())
}

fn run(program: &Path, role: &str, configure: impl FnOnce(&mut Command)) -> Output {
    let mut command = Command::new(program);
    command.arg(role).current_dir("/");
    configure(&mut command);
    command.output().unwrap()
}

fn as_ordinary_user(command: &mut Command) {
    if nix::unistd::geteuid().is_root() {
        command.uid(ORDINARY).gid(ORDINARY);
    }
}

fn said(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Whether this is an outcome of a system that lets nobody make namespaces; prints it.
fn refused(told: &str) -> bool {
    let refused = told.contains("lets no network namespace be made");
    if refused {
        eprintln!("skipped: {told}");
    }
    refused
}

/// The network namespaces that a process is in, or holds open.
fn namespaces_of(process: &Path) -> BTreeSet<String> {
    let list = |folder: &str| fs::read_dir(process.join(folder)).into_iter().flatten().flatten();
    let held = list("fd").map(|entry| entry.path());
    let entered = list("task").map(|entry| entry.path().join("ns/net"));
    let links = held.chain(entered).filter_map(|path| fs::read_link(path).ok());
    let mut names: BTreeSet<String> = links
        .filter_map(|link| link.to_str().filter(|name| name.starts_with("net:[")).map(str::to_owned))
        .collect();
    // The one that everybody is in is nobody's.
    if let Ok(first) = fs::read_link("/proc/self/ns/net") {
        names.remove(first.to_str().unwrap_or_default());
    }
    names
}

/// Processes, and mounts, that keep one of `namespaces` alive.
fn holders(namespaces: &BTreeSet<String>) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let mut holders: Vec<PathBuf> =
        processes.filter(|process| !namespaces_of(process).is_disjoint(namespaces)).collect();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    holders.extend(namespaces.iter().filter(|name| mounts.contains(name.as_str())).map(PathBuf::from));
    holders
}

fn interfaces() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/class/net").unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn a_killed_lab_leaves_nothing(program: &Path) {
    let before = interfaces();
    let mut holder = Command::new(program).arg("hold").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let namespaces: BTreeSet<String> = line.split_whitespace().map(str::to_owned).collect();
    if refused(&line) {
        holder.wait().unwrap();
        return;
    }
    assert!(namespaces.len() >= 3 && namespaces.iter().all(|name| name.starts_with("net:[")), "{line}");
    assert!(!holders(&namespaces).is_empty(), "the look for holders finds the living one");
    // `Child::kill` is SIGKILL: the process has no chance to tidy up.
    holder.kill().unwrap();
    holder.wait().unwrap();
    let patience = Instant::now() + Duration::from_secs(10);
    while !holders(&namespaces).is_empty() && Instant::now() < patience {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(holders(&namespaces), Vec::<PathBuf>::new());
    assert_eq!(interfaces(), before);
}

fn an_ordinary_user_has_labs_too(program: &Path) {
    let output = run(program, "measure", as_ordinary_user);
    let told = said(&output);
    if !refused(&told) {
        assert_eq!(told, "3 of 3, user namespace");
        assert!(output.status.success());
    }
}

fn an_ordinary_user_has_cross_traffic_too(program: &Path) {
    // As Debian has it for users: `tc` is not there.
    let output = run(program, "loaded", |command| {
        as_ordinary_user(command);
        command.env("PATH", "/usr/bin:/bin");
    });
    let told = said(&output);
    if !refused(&told) {
        assert!(told.starts_with("half, ") && told.contains("net.core.wmem_max"), "{told}");
    }
}

fn without_privileges_one_line_says_what_to_do(program: &Path) {
    let output = run(program, "unasked", as_ordinary_user);
    let told = said(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("run as root") && told.contains("user namespaces"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

fn a_missing_command_is_named(program: &Path) {
    // What the system has beside the path is hidden from this process alone.
    let hidden = r#"mount -t tmpfs none /usr/sbin && mount -t tmpfs none /sbin && PATH=/nonexistent exec "$0" measure"#;
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", hidden])
        .arg(program)
        .output()
        .unwrap();
    if String::from_utf8_lossy(&output.stderr).contains("unshare") {
        return eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
    }
    let told = said(&output);
    if !refused(&told) {
        assert_eq!(told, "error: the lab needs the command `ip`: install iproute2");
    }
}

fn threads_come_too_early(program: &Path) {
    let told = said(&run(program, "late", as_ordinary_user));
    if !refused(&told) {
        assert_eq!(told, "error: a user namespace must be entered before the first thread is started");
    }
}
