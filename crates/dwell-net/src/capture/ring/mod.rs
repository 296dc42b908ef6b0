//! A ring of packets on a live interface (TPACKET_V3), behind a filter in the kernel that passes what a passive
//! measurement needs, and of that the headers alone.
//!
//! | asked for | passes | is missed |
//! |---|---|---|
//! | [`Wanted::Handshakes`] | SYN, RST, ICMP errors that quote a segment, and 8 segments of the client after each SYN and SYN/ACK | an ACK that the client sends after 8 others |
//! | [`Wanted::Throughout`] | every TCP segment, the same ICMP errors, and the datagrams of each flow of QUIC whose first packet (Initial, of versions 1 and 2) passed | flows of QUIC that were there before, or are silent for 120 s |
//!
//! The filter looks into VLAN, QinQ, MPLS, PPPoE, GRE, VXLAN and IP in IP, up to 24 headers; what lies deeper is
//! counted. Of tunnels of other kinds (GTP, Geneve, L2TP, Teredo, PPTP, ERSPAN) every packet passes. Where the kernel
//! runs no program of ours, the first 256 bytes of every packet pass: nothing is missed, and each costs.

mod blocks;
mod error;
mod filter;
mod socket;
mod steps;

pub use error::RingError;

use blocks::Blocks;
use dwell_core::capture::{Captured, LinkType};
use filter::Filter;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use socket::{failed, option};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use steps::Steps;

/// What is to be captured, and how.
#[derive(Copy, Clone, Debug)]
pub struct RingConfig {
    /// Which packets.
    pub wanted: Wanted,
    /// By which clock.
    pub stamping: Stamping,
    /// Also what is for others.
    pub promiscuous: bool,
    /// Rings, each to be read by a core of its own: a connection comes to one of them whole.
    pub rings: u16,
}

/// Which packets a ring gets.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those of TCP's handshakes.
    Handshakes,
    /// All of TCP, and QUIC from its first packets on.
    Throughout,
}

/// Who stamps the packets.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Stamping {
    /// The kernel, by CLOCK_REALTIME.
    Kernel,
    /// The NIC, by its own clock. What it did not stamp is counted, and not taken: two clocks do not mix.
    Hardware,
}

/// What became of the packets.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct RingCounts {
    /// What the filter saw; `None` where the kernel runs none of ours.
    pub filtered: Option<Filtered>,
    /// Passed the filter, those that were dropped then too.
    pub passed: u64,
    /// Passed, and found the ring full.
    pub dropped: u64,
    /// How often the ring was full.
    pub freezes: u64,
    /// Without the NIC's stamp, where that was asked for.
    pub unstamped: u64,
    /// How often the interface went down. Nothing passed it until it was up again.
    pub downs: u64,
}

/// What the filter saw.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Filtered {
    /// Packets of the interface.
    pub seen: u64,
    /// Ended within a header, and did not pass.
    pub cut: u64,
    /// Had more headers than are looked at, and did not pass.
    pub too_deep: u64,
}

/// A socket, shared by who reads its ring and who counts.
struct Socket {
    fd: OwnedFd,
    unstamped: AtomicU64,
    downs: AtomicU64,
}

/// The rings of one interface.
pub struct Rings {
    /// Each for a thread of its own.
    pub rings: Vec<Ring>,
    /// What counts.
    pub gauge: Gauge,
}

/// Counts what became of the packets of one interface.
pub struct Gauge {
    filter: Option<Filter>,
    unfiltered: Option<String>,
    sockets: Vec<Arc<Socket>>,
    so_far: RingCounts,
}

/// One ring, and what fills it.
pub struct Ring {
    interface: String,
    socket: Arc<Socket>,
    blocks: Blocks,
    link: LinkType,
    stamping: Stamping,
    steps: Steps,
}

/// What a ring has to tell.
#[derive(Copy, Clone, Debug)]
pub enum Event<'a> {
    /// A packet passed.
    Packet(&'a Captured<'a>),
    /// CLOCK_REALTIME may have been set, whichever way, between the packets before and those that follow: it was within the
    /// time that the ring holds, and is said between any two packets of it.
    ClockStepped,
}

impl Rings {
    /// Opens them on `interface`, of the calling thread's network namespace. It takes CAP_NET_RAW, and for the filter
    /// in the kernel CAP_BPF and CAP_PERFMON.
    ///
    /// # Errors
    /// When there is no such interface, it is down, of an unknown kind, or that is not permitted; when several rings
    /// are asked for and the kernel runs no programs.
    pub fn open(interface: &str, config: &RingConfig) -> Result<Self, RingError> {
        let open = || socket::open(interface, config);
        let opened = (0..config.rings.max(1)).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
        let (filter, unfiltered) = match Filter::load(config.wanted) {
            Ok(filter) => (Some(filter), None),
            Err(error) if opened.len() > 1 => return Err(RingError::NoSpreading(error.to_string())),
            Err(error) => (None, Some(error.to_string())),
        };
        let rings: Vec<Ring> = opened
            .into_iter()
            .map(|(fd, blocks, link)| Ring {
                interface: interface.to_owned(),
                socket: Arc::new(Socket { fd, unstamped: AtomicU64::new(0), downs: AtomicU64::new(0) }),
                blocks,
                link,
                stamping: config.stamping,
                steps: Steps::begin(),
            })
            .collect();
        let sockets: Vec<Arc<Socket>> = rings.iter().map(|ring| Arc::clone(&ring.socket)).collect();
        // None gets a packet before it is settled which packets are whose.
        let set = || match &filter {
            Some(filter) => {
                if sockets.len() > 1 {
                    spread(filter, &sockets)?;
                }
                let pass = filter.program("pass")?;
                let attach =
                    |socket: &Arc<Socket>| setsockopt(&socket.fd, option::AttachBpf, &pass.fd().as_raw_fd());
                sockets.iter().try_for_each(attach).map_err(io::Error::from)
            }
            None => sockets.iter().try_for_each(|socket| socket::pass_all(&socket.fd)),
        };
        set().map_err(failed("set the filter of", interface))?;
        let gauge = Gauge { filter, unfiltered, sockets, so_far: RingCounts::default() };
        Ok(Self { rings, gauge })
    }
}

