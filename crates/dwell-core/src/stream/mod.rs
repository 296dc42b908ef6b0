//! Packets of one size at one spacing, as they were sent and as they arrived.

pub(crate) mod line;
pub(crate) mod sample;

use crate::report::Vantage;
use crate::train::{Fate, Observation, Packet, Train};
use crate::unit::{BitRate, Bytes, ETHERNET_MIN, INTER_FRAME_GAP, Nanos};

/// Bits that a packet takes of an Ethernet link.
pub(crate) fn occupied(size: Bytes) -> f64 {
    (size.max(ETHERNET_MIN) + INTER_FRAME_GAP).bits() as f64
}

/// The spacing at which packets of `size` make `rate`, bits per second.
pub(crate) fn spacing(size: Bytes, rate: f64) -> Nanos {
    Nanos::from_f64(rate_at(size, rate))
}

/// The rate, bits per second, that packets of `size` make that are so many nanoseconds apart; at this rate they are as far apart.
pub(crate) fn rate_at(size: Bytes, apart: f64) -> f64 {
    occupied(size) * 1e9 / apart
}

/// `count` packets of `size`, `hold` apart.
pub(crate) fn stream(size: Bytes, hold: Nanos, count: usize) -> Train {
    Train { packets: vec![Packet { size, hold }; count], ..Train::default() }
}

/// The size and spacing that all packets of a train share.
pub(crate) fn shape(observation: &Observation) -> Option<(Bytes, Nanos)> {
    let [_, second, ..] = observation.fates.as_slice() else { return None };
    let shape = second.packet;
    let alike = observation.fates.iter().all(|fate| fate.packet.size == shape.size)
        && observation.fates[1..].iter().all(|fate| fate.packet.hold == shape.hold);
    alike.then_some((shape.size, shape.hold))
}

/// The receiver's stamps that a train is read by: the kernel's, where all that arrived has them.
pub(crate) fn vantage(observation: &Observation) -> Vantage {
    let mut arrivals = observation.fates.iter().filter_map(|fate| fate.arrival.as_ref());
    if arrivals.all(|arrival| arrival.stamps.kernel.is_some()) {
        Vantage::Capture
    } else {
        Vantage::Application
    }
}

/// One packet that arrived.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Passed {
    /// Its place in the train, from 0.
    pub(crate) number: usize,
    /// When it left, nanoseconds on the sender's clock after the train's first.
    pub(crate) sent: f64,
    /// When it came, nanoseconds on the receiver's clock after the first that did.
    pub(crate) came: f64,
}

impl Passed {
    /// Its one-way delay, but for a constant that is the train's.
    pub(crate) fn delay(&self) -> f64 {
        self.came - self.sent
    }
}

/// When the first packet of a train was sent and its one-way delay, but for a constant that is the two clocks'.
pub(crate) fn first(observation: &Observation) -> Option<(f64, f64)> {
    let fate = observation.fates.first()?;
    let came = vantage(observation).read(&fate.arrival.as_ref()?.stamps)?;
    let sent = fate.sent.nearest_wire();
    Some((sent.as_f64(), (came - sent).as_f64()))
}

/// The packets of a train that arrived, in the order of sending.
pub(crate) fn passed(observation: &Observation) -> Vec<Passed> {
    let vantage = vantage(observation);
    let read = |(number, fate): (usize, &Fate)| {
        let came = vantage.read(&fate.arrival.as_ref()?.stamps)?;
        Some((number, fate.sent.nearest_wire(), came))
    };
    let stamps: Vec<_> = observation.fates.iter().enumerate().filter_map(read).collect();
    let Some((_, first_sent, first_came)) = stamps.first().copied() else { return Vec::new() };
    let passed = |(number, sent, came): &(usize, Nanos, Nanos)| Passed {
        number: *number,
        sent: (*sent - first_sent).as_f64(),
        came: (*came - first_came).as_f64(),
    };
    stamps.iter().map(passed).collect()
}

/// Share of a train that was lost.
pub(crate) fn loss(observation: &Observation) -> f64 {
    let lost = observation.fates.iter().filter(|fate| fate.arrival.is_none()).count();
    lost as f64 / observation.fates.len().max(1) as f64
}

/// Spacing of a train as it was sent and as it came, nanoseconds a packet; `None` unless all of it came, in order, and
/// took time.
pub(crate) fn spacings(observation: &Observation) -> Option<(f64, f64)> {
    let passed = passed(observation);
    let gaps = passed.len().checked_sub(1).filter(|gaps| *gaps > 0)? as f64;
    let in_order = passed.windows(2).all(|two| two[1].came >= two[0].came);
    let last = passed.last()?;
    (passed.len() == observation.fates.len() && in_order && last.came > 0.0)
        .then_some((last.sent / gaps, last.came / gaps))
}

/// A rate that is at least one bit per second.
pub(crate) fn bit_rate(bps: f64) -> BitRate {
    BitRate(bps.max(1.0).round() as u64)
}
