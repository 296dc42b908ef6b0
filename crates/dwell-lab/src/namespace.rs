//! Anonymous network namespaces. None has a name in `/run/netns`: a namespace lives as long as somebody holds it
//! open, so when the process dies, also by SIGKILL, the kernel takes namespace, interfaces and shapers away.

use crate::error::LabError;
use dwell_core::Nanos;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Pid, gettid};
use std::env;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

/// A network namespace that this process holds open.
#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    name: Arc<str>,
    file: Arc<File>,
}

impl Namespace {
    /// Makes one. The name is for people alone.
    pub(crate) fn new(name: &str) -> Result<Self, LabError> {
        let made = thread::scope(|scope| {
            let maker = scope.spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET)?;
                File::open("/proc/thread-self/ns/net")
            });
            maker.join().expect("making a namespace does not panic")
        });
        let file = made.map_err(|reason| LabError::Refused { reason })?;
        Ok(Self { name: name.into(), file: Arc::new(file) })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A path by which `ip link set .. netns` finds it while this process lives.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Starts a thread inside.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        role: &str,
        work: impl FnOnce() -> Result<T, LabError> + Send + 'static,
    ) -> Result<Worker<T>, LabError> {
        let inside = self.clone();
        let (tell, told) = mpsc::channel();
        let handle = thread::Builder::new()
            .name(role.to_owned())
            .spawn(move || {
                let _ = tell.send(gettid());
                inside.enter()?;
                work()
            })
            .map_err(LabError::system(format!("start the thread `{role}`")))?;
        Ok(Worker { handle, id: told.recv().ok() })
    }

    /// Runs `work` on a thread inside and waits for it.
    pub(crate) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, LabError> + Send,
    ) -> Result<T, LabError> {
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                self.enter()?;
                work()
            });
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Moves the calling thread inside.
    pub(crate) fn enter(&self) -> Result<(), LabError> {
        setns(&self.file, CloneFlags::CLONE_NEWNET)
            .map_err(LabError::system(format!("enter its namespace `{}`", self.name)))
    }

    /// Runs lines of `ip -batch` inside.
    pub(crate) fn ip(&self, lines: &[String]) -> Result<(), LabError> {
        self.batch("ip", lines)
    }

    /// Runs lines of `tc -batch` inside.
    pub(crate) fn tc(&self, lines: &[String]) -> Result<(), LabError> {
        self.batch("tc", lines)
    }

    /// Runs lines of `bridge -batch` inside.
    pub(crate) fn bridge(&self, lines: &[String]) -> Result<(), LabError> {
        self.batch("bridge", lines)
    }

    fn batch(&self, command: &'static str, lines: &[String]) -> Result<(), LabError> {
        let text = lines.join("\n") + "\n";
        self.within(|| {
            let failed = LabError::system(format!("run `{command}`"));
            let started = Command::new(command)
                .env("PATH", search_path(env::var("PATH").ok()))
                .args(["-batch", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn();
            let mut child = match started {
                Ok(child) => child,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(LabError::MissingCommand { command, package: "iproute2" });
                }
                Err(error) => return Err(failed(error)),
            };
            // A command that dies early closes its input; what it says on standard error tells more than that.
            let _ = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
            let output = child.wait_with_output().map_err(failed)?;
            if output.status.success() {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(LabError::Command {
                place: self.name.to_string(),
                command: failing_line(command, lines, &said),
                message: said.lines().next().unwrap_or("no reason given").to_owned(),
            })
        })
    }

    /// Writes `value` to `/proc/sys/net/<key>` of this namespace, if that key exists here.
    pub(crate) fn sysctl(&self, key: &str, value: &str) -> Result<(), LabError> {
        self.within(|| match fs::write(format!("/proc/sys/net/{key}"), value) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(LabError::system(format!("set net/{key} to {value}"))(error))
            }
            _ => Ok(()),
        })
    }

    /// Writes `value` to `/sys/<key>` as this namespace has it.
    pub(crate) fn sysfs(&self, key: &str, value: &str) -> Result<(), LabError> {
        self.within(|| {
            let written = own_sysfs().and_then(|()| fs::write(format!("/sys/{key}"), value));
            written.map_err(LabError::system(format!("set {key} to {value}")))
        })
    }
}

/// Shows the calling thread, and no other, the `/sys` of its network namespace: it shows the one that it was mounted in.
pub(crate) fn own_sysfs() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing = None::<&str>;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
    Ok(mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), nothing)?)
}

/// A thread in a namespace.
#[derive(Debug)]
pub(crate) struct Worker<T> {
    handle: JoinHandle<Result<T, LabError>>,
    id: Option<Pid>,
}

impl<T> Worker<T> {
    /// Waits for its end, and takes its panic as ours.
    pub(crate) fn join(self) -> Result<T, LabError> {
        self.handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Whether it has ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Time that it had a processor so far, as the scheduler tells; `None` once it has ended.
    pub(crate) fn processor_time(&self) -> Option<Nanos> {
        let text = fs::read_to_string(format!("/proc/self/task/{}/schedstat", self.id?)).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Nanos)
    }
}

/// Where commands are looked for: Debian has `tc` and `bridge` in folders that it leaves out of users' paths. An empty part would be
/// the folder that we happen to be in.
fn search_path(given: Option<String>) -> String {
    let given = given.filter(|path| !path.is_empty()).unwrap_or_else(|| "/usr/bin:/bin".to_owned());
    given + ":/usr/sbin:/sbin"
}

/// The line of a batch that failed: both commands end their complaint with `Command failed -:<number>`.
fn failing_line(command: &str, lines: &[String], said: &str) -> String {
    let number = said.rsplit(":").next().and_then(|tail| tail.trim().parse::<usize>().ok());
    let line = number.and_then(|number| lines.get(number.checked_sub(1)?));
    format!("{command} {}", line.map_or("-batch", String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_programs_are_found_by_users_too() {
        assert_eq!(search_path(Some("/opt/bin:/bin".into())), "/opt/bin:/bin:/usr/sbin:/sbin");
        assert_eq!(search_path(None), "/usr/bin:/bin:/usr/sbin:/sbin");
        assert_eq!(search_path(Some(String::new())), search_path(None));
    }

    #[test]
    fn a_failing_line_is_named() {
        let lines = ["link show".to_owned(), "link frobnicate".to_owned()];
        let said = "Command \"frobnicate\" is unknown, try \"ip link help\".\nCommand failed -:2\n";
        assert_eq!(failing_line("ip", &lines, said), "ip link frobnicate");
        assert_eq!(failing_line("ip", &lines, "killed"), "ip -batch");
    }
}
