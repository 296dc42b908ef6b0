//! What the interface tells: its own stamps, and when it has sent.

use super::watching::Watching;
use dwell_core::inside::{Missing, Point, Way};
use std::path::Path;

/// The interface that is watched, where it is one.
fn name(watching: &Watching) -> Option<String> {
    let index = watching.interface?;
    nix::net::if_::if_indextoname(index).ok()?.into_string().ok()
}

/// Whether a device is behind the interface: only then does a driver report what was sent. Where several interfaces are
/// watched, those without a device are not waited for.
pub(super) fn completes(watching: &Watching) -> bool {
    name(watching).is_some_and(|name| Path::new("/sys/class/net").join(name).join("device").exists())
}

/// The points that this interface does not tell.
pub(super) fn missing(watching: &Watching) -> Vec<Missing> {
    let mut missing = Vec::new();
    if watching.wants(Way::Receive) {
        let reason =
            "a NIC's own stamps are on the NIC's clock, and its distance to this host's clock is not known";
        missing.push(Missing { point: Point::Nic, reason: reason.into() });
    }
    if watching.wants(Way::Send) && !completes(watching) {
        let reason = match name(watching) {
            Some(name) => {
                format!("{name} is a virtual device, which hands a packet over itself: nothing completes")
            }
            None => "seen only where one interface is watched that has a device behind it".into(),
        };
        missing.push(Missing { point: Point::Completed, reason });
    }
    missing
}
