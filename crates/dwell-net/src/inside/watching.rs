//! What is to be watched, and how the programs are told.

use super::announce::REQUEST;
use super::error::ObserverError;
use dwell_core::inside::Way;
use nix::libc;
use std::net::{IpAddr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;

/// What to watch. The network namespace is the calling thread's.
#[derive(Clone, Debug, Default)]
pub struct Watching {
    /// Index of the only interface; `None`: all.
    pub interface: Option<u32>,
    /// Ports, of either end; empty: all.
    pub ports: Vec<u16>,
    /// Addresses, of either end; empty: all.
    pub addresses: Vec<IpAddr>,
    /// The only process that reads or sends, by the number that it has in the calling thread's PID namespace.
    pub pid: Option<u32>,
    /// Identifier of the only control group whose threads read or send.
    pub cgroup: Option<u64>,
    /// Ways; empty: all.
    pub ways: Vec<Way>,
}

impl Watching {
    /// Whether only some packets of the host are asked for, by whose they are.
    #[must_use]
    pub const fn selects(&self) -> bool {
        !self.ports.is_empty() || !self.addresses.is_empty() || self.pid.is_some() || self.cgroup.is_some()
    }

    /// Whether packets that go this way are asked for.
    pub(super) fn wants(&self, way: Way) -> bool {
        self.ways.is_empty() || self.ways.contains(&way)
    }
}

const LISTED: usize = 16;
const CALLS: usize = 512;

/// The layout of `struct watching` in journey.h.
#[repr(C)]
pub(super) struct Told {
    netns: u32,
    /// 0: the machine's first.
    pidns: u32,
    interface: u32,
    pid: u32,
    ports: u32,
    addresses: u32,
    announce: u32,
    ways: u16,
    completes: u16,
    cgroup: u64,
    port: [u16; LISTED],
    address: [[u8; 16]; LISTED],
    call: [u8; CALLS],
}

/// System calls within which a thread waits for packets.
const RECEIVING: [libc::c_long; 7] = [
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_splice,
    libc::SYS_io_uring_enter,
];

/// System calls within which packets leave.
const SENDING: [libc::c_long; 9] = [
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_sendfile,
    libc::SYS_connect,
    libc::SYS_shutdown,
    libc::SYS_close,
];

impl Told {
    pub(super) fn new(watching: &Watching, completes: bool) -> Result<Self, ObserverError> {
        let check = |what, asked| {
            (asked <= LISTED).then_some(()).ok_or(ObserverError::TooMany { what, most: LISTED, asked })
        };
        check("ports", watching.ports.len())?;
        check("addresses", watching.addresses.len())?;
        let mut port = [0; LISTED];
        port[..watching.ports.len()].copy_from_slice(&watching.ports);
        let mut address = [[0; 16]; LISTED];
        for (place, asked) in address.iter_mut().zip(&watching.addresses) {
            *place = mapped(*asked).octets();
        }
        let mut call = [0; CALLS];
        let mut mark = |calls: &[libc::c_long], kind| {
            for number in calls {
                if let Some(place) = usize::try_from(*number).ok().and_then(|number| call.get_mut(number)) {
                    *place = kind;
                }
            }
        };
        mark(&RECEIVING, 1);
        // Each call that is marked costs its program's run in every thread.
        if watching.wants(Way::Send) {
            mark(&SENDING, 2);
        }
        mark(&[libc::SYS_ioctl], 3);
        let ways = [Way::Receive, Way::Send, Way::Answer];
        let ways = ways.iter().enumerate().filter(|(_, way)| watching.wants(**way));
        Ok(Self {
            netns: namespace("net")?,
            pidns: Some(namespace("pid")?).filter(|number| *number != FIRST_PIDS).unwrap_or(0),
            interface: watching.interface.unwrap_or(0),
            pid: watching.pid.unwrap_or(0),
            ports: watching.ports.len() as u32,
            addresses: watching.addresses.len() as u32,
            announce: REQUEST,
            ways: ways.map(|(bit, _)| 1 << bit).sum(),
            completes: completes.into(),
            cgroup: watching.cgroup.unwrap_or(0),
            port,
            address,
            call,
        })
    }

    /// As it lies in memory.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: plain integers without padding (checked below), borrowed as long as `self` is.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>())
        }
    }
}

const _: () = assert!(size_of::<Told>() == 8 * 4 + 8 + LISTED * 2 + LISTED * 16 + CALLS);

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// The number of the machine's first PID namespace (`PROC_PID_INIT_INO`).
const FIRST_PIDS: u32 = 0xefff_fffc;

/// The number of the calling thread's namespace of this kind.
fn namespace(kind: &str) -> Result<u32, ObserverError> {
    let doing = "read which namespaces these are (/proc/thread-self/ns)";
    let metadata = std::fs::metadata(format!("/proc/thread-self/ns/{kind}"))
        .map_err(|source| ObserverError::System { doing, source })?;
    Ok(metadata.ino() as u32)
}
