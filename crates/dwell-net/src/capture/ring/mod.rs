//! A ring of packets on a live interface, or on several that are one place (TPACKET_V3), behind a filter in the kernel
//! that passes what a passive measurement needs, and of that the headers alone.
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
mod gauge;
mod order;
mod socket;
mod source;
mod steps;

pub use error::RingError;
pub use gauge::{Filtered, Gauge, RingCounts};

use crate::clock;
use dwell_core::capture::Captured;
use filter::Filter;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, setsockopt};
use order::{Here, Order};
use socket::{failed, option};
use source::Source;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::thread;
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

/// The rings of one place.
pub struct Rings {
    /// Each for a thread of its own.
    pub rings: Vec<Ring>,
    /// What counts.
    pub gauge: Gauge,
}

/// One ring, and what fills it.
pub struct Ring {
    sources: Vec<Source>,
    stamping: Stamping,
    order: Order,
    steps: Steps,
}

/// How long is waited for other interfaces than those whose packets are here already.
const NAP: Duration = Duration::from_millis(5);

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
    /// Opens them on `interfaces`, of the calling thread's network namespace: one place, as the two directions of a tap are.
    /// Packets come in the order of their stamps. It takes CAP_NET_RAW, and for the filter in the kernel CAP_BPF and
    /// CAP_PERFMON.
    ///
    /// # Errors
    /// When there is no such interface, it is down, of an unknown kind, or that is not permitted; when several rings
    /// are asked for and the kernel runs no programs; when several interfaces are to stamp in hardware.
    pub fn open(interfaces: &[&str], config: &RingConfig) -> Result<Self, RingError> {
        if interfaces.len() > 1 && config.stamping == Stamping::Hardware {
            return Err(RingError::SeveralClocks(interfaces.join(" and ")));
        }
        let opened = interfaces.iter().map(|interface| {
            (0..config.rings.max(1)).map(|_| socket::open(interface, config)).collect::<Result<Vec<_>, _>>()
        });
        let opened = opened.collect::<Result<Vec<_>, _>>()?;
        let (filter, unfiltered) = match Filter::load(config.wanted) {
            Ok(filter) => (Some(filter), None),
            Err(error) if config.rings > 1 => return Err(RingError::NoSpreading(error.to_string())),
            Err(error) => (None, Some(error.to_string())),
        };
        // None gets a packet before it is settled which packets are whose.
        for (interface, sources) in interfaces.iter().zip(&opened) {
            set(filter.as_ref(), sources).map_err(failed("set the filter of", interface))?;
        }
        let gauge = Gauge::new(filter, unfiltered, &opened);
        let mut rings: Vec<Ring> = (0..config.rings.max(1)).map(|_| Ring::new(config.stamping)).collect();
        for sources in opened {
            rings.iter_mut().zip(sources).for_each(|(ring, source)| ring.sources.push(source));
        }
        Ok(Self { rings, gauge })
    }
}

/// Has the packets of one interface that are wanted come to its sockets.
fn set(filter: Option<&Filter>, sources: &[Source]) -> io::Result<()> {
    let Some(filter) = filter else {
        return sources.iter().try_for_each(|source| socket::pass_all(&source.socket.fd));
    };
    if sources.len() > 1 {
        spread(filter, sources)?;
    }
    let pass = filter.program("pass")?;
    let attach = |source: &Source| setsockopt(&source.socket.fd, option::AttachBpf, &pass.fd().as_raw_fd());
    Ok(sources.iter().try_for_each(attach)?)
}

