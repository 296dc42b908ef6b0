//! Whether this process may have the kernel run programs.

use super::error::ObserverError;

const BPF: u32 = 39;
const PERFMON: u32 = 38;
const ADMIN: u32 = 21;

/// # Errors
/// When it may not, with what it would take.
pub(super) fn check() -> Result<(), ObserverError> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    permitted(&status, &map).map_err(ObserverError::NotPermitted)
}

fn permitted(status: &str, uid_map: &str) -> Result<(), String> {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    let has = |capability: u32| mask & (1 << capability) != 0;
    let mut lacking = Vec::new();
    if !has(BPF) && !has(ADMIN) {
        lacking.push("CAP_BPF");
    }
    if !has(PERFMON) && !has(ADMIN) {
        lacking.push("CAP_PERFMON");
    }
    if !lacking.is_empty() {
        return Err(format!(
            "this process may not observe the kernel: it lacks {}; run it as root, or give the program these (setcap cap_bpf,cap_perfmon+ep)",
            lacking.join(" and ")
        ));
    }
    // Capabilities of a user namespace count for nothing here; in the first one every number stands for itself.
    let whole = uid_map.split_whitespace().eq(["0", "0", "4294967295"]);
    if whole {
        Ok(())
    } else {
        Err("this process is in a user namespace (a rootless container), whose root may not observe the kernel: run it outside, with CAP_BPF and CAP_PERFMON".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "         0          0 4294967295\n";

    #[test]
    fn says_what_is_lacking() {
        let with = |mask: u64| permitted(&format!("Name:\tx\nCapEff:\t{mask:016x}\n"), FIRST);
        assert_eq!(with(u64::MAX), Ok(()));
        assert_eq!(with(1 << BPF | 1 << PERFMON), Ok(()));
        assert_eq!(with(1 << ADMIN), Ok(()));
        assert!(with(1 << BPF).is_err_and(|text| text.contains("lacks CAP_PERFMON;")));
        assert!(with(0).is_err_and(|text| text.contains("lacks CAP_BPF and CAP_PERFMON;")));
    }

    #[test]
    fn the_root_of_a_container_is_told_so() {
        let status = "CapEff:\t000001ffffffffff\n";
        assert!(permitted(status, "0 1000 1\n").is_err_and(|text| text.contains("user namespace")));
    }
}
