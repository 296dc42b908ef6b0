//! The NIC of a lab's host, where the scenario gives it one.
//!
//! The emulated one is the simulator's [`Nic`], in the forwarder. What it hands over together must come to the host's
//! kernel together, as from one interrupt, and a send by a packet socket does not do that: it runs the host's whole
//! receive path, which ends with waking the program, and that alone takes some 15 us on a virtual machine. So
//! the host's end of the virtual cable gets a receive ring: with generic receive offload on it is polled as a NIC is,
//! with its interrupts deferred for good frames only gather there, and the forwarder runs the poll when the emulated
//! NIC interrupts ([`ReceivePoll`]). The kernel then stamps all of them before it works on the first.
//!
//! With `lab.nic = "kernel"` the same settings are the scenario's own, and the kernel polls by itself.

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::placement::Cores;
use crate::wiring::{EXPERIMENTAL, HOST_PORT, Place, Wiring};
use dwell_core::Nanos;
use dwell_net::interface::Interface;
use dwell_net::{PacketSocket, ReceivePoll, clock};
use dwell_sim::nic::{Nic, NicChange, NicSpec};
use dwell_sim::{HostSpec, LabNic, Scenario};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// How often the kernel looks into a ring of which nobody runs the poll.
const LAST_RESORT: Nanos = Nanos::from_millis(10);

/// How long one frame may take.
const PATIENCE: Nanos = Nanos::from_millis(500);

/// Rounds in which a kernel shows whether it defers, of which more than half must agree.
const ROUNDS: i64 = 5;

/// A host's NIC.
#[derive(Debug, Default)]
pub(crate) struct NicStage {
    /// What the forwarder emulates.
    pub(crate) spec: NicSpec,
    pub(crate) change: Option<NicChange>,
    /// How it interrupts; `None`: each frame is received as it is sent.
    interrupt: Option<ReceivePoll>,
    /// What is worse than it could be.
    pub(crate) caution: Option<String>,
}

impl NicStage {
    /// Its state machine, at rest.
    pub(crate) fn machine(&self) -> Nic {
        Nic::new(self.spec, self.change)
    }

    /// Whether it ever holds a packet.
    pub(crate) fn holds(&self) -> bool {
        self.spec != NicSpec::None || self.change.is_some()
    }

    /// The least time that it holds any packet.
    pub(crate) fn least_hold(&self) -> Nanos {
        match (self.spec, self.change) {
            (NicSpec::Hold { period, frames: None }, None) => period,
            _ => Nanos::ZERO,
        }
    }

    /// Whether frames that are sent to it wait for its interrupt.
    pub(crate) fn gathers(&self) -> bool {
        self.interrupt.is_some()
    }

    /// Tells the host's kernel of the `frames` that were sent to it.
    pub(crate) fn interrupt(&self, frames: usize) {
        if let Some(poll) = &self.interrupt {
            poll.run(frames);
        }
    }
}

/// Whether `host` has a NIC that ever holds a packet.
pub(crate) fn has_nic(host: &HostSpec) -> bool {
    host.nic != NicSpec::None || host.nic_change.is_some()
}

