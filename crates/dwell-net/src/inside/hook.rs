//! The kernel's tracepoints: which exist here, which way each serves, and what is missed without it.

use super::watching::Watching;
use dwell_core::inside::{Missing, Point, Way};
use libbpf_rs::btf::{Btf, types};
use std::ffi::OsStr;

/// A tracepoint that a program of ours hangs on.
pub(super) struct Hook {
    /// The kernel's name of it.
    pub(super) name: &'static str,
    /// The ways that it serves.
    pub(super) ways: &'static [Way],
    /// The point that it tells; several hooks may tell one.
    point: Option<Point>,
}

const RECEIVE: &[Way] = &[Way::Receive];
const ENTRY: &[Way] = &[Way::Receive, Way::Answer];
const SEND: &[Way] = &[Way::Send, Way::Answer];
const CALL: &[Way] = &[Way::Receive, Way::Send];
const ALL: &[Way] = &[Way::Receive, Way::Send, Way::Answer];

const fn hook(name: &'static str, ways: &'static [Way], point: Point) -> Hook {
    Hook { name, ways, point: Some(point) }
}

/// All of them.
pub(super) const HOOKS: [Hook; 19] = [
    hook("napi_gro_receive_entry", ENTRY, Point::Driver),
    hook("napi_gro_frags_entry", ENTRY, Point::Driver),
    hook("netif_receive_skb_entry", ENTRY, Point::Driver),
    hook("netif_receive_skb_list_entry", ENTRY, Point::Driver),
    hook("netif_rx_entry", ENTRY, Point::Driver),
    hook("netif_receive_skb", ENTRY, Point::Protocol),
    hook("tcp_probe", RECEIVE, Point::Queue),
    hook("sk_data_ready", RECEIVE, Point::Queue),
    hook("sched_waking", RECEIVE, Point::Waking),
    hook("sched_switch", RECEIVE, Point::Running),
    hook("sys_enter", CALL, Point::Asked),
    hook("sock_recv_length", RECEIVE, Point::Read),
    hook("net_dev_queue", SEND, Point::Discipline),
    hook("net_dev_start_xmit", SEND, Point::Xmit),
    hook("net_dev_xmit", SEND, Point::Handed),
    hook("consume_skb", &[Way::Send], Point::Completed),
    Hook { name: "softirq_entry", ways: SEND, point: None },
    Hook { name: "softirq_exit", ways: SEND, point: None },
    Hook { name: "kfree_skb", ways: ALL, point: None },
];

impl Hook {
    /// The one of this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        HOOKS.iter().find(|hook| hook.name == name)
    }

    /// The one on which a program hangs, as its section tells.
    pub(super) fn of_section(section: &OsStr) -> Option<&'static Self> {
        Self::named(section.to_str()?.strip_prefix("tp_btf/")?)
    }

    /// The way that it serves alone.
    pub(super) fn way(&self) -> Option<Way> {
        match self.ways {
            [way] => Some(*way),
            _ => None,
        }
    }

    /// Whether this kernel has it.
    pub(super) fn exists(&self, btf: &Btf<'_>) -> bool {
        btf.type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{}", self.name)).is_some()
    }

    /// Whether something that is asked for needs it.
    pub(super) fn wanted(&self, watching: &Watching) -> bool {
        self.ways.iter().any(|way| watching.wants(*way))
    }
}

/// The points that lack their hook.
pub(super) fn missing(btf: &Btf<'_>, watching: &Watching) -> Vec<Missing> {
    let hooks_of =
        |point| HOOKS.iter().filter(move |hook| hook.point == Some(point) && hook.wanted(watching));
    let points = Point::ALL.into_iter().filter(|point| hooks_of(*point).next().is_some());
    points
        .filter(|point| !hooks_of(*point).any(|hook| hook.exists(btf)))
        .map(|point| {
            let names: Vec<_> = hooks_of(point).map(|hook| hook.name).collect();
            Missing { point, reason: format!("this kernel has no tracepoint {}", names.join(", nor ")) }
        })
        .collect()
}
