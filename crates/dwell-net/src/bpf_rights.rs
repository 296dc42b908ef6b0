//! Whether this process may have the kernel run programs (eBPF).
//!
//! Each takes CAP_PERFMON beside CAP_BPF: without it the verifier follows also what a processor may run ahead of a branch, by which no
//! loop ends, and gives up.

const BPF: u32 = 39;
const PERFMON: u32 = 38;
const ADMIN: u32 = 21;

/// Whether it may do this by them, for which the program file is given these capabilities.
///
/// # Errors
/// When it may not, with what it would take.
pub(crate) fn check(what: &str, given: &str) -> Result<(), String> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    permitted(&status, &map, what, given)
}

fn permitted(status: &str, uid_map: &str, what: &str, given: &str) -> Result<(), String> {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    // Where there is no /proc, the kernel says it when it is asked.
    let Some(mask) = mask.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()) else { return Ok(()) };
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
            "this process may not {what}: it lacks {}; run it as root, or give the program these (setcap {given}+ep)",
            lacking.join(" and ")
        ));
    }
    // Capabilities of a user namespace count for nothing here; in the first one every number stands for itself.
    let whole = uid_map.split_whitespace().eq(["0", "0", "4294967295"]);
    if whole {
        Ok(())
    } else {
        Err(format!(
            "this process is in a user namespace (a rootless container), whose root may not {what}: run it outside, with CAP_BPF and CAP_PERFMON"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "         0          0 4294967295\n";

    #[test]
    fn says_what_is_lacking() {
        let with = |mask: u64| {
            permitted(&format!("Name:\tx\nCapEff:\t{mask:016x}\n"), FIRST, "see", "cap_bpf,cap_perfmon")
        };
        assert_eq!(with(u64::MAX), Ok(()));
        assert_eq!(with(1 << BPF | 1 << PERFMON), Ok(()));
        assert_eq!(with(1 << ADMIN), Ok(()));
        assert_eq!(permitted("", "", "see", "cap_bpf,cap_perfmon"), Ok(()));
        assert!(with(1 << BPF).is_err_and(|text| text.contains("lacks CAP_PERFMON;")));
        assert!(with(0).is_err_and(|text| text.contains("lacks CAP_BPF and CAP_PERFMON;")));
    }

    #[test]
    fn the_root_of_a_container_is_told_so() {
        let status = "CapEff:\t000001ffffffffff\n";
        let told = permitted(status, "0 1000 1\n", "see", "cap_bpf,cap_perfmon");
        assert!(told.is_err_and(|text| text.contains("user namespace")));
    }
}
