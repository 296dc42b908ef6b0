//! The same search over a path that carries trains, such as the simulator's: each trial interval is one train. What the
//! receiver would tell takes no time to come back.

use super::account::Account;
use super::activation::Parameters;
use super::capacity::Tested;
use super::load::Load;
use super::rates::{row, rows};
use super::search::Search;
use super::wire::Stamp;
use crate::method::Path;
use crate::train::{Departure, Direction, Observation, Packet, Train};
use crate::unit::{Bytes, Nanos};
use std::collections::VecDeque;

/// What a packet takes beside its UDP payload, as [`Bytes`] counts it.
const FRAMING: u64 = 54;

/// Makes a test of `how.test` seconds.
///
/// # Errors
/// The path's.
pub fn over_trains<P: Path>(
    path: &mut P,
    how: &Parameters,
    direction: Direction,
) -> Result<Tested, P::Error> {
    let (mut search, mut account) = (Search::new(*how), Account::default());
    let trial = Nanos::from_millis(how.trial.into());
    let length = Nanos::from_millis(how.sub_interval.into());
    let trials = i64::from(how.test) * 1_000 / i64::from(how.trial.max(1));
    let (mut parts, mut under_way) = (Vec::new(), VecDeque::new());
    let (mut sequence, mut left, mut base, mut table_end) = (0, Nanos::ZERO, None, false);
    let (mut before, mut leaving) = (Bytes(0), 0.0);
    for number in 0..trials {
        let began = trial * number;
        let plan = planned(search.index(), trial);
        let mut packets = Vec::with_capacity(plan.len());
        for (at, payload) in &plan {
            let (due, size) = (began + *at, Bytes(u64::from(*payload) + FRAMING));
            // A burst is due so long after the one before it, and a hold begins when the last packet of that one has left.
            packets.push(Packet { size, hold: (due - left).max(Nanos::ZERO) });
            left = due.max(left + Nanos::from_f64(leaving * before.0 as f64));
            before = size;
        }
        let pause = packets.first().map_or(Nanos::ZERO, |first| first.hold);
        let passages = path.carry(&vec![Departure { pause, train: Train { direction, packets } }])?;
        leaving = passages.iter().find_map(|passage| burst(&passage.observation)).unwrap_or(leaving);
        let fates = passages.iter().flat_map(|passage| &passage.observation.fates);
        for (fate, (at, payload)) in fates.zip(plan) {
            sequence += 1;
            let Some(arrival) = fate.arrival else { continue };
            let arrived = arrival.stamps.application;
            // Where the plan's zero is on the receiver's clock: by the first packet that came.
            base.get_or_insert(arrived - began - at);
            let sent = Stamp::of(fate.sent.application);
            let load = Load { sequence, payload, sent, ..Load::default() };
            under_way.push_back((arrived, load));
        }
        let Some(zero) = base else { continue };
        let now = zero + began + trial;
        while under_way.front().is_some_and(|(arrived, _): &(Nanos, Load)| *arrived <= now) {
            let Some((arrived, load)) = under_way.pop_front() else { break };
            account.enter(&load, arrived);
        }
        if !account.begun() {
            continue;
        }
        let (status, over) = account.status(now, length, trial);
        search.see(&status.trial);
        table_end = search.index() + 1 >= rows();
        parts.extend(over);
    }
    Ok(Tested { direction, algorithm: how.algorithm, ipv6: false, table_end, garbage: 0, parts })
}

/// Nanoseconds that a byte takes to leave, by packets that followed another at once.
fn burst(observation: &Observation) -> Option<f64> {
    let at_once = observation.fates.windows(2).filter(|two| two[1].packet.hold == Nanos::ZERO);
    let (time, bytes) = at_once.fold((0.0, 0.0), |(time, bytes), two| {
        let apart = two[1].sent.nearest_wire() - two[0].sent.nearest_wire();
        (time + apart.as_f64(), bytes + two[0].packet.size.0 as f64)
    });
    (bytes > 0.0).then(|| (time / bytes).max(0.0))
}

/// Times and payloads of one trial interval's packets.
fn planned(index: usize, trial: Nanos) -> Vec<(Nanos, u16)> {
    let row = row(index);
    let mut plan = Vec::new();
    for second in [false, true] {
        let Some((interval, payloads)) = row.burst(second) else { continue };
        let interval = Nanos::from_micros(interval.into());
        let bursts = (trial.0 / interval.0).max(1);
        for burst in 0..bursts {
            plan.extend(payloads.iter().map(|payload| (interval * burst, *payload)));
        }
    }
    plan.sort_by_key(|(at, _)| *at);
    plan
}
