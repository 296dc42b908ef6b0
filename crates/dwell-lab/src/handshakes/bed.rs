//! One path with its hosts, on which all cases run at once.

use super::carrier::{Carrier, Taken};
use super::hosts::{Call, call, listeners, serve};
use super::matrix::{Case, Section};
use super::tap::{Tapped, listen};
use crate::error::LabError;
use crate::namespace::Namespace;
use crate::wiring::{DOWN_PORT, HOST_PORT, UP_PORT, Wiring};
use dwell_core::Nanos;
use dwell_net::PacketSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What both hosts' kernels are told to do.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Bed {
    pub(super) timestamps: bool,
    pub(super) cookies: bool,
}

impl Bed {
    pub(super) const ALL: [Self; 4] = [
        Self { timestamps: true, cookies: false },
        Self { timestamps: false, cookies: false },
        Self { timestamps: true, cookies: true },
        Self { timestamps: false, cookies: true },
    ];

    pub(super) const fn name(self) -> &'static str {
        match (self.timestamps, self.cookies) {
            (true, false) => "time stamps",
            (false, false) => "no time stamps",
            (true, true) => "time stamps, SYN cookies",
            (false, true) => "no time stamps, SYN cookies",
        }
    }
}

/// The probe's node, between those of the two sections.
const PROBE: usize = 1;

/// There and back, on the client's side of the probe and on the server's: no two alike.
pub(super) const SECTIONS: [[Nanos; 2]; 2] =
    [[Nanos::from_millis(4), Nanos::from_millis(3)], [Nanos::from_millis(9), Nanos::from_millis(11)]];

/// From one connection to the next.
const PACE: Nanos = Nanos::from_millis(2);

/// After the last connection was begun: a client's third repetition comes after 3 s, a server's after 7 s.
const LONG_ENOUGH: Duration = Duration::from_secs(9);

/// The kernel takes some milliseconds to switch stamps on.
const SWITCHING: Duration = Duration::from_millis(30);

/// All connections that a bed is to carry.
pub(super) struct Load {
    pub(super) cases: Arc<[Case]>,
    /// How often each case, over each version of IP.
    pub(super) rounds: u16,
    pub(super) first_port: u16,
    pub(super) scatter: Nanos,
    pub(super) seed: u64,
}

impl Load {
    /// How many connections these are.
    pub(super) fn connections(&self) -> u16 {
        self.cases.len() as u16 * 2 * self.rounds
    }

    /// In the order in which they begin, by port.
    pub(super) fn calls(&self) -> impl Iterator<Item = (Call, &Case)> {
        (0..self.connections()).map(|index| {
            let (round, index) = (index / self.cases.len() as u16, index % self.cases.len() as u16);
            let case = &self.cases[usize::from(index)];
            let port = self.first_port + round * self.cases.len() as u16 + index;
            (Call { manner: case.manner, port, ipv6: round % 2 == 1 }, case)
        })
    }
}

/// What was seen of it all.
pub(super) struct Seen {
    /// What the client sent, and the server, as the sections next to them numbered it.
    pub(super) taken: [Vec<Taken>; 2],
    /// At the client's own interface, and at the server's.
    pub(super) hosts: [Vec<Tapped>; 2],
    pub(super) probe: Vec<Tapped>,
}

/// Carries `load`.
pub(super) fn run(bed: Bed, load: &Load) -> Result<Seen, LabError> {
    let wiring = Wiring::new(3, 1_500)?;
    if !wiring.ipv6 {
        return Err(LabError::NoIpv6);
    }
    wiring.bridge(PROBE)?;
    let Wiring { source, destination, nodes, .. } = &wiring;
    for host in [source, destination] {
        settle(host, bed)?;
    }
    let (carrying, hearing, talking) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );

    let tapped = |place: &Namespace, port: &'static str, role: &str| {
        let told = Arc::clone(&hearing);
        let open = move || PacketSocket::tap(port).map_err(LabError::system(format!("open a tap on {port}")));
        let socket = place.within(open)?;
        place.spawn(role, move || listen(socket, &told))
    };
    let taps = [
        tapped(source, HOST_PORT, "client's tap")?,
        tapped(destination, HOST_PORT, "server's tap")?,
        tapped(&nodes[PROBE], UP_PORT, "probe")?,
    ];
    thread::sleep(SWITCHING);

    let carrier = |section: Section| {
        let at = if section == Section::Near { 0 } else { 1 };
        let open = |port: &'static str| {
            PacketSocket::open(port).map_err(LabError::system(format!("open a packet socket on {port}")))
        };
        let node = &nodes[2 * at];
        let carrier = Carrier {
            section,
            ports: node.within(|| Ok([open(UP_PORT)?, open(DOWN_PORT)?]))?,
            delays: SECTIONS[at],
            scatter: load.scatter,
            first_port: load.first_port,
            cases: Arc::clone(&load.cases),
            seed: load.seed,
        };
        let told = Arc::clone(&carrying);
        node.spawn("section", move || carrier.run(&told))
    };
    let carriers = [carrier(Section::Near)?, carrier(Section::Far)?];

    let (told, open) = (Arc::clone(&talking), destination.within(|| listeners(wiring.ipv6))?);
    let server = destination.spawn("server", move || serve(&open, &told))?;
    let told = Arc::clone(&talking);
    let calls: Vec<Call> = load.calls().map(|(call, _)| call).collect();
    let client = source.spawn("client", move || call(&calls, PACE, &told))?;
    thread::sleep(Duration::from_nanos((PACE * load.connections().into()).0.unsigned_abs()) + LONG_ENOUGH);

    // What a tap has not heard yet it hears once nothing more is carried.
    carrying.store(true, Ordering::Relaxed);
    let [near, far] = carriers.map(|carrier| carrier.join());
    hearing.store(true, Ordering::Relaxed);
    let [at_client, at_server, probe] = taps.map(|tap| tap.join());
    talking.store(true, Ordering::Relaxed);
    client.join()?;
    server.join()?;
    Ok(Seen { taken: [near?, far?], hosts: [at_client?, at_server?], probe: probe? })
}

/// Makes a host's kernel behave.
fn settle(host: &Namespace, bed: Bed) -> Result<(), LabError> {
    let value = |on: bool, yes: &'static str| if on { yes } else { "0" };
    [
        ("ipv4/tcp_timestamps", value(bed.timestamps, "1")),
        ("ipv4/tcp_syncookies", value(bed.cookies, "2")),
        // At both ends, on every listener, without cookies.
        ("ipv4/tcp_fastopen", "1543"),
        ("ipv4/tcp_fastopen_blackhole_timeout_sec", "0"),
        // No connection learns of another.
        ("ipv4/tcp_no_metrics_save", "1"),
        ("ipv4/tcp_max_syn_backlog", "65536"),
    ]
    .into_iter()
    .try_for_each(|(key, value)| host.sysctl(key, value))
}
