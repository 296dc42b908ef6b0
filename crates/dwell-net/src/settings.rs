//! The settings of this host that decide how long packets wait in it: read where the kernel shows them.

use crate::facts::line;
use crate::interface::Interface;
use crate::netlink;
use dwell_core::inside::{IdleState, Interrupt, ReceiveQueue, Settings};
use dwell_core::{Bytes, Nanos};
use nix::net::if_::{if_nameindex, if_nametoindex};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the first core's settings are.
const CORE: &str = "/sys/devices/system/cpu/cpu0";

/// The settings of this host and, where it is one that is watched, of `interface`.
#[must_use]
pub fn settings(interface: Option<&str>) -> Settings {
    let mut settings = Settings {
        interface: interface.map(str::to_owned),
        steered_flows: figure("/proc/sys/net/core/rps_sock_flow_entries"),
        busy_poll: figure("/proc/sys/net/core/busy_poll").map(micros),
        busy_read: figure("/proc/sys/net/core/busy_read").map(micros),
        room_default: figure("/proc/sys/net/core/rmem_default").map(Bytes),
        room_max: figure("/proc/sys/net/core/rmem_max").map(Bytes),
        governor: line(&format!("{CORE}/cpufreq/scaling_governor")),
        idle_states: idle_states(),
        hypervisor: hypervisor(),
        ..Settings::default()
    };
    if let Some(name) = interface {
        of_interface(name, &mut settings);
    }
    settings
}

/// The interfaces of the calling thread's network namespace.
///
/// # Errors
/// The operating system's.
pub fn interfaces() -> std::io::Result<Vec<(String, u32)>> {
    let all = if_nameindex()?;
    Ok(all.iter().map(|one| (one.name().to_string_lossy().into_owned(), one.index())).collect())
}

fn of_interface(name: &str, settings: &mut Settings) {
    if let Ok(shown) = Interface::named(name) {
        settings.driver = shown.driver().ok();
        settings.offloads = shown.offloads().unwrap_or_default();
        settings.coalescing = shown.coalescing().unwrap_or_default();
    }
    settings.discipline = if_nametoindex(name).ok().and_then(|index| netlink::discipline(index).ok()?);
    if !sysfs_is_ours() {
        return;
    }
    let folder = PathBuf::from("/sys/class/net").join(name);
    let of = |key: &str| figure(&folder.join(key).to_string_lossy());
    settings.gro_flush_timeout =
        of("gro_flush_timeout").map(|ns| Nanos(i64::try_from(ns).unwrap_or(i64::MAX)));
    settings.napi_defer_hard_irqs = of("napi_defer_hard_irqs");
    settings.interrupts = interrupts(name, &folder.join("device"));
    settings.receive_queues = receive_queues(&folder.join("queues"));
}

/// Whether /sys shows the interfaces of this network namespace: it shows those of the namespace that it was mounted in.
fn sysfs_is_ours() -> bool {
    let Ok(ours) = interfaces() else { return false };
    let entries = names(Path::new("/sys/class/net"));
    let shown = entries.into_iter().filter_map(|name| {
        let index = figure(&format!("/sys/class/net/{name}/ifindex"))?;
        Some((name, u32::try_from(index).ok()?))
    });
    shown.collect::<BTreeSet<_>>() == ours.into_iter().collect()
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

fn figure(path: &str) -> Option<u64> {
    line(path)?.parse().ok()
}

fn micros(us: u64) -> Nanos {
    Nanos::from_micros(i64::try_from(us).unwrap_or(i64::MAX))
}

fn idle_states() -> Vec<IdleState> {
    let state = |number| {
        let folder = format!("{CORE}/cpuidle/state{number}");
        let exit = micros(figure(&format!("{folder}/latency"))?);
        Some(IdleState {
            name: line(&format!("{folder}/name"))?,
            exit,
            disabled: line(&format!("{folder}/disable"))? != "0",
        })
    };
    (0..32).map_while(state).collect()
}

fn hypervisor() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The interrupts of a NIC: those that its bus lists, or else those of its name or its device's.
fn interrupts(interface: &str, device: &Path) -> Vec<Interrupt> {
    let listed: BTreeSet<u32> =
        names(&device.join("msi_irqs")).iter().filter_map(|name| name.parse().ok()).collect();
    let own = fs::canonicalize(device).ok();
    let own = own.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let ours = |number: u32, name: &str| {
        if listed.is_empty() {
            let words = || name.split(['-', '@', ':']);
            words().any(|word| word == interface || own.as_deref() == Some(word))
        } else {
            listed.contains(&number)
        }
    };
    let table = fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let found = named_interrupts(&table).into_iter().filter(|(number, name)| ours(*number, name));
    found
        .map(|(number, name)| {
            let cores = line(&format!("/proc/irq/{number}/smp_affinity_list")).unwrap_or_default();
            Interrupt { number, name, cores }
        })
        .collect()
}

/// Number and name of each line of /proc/interrupts that has a number.
fn named_interrupts(table: &str) -> Vec<(u32, String)> {
    let one = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        Some((number.trim().parse().ok()?, rest.split_whitespace().next_back()?.to_owned()))
    };
    table.lines().skip(1).filter_map(one).collect()
}

fn receive_queues(folder: &Path) -> Vec<ReceiveQueue> {
    let queues = names(folder).into_iter().filter(|name| name.starts_with("rx-"));
    queues
        .map(|name| {
            let of = |key: &str| line(&folder.join(&name).join(key).to_string_lossy());
            let spread_to = of("rps_cpus").map(|mask| cores(&mask)).unwrap_or_default();
            let steered_flows = of("rps_flow_cnt").and_then(|count| count.parse().ok()).unwrap_or_default();
            ReceiveQueue { name, spread_to, steered_flows }
        })
        .collect()
}

/// The cores of a bitmap of the kernel's: words of 32 bits, the highest first.
fn cores(mask: &str) -> Vec<u32> {
    let words = mask.trim().rsplit(',').map(|word| u32::from_str_radix(word, 16).unwrap_or_default());
    let bits = |(place, word): (usize, u32)| {
        (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| place as u32 * 32 + bit)
    };
    words.enumerate().flat_map(bits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_cores() {
        assert_eq!(cores("3"), [0, 1]);
        assert_eq!(cores("00000001,00000000"), [32]);
        assert_eq!(cores("0"), [0; 0]);
    }

    #[test]
    fn interrupts_by_number_and_name() {
        let table = "           CPU0       CPU1\n  24:     12    0   PCI-MSI 1-edge      eth0-rx-0\nNMI:   0   0   Non-maskable interrupts\n";
        assert_eq!(named_interrupts(table), [(24, "eth0-rx-0".to_owned())]);
    }

    #[test]
    fn the_loopback_and_its_host() {
        let settings = settings(Some("lo"));
        assert!(settings.discipline.is_some() && settings.offloads.contains_key("rx-gro"));
        assert!(settings.room_default.is_some_and(|room| room.0 > 0));
        assert!(settings.interrupts.is_empty(), "no NIC has the loopback's");
        assert!(interfaces().unwrap().iter().any(|(name, _)| name == "lo"));
    }
}
