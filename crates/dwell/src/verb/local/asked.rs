//! What was asked to be watched, checked against what there is.

use super::LocalArgs;
use crate::verb::ends::Ends;
use anyhow::{Context, Result, anyhow, bail};
use dwell_core::inside::Way;
use dwell_net::inside::Watching;
use dwell_net::interfaces;
use dwell_store::Ask;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is to be watched, for how long, and how it is told.
pub(super) struct Asked {
    /// For the observer.
    pub(super) watching: Watching,
    /// The interface's name.
    pub(super) interface: Option<String>,
    /// Whether Dwell's own probes do where live traffic cannot be seen: not where some packets of it are asked for.
    pub(super) own_probes_do: bool,
    /// When it is over.
    pub(super) ends: Ends,
    /// Whether the kernel is to keep account.
    pub(super) overhead: bool,
    /// Slowest packets of each way that are kept.
    pub(super) slowest: usize,
    /// In words: `udp port 7 of lo`.
    pub(super) what: String,
}

impl Asked {
    pub(super) fn new(args: &LocalArgs) -> Result<Self> {
        let interface = args.interface.as_deref().map(index_of).transpose()?;
        let cgroup = args.cgroup.as_deref().map(group_of).transpose()?;
        let ways = match (args.receive, args.send) {
            (true, _) => vec![Way::Receive],
            (_, true) => vec![Way::Send],
            _ => Vec::new(),
        };
        let watching = Watching {
            interface,
            ports: args.port.clone(),
            addresses: args.address.clone(),
            pid: args.pid,
            cgroup,
            ways,
        };
        let own_probes_do = !args.only_live && !watching.selects();
        let ends = Ends::new(args.seconds, args.packets, args.pid, args.interface.as_deref())?;
        let (interface, overhead, slowest) = (args.interface.clone(), args.overhead, args.slowest.into());
        Ok(Self { watching, interface, own_probes_do, ends, overhead, slowest, what: what(args) })
    }

    /// For the record.
    pub(super) fn ask(&self, seed: u64) -> Ask {
        let config = [("slowest".to_owned(), self.slowest.to_string())].into();
        Ask { verb: "local".to_owned(), target: self.what.clone(), seed, config, ..Ask::default() }
    }
}

fn what(args: &LocalArgs) -> String {
    let mut what = vec![args.interface.clone().unwrap_or_else(|| "all interfaces".to_owned())];
    what.extend(args.port.iter().map(|port| format!("port {port}")));
    what.extend(args.address.iter().map(|address| format!("address {address}")));
    what.extend(args.pid.map(|pid| format!("process {pid}")));
    what.extend(args.cgroup.as_ref().map(|group| format!("control group {}", group.display())));
    what.extend(args.receive.then(|| "receive only".to_owned()));
    what.extend(args.send.then(|| "send only".to_owned()));
    what.join(", ")
}

fn index_of(name: &str) -> Result<u32> {
    let all = interfaces().context("cannot list the interfaces")?;
    let found = all.iter().find(|(one, _)| one == name).map(|(_, index)| *index);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    found.ok_or_else(|| anyhow!("no interface {name:?} here; there are {}", names.join(", ")))
}

/// The identifier of a control group: the number of its folder.
fn group_of(path: &Path) -> Result<u64> {
    let folder = Path::new("/sys/fs/cgroup").join(path);
    if !folder.join("cgroup.procs").exists() {
        bail!("{}: no control group; its folder in /sys/fs/cgroup is wanted", folder.display());
    }
    Ok(folder.metadata().with_context(|| format!("cannot look at {}", folder.display()))?.ino())
}
