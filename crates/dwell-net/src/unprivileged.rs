//! Privileges, given back once what takes them is open.

use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl::set_no_new_privs;
use nix::unistd::{Gid, Uid, getuid, setgid, setgroups, setuid};
use std::io;

/// Version 3 of the kernel's interface to capabilities: two words of each set (linux/capability.h).
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    /// 0 is the calling thread.
    thread: libc::c_int,
}

#[repr(C)]
#[derive(Copy, Clone, Default)]
struct Set {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives back every capability, and, where sudo made this process root's, becomes the user again who called it; nothing
/// that it starts gets more. Capabilities are a thread's: call it before there is a second one.
///
/// # Errors
/// The operating system's; some privileges may be left then.
pub fn drop_privileges() -> io::Result<()> {
    if let (true, Some(user), Some(group)) = (getuid().is_root(), number("SUDO_UID"), number("SUDO_GID")) {
        let group = Gid::from_raw(group);
        setgroups(&[group])?;
        setgid(group)?;
        setuid(Uid::from_raw(user))?;
    }
    give_back_capabilities()
}

fn give_back_capabilities() -> io::Result<()> {
    let (header, none) = (Header { version: VERSION, thread: 0 }, [Set::default(); 2]);
    // SAFETY: the kernel reads a header and two sets, which is what it gets, and keeps neither.
    #[allow(unsafe_code)]
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    Errno::result(result)?;
    Ok(set_no_new_privs()?)
}

fn number(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::read_to_string;

    #[test]
    fn a_thread_is_left_with_nothing() {
        let left = || {
            give_back_capabilities().unwrap();
            read_to_string("/proc/thread-self/status").unwrap()
        };
        let status = std::thread::spawn(left).join().unwrap();
        let line = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim();
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            assert_eq!(line(set), "0000000000000000", "{set}");
        }
        assert_eq!(line("NoNewPrivs:"), "1");
    }
}
