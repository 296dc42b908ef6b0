//! Which trains are sent, round by round.

use super::back_to_back::Passage;
use super::dispersion::Dispersion;
use super::verdict::end_link;
use super::{EndLink, PairSizes};
use crate::report::Vantage;
use crate::stats::Estimate;
use crate::train::{Departure, Train};
use crate::unit::Nanos;

/// Packets of a train, least and most: the most still fits into a socket buffer of Linux's default size, 212,992 bytes
/// at 2,304 for each full packet.
const TRAIN: (usize, usize) = (6, 80);

/// Packets of the burst that ends the first round.
const FIRST_BURST: usize = 12;

/// Bursts of each size in the second round.
const BURSTS: usize = 2;

/// Half width of an interval, as a share, that is narrow enough to stop. The doubt about the inter-frame gap alone takes
/// 0.4 %.
const SURE: f64 = 0.01;

/// A train should last so long: an application that sleeps for less than a quarter of a burst is seen through.
const SPAN: Nanos = Nanos::from_millis(3);

impl EndLink {
    /// The two largest packets one behind the other: they show the pace.
    fn full(&self) -> PairSizes {
        (self.facts.max_size, self.facts.max_size)
    }

    /// Single probes of every trailing size, and a burst: through a wake-up that is longer than a pair, only that shows
    /// the pace for the other rounds.
    pub(super) fn first_round(&self) -> Vec<Departure> {
        let sizes = self.sweep.behind_largest().chain([self.full()]);
        let sizes: Vec<PairSizes> = sizes.collect();
        let pairs = sizes.iter().cycle().take(self.config.probes * sizes.len());
        let pairs = pairs.map(|(heading, trailing)| Departure {
            pause: self.config.pause,
            train: Train::pair(*heading, *trailing, Nanos::ZERO),
        });
        let pause = self.config.pause * FIRST_BURST as i64;
        let burst = Departure { pause, train: Train::burst(self.facts.max_size, FIRST_BURST) };
        pairs.chain([burst]).collect()
    }

    /// Nanoseconds that the path takes for a byte, as the first round showed it. Every stamp serves here: a host can
    /// hide the link, and then it looks faster than it is.
    pub(super) fn shown_pace(&self) -> f64 {
        let shown = [Vantage::Application, Vantage::Capture]
            .into_iter()
            .flat_map(|vantage| [self.pairs.typical(self.full(), vantage), self.large.typical(vantage)]);
        shown.flatten().fold(1.0, f64::max) / Dispersion::framed(self.facts.max_size)
    }

    /// `group` again and again for about [`SPAN`] on the link that the first round showed, and a pause before it, so that
    /// both take no more than the load's share.
    fn train(&self, group: &Train) -> Departure {
        let once =
            group.packets.iter().map(|packet| Dispersion::framed(packet.size) * self.pace).sum::<f64>();
        let packets = group.packets.len();
        let times = ((SPAN.as_f64() / once) as usize).clamp(TRAIN.0 / packets, TRAIN.1 / packets);
        let share = if self.config.load > 0.0 { self.config.load } else { 1.0 };
        let pause = Nanos::from_f64(times as f64 * once / share).max(self.config.pause);
        Departure { pause, train: Train { packets: group.packets.repeat(times), ..group.clone() } }
    }

    fn compound(&self, (heading, trailing): PairSizes) -> Departure {
        self.train(&Train::pair(heading, trailing, Nanos::ZERO))
    }

    fn bursts(&self) -> [Departure; 2] {
        // An even number, as trains of pairs have it.
        [self.large.size, self.small.size].map(|size| self.train(&Train::burst(size, 2)))
    }

    pub(super) fn second_round(&self) -> Vec<Departure> {
        let pairs = self.sweep.pairs().into_iter().map(|sizes| self.compound(sizes));
        pairs.chain((0..BURSTS).flat_map(|_| self.bursts())).collect()
    }

    /// The trains that may still change the answer: none where it leaves no doubt.
    pub(super) fn another_round(&self) -> Vec<Departure> {
        let seen = self.seen();
        let sure = |rate: &Estimate| rate.half_width() < SURE * rate.value;
        if self.arrived == 0 || end_link(&seen).is_some_and(|(rate, _)| sure(&rate)) {
            return Vec::new();
        }
        let deciding = match seen.pairs {
            Some(Passage::EitherOr { place, .. } | Passage::BackToBack { place, .. }) => {
                self.sweep.deciding(place).to_vec()
            }
            // Floors that are missing may come.
            None => self.sweep.pairs(),
            Some(Passage::Apart | Passage::Hidden) => Vec::new(),
        };
        let narrowest_is_known =
            seen.link.is_some_and(|shown| !shown.parted && sure(&shown.dispersion.rate()));
        let pairs = deciding.into_iter().map(|sizes| self.compound(sizes));
        if narrowest_is_known {
            pairs.clone().chain(pairs).collect()
        } else {
            pairs.chain(self.bursts()).collect()
        }
    }
}
