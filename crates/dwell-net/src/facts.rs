//! What this host tells of itself: read where the kernel shows it, left out where it does not.

use crate::clock;
use crate::interface::Interface;
use crate::prober::Placed;
use dwell_core::HostFacts;
use nix::ifaddrs::getifaddrs;
use std::fs;
use std::net::IpAddr;

/// The first line of a file; `None`: it cannot be read, or is empty.
pub(crate) fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.lines().next()?.trim().to_owned())
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let model = text.lines().find(|line| line.starts_with("model name") || line.starts_with("Model"))?;
    Some(model.split_once(':')?.1.trim().to_owned())
}

/// Driver of CPU idling, and the deepest state that nobody disabled.
fn idle(cpu: &str) -> Option<String> {
    let driver = line("/sys/devices/system/cpu/cpuidle/current_driver")?;
    let states = (0..32).map_while(|state| {
        let state = format!("{cpu}/cpuidle/state{state}");
        Some((line(&format!("{state}/name"))?, line(&format!("{state}/disable"))?))
    });
    let allowed = states.filter(|(_, disabled)| disabled == "0").map(|(name, _)| name);
    Some(allowed.last().map_or(driver.clone(), |deepest| format!("{driver}, {deepest}")))
}

/// The interface that has this address.
fn interface_of(address: IpAddr) -> Option<String> {
    let of = |storage: &nix::sys::socket::SockaddrStorage| match address {
        IpAddr::V4(v4) => storage.as_sockaddr_in().is_some_and(|it| it.ip() == v4),
        IpAddr::V6(v6) => storage.as_sockaddr_in6().is_some_and(|it| it.ip() == v6),
    };
    let mut all = getifaddrs().ok()?;
    all.find(|one| one.address.as_ref().is_some_and(of)).map(|one| one.interface_name)
}

/// Facts of this host, whose probes use the address `local` and whose measuring thread runs as `placed` says.
#[must_use]
pub(crate) fn gather(local: IpAddr, placed: Placed) -> HostFacts {
    let cpu = format!("/sys/devices/system/cpu/cpu{}", placed.core.unwrap_or(0));
    let interface = interface_of(local);
    let shown = interface.as_deref().and_then(|name| Interface::named(name).ok());
    HostFacts {
        dwell: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: line("/proc/sys/kernel/osrelease"),
        processor: processor(),
        cores: std::thread::available_parallelism().ok().map(|count| count.get() as u32),
        governor: line(&format!("{cpu}/cpufreq/scaling_governor")),
        idle: idle(&cpu),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        clock_synchronised: clock::synchronised(),
        driver: shown.as_ref().and_then(|it| it.driver().ok()),
        offloads: shown.as_ref().and_then(|it| it.offloads().ok()).unwrap_or_default(),
        coalescing: shown.as_ref().and_then(|it| it.coalescing().ok()).unwrap_or_default(),
        interface,
        stamps: Vec::new(),
        pinned_core: placed.core.map(|core| core as u32),
        real_time: placed.real_time,
    }
}

/// Has the NIC with address `local` take stamps too, where it can. Whether it does, the stamps themselves will show.
pub(crate) fn ask_for_hardware_stamps(local: IpAddr) {
    if let Some(interface) = interface_of(local).and_then(|name| Interface::named(&name).ok()) {
        // Few NICs can, and few users may.
        let _ = interface.stamp_in_hardware();
    }
}

/// The largest IP packet that leaves by the interface with address `local`.
pub(crate) fn mtu_towards(local: IpAddr) -> Option<u64> {
    Interface::named(&interface_of(local)?).ok()?.mtu().ok()
}
