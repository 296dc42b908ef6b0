//! Two hosts on one wire, in namespaces of the bench's own.

use dwell_net::interface::Interface;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::process::Command;
use std::thread;

/// The client's interface, which is watched.
pub(super) const NEAR: &str = "near";
/// Where the server is.
pub(super) const SERVER: &str = "10.99.0.2";

/// Both; they go when nobody is inside and this is dropped. Who makes it is inside the client's.
pub(super) struct Wire {
    far: File,
}

fn ip(arguments: &str) -> io::Result<()> {
    let status = Command::new("ip").args(arguments.split(' ')).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("ip {arguments}: {status}"))) }
}

fn made() -> io::Result<File> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    File::open("/proc/thread-self/ns/net")
}

impl Wire {
    pub(super) fn new() -> io::Result<Self> {
        let far = thread::spawn(made).join().expect("no panic")?;
        made()?;
        let wire = Self { far };
        let at = format!("/proc/{}/fd/{}", std::process::id(), wire.far.as_raw_fd());
        ip(&format!("link add {NEAR} gso_max_segs 1 type veth peer name far gso_max_segs 1 netns {at}"))?;
        Interface::named(NEAR)?.offloads_off()?;
        ip("link set lo up")?;
        ip("address add 10.99.0.1/24 dev near")?;
        ip("link set near up")?;
        wire.far(|| {
            Interface::named("far")?.offloads_off()?;
            ip("link set lo up")?;
            ip(&format!("address add {SERVER}/24 dev far"))?;
            ip("link set far up")
        })?;
        // Ports for all of it, at both ends.
        let ports = || std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "10240 65000");
        ports()?;
        wire.far(|| std::fs::write("/proc/sys/net/ipv4/tcp_max_syn_backlog", "8192"))?;
        Ok(wire)
    }

    /// Does it inside the server's namespace.
    pub(super) fn far<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.far, CloneFlags::CLONE_NEWNET).expect("our own namespace");
                work()
            });
            inside.join().expect("no panic")
        })
    }
}
