//! A program that answers echo probes: the host under test's own part, for hosts that answer no ICMP, and a reader
//! whose busyness can be set.

use super::stream::StampedStream;
use crate::clock;
use crate::inside::announce_stamp;
use crate::place;
use crate::socket::{DepartureStamp, ProbeSocket, Received};
use dwell_core::Nanos;
use dwell_core::echo::message::{Answer, LENGTH, read_probe};
use nix::poll::{PollFd, PollFlags, poll};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How probes travel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// One datagram each way.
    Udp,
    /// One segment each way, on an open connection.
    Tcp,
}

/// How a responder answers.
#[derive(Copy, Clone, Debug)]
pub struct ResponderConfig {
    /// Where.
    pub listen: SocketAddr,
    /// Over what.
    pub transport: Transport,
    /// It is busy for so long between its read and t3: a program that works before it stamps.
    pub before_stamp: Nanos,
    /// It is busy for so long between t3 and t5: a program that works for its answer.
    pub before_answer: Nanos,
    /// The core that it is pinned to.
    pub core: Option<usize>,
    /// Whether it asks for real-time priority.
    pub real_time: bool,
}

impl ResponderConfig {
    /// One that answers at once.
    #[must_use]
    pub const fn new(transport: Transport, listen: SocketAddr) -> Self {
        let zero = Nanos::ZERO;
        Self { listen, transport, before_stamp: zero, before_answer: zero, core: None, real_time: false }
    }
}

/// Answers probes, each with the host's stamps in it.
pub struct Responder {
    config: ResponderConfig,
    socket: Socket,
}

enum Socket {
    Udp(std::sync::Mutex<ProbeSocket>),
    Tcp(TcpListener),
}

/// How often it looks whether it shall end.
const GLANCE: Nanos = Nanos::from_millis(50);
const GLANCE_MS: u16 = 50;

impl Responder {
    /// Opens its socket.
    ///
    /// # Errors
    /// The operating system's, such as a port in use.
    pub fn bind(config: ResponderConfig) -> io::Result<Self> {
        let socket = match config.transport {
            Transport::Udp => {
                let socket = ProbeSocket::bind(config.listen)?;
                socket.set_patience(Some(GLANCE))?;
                Socket::Udp(socket.into())
            }
            Transport::Tcp => {
                let listener = TcpListener::bind(config.listen)?;
                listener.set_nonblocking(true)?;
                Socket::Tcp(listener)
            }
        };
        Ok(Self { config, socket })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The operating system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.socket {
            Socket::Udp(socket) => lock(socket).local_addr(),
            Socket::Tcp(listener) => listener.local_addr(),
        }
    }

    /// Answers on the calling thread until `stop`. Over TCP, one connection after another.
    ///
    /// # Errors
    /// The operating system's, such as an interface that went away, or a core that may not be used.
    pub fn serve(&self, stop: &AtomicBool) -> io::Result<()> {
        if let Some(core) = self.config.core {
            place::pin_current_thread(core).map_err(io::Error::other)?;
        }
        if self.config.real_time {
            // The answers' own stamps show whether it made a difference.
            let _ = place::real_time_priority(1);
        }
        while !stop.load(Ordering::Relaxed) {
            match &self.socket {
                Socket::Udp(socket) => self.datagrams(&mut lock(socket), stop)?,
                Socket::Tcp(listener) => match listener.accept() {
                    // A connection that fails is its client's loss; the next one is served.
                    Ok((stream, _)) => {
                        let patience = Duration::from_nanos(GLANCE.0.unsigned_abs());
                        let stream =
                            stream.set_nonblocking(false).and_then(|()| StampedStream::new(stream, patience));
                        let _ = stream.and_then(|stream| self.messages(stream, stop));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        let mut one = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
                        // Whatever woke it, the listener tells by itself.
                        let _ = poll(&mut one, GLANCE_MS);
                    }
                    Err(error) => return Err(error),
                },
            }
        }
        Ok(())
    }

    fn datagrams(&self, socket: &mut ProbeSocket, stop: &AtomicBool) -> io::Result<()> {
        let mut buffer = [0; LENGTH + 1];
        let mut departures = Departures::default();
        while !stop.load(Ordering::Relaxed) {
            let Some(received) = socket.receive(&mut buffer, self.config.before_stamp)? else { continue };
            let (Some(from), Some(bytes)) = (received.from, buffer.get(..received.length)) else { continue };
            let Some(number) = read_probe(bytes) else { continue };
            let answer = self.answer(number, &received, departures.take());
            if socket.send_to(&answer, from).is_err() {
                // Kernels differ in whether they count a packet that they did not send.
                socket.recount()?;
                departures = Departures::default();
                continue;
            }
            departures.sent(number, 1);
            while let Some(stamp) = socket.departure_stamp()? {
                departures.told(&stamp);
            }
        }
        Ok(())
    }

    fn messages(&self, mut stream: StampedStream, stop: &AtomicBool) -> io::Result<()> {
        let (mut buffer, mut held) = ([0; LENGTH], 0);
        let mut departures = Departures::default();
        while !stop.load(Ordering::Relaxed) {
            let spin = if held == 0 { self.config.before_stamp } else { Nanos::ZERO };
            let Some(received) = stream.receive(&mut buffer[held..], spin)? else { continue };
            held += received.length;
            if received.length == 0 {
                return Ok(());
            }
            if held < LENGTH {
                continue;
            }
            held = 0;
            let Some(number) = read_probe(&buffer) else { return Ok(()) };
            stream.send(&self.answer(number, &received, departures.take()))?;
            departures.sent(number, LENGTH as u32);
            while let Some(stamp) = stream.departure_stamp()? {
                departures.told(&stamp);
            }
        }
        Ok(())
    }

    fn answer(&self, number: u64, received: &Received, earlier: Option<(u64, Nanos)>) -> [u8; LENGTH] {
        let t3 = received.stamps.application;
        announce_stamp(t3);
        if self.config.before_answer > Nanos::ZERO {
            clock::spin_until(clock::monotonic() + self.config.before_answer);
        }
        let mut answer = Answer { number, arrived: received.stamps.kernel, t3, t5: Nanos::ZERO, earlier };
        answer.t5 = clock::realtime();
        answer.write()
    }
}

fn lock(socket: &std::sync::Mutex<ProbeSocket>) -> std::sync::MutexGuard<'_, ProbeSocket> {
    socket.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Which answer departed when: the kernel counts packets, or the bytes of a stream.
#[derive(Default)]
struct Departures {
    /// Number of the last answer, and the kernel's name for it.
    last: Option<(u64, u32)>,
    count: u32,
    known: Option<(u64, Nanos)>,
}

impl Departures {
    fn sent(&mut self, number: u64, units: u32) {
        self.count = self.count.wrapping_add(units);
        self.last = Some((number, self.count.wrapping_sub(1)));
    }

    fn told(&mut self, stamp: &DepartureStamp) {
        if let (Some((number, id)), Some(kernel)) = (self.last, stamp.kernel)
            && id == stamp.id
        {
            self.known = Some((number, kernel));
        }
    }

    fn take(&mut self) -> Option<(u64, Nanos)> {
        self.known.take()
    }
}
