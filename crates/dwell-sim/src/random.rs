//! One seed, many independent streams: each source of chance draws from a stream of its own, so that none shifts
//! another's draws.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of every stream.
pub(crate) type Stream = Xoshiro256PlusPlus;

/// The stream named `name` under `seed`.
pub(crate) fn stream(seed: u64, name: &[u64]) -> Stream {
    Stream::seed_from_u64(name.iter().fold(seed, |state, part| mix(state ^ mix(*part))))
}

/// A number that looks as if drawn, always the same for `name` under `seed`.
pub(crate) fn hash(seed: u64, name: u64) -> u64 {
    mix(seed ^ mix(name))
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014), after one step of its counter.
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
