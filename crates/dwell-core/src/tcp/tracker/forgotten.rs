//! Flows of which something was forgotten: what repeats it looks like the first.

use super::super::FlowHash;
use crate::unit::Nanos;

/// Bits for each handshake that there is room for.
const EACH: usize = 256;

/// What is held of a connection's number where its SYN/ACK gave way as well.
const ANSWERED: u32 = 0x9e37_79b9;

/// Bits that are looked at together, of which each that was forgotten has one in every word: next to each other in memory, so that it is waited for
/// once.
type Line = [u64; WORDS];
const WORDS: usize = 8;

/// Connections, by flow and the client's number, that had to give way for good, of late: eight bits of one line for each. It may say yes of one
/// that did not, of one in five million where four have given way for each that there is room for; never no of one
/// that did. (Of a million flows 120 others have the hash of one of them, at the mean: the flow alone is not enough.)
#[derive(Clone, Debug)]
pub(super) struct Forgotten {
    /// Of this span of time, and of the one before it. What is not used takes no memory: it is not touched.
    spans: [Box<[Line]>; 2],
    /// When this span began; `None` before anything was forgotten.
    since: Option<Nanos>,
    /// How long one is.
    span: Nanos,
}

impl Forgotten {
    /// Remembers flows for so long at least.
    pub(super) fn new(handshakes: usize, span: Nanos) -> Self {
        let lines = (handshakes.min(1 << 24) * EACH / (64 * WORDS)).max(1).next_power_of_two();
        let none = || vec![[0; WORDS]; lines].into_boxed_slice();
        Self { spans: [none(), none()], since: None, span }
    }

    /// One gives way for good.
    pub(super) fn note(&mut self, flow: FlowHash, isn_client: u32, now: Nanos) {
        let since = *self.since.get_or_insert(now);
        // Or the clock was set back: what is far ahead is as far away.
        let since = (now - since).abs();
        if since > self.span {
            self.spans.swap(0, 1);
            self.spans[0].fill([0; WORDS]);
            // Nothing has been forgotten for as long again.
            if since > self.span * 2 {
                self.spans[1].fill([0; WORDS]);
            }
            self.since = Some(now);
        }
        let (place, bits) = self.bits(flow, isn_client);
        self.spans[0][place].iter_mut().zip(bits).for_each(|(word, bit)| *word |= bit);
    }

    /// One gives way for good after its SYN/ACK.
    pub(super) fn note_answered(&mut self, flow: FlowHash, isn_client: u32, now: Nanos) {
        self.note(flow, isn_client, now);
        self.note(flow, isn_client ^ ANSWERED, now);
    }

    /// Whether one may have after its SYN/ACK.
    pub(super) fn has_answered(&self, flow: FlowHash, isn_client: u32, now: Nanos) -> bool {
        self.has(flow, isn_client ^ ANSWERED, now)
    }

    /// Whether it may have.
    pub(super) fn has(&self, flow: FlowHash, isn_client: u32, now: Nanos) -> bool {
        let is_of_late = self.since.is_some_and(|since| now.is_near(since, self.span * 2));
        let (place, bits) = self.bits(flow, isn_client);
        let is_in = |span: &[Line]| span[place].iter().zip(bits).all(|(word, bit)| word & bit != 0);
        is_of_late && self.spans.iter().any(|span| is_in(span))
    }

    /// Its line, and its bits there.
    fn bits(&self, flow: FlowHash, isn_client: u32) -> (usize, Line) {
        // Its halves are independent of each other, also where somebody gives all of his SYNs one number.
        let place = mixed(u64::from(flow.0) << 32 | u64::from(isn_client));
        let bits = mixed(place);
        // There are a power of two.
        let line = place as usize & (self.spans[0].len() - 1);
        (line, std::array::from_fn(|word| 1 << (bits >> (6 * word) & 63)))
    }
}

/// SplitMix64's last step (Stafford's mix 13): each bit of a word changes each bit of what comes of it in half of all cases.
const fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(number: u32) -> FlowHash {
        FlowHash(number.wrapping_mul(0x9e37_79b1))
    }

    #[test]
    fn what_was_forgotten_of_late_is_known_and_little_else() {
        let (second, mut forgotten) = (Nanos::from_secs(1), Forgotten::new(1 << 10, Nanos::from_secs(10)));
        assert!(!forgotten.has(flow(1), 9, second));
        (0..4_096).for_each(|number| forgotten.note(flow(number), 9, second));
        assert!((0..4_096).all(|number| forgotten.has(flow(number), 9, second * 5)));
        let answered = (0..4_096).filter(|number| forgotten.has_answered(flow(*number), 9, second * 5));
        assert_eq!(answered.count(), 0);
        forgotten.note_answered(flow(20_001), 9, second);
        assert!(forgotten.has_answered(flow(20_001), 9, second) && forgotten.has(flow(20_001), 9, second));
        let others = (10_000..20_000).filter(|number| forgotten.has(flow(*number), 9, second)).count();
        assert_eq!(others, 0);
        // The same ports' next connection.
        let others = (0..4_096).filter(|number| forgotten.has(flow(*number), 10, second)).count();
        assert_eq!(others, 0);
        // Another span begins, and a third.
        forgotten.note(flow(5_000), 9, second * 12);
        assert!(forgotten.has(flow(7), 9, second * 12) && forgotten.has(flow(5_000), 9, second * 12));
        forgotten.note(flow(5_001), 9, second * 23);
        assert!(!forgotten.has(flow(7), 9, second * 23) && forgotten.has(flow(5_000), 9, second * 23));
        assert!(!forgotten.has(flow(5_001), 9, second * 60));
        forgotten.note(flow(5_002), 9, second * 60);
        assert!(!forgotten.has(flow(5_001), 9, second * 60));
    }

    /// The figures of the book, with `--nocapture`: of 20 million others, where four, and eight, were forgotten for each that there is room for.
    #[test]
    fn hardly_any_other_is_taken_for_one_that_was_forgotten() {
        let (others, second) = (20_000_000_u32, Nanos::from_secs(1));
        for (each, most) in [(4, 10), (8, 500)] {
            let mut forgotten = Forgotten::new(1 << 17, second);
            (0..each << 17).for_each(|number| forgotten.note(flow(number), number, second));
            let other = |number: u32| FlowHash(number.wrapping_mul(0x85eb_ca6b));
            let taken = |number: &u32| forgotten.has(other(*number), *number | 1 << 30, second);
            let taken = (0..others).filter(taken).count();
            println!("{each} forgotten for each place: {taken} of {others} others");
            assert!(taken <= most, "{taken} of {others}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_fills_it_no_more_than_one_that_goes_on() {
        let (second, mut forgotten) = (Nanos::from_secs(1), Forgotten::new(16, Nanos::from_secs(10)));
        forgotten.note(flow(7), 9, second * 3_600);
        assert!(!forgotten.has(flow(7), 9, second));
        for number in 0..2_000 {
            forgotten.note(flow(number), 9, second * i64::from(number / 20));
        }
        assert!(forgotten.has(flow(1_999), 9, second * 99));
        let others = (10_000..20_000).filter(|number| forgotten.has(flow(*number), 9, second * 99)).count();
        assert!(others < 60, "{others} of 10,000");
    }
}
