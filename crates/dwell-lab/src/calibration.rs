//! What the forwarder's own send costs: from the moment at which it begins to the kernel's stamp at the far end.

use crate::pace::{Lead, sleep_on};
use crate::wiring::Place;
use dwell_core::Nanos;
use dwell_net::PacketSocket;
use dwell_net::clock;
use std::io;

/// Idle times after which the cost is measured.
const IDLE: [Nanos; 4] = [Nanos(20_000), Nanos(150_000), Nanos(1_000_000), Nanos(5_000_000)];

/// Sends after each of them.
const SENDS: usize = 15;

/// A frame that no host answers: IEEE 802 local experimental ethertype 1.
const EXPERIMENTAL: [u8; 2] = [0x88, 0xb5];

/// How long before a send the thread stops sleeping.
const BUSY: Nanos = Nanos(60_000);

/// How long a frame may take to the far end before it counts as gone.
const PATIENCE: Nanos = Nanos::from_millis(20);

/// Measures the lead of a thread that sends by `port`; `far` sees what arrives.
pub(crate) fn lead(port: &PacketSocket, far: &mut PacketSocket) -> io::Result<Lead> {
    let mut frame = vec![0; 512];
    frame[..6].copy_from_slice(&Place::DESTINATION.hardware_bytes());
    frame[12..14].copy_from_slice(&EXPERIMENTAL);
    let mut steps = Vec::with_capacity(IDLE.len());
    for idle in IDLE {
        let mut costs = Vec::with_capacity(SENDS);
        let mut last = clock::monotonic();
        for _ in 0..SENDS {
            let at = last + idle;
            let asleep = at - BUSY - clock::monotonic();
            if asleep > Nanos::ZERO {
                sleep_on(&mut [], asleep)?;
            }
            clock::spin_until(at);
            let begun = clock::realtime();
            port.send(&frame)?;
            last = clock::monotonic();
            costs.extend(arrival(far)?.map(|stamp| stamp - begun));
        }
        costs.sort_unstable();
        if let Some(median) = costs.get(costs.len() / 2) {
            steps.push((idle, *median));
        }
    }
    Ok(Lead::new(steps))
}

/// The stamp of the next calibration frame.
fn arrival(far: &mut PacketSocket) -> io::Result<Option<Nanos>> {
    let mut buffer = [0; 600];
    let give_up = clock::monotonic() + PATIENCE;
    while clock::monotonic() < give_up {
        if let Some((length, stamp)) = far.recv(&mut buffer)?
            && length >= 14
            && buffer[12..14] == EXPERIMENTAL
        {
            return Ok(Some(stamp));
        }
    }
    Ok(None)
}