/// Has each connection come to one of the sockets.
fn spread(filter: &Filter, sources: &[Source]) -> io::Result<()> {
    let program = filter.program("spread")?;
    let mut sockets = sources.iter().map(|source| &source.socket.fd);
    let Some(first) = sockets.next() else { return Ok(()) };
    // What a socket ignores, its group has to ignore too (PACKET_FANOUT_FLAG_IGNORE_OUTGOING, which libc does not have).
    let ignoring = if getsockopt(first, option::IgnoreOutgoing)? == 0 { 0 } else { 0x4000 };
    let kind = libc::PACKET_FANOUT_EBPF | ignoring;
    // The kernel finds a number for the group that is free in this namespace.
    let founding = (kind | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16;
    setsockopt(first, option::Fanout, &founding.cast_signed())?;
    setsockopt(first, option::FanoutData, &program.fd().as_raw_fd())?;
    let number = getsockopt(first, option::JoinedFanout)? & 0xffff;
    let joining = number | (kind << 16).cast_signed();
    sockets.try_for_each(|socket| Ok(setsockopt(socket, option::Fanout, &joining)?))
}

impl Ring {
    fn new(stamping: Stamping) -> Self {
        let (order, steps) = (Order::begin(clock::monotonic()), Steps::begin());
        Self { sources: Vec::new(), stamping, order, steps }
    }

    /// Takes the packets that are here; waits for some, no longer than `patience`. Of several interfaces what is here waits
    /// until nothing older can come of another: there may be none before that time is over. From an interface that is
    /// down there come none until it is up again.
    ///
    /// # Errors
    /// When an interface is gone.
    pub fn take(&mut self, patience: Duration, take: &mut dyn FnMut(Event<'_>)) -> Result<(), RingError> {
        self.wait(patience)?;
        // No more than are full now: somebody may wait for us to come back, and they were stamped before the clocks are looked at.
        let full: Vec<usize> = self.sources.iter_mut().map(|source| source.blocks.look()).collect();
        let stepped = self.stamping == Stamping::Kernel && self.steps.look();
        let until = self.until(&full, stepped);
        self.hand_over(until, stepped, take);
        let mut idle = self.sources.iter().zip(&full).filter(|(_, full)| **full == 0);
        idle.try_for_each(|(source, _)| source.still_there())
    }

    /// Whether packets are here that were not handed over, for they wait for those of another interface. They may have
    /// been stamped long ago, where nobody took any for a while.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.sources.iter().any(|source| source.blocks.holds())
    }

    /// Takes what is left, for none is to come.
    pub fn take_rest(&mut self, take: &mut dyn FnMut(Event<'_>)) {
        for source in &mut self.sources {
            source.blocks.look();
        }
        let stepped = self.stamping == Stamping::Kernel && self.steps.look();
        self.hand_over(Some(i128::MAX), stepped, take);
    }

    /// Waits until a packet is here, or one that was here may be handed over.
    fn wait(&mut self, patience: Duration) -> Result<(), RingError> {
        let any = self.sources.iter_mut().any(|source| source.blocks.look() > 0);
        if any && self.sources.len() > 1 {
            // What is here already wakes nobody.
            thread::sleep(patience.min(NAP));
        }
        if any {
            return Ok(());
        }
        let mut all: Vec<PollFd<'_>> = self
            .sources
            .iter()
            .map(|source| PollFd::new(source.socket.fd.as_fd(), PollFlags::POLLIN))
            .collect();
        let milliseconds = u16::try_from(patience.as_millis()).unwrap_or(u16::MAX);
        match poll(&mut all, PollTimeout::from(milliseconds)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(failed("wait for packets of", &self.sources[0].interface)(error)),
        }
    }

    /// Up to which stamp what is here, in so many full blocks of each interface, can be handed over.
    fn until(&mut self, full: &[usize], stepped: bool) -> Option<i128> {
        if stepped {
            // By a clock that was set nothing is in order.
            self.order = Order::begin(clock::monotonic());
            return Some(i128::MAX);
        }
        if self.sources.len() == 1 {
            return Some(i128::MAX);
        }
        let here =
            |(source, full): (&Source, &usize)| Here::of(*full, |number| source.blocks.last_of(number));
        let here: Vec<Here> = self.sources.iter().zip(full).map(here).collect();
        self.order.look(clock::monotonic(), &here)
    }

    fn hand_over(&mut self, until: Option<i128>, stepped: bool, take: &mut dyn FnMut(Event<'_>)) {
        let stamped = self.stamping == Stamping::Hardware;
        loop {
            let heads = self.sources.iter_mut().filter_map(|source| Some((source.blocks.next_at()?, source)));
            let Some((_, source)) = heads.filter(|(at, _)| Some(*at) <= until).min_by_key(|(at, _)| *at)
            else {
                break;
            };
            source.take(stamped, &mut |packet| {
                if stepped {
                    take(Event::ClockStepped);
                }
                take(Event::Packet(packet));
            });
        }
        if stepped {
            take(Event::ClockStepped);
        }
    }
}
