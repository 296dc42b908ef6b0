//! How large a packet the path carries: found by sending, because routers may drop what is too large and say
//! nothing.

use crate::unit::ETHERNET_OVERHEAD;
use crate::{Bytes, Departure, Nanos, Train};

/// What carries the search's packets.
pub trait Carrier {
    /// What can go wrong.
    type Error;

    /// Which of these single packets arrive; the direction that they go is the carrier's to know.
    ///
    /// # Errors
    /// When it can carry nothing any more.
    fn arrives(&mut self, fleet: &[Departure]) -> Result<Vec<bool>, Self::Error>;

    /// What it means when not even the smallest does.
    fn nothing_arrives(&self) -> Self::Error;

    /// The largest size on the wire that is worth an attempt.
    fn ceiling(&self) -> Bytes;

    /// The smallest that there is.
    fn floor(&self) -> Bytes;
}

/// MTUs that are common: Ethernet's, its tunnels', IPv6's least, jumbo frames, the loopback's.
const COMMON: [u64; 12] = [65_535, 9_216, 9_000, 4_352, 1_500, 1_492, 1_480, 1_460, 1_420, 1_400, 1_280, 576];

/// Copies of each size, so that loss is not taken for an MTU: at 50 % loss one size in 64 is misjudged.
const COPIES: usize = 6;

/// The largest packet that arrives, exactly, on the wire.
///
/// # Errors
/// The carrier's, and that nothing arrives.
pub fn search<C: Carrier>(mut carrier: C) -> Result<Bytes, C::Error> {
    let (sendable, smallest) = (carrier.ceiling(), carrier.floor());
    // Nearly always the first question is the last.
    if largest_of(&mut carrier, &[sendable])?.is_some() {
        return Ok(sendable);
    }
    let common = COMMON.iter().map(|mtu| Bytes(*mtu) + ETHERNET_OVERHEAD);
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
    use crate::unit::ETHERNET_MIN;

    /// Carries what is at most `mtu` long, and loses a third of the rest, in no order that the search could fall in
    /// step with.
    struct Narrow {
        mtu: u64,
        interface: u64,
        count: u32,
    }

    impl Carrier for Narrow {
        type Error = &'static str;

        fn arrives(&mut self, fleet: &[Departure]) -> Result<Vec<bool>, &'static str> {
            let largest = Bytes(self.mtu) + ETHERNET_OVERHEAD;
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
            Bytes(self.interface) + ETHERNET_OVERHEAD
        }

        fn floor(&self) -> Bytes {
            ETHERNET_MIN
        }
    }

    #[test]
    fn finds_every_mtu_exactly() {
        for mtu in [46, 47, 300, 576, 577, 1279, 1280, 1399, 1437, 1500, 1501, 8999, 9000] {
            let path = Narrow { mtu, interface: 9000, count: 0 };
            assert_eq!(search(path), Ok(Bytes(mtu) + ETHERNET_OVERHEAD));
        }
        let path = Narrow { mtu: 45, interface: 1500, count: 0 };
        assert_eq!(search(path), Err("nothing"));
    }
}
