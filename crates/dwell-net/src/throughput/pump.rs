//! Moves data over connections, and looks at them as it goes: the same code at both ends.

use super::cores::{Cores, Thread};
use super::info::Info;
use super::member::Order;
use super::option::WindowClamp;
use crate::clock;
use dwell_core::throughput::autotune::{Seen, Sobas, Step};
use dwell_core::throughput::{Connection, HostLoad, Receiver, ReceiverSample, Sender, SenderSample, Threads};
use dwell_core::{Bytes, Nanos};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{MsgFlags, recv, send, setsockopt};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as Queue, Sender as Tell, channel};
use std::time::Duration;

/// How far looks are apart.
const LOOK: Nanos = Nanos::from_millis(100);
/// The same where the receiver holds its window: the kernel moves the bound with its buffer's size.
const CLOSE_LOOK: Nanos = Nanos::from_millis(10);
/// Bytes of one write and one read.
const BLOCK: usize = 128 << 10;
/// For so long nothing may happen.
const STALL: Nanos = Nanos::from_secs(5);
/// Threads look up so often whether they are to end.
const GLANCE: Duration = Duration::from_millis(100);
/// A window that limits nothing.
const UNLIMITED: libc::c_int = 1 << 30;

fn seconds(span: Nanos) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

/// One connection's thread, as others see it.
#[derive(Default)]
struct Progress {
    bytes: AtomicU64,
    ended: AtomicBool,
}

/// Tells that a thread has ended, however it ended.
struct Ending<'a>(&'a Progress);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

fn threads(told: &Queue<(usize, Thread)>, count: usize) -> Vec<Option<Thread>> {
    let mut threads = vec![None; count];
    for (index, thread) in told.iter().take(count) {
        threads[index] = Some(thread);
    }
    threads
}

/// What is known of a thread: that it ended does not undo what was known before.
fn note(thread: Option<Thread>, known: &mut Threads) -> Threads {
    *known = thread.and_then(Thread::told).unwrap_or(*known);
    *known
}

/// Sends until the other end has counted long enough and closes.
///
/// # Errors
/// When it closes before that, or takes nothing any more.
pub(super) fn send_all(streams: &[TcpStream], order: &Order) -> io::Result<(Vec<SenderSample>, Connection)> {
    let connection = prepare(streams, order)?;
    let progress: Vec<Progress> = streams.iter().map(|_| Progress::default()).collect();
    let stop = AtomicBool::new(false);
    let samples = std::thread::scope(|scope| {
        let (tell, told) = channel();
        for (index, (stream, progress)) in streams.iter().zip(&progress).enumerate() {
            let (tell, stop) = (tell.clone(), &stop);
            scope.spawn(move || feed(stream, progress, stop, &tell, index));
        }
        let threads = threads(&told, streams.len());
        let samples = watch_sending(streams, &progress, &threads, order);
        stop.store(true, Ordering::Relaxed);
        for stream in streams {
            // One that is closed already is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
        samples
    })?;
    Ok((samples, connection))
}

fn prepare(streams: &[TcpStream], order: &Order) -> io::Result<Connection> {
    let mut told = Connection::default();
    for stream in streams {
        stream.set_write_timeout(Some(GLANCE))?;
        if let Some(name) = &order.congestion {
            let set = setsockopt(stream, nix::sys::socket::sockopt::TcpCongestion, &name.into());
            set.map_err(|error| io::Error::other(format!("no congestion control {name} here: {error}")))?;
        }
        let congestion = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::TcpCongestion)?;
        let info = Info::of(stream.as_fd())?;
        let ip = if stream.peer_addr()?.ip().to_canonical().is_ipv4() { 20 } else { 40 };
        told = Connection {
            congestion: congestion.to_string_lossy().trim_end_matches('\0').to_owned(),
            segment: Bytes(info.segment()),
            headers: Bytes(ip + 20 + if info.timestamps() { 12 } else { 0 }),
        };
    }
    Ok(told)
}

