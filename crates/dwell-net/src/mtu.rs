//! How large a packet the path carries: found by sending, because routers may drop what is too large and say
//! nothing.

use crate::probe::{Framing, MAX_PAYLOAD};
use dwell_core::{Bytes, Departure, Nanos, Train};

/// What carries the search's packets.
pub(crate) trait Carrier {
    /// What can go wrong.
    type Error;

    /// Which of these single packets arrive; the direction that they go is the carrier's to know.
    fn arrives(&mut self, fleet: &[Departure]) -> Result<Vec<bool>, Self::Error>;

    /// What it means when not even the smallest does.
    fn nothing_arrives(&self) -> Self::Error;

    /// The largest size that is worth an attempt.
    fn ceiling(&self) -> Bytes;
}

/// MTUs that are common: Ethernet's, its tunnels', IPv6's least, jumbo frames, the loopback's.
const COMMON: [u64; 12] = [65_535, 9_216, 9_000, 4_352, 1_500, 1_492, 1_480, 1_460, 1_420, 1_400, 1_280, 576];

/// Copies of each size, so that loss is not taken for an MTU: at 50 % loss one size in 64 is misjudged.
const COPIES: usize = 6;

/// The largest packet that arrives, exactly.
///
/// # Errors
/// The carrier's, and that nothing arrives.
pub(crate) fn search<C: Carrier>(mut carrier: C, framing: Framing) -> Result<Bytes, C::Error> {
    let sendable = carrier.ceiling().min(framing.size(MAX_PAYLOAD));
    let smallest = framing.min_size();
    // Nearly always the first question is the last.
    if largest_of(&mut carrier, &[sendable])?.is_some() {
        return Ok(sendable);
    }
    let common = COMMON.iter().map(|mtu| framing.size_of_mtu(*mtu));
    let mut sizes: Vec<Bytes> = common.filter(|size| *size < sendable && *size > smallest).collect();
    sizes.push(smallest);
    let Some(mut low) = largest_of(&mut carrier, &sizes)? else { return Err(carrier.nothing_arrives()) };
    let mut high = sizes.iter().copied().filter(|size| *size > low).min().unwrap_or(sendable);
    // `low` arrives, `high` does not. Seven sizes at a time cost no more time than one.
    while high.0 - low.0 > 1 {
        let step = (high.0 - low.0).div_ceil(8);
        let between: Vec<Bytes> =
            (1..8).map(|i| Bytes(low.0 + i * step)).filter(|size| *size < high).collect();
        let found = largest_of(&mut carrier, &between)?.unwrap_or(low);
        high = between.into_iter().find(|size| *size > found).unwrap_or(high);
        low = found;
    }
    Ok(low)
}

/// The largest of `sizes` that arrives.
fn largest_of<C: Carrier>(carrier: &mut C, sizes: &[Bytes]) -> Result<Option<Bytes>, C::Error> {
    let packet = |size: &Bytes| Departure { pause: Nanos::from_millis(1), train: Train::burst(*size, 1) };
    let fleet: Vec<Departure> = std::iter::repeat_n(sizes.iter().map(packet), COPIES).flatten().collect();
    let arrived = carrier.arrives(&fleet)?;
    let sizes = fleet.iter().map(|departure| departure.train.bytes());
    Ok(sizes.zip(arrived).filter(|(_, arrived)| *arrived).map(|(size, _)| size).max())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    /// Carries what is at most `mtu` long, and loses a third of the rest, in no order that the search could fall in
    /// step with.
    struct Narrow {
        mtu: u64,
        interface: u64,
        count: u32,
        framing: Framing,
    }

    impl Carrier for Narrow {
        type Error = &'static str;

        fn arrives(&mut self, fleet: &[Departure]) -> Result<Vec<bool>, &'static str> {
            let largest = self.framing.size_of_mtu(self.mtu);
            let fates = fleet.iter().map(|departure| {
                self.count += 1;
                let lost = (self.count.wrapping_mul(2_654_435_761) >> 16).is_multiple_of(3);
                departure.train.bytes() <= largest && !lost
            });
            Ok(fates.collect())
        }

        fn nothing_arrives(&self) -> &'static str {
            "nothing"
        }

        fn ceiling(&self) -> Bytes {
            self.framing.size_of_mtu(self.interface)
        }
    }

    #[test]
    fn finds_every_mtu_exactly() {
        let framing = Framing::of(IpAddr::from([127, 0, 0, 1]));
        for mtu in [46, 47, 300, 576, 577, 1279, 1280, 1399, 1437, 1500, 1501, 8999, 9000] {
            let path = Narrow { mtu, interface: 9000, count: 0, framing };
            assert_eq!(search(path, framing), Ok(framing.size_of_mtu(mtu)));
        }
        let path = Narrow { mtu: 45, interface: 1500, count: 0, framing };
        assert_eq!(search(path, framing), Err("nothing"));
    }
}
