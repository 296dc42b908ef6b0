//! Labs without root: a user namespace, in which the process may make network namespaces of its own.

use crate::error::LabError;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};
use std::fs;

/// Capability to make namespaces (capabilities(7)).
const CAP_SYS_ADMIN: u32 = 21;

/// What the process is, once labs are possible.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Footing {
    /// It had the privileges: nothing was changed.
    Privileged,
    /// It is now root of a user namespace of its own, and nobody outside: labs work, real-time priority does not.
    UserNamespace,
}

/// Makes labs possible for a process without privileges, by a user namespace of its own. To be called at the start
/// of `main`, before the first thread: the kernel moves no process with several threads. Does nothing where the
/// process has the privileges already.
///
/// # Errors
/// With what to do about it, where the system refuses user namespaces, or when threads are running already.
pub fn enter_user_namespace() -> Result<Footing, LabError> {
    if has_capability(CAP_SYS_ADMIN) {
        return Ok(Footing::Privileged);
    }
    let (uid, gid) = (Uid::effective(), Gid::effective());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| match errno {
        Errno::EINVAL => LabError::Threads,
        other => LabError::Refused { reason: other.into() },
    })?;
    // Groups can be mapped only when they cannot be dropped (user_namespaces(7)).
    for (file, line) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("0 {uid} 1")),
        ("gid_map", format!("0 {gid} 1")),
    ] {
        fs::write(format!("/proc/self/{file}"), line).map_err(|reason| LabError::Refused { reason })?;
    }
    Ok(Footing::UserNamespace)
}

/// Whether the calling thread has the capability in effect.
fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> number & 1 == 1)
}