fn feed(
    mut stream: &TcpStream,
    progress: &Progress,
    stop: &AtomicBool,
    tell: &Tell<(usize, Thread)>,
    index: usize,
) {
    let _ending = Ending(progress);
    let _ = tell.send((index, Thread::current()));
    let block = vec![0; BLOCK];
    while !stop.load(Ordering::Relaxed) {
        match stream.write(&block) {
            Ok(written) => {
                progress.bytes.fetch_add(written as u64, Ordering::Relaxed);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // The other end has enough, or is gone: the watching thread can tell.
            Err(_) => return,
        }
    }
}

fn watch_sending(
    streams: &[TcpStream],
    progress: &[Progress],
    threads: &[Option<Thread>],
    order: &Order,
) -> io::Result<Vec<SenderSample>> {
    let (mut samples, mut cores) = (Vec::new(), Cores::default());
    cores.since_before();
    let mut known = vec![Threads::default(); streams.len()];
    let began = clock::monotonic();
    let (mut moved, mut moved_at) = (0, began);
    let mut next = began;
    let mut pulses = [0; 256];
    loop {
        let at = clock::monotonic() - began;
        let over = progress.iter().any(|one| one.ended.load(Ordering::Relaxed));
        if over && at < order.duration {
            return Err(io::Error::new(
                ErrorKind::ConnectionAborted,
                format!("the receiver closed after {} of {}", seconds(at), seconds(order.duration)),
            ));
        }
        if over {
            return Ok(samples);
        }
        let bytes = progress.iter().map(|one| one.bytes.load(Ordering::Relaxed)).sum::<u64>();
        if bytes > moved {
            (moved, moved_at) = (bytes, clock::monotonic());
        }
        // What the socket buffer holds may be under way for long.
        let late = at - order.duration > STALL;
        if late || (clock::monotonic() - moved_at > STALL && acknowledged_nothing(streams, &samples)) {
            let what = format!("the receiver took nothing for {} after {}", seconds(STALL), seconds(at));
            return Err(io::Error::new(ErrorKind::TimedOut, what));
        }
        let mut connections = Vec::with_capacity(streams.len());
        for (index, stream) in streams.iter().enumerate() {
            // The receiver's pulses have done their work.
            let _ = recv(stream.as_raw_fd(), &mut pulses, MsgFlags::MSG_DONTWAIT);
            let told = Info::of(stream.as_fd())?.sender();
            connections.push(Sender { thread: note(threads[index], &mut known[index]), ..told });
        }
        let host = host(&mut cores, samples.is_empty());
        samples.push(SenderSample { at, connections, host });
        next += LOOK;
        clock::wait_until(next.max(clock::monotonic()));
    }
}

/// Whether the last looks saw no segment leave.
fn acknowledged_nothing(streams: &[TcpStream], samples: &[SenderSample]) -> bool {
    let Some(last) = samples.last() else { return false };
    let now = streams.iter().filter_map(|stream| Info::of(stream.as_fd()).ok());
    now.map(|info| info.sender().segments).eq(last.connections.iter().map(|one| one.segments))
}

fn host(cores: &mut Cores, first: bool) -> HostLoad {
    let load = cores.since_before();
    if first { HostLoad::default() } else { load }
}

/// Reads for as long as was ordered, from the first byte on, and closes. `spin`: how long the program is busy after each
/// read, for testbeds.
///
/// # Errors
/// When no data comes, or it ends before that.
pub(super) fn receive_all(
    streams: &[TcpStream],
    order: &Order,
    spin: Nanos,
) -> io::Result<Vec<ReceiverSample>> {
    let progress: Vec<Progress> = streams.iter().map(|_| Progress::default()).collect();
    let (stop, first) = (AtomicBool::new(false), AtomicI64::new(i64::MAX));
    for stream in streams {
        stream.set_read_timeout(Some(GLANCE))?;
        if let Some(window) = order.window {
            clamp(stream, window)?;
        }
    }
    std::thread::scope(|scope| {
        let (tell, told) = channel();
        for (index, (stream, progress)) in streams.iter().zip(&progress).enumerate() {
            let (tell, stop, first) = (tell.clone(), &stop, &first);
            scope.spawn(move || {
                let _ = tell.send((index, Thread::current()));
                drain(stream, progress, stop, first, spin);
            });
        }
        let threads = threads(&told, streams.len());
        let samples = watch_receiving(streams, &progress, &threads, order, &first);
        stop.store(true, Ordering::Relaxed);
        for stream in streams {
            // One that is closed already is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
        samples
    })
}

fn clamp(stream: &TcpStream, window: Bytes) -> io::Result<()> {
    let window = libc::c_int::try_from(window.0).unwrap_or(UNLIMITED);
    match setsockopt(stream, WindowClamp, &window) {
        // A connection that was just closed has no window.
        Ok(()) | Err(Errno::EINVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn drain(mut stream: &TcpStream, progress: &Progress, stop: &AtomicBool, first: &AtomicI64, spin: Nanos) {
    let _ending = Ending(progress);
    let mut block = vec![0; BLOCK];
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut block) {
            Ok(0) => return,
            Ok(read) => {
                if first.load(Ordering::Relaxed) == i64::MAX {
                    first.fetch_min(clock::monotonic().0, Ordering::Relaxed);
                }
                progress.bytes.fetch_add(read as u64, Ordering::Relaxed);
                if spin > Nanos::ZERO {
                    clock::spin_until(clock::monotonic() + spin);
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return,
        }
    }
}

fn unread(stream: &TcpStream) -> Bytes {
    let mut waiting: libc::c_int = 0;
    // SAFETY: FIONREAD writes one integer to `waiting`, which outlives the call.
    #[allow(unsafe_code)]
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::FIONREAD, &raw mut waiting) };
    Bytes(if result == 0 { u64::try_from(waiting).unwrap_or(0) } else { 0 })
}

fn watch_receiving(
    streams: &[TcpStream],
    progress: &[Progress],
    threads: &[Option<Thread>],
    order: &Order,
    first: &AtomicI64,
) -> io::Result<Vec<ReceiverSample>> {
    let arrived = clock::monotonic();
    while first.load(Ordering::Relaxed) == i64::MAX {
        if clock::monotonic() - arrived > STALL
            || progress.iter().all(|one| one.ended.load(Ordering::Relaxed))
        {
            return Err(io::Error::new(ErrorKind::TimedOut, "no data came"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let began = Nanos(first.load(Ordering::Relaxed));
    let (mut samples, mut cores) = (Vec::new(), Cores::default());
    cores.since_before();
    let mut known = vec![Threads::default(); streams.len()];
    let mut sizing: Vec<Option<(Sobas, Option<Bytes>)>> = Vec::new();
    for stream in streams {
        let segment = Bytes(Info::of(stream.as_fd())?.segment());
        sizing.push(order.autotune.then(|| (Sobas::new(segment), None)));
    }
    let step = if order.autotune || order.window.is_some() { CLOSE_LOOK } else { LOOK };
    let (mut next, mut next_sample) = (began, Nanos::ZERO);
    let (mut moved, mut moved_at) = (0, Nanos::ZERO);
    loop {
        let at = clock::monotonic() - began;
        let over = at >= order.duration;
        let mut connections = Vec::with_capacity(streams.len());
        for (index, stream) in streams.iter().enumerate() {
            let received = Bytes(progress[index].bytes.load(Ordering::Relaxed));
            // A pulse has the receiver's kernel see a round trip.
            let _ = send(stream.as_raw_fd(), &[0], MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL);
            let info = Info::of(stream.as_fd())?;
            let window = match &mut sizing[index] {
                Some((sobas, window)) => {
                    let seen = Seen { at, received, rtt: info.rtt(), min_rtt: info.min_rtt() };
                    size(stream, sobas.see(seen), window)?
                }
                None => {
                    order.window.map_or(Ok(()), |window| clamp(stream, window))?;
                    order.window
                }
            };
            let thread = note(threads[index], &mut known[index]);
            connections.push(Receiver {
                received,
                unread: unread(stream),
                window,
                thread,
                ..info.receiver()
            });
        }
        let received = connections.iter().map(|one| one.received.0).sum::<u64>();
        if received > moved {
            (moved, moved_at) = (received, at);
        }
        if at >= next_sample || over {
            let host = host(&mut cores, samples.is_empty());
            samples.push(ReceiverSample { at, connections, host });
            next_sample += LOOK;
        }
        if over {
            return Ok(samples);
        }
        if progress.iter().any(|one| one.ended.load(Ordering::Relaxed)) {
            let what = format!("the sender vanished after {} of {}", seconds(at), seconds(order.duration));
            return Err(io::Error::new(ErrorKind::UnexpectedEof, what));
        }
        if at - moved_at > STALL {
            let what = format!("nothing came for {} after {}", seconds(STALL), seconds(moved_at));
            return Err(io::Error::new(ErrorKind::TimedOut, what));
        }
        next += step;
        let end = began + order.duration;
        clock::wait_until(next.max(clock::monotonic()).min(end));
    }
}

/// Does a step of SOBAS; a bound that stands is set again.
fn size(stream: &TcpStream, step: Step, window: &mut Option<Bytes>) -> io::Result<Option<Bytes>> {
    match step {
        Step::Keep => {}
        Step::Offer(bytes) => *window = Some(bytes),
        Step::Release if window.take().is_some() => clamp(stream, Bytes(UNLIMITED as u64))?,
        Step::Release => {}
    }
    window.map_or(Ok(()), |window| clamp(stream, window)).map(|()| *window)
}
