//! What the forwarder's own send costs: from the moment at which it begins to the kernel's stamp at the far end.

use crate::pace::{Lead, sleep_on};
use crate::wiring::Place;
use dwell_core::Nanos;
use dwell_net::PacketSocket;
use dwell_net::clock;
use std::io;

/// Idle times after which the cost is measured.
const IDLE: [Nanos; 5] = [Nanos(20_000), Nanos(60_000), Nanos(150_000), Nanos(1_000_000), Nanos(5_000_000)];

/// Sends after each of them, without those at the beginning that only warm the code up.
const ROUNDS: usize = 21;
const WARM_UP: usize = 5;

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
    let mut costs = IDLE.map(|idle| (idle, Vec::with_capacity(ROUNDS)));
    let mut last = clock::monotonic();
    // Turn by turn, so that a slow moment of the machine falls on all idle times alike.
    for round in 0..WARM_UP + ROUNDS {
        for (idle, costs) in &mut costs {
            let at = last + *idle;
            let asleep = at - BUSY - clock::monotonic();
            if asleep > Nanos::ZERO {
                sleep_on(&mut [], asleep)?;
            }
            clock::spin_until(at);
            let begun = clock::realtime();
            port.send(&frame)?;
            last = clock::monotonic();
            let arrival = arrival(far)?;
            if round >= WARM_UP {
                costs.extend(arrival.map(|stamp| stamp - begun));
            }
        }
    }
    let median = |(idle, mut costs): (Nanos, Vec<Nanos>)| {
        costs.sort_unstable();
        Some((idle, *costs.get(costs.len() / 2)?))
    };
    Ok(Lead::new(costs.into_iter().filter_map(median).collect()))
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
