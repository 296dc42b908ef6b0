//! Sends trains with the asked spacing, as the transmit stamps see it.
//!
//! A packet departs some microseconds after the program called, and not always the same number. So the call is made
//! earlier by the median of what calls took lately.
//!
//! Holds are counted from the stamp of the last packet that was not held, where it is there in time, and not each from the
//! packet before: a packet that is late delays none of those behind it. Otherwise the sender falls into step with whatever
//! takes its core now and then. In the lab a token bucket of 100 Mb/s lets a packet go every 122 us, which takes some 20 us
//! of the sender's core. Packets to be sent 104 us apart met that work sooner or later, left behind it, met it again
//! 104 us later, and so all left 122 us apart: as the link sends them, and not as they were asked for.

use crate::clock::{self, spin_until, wait_until};
use crate::probe::{Framing, Seal};
use crate::socket::{Burst, ProbeSocket};
use crate::warm::Warmer;
use dwell_core::{Departure, Direction, Nanos, Stamps, Train};
use std::collections::VecDeque;
use std::io;

/// Under this hold the stamp of the packet before is not looked at: to look takes about two microseconds.
const LOOK: Nanos = Nanos(12_000);

/// How long after a fleet its transmit stamps are waited for: a NIC hands hardware stamps over from an interrupt.
const STAMPS_LATE: Nanos = Nanos::from_millis(10);

/// So long before a train leaves, the send path is warmed.
const WARMING: Nanos = Nanos(20_000);

/// Packets that the kernel takes in one call (UIO_MAXIOV).
const MOST_AT_ONCE: usize = 1_024;

/// The median of what was seen last.
#[derive(Default)]
struct Lately {
    seen: VecDeque<Nanos>,
}

impl Lately {
    const KEPT: usize = 31;

    fn push(&mut self, value: Nanos) {
        if self.seen.len() == Self::KEPT {
            self.seen.pop_front();
        }
        self.seen.push_back(value);
    }

    fn median(&self) -> Nanos {
        let mut sorted: Vec<Nanos> = self.seen.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(Nanos::ZERO)
    }
}

/// From which departure holds are counted.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Beat {
    /// Place of the last packet that was not held.
    from: usize,
    /// All holds since.
    held: Nanos,
    /// Whether it was missed: holds count from the next packet on.
    lost: bool,
}

impl Beat {
    /// How long to wait at `now` for a packet with this `hold`, which is among those counted, where the call for the one that they
    /// are counted from would have been made at `from`, so that its departure is as late as it was.
    fn wait(&mut self, from: Nanos, hold: Nanos, now: Nanos) -> Nanos {
        let wait = from + self.held - now;
        // What is late by more than a hold is not caught up: packets would leave in a burst that nobody asked for.
        self.lost = wait < -hold;
        // Longer than the hold it is when the clock was just stepped back.
        wait.min(hold)
    }
}

/// What one fleet needs to be sent.
pub struct Consignment<'a> {
    /// What binds the packets to the session.
    pub seal: &'a Seal,
    /// How large a payload makes the asked size.
    pub framing: Framing,
    /// Which way the packets go.
    pub direction: Direction,
    /// Sequence of the fleet's first packet.
    pub first: u32,
    /// The trains.
    pub fleet: &'a [Departure],
}

/// Makes the packets of a train whose first one has this place in its fleet.
pub type Packing<'a> = dyn Fn(&Train, u32) -> io::Result<Vec<Vec<u8>>> + 'a;

/// Sends trains, and learns from each how long a call takes.
#[derive(Default)]
pub struct Pacer {
    /// From the call to the departure, of a train's first burst.
    start_lag: Lately,
    /// The same of held-back packets, which find a warmer core.
    held_lag: Lately,
    /// Warms the send path before each train; `None` before the first fleet, and without a loopback.
    warmer: Option<Warmer>,
    /// Which packet has transmit stamp 0, as its place in the fleet: ids count up across fleets.
    next_id: u32,
    /// Packets of this fleet whose kernel stamp is still to come, oldest first: id and place.
    awaited: VecDeque<(u32, usize)>,
    /// Whether this host ever gave a NIC's stamp.
    gives_hardware: bool,
    /// Whether a whole fleet went by without one, so that nobody need wait for them.
    gives_none: bool,
}

