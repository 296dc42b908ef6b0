//! A tool at work, with an end on either side of a path.

use super::description::{At, End, Plugin, PrintedBy};
use super::error::{PluginError, Role};
use super::listening::listens;
use super::program::Program;
use super::reading::Reading;
use crate::clock;
use dwell_core::{BitRate, Nanos};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a server may take until it listens.
const READY: Duration = Duration::from_secs(5);

/// How long a server without a port is given instead: nothing shows when it is ready.
const SETTLE: Duration = Duration::from_millis(500);

/// How long a server whose figure is wanted may take to print it after the client has ended.
const PRINTING: Duration = Duration::from_secs(3);

/// How often one looks whether a server is ready.
const PATIENCE: Duration = Duration::from_millis(5);

/// What a tool is asked.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Asked {
    /// Address of the end that packets are sent from.
    pub source: IpAddr,
    /// Address of the end that they are sent to.
    pub destination: IpAddr,
    /// How long it shall measure, where it can be told.
    pub seconds: u32,
    /// A rate, for those that take one: the capacity, or what to send at.
    pub rate: BitRate,
}

/// Moves the calling thread to an end of the path.
pub type Enter = Arc<dyn Fn(At) -> io::Result<()> + Send + Sync>;

/// A tool whose server listens, where it has one.
pub struct Started<'a> {
    plugin: &'a Plugin,
    asked: Asked,
    enter: Enter,
    server: Option<Server>,
    folder: Arc<TempDir>,
}

/// What a tool told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The figure, in what an Ethernet link carries where the description tells what packets take of it.
    pub reading: Reading,
    /// When the client began, by this machine's monotonic clock.
    pub began: Nanos,
    /// When it ended.
    pub ended: Nanos,
}

impl Plugin {
    /// Starts its server, and returns when that listens. `enter` is called on threads of ours.
    ///
    /// # Errors
    /// When it is not installed, or is not ready in its time.
    pub fn start(&self, asked: Asked, enter: Enter) -> Result<Started<'_>, PluginError> {
        let folder = tempfile::tempdir().map_err(PluginError::system("make a folder for the tool"))?;
        let folder = Arc::new(folder);
        let server = self.server.as_ref().map(|end| {
            let words = self.words(end, asked);
            Server::start(words, end.at, self.port, Arc::clone(&enter), Arc::clone(&folder), self.advice())
        });
        Ok(Started { plugin: self, asked, enter, server: server.transpose()?, folder })
    }

    fn words(&self, end: &End, asked: Asked) -> Vec<String> {
        let fill = |word: &String| {
            word.replace("{source}", &asked.source.to_string())
                .replace("{destination}", &asked.destination.to_string())
                .replace("{port}", &self.port.unwrap_or_default().to_string())
                .replace("{seconds}", &asked.seconds.to_string())
                .replace("{rate}", &asked.rate.0.to_string())
                .replace("{rate_mbps}", &format!("{:.3}", asked.rate.0 as f64 / 1e6))
        };
        end.command.iter().map(fill).collect()
    }

    fn advice(&self) -> String {
        match (&self.package, self.origin.as_str()) {
            (Some(package), _) => format!(": install the package `{package}`"),
            (None, "") => String::new(),
            (None, origin) => format!(": it comes from {origin}"),
        }
    }
}

/// What the client printed, its last words, and from when to when it measured.
type Asking = Result<(String, String, Nanos, Nanos), PluginError>;

/// A tool whose client has ended.
pub struct Ended<'a> {
    plugin: &'a Plugin,
    client: Asking,
    server: Option<Server>,
}

impl<'a> Started<'a> {
    /// Has the client measure. Whatever comes of it, it is gone afterwards.
    #[must_use]
    pub fn run(self) -> Ended<'a> {
        let Self { plugin, asked, enter, server, folder } = self;
        let (words, limit) = (plugin.words(&plugin.client, asked), plugin.time_limit(asked.seconds));
        let (at, advice) = (plugin.client.at, plugin.advice());
        let asking = thread::spawn(move || {
            enter(at).map_err(PluginError::system("enter an end of the path"))?;
            let (begun, began) = (Instant::now(), clock::monotonic());
            let mut client = Program::start(Role::Client, &words, folder.path(), &advice)?;
            let said = client.result(begun + limit, limit)?;
            Ok((said, client.last_words(), began, clock::monotonic()))
        });
        let client = asking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ended { plugin, client, server }
    }
}

