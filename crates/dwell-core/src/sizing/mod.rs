//! Which packets to send, before one is sent: the sizes that keep a compound probe together, and what a path makes of
//! them (papers/000, sections 2.2 and 5).
//!
//! A path is a row of store-and-forward [`Link`]s, L_1 at the sender and L_n at the host under test; node i stands
//! between L_i and L_(i+1). The dispersion gap of a pair is the time between the last bit of P_h and the first bit of P_t.
//!
//! - [`ratio`]: the packet-size ratio alpha = s_h / s_t that keeps the dispersion gap at zero, (17) and (20)-(23).
//! - [`disperse`]: the dispersion gap and the intra-probe gap on each link, with and without cross traffic, (24)-(29).
//! - [`clock`]: the error that the resolution of the receiver's clock makes (section 7.1).
//!
//! # The inter-frame gap
//!
//! The paper's model knows no inter-frame gap: packets that follow each other back to back touch. On Ethernet gamma lies
//! between them, 12 bytes on every link, so 'no dispersion' is a dispersion gap of gamma. That changes (17)-(23) in one
//! way: every size counts with its gap, s + 12 in place of s. [`Link::bare`] is the paper's link, [`Link::ethernet`] one
//! with the gap; the equations are the same code.

pub mod clock;
mod dispersion;
pub mod ratio;

pub use dispersion::{Crossing, LinkGap, disperse, estimated_capacity};

use crate::unit::{BitRate, Bytes, ETHERNET_MIN, INTER_FRAME_GAP, Nanos};

/// One store-and-forward link.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// c_i, above zero.
    pub rate: BitRate,
    /// Smaller packets are padded to this size.
    pub least: Bytes,
    /// What must pass between two packets.
    pub gap: Bytes,
}

impl Link {
    /// The paper's link: packets take their own bytes and nothing else.
    #[must_use]
    pub const fn bare(rate: BitRate) -> Self {
        Self { rate, least: Bytes(0), gap: Bytes(0) }
    }

    /// Ethernet: frames of 72 bytes at least, preamble counted, and the inter-frame gap between them.
    #[must_use]
    pub const fn ethernet(rate: BitRate) -> Self {
        Self { rate, least: ETHERNET_MIN, gap: INTER_FRAME_GAP }
    }

    /// Nanoseconds from a packet's first bit to its last.
    fn time(&self, size: Bytes) -> f64 {
        self.rate.nanos_for(size.max(self.least))
    }

    /// Nanoseconds that a packet takes of the link, with the gap after it.
    #[must_use]
    pub fn occupied(&self, size: Bytes) -> f64 {
        self.time(size) + self.spacing()
    }

    /// gamma_i in nanoseconds.
    fn spacing(&self) -> f64 {
        self.rate.nanos_for(self.gap)
    }
}

/// The least that s_2 must be above s_1: 2 R c_n (section 2.1, phase 1, step 2), in whole bytes and at least one.
#[must_use]
pub fn step(resolution: Nanos, end_link: BitRate) -> Bytes {
    let bytes = 2.0 * resolution.as_secs_f64() * end_link.0 as f64 / 8.0;
    // A step that is whole in the equation shall not be raised by what floating point adds to it.
    Bytes(((bytes - 1e-6).ceil() as u64).max(1))
}

/// s_1 and s_2: the `usual` ones, s_1 no smaller than the path's smallest packet and s_2 - s_1 no smaller than
/// [`step`]. Where the larger is above `most`, s_1 goes down towards the smallest packet, then s_2 to the least step;
/// `None` where not even that fits.
#[must_use]
pub fn trailing_sizes(usual: [Bytes; 2], least: Bytes, step: Bytes, most: Bytes) -> Option<[Bytes; 2]> {
    let wanted = Bytes((usual[1] - usual[0]).0.max(step.0));
    let first = usual[0].max(least);
    if first + wanted <= most {
        return Some([first, first + wanted]);
    }
    let room = most.0.checked_sub(least.0)?;
    if room >= wanted.0 {
        return Some([most - wanted, most]);
    }
    (room >= step.0).then_some([least, most])
}

/// The smallest dispersion that a path delivers, and so the smallest application stage that `knee` can tell from none:
/// (s_min + gap) / c on its narrowest link. Packets that were sent closer together queue there, and leave it so far
/// apart; a link after it can add to that, none can take it back.
#[must_use]
pub fn smallest_stage(path: &[Link], smallest: Bytes) -> f64 {
    path.iter().map(|link| link.occupied(smallest)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_that_of_section_2_1() {
        // R = 1 us and c_n = 100 Mb/s: 200 bits.
        assert_eq!(step(Nanos(1_000), BitRate::from_mbps(100)), Bytes(25));
        assert_eq!(step(Nanos(1_000), BitRate::from_mbps(10)), Bytes(3), "2.5 bytes");
        assert_eq!(step(Nanos(1), BitRate::from_mbps(100)), Bytes(1));
    }

    #[test]
    fn trailing_sizes_fit_under_the_bound() {
        let sizes = |step, most| trailing_sizes([Bytes(87), Bytes(112)], Bytes(72), Bytes(step), Bytes(most));
        assert_eq!(sizes(1, 1500), Some([Bytes(87), Bytes(112)]));
        assert_eq!(sizes(250, 1500), Some([Bytes(87), Bytes(337)]), "a coarse clock");
        assert_eq!(sizes(1, 100), Some([Bytes(75), Bytes(100)]), "a narrow link before");
        assert_eq!(sizes(10, 90), Some([Bytes(72), Bytes(90)]), "hardly room");
        assert_eq!(sizes(25, 90), None);
        assert_eq!(sizes(1, 60), None);
    }

    #[test]
    fn the_smallest_stage_is_one_packet_on_the_narrowest_link() {
        let path = [100, 10, 1000].map(|mbps| Link::ethernet(BitRate::from_mbps(mbps)));
        // (72 + 12) B at 10 Mb/s.
        assert!((smallest_stage(&path, Bytes(72)) - 67_200.0).abs() < 1e-9);
    }
}