impl Pacer {
    /// Sends a fleet and returns the stamps of its packets, in the order of sending. A packet that the kernel
    /// refused has its program's stamp alone: it is lost like any other.
    ///
    /// # Errors
    /// When the kernel takes no stamps, or a packet has a size that no probe has.
    pub fn send(&mut self, socket: &mut ProbeSocket, goods: &Consignment<'_>) -> io::Result<Vec<Stamps>> {
        let seal = |train: &Train, place| seal_train(goods, train, goods.first.wrapping_add(place));
        self.carry(socket, goods.fleet, &seal)
    }

    /// The same with packets as `pack` makes them.
    ///
    /// # Errors
    /// When the kernel takes no stamps, or what `pack` says.
    pub fn carry(
        &mut self,
        socket: &mut ProbeSocket,
        fleet: &[Departure],
        pack: &Packing<'_>,
    ) -> io::Result<Vec<Stamps>> {
        let count = fleet.iter().map(|departure| departure.train.packets.len()).sum();
        let mut sent = Vec::with_capacity(count);
        if self.warmer.is_none() {
            self.warmer = Warmer::open(socket.local_addr()?.is_ipv6()).ok();
        }
        let mut last = clock::monotonic();
        for Departure { pause, train } in fleet {
            let packets = pack(train, sent.len() as u32)?;
            self.send_train(socket, train, &packets, last + *pause, &mut sent)?;
            last = clock::monotonic();
            self.collect(socket, &mut sent)?;
            self.learn(train, &sent[sent.len() - packets.len()..]);
        }
        self.await_stamps(socket, &mut sent)?;
        Ok(sent)
    }

    /// Sends one train, its first packet at `start` of CLOCK_MONOTONIC or at once if that is over.
    fn send_train(
        &mut self,
        socket: &mut ProbeSocket,
        train: &Train,
        packets: &[Vec<u8>],
        start: Nanos,
        sent: &mut Vec<Stamps>,
    ) -> io::Result<()> {
        let mut from = 0;
        let mut beat = Beat::default();
        while from < packets.len() {
            let held = |packet: &dwell_core::Packet| packet.hold > Nanos::ZERO;
            let to =
                train.packets[from + 1..].iter().position(held).map_or(packets.len(), |at| from + 1 + at);
            let to = to.min(from + MOST_AT_ONCE);
            let parts: Vec<&[u8]> = packets[from..to].iter().map(Vec::as_slice).collect();
            let mut burst = Burst::new(&parts);
            match train.packets[from].hold {
                _ if from == 0 => {
                    wait_until(start - WARMING);
                    if let Some(warmer) = &self.warmer {
                        warmer.run();
                    }
                    spin_until(start);
                }
                Nanos::ZERO => {}
                hold => {
                    beat.held += hold;
                    self.hold(socket, &mut beat, hold, sent)?;
                }
            }
            let application = clock::realtime();
            // The first that the kernel refuses ends the burst: it is lost, and the next burst begins after it.
            let taken = socket.send(&mut burst).unwrap_or(0);
            let unstamped = Stamps { application, kernel: None, hardware: None };
            for place in sent.len()..sent.len() + taken {
                self.awaited.push_back((self.next_id, place));
                self.next_id = self.next_id.wrapping_add(1);
            }
            let refused = usize::from(taken < to - from);
            sent.extend(std::iter::repeat_n(unstamped, taken + refused));
            if refused > 0 {
                self.collect(socket, sent)?;
                self.forget(socket)?;
            }
            let held = from > 0 && to == from + 1 && train.packets[from].hold > Nanos::ZERO;
            if beat.lost || !held {
                beat = Beat { from: sent.len() - 1, ..Beat::default() };
            }
            from += taken + refused;
        }
        Ok(())
    }

    /// Starts counting departures anew; what was sent so far is no longer awaited.
    ///
    /// # Errors
    /// When the kernel takes no stamps.
    pub fn forget(&mut self, socket: &mut ProbeSocket) -> io::Result<()> {
        socket.recount()?;
        while socket.departure_stamp()?.is_some() {}
        self.awaited.clear();
        self.next_id = 0;
        Ok(())
    }