/// The settings of a NIC like this by the names of `ethtool -c`, where it has one for them.
pub(crate) fn settings(nic: NicSpec) -> BTreeMap<String, u64> {
    let us = |time: Nanos| time.0.unsigned_abs().div_ceil(1_000);
    let settings: Vec<(&str, u64)> = match nic {
        NicSpec::None => vec![("rx-usecs", 0)],
        NicSpec::Hold { period, frames } | NicSpec::Throttle { period, frames } => {
            vec![("rx-usecs", us(period)), ("rx-frames", frames.unwrap_or(0).into())]
        }
        NicSpec::Adaptive { least, most, slow, fast, .. } => vec![
            ("adaptive-rx", 1),
            ("rx-usecs-low", us(least)),
            ("rx-usecs-high", us(most)),
            ("pkt-rate-low", slow as u64),
            ("pkt-rate-high", fast as u64),
        ],
        // Not the NIC's, but its interface's in the kernel.
        NicSpec::Deferred { period, polls } => {
            vec![("gro_flush_timeout", period.0.unsigned_abs()), ("napi_defer_hard_irqs", polls.into())]
        }
    };
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// One line on a host's NIC, for a reader of a result.
pub(crate) fn description(host: &HostSpec, by: LabNic) -> String {
    let told = |nic: NicSpec| {
        let settings = settings(nic).into_iter().map(|(name, value)| format!("{name} {value}"));
        format!("{} ({})", nic.kind(), settings.collect::<Vec<_>>().join(", "))
    };
    let by = match by {
        LabNic::Emulated => "emulated by Dwell's forwarder",
        LabNic::Kernel => "by the host's kernel",
    };
    let later = host
        .nic_change
        .map_or(String::new(), |change| format!(", from {} on {}", change.at, told(change.to)));
    format!("{}{later}, {by}", told(host.nic))
}

/// One end of a lab.
struct End<'a> {
    name: &'static str,
    spec: &'a HostSpec,
    namespace: &'a Namespace,
    place: Place,
    /// The forwarder's port towards it.
    port: usize,
    /// The other end.
    other: (&'a Namespace, Place),
}

/// Builds the NICs of destination and source, in this order. Uses the forwarder's ports, towards the source and
/// towards the destination, before it runs.
pub(crate) fn build(
    wiring: &Wiring,
    scenario: &Scenario,
    ports: &mut [PacketSocket; 2],
    cores: Cores,
) -> Result<[NicStage; 2], LabError> {
    let Wiring { source, destination, .. } = wiring;
    let ends = [
        End {
            name: "destination",
            spec: &scenario.destination,
            namespace: destination,
            place: Place::DESTINATION,
            port: 1,
            other: (source, Place::SOURCE),
        },
        End {
            name: "source",
            spec: &scenario.source,
            namespace: source,
            place: Place::SOURCE,
            port: 0,
            other: (destination, Place::DESTINATION),
        },
    ];
    let mut stages = [NicStage::default(), NicStage::default()];
    for (end, stage) in ends.iter().zip(&mut stages) {
        if has_nic(end.spec) {
            *stage = match scenario.lab.nic {
                LabNic::Emulated => end.emulated(ports, cores)?,
                LabNic::Kernel => {
                    end.kernels(&ports[end.port], cores).map_err(|reason| LabError::Scenario {
                        scenario: scenario.name.clone(),
                        reason: format!(
                            "lab.nic is \"kernel\", and {reason}: leave lab.nic out, and Dwell emulates {}.nic",
                            end.name
                        ),
                    })?;
                    NicStage::default()
                }
            };
        }
    }
    Ok(stages)
}

impl End<'_> {
    fn emulated(&self, ports: &mut [PacketSocket; 2], cores: Cores) -> Result<NicStage, LabError> {
        let (spec, change) = (self.spec.nic, self.spec.nic_change);
        match self.ring(ports, cores) {
            Ok(poll) => Ok(NicStage { spec, change, interrupt: Some(poll), caution: None }),
            Err(error) => {
                self.receive_offload(false)?;
                let caution = format!(
                    "the {}'s NIC hands packets over one by one, each some microseconds after the one before, for \
                     its receive poll could not be had ({error}; it takes root)",
                    self.name
                );
                Ok(NicStage { spec, change, interrupt: None, caution: Some(caution) })
            }
        }
    }

    /// Gives the host's end of the cable a ring that nobody but the returned poll empties in time.
    fn ring(&self, ports: &mut [PacketSocket; 2], cores: Cores) -> Result<ReceivePoll, LabError> {
        self.receive_offload(true)?;
        let socket = self.namespace.within(|| {
            UdpSocket::bind((self.place.ipv4(), 0)).map_err(LabError::system("open a socket for its NIC"))
        })?;
        self.reach(&socket, ports).map_err(LabError::system(format!("reach the {}", self.name)))?;
        let poll = ReceivePoll::of(socket).map_err(LabError::system("poll its NIC"))?;
        self.defer(LAST_RESORT, i32::MAX.unsigned_abs(), cores)?;
        Ok(poll)
    }

    /// Carries a datagram from the other end to `socket`, so that the kernel knows by which interface it is reached.
    fn reach(&self, socket: &UdpSocket, ports: &mut [PacketSocket; 2]) -> io::Result<()> {
        let address = socket.local_addr()?;
        let (namespace, place) = self.other;
        let send = || -> Result<usize, LabError> {
            let sender =
                UdpSocket::bind(SocketAddr::new(place.ipv4(), 0)).map_err(LabError::system("bind"))?;
            sender.send_to(b"dwell", address).map_err(LabError::system("send"))
        };
        namespace.within(send).map_err(io::Error::other)?;
        socket.set_read_timeout(Some(Duration::from_millis(1)))?;
        let (mut frame, give_up) = ([0; 2048], clock::monotonic() + PATIENCE);
        while clock::monotonic() < give_up {
            while let Some((length, _)) = ports[1 - self.port].recv(&mut frame)? {
                ports[self.port].send(&frame[..length])?;
            }
            if socket.recv(&mut frame).is_ok() {
                return Ok(());
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "a datagram did not arrive"))
    }

    /// Has the kernel do what the scenario asks. Says what is in the way.
    fn kernels(&self, port: &PacketSocket, cores: Cores) -> Result<(), String> {
        let (NicSpec::Deferred { period, polls }, None) = (self.spec.nic, self.spec.nic_change) else {
            return Err(format!(
                "the kernel's one way is `deferred`, for good, which {}.nic is not",
                self.name
            ));
        };
        self.receive_offload(true)
            .and_then(|()| self.defer(period, polls, cores))
            .map_err(|e| e.to_string())?;
        let defers = self.defers(port, period, polls).map_err(|error| error.to_string())?;
        defers.then_some(()).ok_or_else(|| "this kernel does not defer interrupts of a veth".to_owned())
    }

    /// Whether of two frames at once the second waits for the next poll.
    fn defers(&self, port: &PacketSocket, period: Nanos, polls: u32) -> Result<bool, LabError> {
        let failed = || LabError::system("try the kernel's deferral");
        let mut far = self.namespace.within(|| PacketSocket::open(HOST_PORT).map_err(failed()))?;
        let mut frame = vec![0; 64];
        frame[..6].copy_from_slice(&self.place.hardware_bytes());
        frame[12..14].copy_from_slice(&EXPERIMENTAL);
        let mut try_once = || -> io::Result<bool> {
            let rest = (period * (i64::from(polls) + 2)).min(Nanos::from_secs(1));
            std::thread::sleep(Duration::from_nanos(rest.0.unsigned_abs()));
            port.send(&frame)?;
            port.send(&frame)?;
            let (mut stamps, give_up) = (Vec::new(), clock::monotonic() + period + PATIENCE);
            let mut seen = [0; 2048];
            while stamps.len() < 2 && clock::monotonic() < give_up {
                match far.recv(&mut seen)? {
                    Some((_, stamp)) if seen[12..14] == EXPERIMENTAL => stamps.push(stamp),
                    _ => std::thread::sleep(Duration::from_micros(50)),
                }
            }
            Ok(stamps.len() == 2 && stamps[1] - stamps[0] >= period / 2)
        };
        let mut deferred = 0;
        for _ in 0..ROUNDS {
            deferred += i64::from(try_once().map_err(failed())?);
        }
        Ok(deferred > ROUNDS / 2)
    }

    fn receive_offload(&self, on: bool) -> Result<(), LabError> {
        self.namespace.within(|| {
            Interface::named(HOST_PORT)
                .and_then(|interface| interface.receive_offload(on))
                .map_err(LabError::system("switch generic receive offload"))
        })
    }

    /// Defers the interrupts of the host's end of the cable.
    fn defer(&self, period: Nanos, polls: u32, cores: Cores) -> Result<(), LabError> {
        self.set("gro_flush_timeout", period.0.to_string())?;
        self.set("napi_defer_hard_irqs", polls.to_string())?;
        // What a poll finds is left to the core's backlog. So all of it is stamped, and the time to the next poll
        // runs, before the program is woken for the first packet.
        self.set("queues/rx-0/rps_cpus", mask(cores.sender))
    }

    fn set(&self, key: &str, value: String) -> Result<(), LabError> {
        self.namespace.sysfs(&format!("class/net/{HOST_PORT}/{key}"), &value)
    }
}

/// The core as a bitmap of the kernel's: words of 32 bits, the highest first.
fn mask(core: usize) -> String {
    format!("{:x}{}", 1_u32 << (core % 32), ",00000000".repeat(core / 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_names_of_ethtool() {
        let nic = NicSpec::Hold { period: Nanos(125_000), frames: Some(32) };
        let host = HostSpec { nic, ..HostSpec::default() };
        assert_eq!(
            description(&host, LabNic::Emulated),
            "hold (rx-frames 32, rx-usecs 125), emulated by Dwell's forwarder"
        );
        let nic = NicSpec::Deferred { period: Nanos(50_000), polls: 2 };
        let host = HostSpec { nic, ..HostSpec::default() };
        let told = description(&host, LabNic::Kernel);
        assert_eq!(told, "deferred (gro_flush_timeout 50000, napi_defer_hard_irqs 2), by the host's kernel");
    }

    #[test]
    fn a_bitmap_has_its_highest_word_first() {
        assert_eq!(mask(0), "1");
        assert_eq!(mask(5), "20");
        assert_eq!(mask(65), "2,00000000,00000000");
    }
}
