//! What the forwarder's own send costs: from the moment at which it begins to the kernel's stamp at the far end.

use crate::nic_stage::NicStage;
use crate::pace::{Lead, sleep_on};
use crate::wiring::{EXPERIMENTAL, Place};
use dwell_core::Nanos;
use dwell_net::PacketSocket;
use dwell_net::clock;
use std::io;

/// Idle times after which the cost is measured.
const IDLE: [Nanos; 5] = [Nanos(20_000), Nanos(60_000), Nanos(150_000), Nanos(1_000_000), Nanos(5_000_000)];

/// Sends after each of them, without those at the beginning that only warm the code up.
const ROUNDS: usize = 21;
const WARM_UP: usize = 5;

/// A batch that shows what a further frame costs, and the idle time before it.
const BATCH: usize = 8;
const BATCH_IDLE: Nanos = IDLE[2];

/// How long before a send the thread stops sleeping. After a longer idle time it then takes a frame first: one that the
/// forwarder carries has just come from the near host, by code that the send needs as well. Without it the send was found
/// to take up to 12 us after 5 ms, of which 3 to 8 us were not there when it carried a frame, which then came too early.
const BUSY: Nanos = Nanos(120_000);

/// How long a frame may take to the far end before it counts as gone.
const PATIENCE: Nanos = Nanos::from_millis(20);

/// What a frame comes by.
pub(crate) struct Passage<'a> {
    /// The host's end of the cable that it comes from.
    pub(crate) near: &'a PacketSocket,
    /// What the thread takes it from, and sends it by.
    pub(crate) inward: &'a mut PacketSocket,
    pub(crate) outward: &'a PacketSocket,
    /// The other host's end, which sees what arrives.
    pub(crate) far: &'a mut PacketSocket,
}

/// Measures the lead of a thread that sends by this passage to the host at `to` with this NIC.
pub(crate) fn lead(passage: Passage<'_>, to: Place, nic: &NicStage) -> io::Result<Lead> {
    let Passage { near, inward, outward, far } = passage;
    let mut frame = vec![0; 512];
    frame[..6].copy_from_slice(&to.hardware_bytes());
    frame[12..14].copy_from_slice(&EXPERIMENTAL);
    let mut costs = IDLE.map(|idle| (idle, Vec::with_capacity(ROUNDS)));
    let mut of_batches = Vec::with_capacity(ROUNDS);
    let mut last = clock::monotonic();
    // When a batch's first frame is stamped, after its sending began.
    let mut cost = |frames: usize, idle: Nanos| -> io::Result<Option<Nanos>> {
        let at = last + idle;
        let asleep = at - BUSY - clock::monotonic();
        if asleep > Nanos::ZERO {
            sleep_on(&mut [], asleep)?;
        }
        if idle > BUSY {
            near.send(&frame)?;
            arrival(inward)?;
        }
        clock::spin_until(at);
        let begun = clock::realtime();
        for _ in 0..frames {
            outward.send(&frame)?;
        }
        nic.interrupt(frames);
        last = clock::monotonic();
        let first = arrival(far)?;
        for _ in 1..frames {
            arrival(far)?;
        }
        Ok(first.map(|stamp| stamp - begun))
    };
    // Turn by turn, so that a slow moment of the machine falls on all idle times alike.
    for round in 0..WARM_UP + ROUNDS {
        for (idle, costs) in &mut costs {
            let cost = cost(1, *idle)?;
            if round >= WARM_UP {
                costs.extend(cost);
            }
        }
        if nic.gathers() {
            of_batches.extend(cost(BATCH, BATCH_IDLE)?);
        }
    }
    let median = |mut costs: Vec<Nanos>| {
        costs.sort_unstable();
        costs.get(costs.len() / 2).copied()
    };
    let steps: Vec<_> = costs.into_iter().filter_map(|(idle, costs)| Some((idle, median(costs)?))).collect();
    let alone = Lead::new(steps.clone(), Nanos::ZERO).after(BATCH_IDLE);
    let more = median(of_batches).map_or(Nanos::ZERO, |batch| (batch - alone).max(Nanos::ZERO));
    Ok(Lead::new(steps, more / (BATCH as i64 - 1)))
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
