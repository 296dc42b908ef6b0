//! A program of others on a leash: in a process group of its own, which dies with the thread that started it, is killed
//! when dropped, with whatever it started that has left the group (a daemon), and prints into files, so that nothing it
//! leaves behind can keep us waiting.

use super::error::{PluginError, Role, last_words};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// No tool's result is longer.
const MOST: u64 = 4 << 20;

/// How often one looks whether a program has ended.
const PATIENCE: Duration = Duration::from_millis(2);

/// Children of a program that was killed are waited for no longer than this.
const BURIAL: Duration = Duration::from_millis(500);

/// What a program and all that it starts have in their environment, with a value of its own: by that a daemon is found.
const MARK: &str = "DWELL_TOOL";

#[derive(Debug)]
pub(super) struct Program {
    role: Role,
    name: String,
    mark: String,
    child: Child,
    output: File,
    complaints: File,
}

impl Program {
    /// Starts `words` in `folder`.
    pub(super) fn start(
        role: Role,
        words: &[String],
        folder: &Path,
        advice: &str,
    ) -> Result<Self, PluginError> {
        let name = words[0].clone();
        let failed = |source| PluginError::System { what: format!("run `{name}`"), source };
        let (output, complaints) =
            (tempfile::tempfile().map_err(failed)?, tempfile::tempfile().map_err(failed)?);
        static STARTED: AtomicU64 = AtomicU64::new(0);
        // By the folder too, for another space of processes has the same numbers.
        let mark = format!("{}.{}", folder.display(), STARTED.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(&name);
        command
            .args(&words[1..])
            .current_dir(folder)
            // Its words are read, and those are of the C locale.
            .env("LC_ALL", "C")
            .env(MARK, &mark)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(complaints.try_clone().map_err(failed)?)
            .process_group(0);
        crate::leash::end_with_this_thread(&mut command);
        match command.spawn() {
            Ok(child) => Ok(Self { role, name, mark, child, output, complaints }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(PluginError::Missing { role, program: name, advice: advice.to_owned() })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Waits for its end until `deadline`; `None`: it has not ended. Who prints without end is killed.
    pub(super) fn wait(&mut self, deadline: Instant) -> Result<Option<ExitStatus>, PluginError> {
        loop {
            let waited = self.child.try_wait();
            if let Some(status) = waited.map_err(PluginError::system(format!("wait for `{}`", self.name)))? {
                return Ok(Some(status));
            }
            if self.length() > MOST {
                return Err(PluginError::Flood { role: self.role, program: self.name.clone(), most: MOST });
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            std::thread::sleep(PATIENCE);
        }
    }

    /// What it printed so far, where it ended well by `deadline`.
    pub(super) fn result(&mut self, deadline: Instant, after: Duration) -> Result<String, PluginError> {
        let status = self.wait(deadline)?;
        let (role, program) = (self.role, self.name.clone());
        match status {
            None => Err(PluginError::Hung { role, program, after, said: self.last_words() }),
            Some(status) if !status.success() => {
                let status = match (status.code(), status.signal()) {
                    (Some(code), _) => format!("exit status {code}"),
                    (None, Some(signal)) => format!("signal {signal}"),
                    (None, None) => status.to_string(),
                };
                Err(PluginError::Failed { role, program, status, said: self.last_words() })
            }
            Some(_) => Ok(self.said()),
        }
    }

    /// What it printed so far.
    pub(super) fn said(&mut self) -> String {
        contents(&mut self.output)
    }

    /// The last line of its complaints, or else of what it printed.
    pub(super) fn last_words(&mut self) -> String {
        let complaints = contents(&mut self.complaints);
        let text = if complaints.trim().is_empty() { self.said() } else { complaints };
        last_words(&text)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> u64 {
        [&self.output, &self.complaints]
            .into_iter()
            .map(|file| file.metadata().map_or(0, |metadata| metadata.len()))
            .max()
            .unwrap_or(0)
    }
}

fn contents(file: &mut File) -> String {
    let mut bytes = Vec::new();
    // Its descriptor is the program's too: what it goes on to print is put behind this.
    let read = file.rewind().and_then(|()| file.take(MOST).read_to_end(&mut bytes));
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

/// Processes that bear this mark.
fn marked(mark: &str) -> impl Iterator<Item = Pid> {
    let wanted = format!("{MARK}={mark}");
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(move |entry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let is_marked = environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes());
        is_marked.then(|| Pid::from_raw(process))
    })
}

impl Drop for Program {
    fn drop(&mut self) {
        // The group may live on when its leader has ended.
        let Ok(group) = i32::try_from(self.child.id()).map(Pid::from_raw) else { return };
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
        // Who is killed is gone a little later, with the ports that it held, and as others' child is not waited for. Where nobody buries
        // it, it holds nothing any more.
        let given_up = Instant::now() + BURIAL;
        loop {
            let daemons = marked(&self.mark).filter(|daemon| kill(*daemon, Signal::SIGKILL).is_ok()).count();
            if killpg(group, None).is_err() && daemons == 0 || Instant::now() >= given_up {
                break;
            }
            std::thread::sleep(PATIENCE);
        }
    }
}
