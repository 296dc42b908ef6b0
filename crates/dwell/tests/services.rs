//! The units of systemd: what they start works with the rights that they give, and no others.

#[expect(dead_code, reason = "how an interface's run is ended, here by its service")]
#[path = "watch/running.rs"]
mod running;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Gid, Pid, Uid, chown, getuid};
use running::{apart, wait_until_it_watches};
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Whom the services run as, here.
const NOBODY: u32 = 65_534;

const CONNECTIONS: usize = 20;

/// A unit, and where what it names lies here.
struct Unit {
    text: String,
    program: PathBuf,
    home: PathBuf,
}

impl Unit {
    fn read(name: &str, program: &Path, home: &Path) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist").join(name);
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        // Its user's home, as the book has it made.
        fs::create_dir(home).expect("a folder");
        chown(home, Some(Uid::from_raw(NOBODY)), Some(Gid::from_raw(NOBODY))).expect("given away");
        Self { text, program: program.to_owned(), home: home.to_owned() }
    }

    /// What it says of this.
    fn value(&self, key: &str) -> &str {
        let line = self.text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default()
    }

    /// Runs the program as its user, with its rights.
    fn command(&self, arguments: &[String]) -> Command {
        let granted = |key: &str| {
            let names = self.value(key).split_whitespace();
            let names = names.map(|name| format!(",+{}", name.trim_start_matches("CAP_").to_lowercase()));
            format!("-all{}", names.collect::<String>())
        };
        let (ambient, bounding) = (granted("AmbientCapabilities"), granted("CapabilityBoundingSet"));
        let mut command = Command::new("setpriv");
        // It ends with the thread that starts it, however that ends.
        command.args(["--pdeathsig", "KILL"]);
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
        command.args(["--inh-caps", &ambient, "--ambient-caps", &ambient, "--bounding-set", &bounding]);
        command.arg(&self.program).args(arguments).current_dir("/").env("HOME", &self.home);
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        command
    }

    /// What it starts, with these in the place of its variables.
    fn start(&self, variables: &[(&str, &str)]) -> Child {
        let mut line = self.value("ExecStart").replace("/var/lib/dwell", self.home.to_str().expect("text"));
        for (name, value) in variables {
            line = line.replace(name, value);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        assert_eq!(words.next().as_deref(), Some("/usr/local/bin/dwell"));
        let mut command = self.command(&words.collect::<Vec<_>>());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(&arguments.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
            .output()
            .expect("it runs")
    }

    /// Its own key.
    fn key(&self) -> String {
        let output = self.run(&["agent", "--key"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn know(&self, line: &str) {
        fs::write(self.home.join(".config/dwell/peers"), format!("{line}\n")).expect("written");
    }
}

/// As systemd stops a service.
fn stop(child: Child) -> Output {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).expect("told to end");
    child.wait_with_output().expect("ended")
}

/// All that it said.
fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

#[test]
fn a_probe_ships_to_a_warehouse_by_its_units_alone() {
    if !getuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!("left out: it takes root, and setpriv");
        return;
    }
    apart(|| {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("set");
        // Where everybody may run it from.
        let program = folder.path().join("dwell");
        fs::copy(env!("CARGO_BIN_EXE_dwell"), &program).expect("copied");
        let unit = |name: &str| Unit::read(name, &program, &folder.path().join(name));
        let (serving, watching) = (unit("dwell-serve.service"), unit("dwell-watch@.service"));
        let (warehouse, probe) = (serving.key(), watching.key());
        serving.know(&format!("{probe} probe=border-1"));
        watching.know(&format!("{warehouse} the warehouse"));

        let serve = serving.start(&[]);
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, 7_924)).is_err() {
            assert!(Instant::now() < until, "it does not listen");
            thread::sleep(Duration::from_millis(10));
        }
        let variables = [("%i", "lo"), ("${PROBE}", "border-1"), ("${WAREHOUSE}", "dwell://127.0.0.1")];
        let watch = watching.start(&variables);
        wait_until_it_watches(&watch);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let address = listener.local_addr().expect("bound");
        (0..CONNECTIONS).for_each(|_| drop(TcpStream::connect(address).expect("connected")));
        let watched = stop(watch);
        let told = said(&watched);
        assert_eq!(watched.status.code(), Some(0), "{told}");
        let shipped = told.lines().find(|line| line.contains(" records of this probe are at ")).expect(&told);
        assert!(shipped.contains(", 0 wait in "), "{told}");
        let shipped = shipped.split(' ').next().and_then(|count| count.parse().ok());
        // With those that ship, where they are of TCP.
        assert!(shipped.is_some_and(|count: usize| count >= CONNECTIONS), "{told}");
        // It filters in the kernel where anybody can.
        let alone =
            Command::new(&program).args(["watch", "lo", "--seconds", "0.1"]).output().expect("it runs");
        let is_unfiltered = |told: &str| told.contains("the kernel ran no filter");
        assert_eq!(is_unfiltered(&told), is_unfiltered(&said(&alone)), "{told}");
        assert_eq!(stop(serve).status.code(), Some(0));
    });
}
