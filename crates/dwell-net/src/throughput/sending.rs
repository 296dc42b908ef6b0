//! The end that sends.

use super::cores::{Cores, Thread};
use super::info::Info;
use super::member::Order;
use super::pump::{BLOCK, Ending, GLANCE, LOOK, Progress, STALL, host, note, seconds, still_open, threads};
use crate::channel::Channel;
use crate::clock;
use dwell_core::throughput::{Connection, Sender, SenderSample, Threads};
use dwell_core::{Bytes, Nanos};
use nix::sys::socket::{MsgFlags, recv, setsockopt};
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender as Tell};

/// So much longer than its time may a run take: what the socket buffer holds may be under way for long, and what ends the run is lost
/// and sent again as all else is.
const OVERTIME: Nanos = Nanos::from_secs(10);

/// Sends until the other end has counted long enough and closes.
///
/// # Errors
/// When it closes before that, or takes nothing any more.
pub(super) fn send_all(
    streams: &[TcpStream],
    order: &Order,
    channel: &Channel,
) -> io::Result<(Vec<SenderSample>, Connection)> {
    let connection = prepare(streams, order)?;
    let progress: Vec<Progress> = streams.iter().map(|_| Progress::default()).collect();
    let stop = AtomicBool::new(false);
    // The receiver counts from the first byte on, which is sent before whoever watches may have a core.
    let began = clock::monotonic();
    let samples = std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for (index, (stream, progress)) in streams.iter().zip(&progress).enumerate() {
            let (tell, stop) = (tell.clone(), &stop);
            scope.spawn(move || feed(stream, progress, stop, &tell, index));
        }
        let threads = threads(&told, streams.len());
        let samples = watch_sending(streams, &progress, &threads, order, channel, began);
        stop.store(true, Ordering::Relaxed);
        for stream in streams {
            // One that is closed already is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
        samples
    })?;
    Ok((samples, connection))
}

/// Why a sending host does not know such a congestion control, and which it does.
fn no_congestion_control(name: &str, error: nix::Error) -> io::Error {
    let known =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let known = match known.trim() {
        "" => String::new(),
        names => format!("; it has {}", names.replace(' ', ", ")),
    };
    io::Error::other(format!("no congestion control {name} at the sending host ({}){known}", error.desc()))
}

fn prepare(streams: &[TcpStream], order: &Order) -> io::Result<Connection> {
    let mut told = Connection::default();
    for stream in streams {
        stream.set_write_timeout(Some(GLANCE))?;
        if let Some(name) = &order.congestion {
            let set = setsockopt(stream, nix::sys::socket::sockopt::TcpCongestion, &name.into());
            set.map_err(|error| no_congestion_control(name, error))?;
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

/// Whether the receiver cannot have counted for so long by its own clock: that of each host may be slewed by 500 ppm.
fn is_early(at: Nanos, duration: Nanos) -> bool {
    at < duration - duration / 1_000
}

fn watch_sending(
    streams: &[TcpStream],
    progress: &[Progress],
    threads: &[Option<Thread>],
    order: &Order,
    channel: &Channel,
    began: Nanos,
) -> io::Result<Vec<SenderSample>> {
    let (mut samples, mut cores) = (Vec::new(), Cores::default());
    cores.since_before();
    let mut known = vec![Threads::default(); streams.len()];
    let (mut moved, mut moved_at) = (0, began);
    let mut next = began;
    let mut pulses = [0; 256];
    loop {
        let at = clock::monotonic() - began;
        let over = progress.iter().any(|one| one.ended.load(Ordering::Relaxed));
        if over && is_early(at, order.duration) {
            return Err(io::Error::new(
                ErrorKind::ConnectionAborted,
                format!("the receiver closed after {} of {}", seconds(at), seconds(order.duration)),
            ));
        }
        if over {
            return Ok(samples);
        }
        still_open(channel, at)?;
        let bytes = progress.iter().map(|one| one.bytes.load(Ordering::Relaxed)).sum::<u64>();
        if bytes > moved {
            (moved, moved_at) = (bytes, clock::monotonic());
        }
        let still = clock::monotonic() - moved_at;
        if still > STALL && acknowledged_nothing(streams, &samples) {
            let since = moved_at - began;
            let before = samples.iter().rfind(|sample| sample.at <= since);
            let why = stalled_by(streams, before);
            let what =
                format!("the receiver took nothing for {} after {}{why}", seconds(still), seconds(since));
            return Err(io::Error::new(ErrorKind::TimedOut, what));
        }
        if at - order.duration > OVERTIME {
            let what = format!(
                "the receiver did not end it for {} after {}",
                seconds(at - order.duration),
                seconds(order.duration)
            );
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

/// What the kernel tells of why nothing is taken any more, since that look.
fn stalled_by(streams: &[TcpStream], before: Option<&SenderSample>) -> &'static str {
    let all = |count: fn(&Sender) -> i64| {
        let now = streams.iter().filter_map(|stream| Some(Info::of(stream.as_fd()).ok()?.sender()));
        let then = before.map_or(0, |sample| sample.connections.iter().map(count).sum());
        now.map(|one| count(&one)).sum::<i64>() - then
    };
    if all(|one| one.receiver_limited.0) > STALL.0 / 2 {
        ": its window stayed closed, the program there does not read"
    } else if all(|one| one.retransmitted as i64) > 0 {
        ": segments were sent again and again in vain, the path loses them or the host there is gone"
    } else {
        ""
    }
}

/// Whether the last looks saw no segment leave.
fn acknowledged_nothing(streams: &[TcpStream], samples: &[SenderSample]) -> bool {
    let Some(last) = samples.last() else { return false };
    let now = streams.iter().filter_map(|stream| Info::of(stream.as_fd()).ok());
    now.map(|info| info.sender().segments).eq(last.connections.iter().map(|one| one.segments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::Duration;

    /// 10 s of a clock that is 100 ppm fast are 9.999 s.
    #[test]
    fn a_receiver_whose_clock_is_fast_has_counted_long_enough() {
        let duration = Nanos::from_secs(10);
        assert!(!is_early(duration, duration));
        assert!(!is_early(duration - Nanos::from_millis(1), duration));
        assert!(is_early(duration - Nanos::from_millis(50), duration));
    }

    #[test]
    fn a_program_that_does_not_read_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _far = listener.accept().unwrap();
        near.set_nonblocking(true).unwrap();
        while near.write(&[0; BLOCK]).is_ok() {}
        let streams = [near];
        assert_eq!(stalled_by(&streams, None), "");
        std::thread::sleep(Duration::from_millis(2_800));
        assert!(stalled_by(&streams, None).contains("does not read"));
    }
}