    /// Waits until a call made now departs when its beat is.
    fn hold(
        &mut self,
        socket: &mut ProbeSocket,
        beat: &mut Beat,
        hold: Nanos,
        sent: &mut [Stamps],
    ) -> io::Result<()> {
        if hold >= LOOK {
            self.collect(socket, sent)?;
        }
        let Some(before) = sent.get(beat.from) else { return Ok(()) };
        let departed = before.kernel.unwrap_or(before.application + self.start_lag.median());
        let wait = beat.wait(departed - self.held_lag.median(), hold, clock::realtime());
        let until = clock::monotonic() + wait;
        if wait > Nanos::from_millis(1) {
            wait_until(until)
        } else {
            spin_until(until)
        }
        Ok(())
    }

    /// Takes what transmit stamps there are.
    fn collect(&mut self, socket: &mut ProbeSocket, sent: &mut [Stamps]) -> io::Result<()> {
        while !self.awaited.is_empty() {
            let Some(stamp) = socket.departure_stamp()? else { break };
            // Stamps come in the order of sending, or nearly: look from the front.
            let Some(at) = self.awaited.iter().position(|(id, _)| *id == stamp.id) else { continue };
            let (_, place) = self.awaited[at];
            let Some(packet) = sent.get_mut(place) else { continue };
            let kernel = stamp.kernel.and_then(|kernel| clock::plausible(kernel, packet.application));
            packet.kernel = packet.kernel.or(kernel);
            packet.hardware = packet.hardware.or(stamp.hardware);
            self.gives_hardware |= packet.hardware.is_some();
            let whole = packet.kernel.is_some() && (packet.hardware.is_some() || !self.gives_hardware);
            if whole {
                self.awaited.remove(at);
            }
        }
        Ok(())
    }

    /// Learns from a train how long calls take.
    fn learn(&mut self, train: &Train, sent: &[Stamps]) {
        for (index, (packet, stamps)) in train.packets.iter().zip(sent).enumerate() {
            let Some(kernel) = stamps.kernel else { continue };
            if index == 0 {
                self.start_lag.push(kernel - stamps.application);
            } else if packet.hold > Nanos::ZERO {
                self.held_lag.push(kernel - stamps.application);
            }
        }
    }

    /// Waits for the last stamps of a fleet.
    fn await_stamps(&mut self, socket: &mut ProbeSocket, sent: &mut [Stamps]) -> io::Result<()> {
        let until = clock::monotonic() + STAMPS_LATE;
        while !self.awaited.is_empty() && !self.gives_none && clock::monotonic() < until {
            std::thread::sleep(std::time::Duration::from_micros(200));
            self.collect(socket, sent)?;
        }
        let late = !self.awaited.is_empty();
        self.gives_none = !sent.is_empty() && sent.iter().all(|stamps| stamps.kernel.is_none());
        // A stamp that comes even later is of no fleet.
        if late {
            self.forget(socket)?
        }
        Ok(())
    }
}

/// The train's packets, as they go on the wire.
fn seal_train(goods: &Consignment<'_>, train: &Train, sequence: u32) -> io::Result<Vec<Vec<u8>>> {
    let seal = |(index, packet): (usize, &dwell_core::Packet)| {
        let length = goods.framing.payload(packet.size).ok_or_else(|| {
            let smallest = goods.framing.min_size();
            io::Error::other(format!("no probe has {} on the wire; the smallest has {smallest}", packet.size))
        })?;
        let mut bytes = vec![0; length];
        goods.seal.write(&mut bytes, sequence.wrapping_add(index as u32), goods.direction);
        Ok(bytes)
    };
    train.packets.iter().enumerate().map(seal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Nanos = Nanos(100);

    /// How long the third of packets that are held is waited for, when it is `now`; the packet before them left at 1,000.
    fn third(now: i64) -> (Nanos, bool) {
        let mut beat = Beat { from: 0, held: HOLD * 3, lost: false };
        (beat.wait(Nanos(1_000), HOLD, Nanos(now)), beat.lost)
    }

    #[test]
    fn a_late_packet_delays_none_behind_it() {
        assert_eq!(third(1_200), (Nanos(100), false));
        assert_eq!(third(1_270), (Nanos(30), false));
        assert_eq!(third(1_350), (Nanos(-50), false));
    }

    #[test]
    fn what_is_very_late_is_not_caught_up() {
        assert_eq!(third(1_400), (Nanos(-100), false));
        assert!(third(1_401).1);
    }

    #[test]
    fn a_clock_set_back_holds_nobody_longer() {
        assert_eq!(third(-5_000), (HOLD, false));
    }
}