impl Ended<'_> {
    /// Ends the server, where there is one, and reads what the tool found.
    ///
    /// # Errors
    /// When an end is not installed, hangs, fails or floods, or no figure is printed.
    pub fn told(self) -> Result<Told, PluginError> {
        let Self { plugin, client, server } = self;
        let wanted = plugin.value.printed_by == PrintedBy::Server && client.is_ok();
        // What the client says of a server that was stopped is no reason.
        let served = server.map(|server| server.end(wanted)).transpose()?;
        let (said, words, began, ended) = client?;
        let (said, words, role, end) = match (plugin.value.printed_by, served, &plugin.server) {
            (PrintedBy::Server, Some((said, words)), Some(end)) => (said, words, Role::Server, end),
            _ => (said, words, Role::Client, &plugin.client),
        };
        let reading = plugin.value.read(&said).map_err(|problem| PluginError::Garbage {
            role,
            program: end.command[0].clone(),
            problem,
            said: words,
        })?;
        let ratio = plugin.wire_over_counted();
        let reading = Reading {
            value: reading.value * ratio,
            range: reading.range.map(|(low, high)| (low * ratio, high * ratio)),
        };
        Ok(Told { reading, began, ended })
    }
}

/// A server on a thread of its own, at its end of the path.
struct Server {
    stop: Sender<Stop>,
    thread: JoinHandle<Result<(String, String), PluginError>>,
}

/// Whether what it prints is waited for.
struct Stop {
    wanted: bool,
}

impl Server {
    fn start(
        words: Vec<String>,
        at: At,
        port: Option<u16>,
        enter: Enter,
        folder: Arc<TempDir>,
        advice: String,
    ) -> Result<Self, PluginError> {
        let (tell, told) = channel();
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            enter(at).map_err(PluginError::system("enter an end of the path"))?;
            let mut server = Program::start(Role::Server, &words, folder.path(), &advice)?;
            ready(&mut server, port)?;
            let _ = tell.send(());
            serve(&mut server, &stopped)
        });
        match told.recv() {
            Ok(()) => Ok(Self { stop, thread }),
            // It ended before it could tell: with its reason.
            Err(_) => match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Err(error) => Err(error),
                Ok(_) => Err(PluginError::system("start a server")(io::ErrorKind::BrokenPipe.into())),
            },
        }
    }

    /// Ends it, and returns what it printed and its last words.
    fn end(self, wanted: bool) -> Result<(String, String), PluginError> {
        let _ = self.stop.send(Stop { wanted });
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Waits until the server listens.
fn ready(server: &mut Program, port: Option<u16>) -> Result<(), PluginError> {
    let within = if port.is_some() { READY } else { SETTLE };
    let deadline = Instant::now() + within;
    loop {
        let ended = server.wait(Instant::now())?.is_some();
        if port.is_some_and(listens) {
            return Ok(());
        }
        let late = Instant::now() >= deadline;
        if late && port.is_none() && !ended {
            return Ok(());
        }
        if late || ended {
            let (program, said) = (server.name().to_owned(), server.last_words());
            return Err(PluginError::NotReady { role: Role::Server, program, within, said });
        }
        thread::sleep(PATIENCE);
    }
}

/// Lets the server be until told to stop, or until nobody is left to tell. Who prints without end is stopped before that.
fn serve(server: &mut Program, stopped: &Receiver<Stop>) -> Result<(String, String), PluginError> {
    let wanted = loop {
        match stopped.recv_timeout(PATIENCE) {
            Ok(Stop { wanted }) => break wanted,
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => server.wait(Instant::now())?,
        };
    };
    if wanted {
        // Many servers print at once and then wait for the next client: they are killed all the same.
        server.wait(Instant::now() + PRINTING)?;
    }
    Ok((server.said(), server.last_words()))
}
