//! Cross traffic that reacts, for links that the kernel shapes: a TCP connection of this kernel between two nodes.

use crate::error::LabError;
use crate::namespace::Worker;
use crate::way::Way;
use crate::wiring::{BRIDGE, Place, Wiring};
use dwell_core::{Bytes, Nanos};
use dwell_net::interface::Interface;
use dwell_net::{clock, place};
use dwell_sim::{Algorithm, CrossSpec, LinkSpec, Offered, TcpSpec};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBuf, TcpCongestion, TcpMaxSeg};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What is around a segment on the wire: Ethernet 26 bytes, IPv4 20, TCP 20.
const AROUND: u64 = 66;

/// Of a segment's bytes, those that time stamps take (RFC 7323).
const TIME_STAMPS: u64 = 12;

/// How long a write or a read may block before it is looked whether all shall stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a program writes ahead of the connection at most, as the simulator's does: packets.
const WRITTEN_AHEAD: i64 = 128;

/// What is written at once where as much is written as the connection takes.
const CHUNK: usize = 1 << 16;

/// Starts the connection of `cross` over link `index` of `way`: who writes, and who reads and forgets.
pub(crate) fn start(
    wiring: &Wiring,
    way: Way<'_>,
    index: usize,
    cross: &CrossSpec,
    spec: &TcpSpec,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Worker<()>>, LabError> {
    let [enters, leaves] = way.ends(index, cross.hops);
    let (from, to) = (Place::node(enters)?.ipv4(), Place::node(leaves)?.ipv4());
    let segment = segment(cross.largest());
    for node in [enters, leaves] {
        wiring.nodes[node].within(|| {
            Interface::named(BRIDGE)
                .and_then(|interface| interface.offloads_off())
                .map_err(LabError::system("make each packet one frame"))
        })?;
    }
    let listener =
        wiring.nodes[leaves].within(|| listener(to, spec).map_err(LabError::system("listen for TCP")))?;
    let port = listener.local_addr().map_err(LabError::system("listen for TCP"))?.port();
    let stream = wiring.nodes[enters].within(|| {
        let stream =
            TcpStream::connect((to, port)).map_err(LabError::system(format!("connect {from} to {to}")))?;
        prepare(&stream, spec, segment).map_err(LabError::system("set up cross traffic by TCP"))?;
        Ok(stream)
    })?;
    let accepted = listener.accept().map_err(LabError::system("accept TCP"))?.0;
    let pace = pace(cross, &way.links[index], segment);
    let (told, heard) = (Arc::clone(stop), Arc::clone(stop));
    let reader = wiring.nodes[leaves].spawn("TCP reader", move || {
        read(accepted, &heard).map_err(LabError::system("read cross traffic"))
    })?;
    let writer = wiring.nodes[enters].spawn("TCP writer", move || {
        write(stream, segment, pace, &told).map_err(LabError::system("write cross traffic"))
    })?;
    Ok(vec![writer, reader])
}

/// What a segment holds when its packet has `size` on the wire.
fn segment(size: Bytes) -> u64 {
    size.0.saturating_sub(AROUND + TIME_STAMPS).max(1)
}

/// From segment to segment; `None`: as much as the connection takes.
fn pace(cross: &CrossSpec, link: &LinkSpec, segment: u64) -> Option<Nanos> {
    let rate = link.bits_of(cross).filter(|_| cross.offered != Offered::Own)?;
    let taken = link.framing.occupied(Bytes(segment + AROUND + TIME_STAMPS));
    Some(Nanos::from_f64(taken.bits() as f64 * 1e9 / rate))
}

fn listener(at: IpAddr, spec: &TcpSpec) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((at, 0))?;
    if let Some(window) = spec.window {
        // The kernel doubles it, and half of that is the window.
        setsockopt(&listener, RcvBuf, &usize::try_from(window.0).unwrap_or(usize::MAX))?;
    }
    Ok(listener)
}

fn prepare(stream: &TcpStream, spec: &TcpSpec, segment: u64) -> io::Result<()> {
    let algorithm = match spec.algorithm {
        Algorithm::Reno => "reno",
        Algorithm::Cubic => "cubic",
    };
    setsockopt(stream, TcpCongestion, &OsString::from(algorithm))?;
    // In vain where it is more than the path carries.
    let _ = setsockopt(stream, TcpMaxSeg, &u32::try_from(segment + TIME_STAMPS).unwrap_or(u32::MAX));
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))
}

fn read(mut stream: TcpStream, stop: &AtomicBool) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut buffer = vec![0; CHUNK];
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Err(error) if !is_patience(&error) => return ended(error),
            _ => {}
        }
    }
    Ok(())
}

fn write(mut stream: TcpStream, segment: u64, pace: Option<Nanos>, stop: &AtomicBool) -> io::Result<()> {
    let buffer = vec![0; pace.map_or(CHUNK, |_| segment as usize)];
    if pace.is_some() {
        place::sharpen_timers();
        let _ = place::real_time_priority(1);
    }
    let mut due = clock::monotonic();
    while !stop.load(Ordering::Relaxed) {
        if let Some(pace) = pace {
            let now = clock::monotonic();
            due = due.max(now - pace * WRITTEN_AHEAD);
            if due > now {
                let left = Duration::from_nanos((due - now).0.unsigned_abs());
                thread::sleep(left.min(PATIENCE));
                continue;
            }
            due += pace;
        }
        match stream.write_all(&buffer) {
            Err(error) if !is_patience(&error) => return ended(error),
            _ => {}
        }
    }
    // Nobody waits for what is still to be sent.
    let _ = stream.shutdown(Shutdown::Both);
    Ok(())
}

fn is_patience(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The other end may be told to stop first.
fn ended(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Ok(()),
        _ => Err(error),
    }
}
