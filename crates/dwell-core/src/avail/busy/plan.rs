//! How many trains are sent, how long they are, and how far apart.

use super::Config;
use super::trial::TEST;
use crate::train::Train;
use crate::unit::Nanos;

/// Packets of each burst of the first round, and how many bursts.
pub(super) const BURST: usize = 11;
pub(super) const BURSTS: usize = 3;

/// So many packets back to back head a train at the pace, so that the link is busy, and so many a slower one, the first of them
/// back to back: what they leave waiting keeps that link, and other loaded ones behind it, busy until the train does. Their gaps
/// do not count.
pub(super) const FULL_HEAD: usize = 2;
pub(super) const HEAD: usize = 9;
pub(super) const TOGETHER: usize = 3;

/// Mean pause before a train, and the least.
const PAUSE: Nanos = Nanos::from_millis(40);
pub(super) const LEAST_PAUSE: Nanos = Nanos::from_millis(15);

/// A train has so many packets behind its head, or what comes in so many nanoseconds, or in so many batches of the
/// receiver, whichever is most.
const PACKETS: usize = 15;

/// A train at the pace needs fewer packets, for each of its gaps counts: traffic that comes in bursts is told by many looks,
/// however short.
const LOOK: usize = 4;
const LASTING: f64 = 400e3;
const BATCHES: usize = 6;

/// Trains of a test are at least so long: shorter ones may be held up by what cross traffic does by chance.
pub(super) const TESTED: usize = 22;

/// Those of a search are so many times as long, but no longer than so many nanoseconds, unless the receiver's batches make them so: of what
/// these make trains last longer no more than such a share of the time is taken.
const LENGTHENED: usize = 4;
const LONG: f64 = 5e6;
const SHARE: f64 = 0.04;

/// So many slower trains make the line, at the least and at the most, and so many at the pace come before them.
const TRAINS: (usize, usize) = (7, 48);
const FULL: usize = 8;

/// A train, and what came with it by chance, leaves at least so many packets waiting.
const LEFT: f64 = 12.0;

/// No more than so much of the link is taken for loaded, when a train waits until the queue of the last is gone.
const LOADED: f64 = 0.9;

/// What is sent on one path.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Plan {
    /// Packets of a train, behind its head.
    pub(super) packets: usize,
    /// The same of a train at the pace.
    pub(super) look: usize,
    /// Packets of a train of the test.
    pub(super) tested: usize,
    /// The same of a train of a search.
    pub(super) searched: usize,
    /// No train has more but for the receiver's batches.
    most: usize,
    /// Trains at the pace, and so many more where they alone count: they take the time and packets of slower ones.
    pub(super) full: usize,
    pub(super) more: usize,
    /// Trains at each spacing nearer to what is free.
    pub(super) near: [usize; 2],
    /// Mean pause before a train, beside the time in which the queue of the last goes.
    pub(super) pause: Nanos,
    /// Nanoseconds that a packet takes of the link.
    pace: f64,
    /// What the link has free, as a share.
    free: f64,
}

impl Plan {
    /// For a link that takes `pace` nanoseconds a packet, of which `share` is loaded, and a receiver that reads `batch`
    /// packets at once if it reads several.
    pub(super) fn of(config: &Config, pace: f64, share: f64, batch: Option<usize>) -> Self {
        let pace = pace.max(1.0);
        let lasting = (LASTING / pace) as usize;
        let least = lasting.max(batch.unwrap_or(0) * BATCHES);
        let (packets, look) = (PACKETS.max(least), LOOK.max(least));
        let budget = config.budget(pace);
        let tested = TESTED.max(packets);
        let most = ((LONG / pace) as usize).max(TESTED * LENGTHENED);
        let searched = (tested * LENGTHENED).min(most).max(tested);
        let beside = BURST * BURSTS + tested * TEST;
        let beside = beside + FULL * (FULL_HEAD + look);
        let trains = (budget.saturating_sub(beside) / (HEAD + packets)).clamp(TRAINS.0, TRAINS.1);
        let first = trains * 2 / 7;
        let pause = config.lasting / (trains + FULL + TEST) as i64;
        Self {
            packets,
            look,
            tested,
            searched,
            most,
            full: FULL,
            more: trains * (HEAD + packets) / (FULL_HEAD + look),
            near: [first, trains - first],
            pause: pause.clamp(LEAST_PAUSE, PAUSE).max(beside_long(packets, most, pace)),
            pace,
            free: 1.0 - share.clamp(0.0, LOADED),
        }
    }

    /// The same for a search, where so much of the link is free.
    pub(super) fn of_search(self, free: f64) -> Self {
        let pause = self.pause.max(beside_long(self.searched, self.most, self.pace));
        Self { free: free.clamp(1.0 - LOADED, 1.0), pause, ..self }
    }

    /// How long the link takes for what a train leaves waiting: all of it but what was sent meanwhile.
    pub(super) fn drained(&self, train: &Train) -> Nanos {
        let left = train.packets.len() as f64 * self.pace - self.free * train.lasts().as_f64();
        Nanos::from_f64(left.max(LEFT * self.pace) / self.free)
    }
}

/// The mean pause before a train of so many packets, of which more than `most` are there for a NIC's long batches alone.
fn beside_long(packets: usize, most: usize, pace: f64) -> Nanos {
    Nanos::from_f64(packets.saturating_sub(most) as f64 * pace / SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;
    use crate::unit::Bytes;

    fn sent(plan: &Plan) -> usize {
        plan.full * (FULL_HEAD + plan.look)
            + (plan.near[0] + plan.near[1]) * (HEAD + plan.packets)
            + plan.tested * TEST
            + BURST * BURSTS
    }

    #[test]
    fn what_is_sent_is_what_may_be() {
        let config = Config::default();
        for pace in [1.2e6, 1.2e5] {
            assert!(sent(&Plan::of(&config, pace, 0.5, None)) <= config.packets);
        }
        let fast = Plan::of(&config, 1.2e4, 0.5, None);
        let allowed = 0.02 * 1e9 / 1.2e4;
        assert!(sent(&fast) as f64 <= allowed, "{fast:?}");
    }

    #[test]
    fn many_short_looks_take_no_more_than_few_trains() {
        let plan = Plan::of(&Config::default(), 1.2e5, 0.5, None);
        let slower = plan.near[0] + plan.near[1];
        assert!(plan.more > 3 * slower, "{plan:?}");
        assert!(plan.more * (FULL_HEAD + plan.look) <= slower * (HEAD + plan.packets), "{plan:?}");
    }

    #[test]
    fn a_queue_has_the_time_that_it_takes() {
        let plan = Plan::of(&Config::default(), 100.0, 0.5, None);
        let train = |gap| stream(Bytes(1_500), Nanos(gap), 21);
        // Twenty-one came at once, of which half of the link sends one in 200; or some were sent meanwhile; or as fast as they came.
        assert_eq!(plan.drained(&train(0)), Nanos(4_200));
        assert_eq!(plan.drained(&train(50)), Nanos(3_200));
        assert_eq!(plan.drained(&train(200)), Nanos(2_400));
    }

    #[test]
    fn trains_hold_several_batches() {
        assert!(Plan::of(&Config::default(), 1.2e4, 0.5, Some(16)).packets >= 96);
    }
}
