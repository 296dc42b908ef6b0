//! The end that reads, and holds its window where it is to.

use super::cores::{Cores, Thread};
use super::info::Info;
use super::member::Order;
use super::option::WindowClamp;
use super::pump::{BLOCK, Ending, GLANCE, LOOK, Progress, STALL, host, note, seconds, still_open, threads};
use crate::channel::Channel;
use crate::clock;
use dwell_core::throughput::autotune::{Seen, Sobas, Step};
use dwell_core::throughput::{Receiver, ReceiverSample, Threads};
use dwell_core::{Bytes, Nanos};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{MsgFlags, send, setsockopt};
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// How far looks are apart where the receiver holds its window: the kernel moves the bound with its buffer's size.
const CLOSE_LOOK: Nanos = Nanos::from_millis(10);
/// A window that limits nothing.
const UNLIMITED: libc::c_int = 1 << 30;

/// Small packets came, for each connection said whose it is.
const NO_DATA: &str =
    "no data came, though the connections stand: packets as large as the hosts' MTU may be lost on the way";

/// Reads for as long as was ordered, from the first byte on, and closes, by which the sender learns that it is over. `spin`:
/// how long the program is busy after each read, for testbeds.
///
/// # Errors
/// When no data comes, or it ends before that.
pub(super) fn receive_all(
    streams: Vec<TcpStream>,
    order: &Order,
    spin: Nanos,
    channel: &Channel,
) -> io::Result<Vec<ReceiverSample>> {
    let progress: Vec<Progress> = streams.iter().map(|_| Progress::default()).collect();
    let (stop, first) = (AtomicBool::new(false), AtomicI64::new(i64::MAX));
    for stream in &streams {
        stream.set_read_timeout(Some(GLANCE))?;
        if let Some(window) = order.window {
            clamp(stream, window)?;
        }
    }
    let samples = std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for (index, (stream, progress)) in streams.iter().zip(&progress).enumerate() {
            let (tell, stop, first) = (tell.clone(), &stop, &first);
            scope.spawn(move || {
                let _ = tell.send((index, Thread::current()));
                drain(stream, progress, stop, first, spin);
            });
        }
        let threads = threads(&told, streams.len());
        let samples = watch_receiving(&streams, &progress, &threads, order, &first, channel);
        stop.store(true, Ordering::Relaxed);
        for stream in &streams {
            // Wakes who reads. One that is closed already is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
        samples
    });
    // Shut down with a full buffer, a connection keeps its window closed, and its sender waits for it to open; closed, it answers
    // with a reset.
    drop(streams);
    samples
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
    channel: &Channel,
) -> io::Result<Vec<ReceiverSample>> {
    let arrived = clock::monotonic();
    while first.load(Ordering::Relaxed) == i64::MAX {
        if progress.iter().all(|one| one.ended.load(Ordering::Relaxed)) {
            return Err(io::Error::new(ErrorKind::TimedOut, "no data came before the connections ended"));
        }
        if clock::monotonic() - arrived > STALL {
            return Err(io::Error::new(ErrorKind::TimedOut, NO_DATA));
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
        still_open(channel, at)?;
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
    if let Step::Offer(bytes) = step {
        *window = Some(bytes);
    }
    window.map_or(Ok(()), |window| clamp(stream, window)).map(|()| *window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Identity, Peers};
    use dwell_core::Direction;
    use std::io::Write;
    use std::net::TcpListener;

    fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn a_sender_learns_of_the_end_though_the_window_is_closed() {
        let (ours, theirs) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let (near, far) = connected();
        let _server = std::thread::spawn({
            let (theirs, expected) = (theirs.clone(), Peers::only(ours.public_key()));
            move || Channel::accept(far, &theirs, &expected).unwrap()
        });
        let channel = Channel::connect(near, &ours, &Peers::only(theirs.public_key())).unwrap();
        let (mut sends, reads) = connected();
        sends.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        let sending = std::thread::spawn(move || {
            loop {
                if let Err(error) = sends.write(&[0; BLOCK]) {
                    return error.kind();
                }
            }
        });
        let duration = Nanos::from_millis(300);
        let order = Order {
            token: [0; 16],
            direction: Direction::Reverse,
            connections: 1,
            duration,
            congestion: None,
            autotune: false,
            window: None,
        };
        // Busy for the whole run after its first read: the buffer is full when time is over.
        receive_all(vec![reads], &order, duration, &channel).unwrap();
        let ended = sending.join().unwrap();
        assert!(matches!(ended, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{ended:?}");
    }
}
