//! Threads in namespaces of their own, from which children are started there. They have no names: they end with the
//! last that is in them.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Starts children inside, one at a time.
pub(crate) struct Inside {
    ask: Sender<Command>,
    answer: Receiver<Child>,
    /// By which others find its network.
    pub(crate) network: PathBuf,
}

impl Inside {
    /// A thread with its own network, and with a small disk mounted at `disk`, as far as asked for; `None` where that
    /// is not permitted.
    pub(crate) fn new(network: bool, disk: Option<(PathBuf, u64)>) -> Option<Self> {
        let (ask, asked) = channel::<Command>();
        let (answering, answer) = channel();
        let (ready, is_ready) = channel();
        thread::spawn(move || {
            let entered = enter(network, disk);
            let _ = ready.send(entered.map(|()| nix::unistd::gettid()));
            for mut command in asked {
                let _ = answering.send(command.spawn().unwrap());
            }
        });
        let thread = is_ready.recv().ok()?.ok()?;
        Some(Self {
            ask,
            answer,
            network: format!("/proc/{}/task/{thread}/ns/net", std::process::id()).into(),
        })
    }

    pub(crate) fn spawn(&self, command: Command) -> Child {
        self.ask.send(command).unwrap();
        self.answer.recv().unwrap()
    }

    /// Runs `ip` inside, to its end.
    pub(crate) fn ip(&self, arguments: &str) {
        let mut command = Command::new("ip");
        command.args(arguments.split_whitespace());
        assert!(self.spawn(command).wait().unwrap().success(), "ip {arguments}");
    }
}

fn enter(network: bool, disk: Option<(PathBuf, u64)>) -> nix::Result<()> {
    let nothing = None::<&str>;
    if network {
        unshare(CloneFlags::CLONE_NEWNET)?;
    }
    if let Some((at, bytes)) = disk {
        unshare(CloneFlags::CLONE_NEWNS)?;
        mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
        mount(Some("tmpfs"), &at, Some("tmpfs"), MsFlags::empty(), Some(format!("size={bytes}").as_str()))?;
    }
    Ok(())
}
