//! Children that outlive nobody.

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Has the kernel kill what `command` starts when the thread that starts it ends, be it by the death of its process.
#[expect(unsafe_code, reason = "a child is told so between fork and exec alone")]
pub(crate) fn end_with_this_thread(command: &mut Command) {
    // SAFETY: between fork and exec only what is async-signal-safe may run. `prctl` is one system call; it takes no
    // lock and allocates nothing, nor does the conversion of its error.
    unsafe {
        command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?));
    }
}
