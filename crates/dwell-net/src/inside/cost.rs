//! The kernel's own account of the programs: what they cost, and how often they were left out.

use super::error::ObserverError;
use super::hook::Hook;
use dwell_core::Nanos;
use dwell_core::inside::HookCost;
use libbpf_rs::{Object, Program, libbpf_sys};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Has the kernel keep account while this is held.
pub(super) fn keep_account() -> Result<OwnedFd, ObserverError> {
    // SAFETY: no pointer is passed; the descriptor that comes back, if any, is nobody else's.
    #[allow(unsafe_code)]
    unsafe {
        let fd = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
        if fd < 0 {
            let source = std::io::Error::from_raw_os_error(-fd);
            if source.kind() == std::io::ErrorKind::PermissionDenied {
                let what =
                    "the kernel keeps account of programs only for those with CAP_SYS_ADMIN: run as root";
                return Err(ObserverError::NotPermitted(what.into()));
            }
            return Err(ObserverError::System {
                doing: "have the kernel keep account of the programs",
                source,
            });
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Of all programs that run.
pub(super) fn costs(object: &Object) -> Result<Vec<HookCost>, ObserverError> {
    let mut costs = Vec::new();
    for program in object.progs().filter(|program| program.autoload()) {
        let Some(hook) = Hook::of_section(program.section()) else { continue };
        let info = account(&program)?;
        costs.push(HookCost {
            hook: hook.name.into(),
            way: hook.way(),
            runs: info.run_cnt,
            time: Nanos(info.run_time_ns as i64),
        });
    }
    Ok(costs)
}

/// How often the kernel did not run a program, because it ran on that core already.
pub(super) fn skipped_runs(object: &Object) -> Result<u64, ObserverError> {
    let programs = object.progs().filter(|program| program.autoload());
    programs.map(|program| Ok(account(&program)?.recursion_misses)).sum()
}

fn account(program: &Program<'_>) -> Result<libbpf_sys::bpf_prog_info, ObserverError> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of_val(&info) as u32;
    // SAFETY: `info` is as long as `length` says and asks for no arrays (all zero), so the kernel writes only into it.
    #[allow(unsafe_code)]
    let result = unsafe {
        libbpf_sys::bpf_prog_get_info_by_fd(program.as_fd().as_raw_fd(), &raw mut info, &raw mut length)
    };
    if result != 0 {
        let source = std::io::Error::from_raw_os_error(result.abs());
        return Err(ObserverError::System { doing: "read the kernel's account of a program", source });
    }
    Ok(info)
}
