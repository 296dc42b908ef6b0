//! Datagrams of the lab's own, from one end to the other, with the kernel's stamps at both: what a lab is judged by.

use crate::error::LabError;
use crate::placement::{Role, settle};
use crate::testbed::Testbed;
use crate::wiring::Place;
use dwell_core::{Bytes, Nanos};
use dwell_net::clock;
use dwell_net::socket::{Burst, ProbeSocket};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{io, thread};

/// Ethernet 26 bytes, IPv4 20, UDP 8.
pub(crate) const AROUND: u64 = 54;

/// The smallest datagram that has room for its number.
pub(crate) const SMALLEST: Bytes = Bytes(AROUND + 18);

/// Any port does: nobody else is there.
const PORT: u16 = 7;

/// How often the receiver looks whether it is over.
const LOOK: Nanos = Nanos::from_millis(5);

/// A datagram that was sent.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shot {
    /// On the wire.
    pub(crate) size: Bytes,
    /// The kernel's stamp at its departure.
    pub(crate) left: Option<Nanos>,
    /// The kernel's stamp at its arrival; `None`: it was lost.
    pub(crate) came: Option<Nanos>,
}

/// How packets of a burst are handed to the kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    /// All by one call: as near to each other as it goes.
    One,
    /// Each by its own, as a train's are that are held apart.
    Each,
}

/// Sends `bursts`, one every `period`, and waits `patience` for what is under way. Returns the shots in the order of
/// sending.
pub(crate) fn fire(
    testbed: &Testbed,
    bursts: &[Vec<Bytes>],
    calls: Calls,
    period: Nanos,
    patience: Nanos,
) -> Result<Vec<Shot>, LabError> {
    let (mut sender, mut receiver) = sockets(testbed)?;
    let over = AtomicBool::new(false);
    let failed = || LabError::system("send packets of its own");
    thread::scope(|scope| {
        let listener = scope.spawn(|| {
            settle(Role::Receiver, testbed.cores);
            listen(&mut receiver, &over, |_, _| {})
        });
        let sent = scope.spawn(|| {
            settle(Role::Sender, testbed.cores);
            let shots = send_all(&mut sender, bursts, calls, period);
            thread::sleep(Duration::from_nanos(patience.0.unsigned_abs()));
            over.store(true, Ordering::Relaxed);
            shots
        });
        let shots = sent.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        over.store(true, Ordering::Relaxed);
        let seen = listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (mut shots, seen) = (shots.map_err(failed())?, seen.map_err(failed())?);
        for (number, stamp) in seen {
            if let Some(shot) = usize::try_from(number).ok().and_then(|number| shots.get_mut(number)) {
                shot.came = shot.came.or(Some(stamp));
            }
        }
        Ok(shots)
    })
}

/// What a path carried when as much was sent as it took.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Flood {
    pub(crate) carried: u64,
    pub(crate) span: Nanos,
    pub(crate) processor_time: Nanos,
}

/// Sends packets of `size` for `span`, never with more than `window` under way.
pub(crate) fn flood(testbed: &Testbed, size: Bytes, window: u64, span: Nanos) -> Result<Flood, LabError> {
    let (sender, mut receiver) = sockets(testbed)?;
    let (over, came) = (AtomicBool::new(false), Arc::new(AtomicU64::new(0)));
    let failed = || LabError::system("send packets of its own");
    thread::scope(|scope| {
        let listener = scope.spawn(|| {
            settle(Role::Receiver, testbed.cores);
            listen(&mut receiver, &over, |number, _| came.store(number + 1, Ordering::Relaxed))
        });
        let sent = scope.spawn(|| {
            settle(Role::Sender, testbed.cores);
            let result = press(&sender, size, window, span, &came);
            over.store(true, Ordering::Relaxed);
            result
        });
        let before = testbed.processor_time();
        let start = clock::monotonic();
        let sent = sent.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let span = clock::monotonic() - start;
        let processor_time = testbed.processor_time() - before;
        let seen = listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        sent.map_err(failed())?;
        Ok(Flood { carried: seen.map_err(failed())?.len() as u64, span, processor_time })
    })
}

fn press(sender: &ProbeSocket, size: Bytes, window: u64, span: Nanos, came: &AtomicU64) -> io::Result<()> {
    /// After this silence what is under way counts as lost.
    const SILENCE: Nanos = Nanos::from_millis(20);
    let start = clock::monotonic();
    let (mut number, mut seen, mut heard) = (0_u64, 0, start);
    loop {
        let now = clock::monotonic();
        if now - start > span {
            return Ok(());
        }
        let latest = came.load(Ordering::Relaxed);
        if latest != seen {
            (seen, heard) = (latest, now);
        } else if now - heard > SILENCE {
            (seen, heard) = (number, now);
        }
        if number.saturating_sub(seen) < window {
            let payload = payload(number, size);
            send(sender, &mut Burst::new(&[&payload]))?;
            number += 1;
        } else {
            // The receiver may need this core.
            thread::sleep(Duration::from_micros(20));
        }
    }
}