/// Has each connection come to one of the sockets.
fn spread(filter: &Filter, sockets: &[Arc<Socket>]) -> io::Result<()> {
    let program = filter.program("spread")?;
    let Some(first) = sockets.first() else { return Ok(()) };
    // What a socket ignores, its group has to ignore too (PACKET_FANOUT_FLAG_IGNORE_OUTGOING, which libc does not have).
    let ignoring = if getsockopt(&first.fd, option::IgnoreOutgoing)? == 0 { 0 } else { 0x4000 };
    let kind = libc::PACKET_FANOUT_EBPF | ignoring;
    // The kernel finds a number for the group that is free in this namespace.
    let founding = (kind | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16;
    setsockopt(&first.fd, option::Fanout, &founding.cast_signed())?;
    setsockopt(&first.fd, option::FanoutData, &program.fd().as_raw_fd())?;
    let number = getsockopt(&first.fd, option::JoinedFanout)? & 0xffff;
    let joining = number | (kind << 16).cast_signed();
    sockets[1..].iter().try_for_each(|socket| Ok(setsockopt(&socket.fd, option::Fanout, &joining)?))
}

impl Gauge {
    /// Why every packet passes, where the kernel runs no filter of ours.
    #[must_use]
    pub fn unfiltered(&self) -> Option<&str> {
        self.unfiltered.as_deref()
    }

    /// What became of the packets so far.
    pub fn counts(&mut self) -> RingCounts {
        let so_far = &mut self.so_far;
        for socket in &self.sockets {
            // It counts from the last time that it was asked. Nothing but a wrong size could make it fail.
            if let Ok(since) = getsockopt(&socket.fd, option::Statistics) {
                so_far.passed += u64::from(since.tp_packets);
                so_far.dropped += u64::from(since.tp_drops);
                so_far.freezes += u64::from(since.tp_freeze_q_cnt);
            }
        }
        let unstamped = self.sockets.iter().map(|socket| socket.unstamped.load(Ordering::Relaxed)).sum();
        // Each of them is told.
        let downs = self.sockets.iter().map(|socket| socket.downs.load(Ordering::Relaxed)).max().unwrap_or(0);
        let filtered = self.filter.as_ref().map(Filter::counts);
        RingCounts { unstamped, downs, filtered, ..*so_far }
    }
}

impl Ring {
    /// Takes the packets that are here; waits for some, no longer than `patience`. From an interface that is down there come none until
    /// it is up again.
    ///
    /// # Errors
    /// When the interface is gone.
    pub fn take(&mut self, patience: Duration, take: &mut dyn FnMut(Event<'_>)) -> Result<(), RingError> {
        if self.blocks.full() == 0 {
            let milliseconds = u16::try_from(patience.as_millis()).unwrap_or(u16::MAX);
            let mut one = [PollFd::new(self.socket.fd.as_fd(), PollFlags::POLLIN)];
            match poll(&mut one, PollTimeout::from(milliseconds)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(failed("wait for packets of", &self.interface)(error)),
            }
        }
        let (link, hardware) = (self.link, self.stamping == Stamping::Hardware);
        // No more than are full now: somebody may wait for us to come back, and they were stamped before the clocks are looked at.
        let full = self.blocks.full();
        let stepped = !hardware && self.steps.look();
        let mut unstamped = 0;
        let mut each = |header: &libc::tpacket3_hdr, bytes: &[u8]| {
            if hardware && header.tp_status & libc::TP_STATUS_TS_RAW_HARDWARE == 0 {
                unstamped += 1;
                return;
            }
            let at = i128::from(header.tp_sec) * 1_000_000_000 + i128::from(header.tp_nsec);
            if stepped {
                take(Event::ClockStepped);
            }
            take(Event::Packet(&Captured { at, link, bytes, length: header.tp_len }));
        };
        (0..full).for_each(|_| self.blocks.take(&mut each));
        if stepped {
            take(Event::ClockStepped);
        }
        self.socket.unstamped.fetch_add(unstamped, Ordering::Relaxed);
        if full > 0 { Ok(()) } else { self.still_there() }
    }

    fn still_there(&self) -> Result<(), RingError> {
        let failed = || failed("capture on", &self.interface);
        match getsockopt(&self.socket.fd, sockopt::SocketError).map_err(failed())? {
            0 => {}
            // The kernel goes on by itself when it is up again.
            libc::ENETDOWN => drop(self.socket.downs.fetch_add(1, Ordering::Relaxed)),
            code => return Err(failed()(Errno::from_raw(code))),
        }
        match socket::is_bound(&self.socket.fd) {
            Ok(true) => Ok(()),
            Ok(false) => Err(RingError::Gone(self.interface.clone())),
            Err(error) => Err(failed()(error)),
        }
    }
}