fn sockets(testbed: &Testbed) -> Result<(ProbeSocket, ProbeSocket), LabError> {
    let at = |place: Place| SocketAddr::new(place.ipv4(), PORT);
    let bind = |place: Place| bound(at(place)).map_err(LabError::system("open its own socket"));
    let sender = testbed.wiring.source.within(|| {
        let socket = bind(Place::SOURCE)?;
        socket.connect(at(Place::DESTINATION)).map_err(LabError::system("direct its own socket"))?;
        Ok(socket)
    })?;
    let receiver = testbed.wiring.destination.within(|| bind(Place::DESTINATION))?;
    receiver.set_patience(Some(LOOK)).map_err(LabError::system("set a time limit"))?;
    Ok((sender, receiver))
}

fn payload(number: u64, size: Bytes) -> Vec<u8> {
    let mut payload = vec![0; usize::try_from(size.0.saturating_sub(AROUND)).unwrap_or(0).max(8)];
    payload[..8].copy_from_slice(&number.to_be_bytes());
    payload
}

fn send_all(
    sender: &mut ProbeSocket,
    bursts: &[Vec<Bytes>],
    calls: Calls,
    period: Nanos,
) -> io::Result<Vec<Shot>> {
    let mut shots = Vec::new();
    let start = clock::monotonic();
    for (turn, burst) in bursts.iter().enumerate() {
        let payloads: Vec<Vec<u8>> = burst
            .iter()
            .enumerate()
            .map(|(place, size)| payload((shots.len() + place) as u64, *size))
            .collect();
        let parts: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        let at_once = if calls == Calls::One { parts.len() } else { 1 };
        let mut ready: Vec<Burst<'_>> = parts.chunks(at_once.max(1)).map(Burst::new).collect();
        clock::wait_until(start + period * i64::try_from(turn).unwrap_or(i64::MAX));
        ready.iter_mut().try_for_each(|ready| send(sender, ready))?;
        shots.extend(burst.iter().map(|size| Shot { size: *size, ..Shot::default() }));
        take_departures(sender, &mut shots)?;
    }
    thread::sleep(Duration::from_millis(1));
    take_departures(sender, &mut shots)?;
    Ok(shots)
}

/// Sends a burst. A packet of a salvo before this one may have come when nobody listened any more, from a queue that is
/// longer than anybody waits; that it was refused is told to whoever sends next, once for each.
fn send(sender: &ProbeSocket, burst: &mut Burst<'_>) -> io::Result<()> {
    let mut again = 1..TRIES.0;
    loop {
        match sender.send(burst) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && again.next().is_some() => {}
            sent => return sent.map(drop),
        }
    }
}

fn take_departures(sender: &mut ProbeSocket, shots: &mut [Shot]) -> io::Result<()> {
    while let Some(stamp) = sender.departure_stamp()? {
        if let Some(shot) = shots.get_mut(stamp.id as usize) {
            shot.left = stamp.kernel;
        }
    }
    Ok(())
}

/// Numbers and kernel stamps of what comes until it is over.
fn listen(
    receiver: &mut ProbeSocket,
    over: &AtomicBool,
    mut tell: impl FnMut(u64, Nanos),
) -> io::Result<Vec<(u64, Nanos)>> {
    let (mut seen, mut head) = (Vec::new(), [0; 8]);
    loop {
        let last_look = over.load(Ordering::Relaxed);
        match receiver.receive(&mut head, Nanos::ZERO)? {
            Some(received) => {
                let number = u64::from_be_bytes(head);
                let stamp = received.stamps.nearest_wire();
                tell(number, stamp);
                seen.push((number, stamp));
            }
            None if last_look => return Ok(seen),
            None => {}
        }
    }
}

/// How often, and after which time, a port is asked for again.
const TRIES: (usize, Duration) = (100, Duration::from_millis(2));

/// A socket at `at`. The one before it may be there still for a moment: a command that another thread starts has copies
/// of all sockets until it runs.
fn bound(at: SocketAddr) -> io::Result<ProbeSocket> {
    let mut tries = 1..TRIES.0;
    loop {
        match ProbeSocket::bind(at) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries.next().is_some() => {
                thread::sleep(TRIES.1)
            }
            bound => return bound,
        }
    }
}
