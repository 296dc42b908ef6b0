//! Flows of which something was forgotten: what repeats it looks like the first.

use super::super::FlowHash;
use crate::unit::Nanos;

/// Bits for each handshake that there is room for.
const EACH: usize = 256;

/// Flows that had to give way for good, of late: two bits for each. It may say yes of a flow that did not, of one in a
/// thousand where four have given way for each that there is room for; never no of one that did.
#[derive(Debug)]
pub(super) struct Forgotten {
    /// Of this span of time, and of the one before it. What is not used takes no memory: it is not touched.
    spans: [Box<[u64]>; 2],
    /// When this span began; `None` before anything was forgotten.
    since: Option<Nanos>,
    /// How long one is.
    span: Nanos,
}

impl Forgotten {
    /// Remembers flows for so long at least.
    pub(super) fn new(handshakes: usize, span: Nanos) -> Self {
        let words = (handshakes.min(1 << 24) * EACH / 64).max(1).next_power_of_two();
        let none = || vec![0; words].into_boxed_slice();
        Self { spans: [none(), none()], since: None, span }
    }

    /// A flow gives way for good.
    pub(super) fn note(&mut self, flow: FlowHash, now: Nanos) {
        let since = *self.since.get_or_insert(now);
        if now - since > self.span {
            self.spans.swap(0, 1);
            self.spans[0].fill(0);
            // Nothing has been forgotten for as long again.
            if now - since > self.span * 2 {
                self.spans[1].fill(0);
            }
            self.since = Some(now);
        }
        for bit in self.bits(flow) {
            self.spans[0][bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether it may have.
    pub(super) fn has(&self, flow: FlowHash, now: Nanos) -> bool {
        let is_of_late = self.since.is_some_and(|since| now - since <= self.span * 2);
        let is_in = |span: &[u64]| self.bits(flow).iter().all(|bit| span[bit / 64] >> (bit % 64) & 1 != 0);
        is_of_late && self.spans.iter().any(|span| is_in(span))
    }

    const fn bits(&self, flow: FlowHash) -> [usize; 2] {
        // There are a power of two.
        let last = self.spans[0].len() * 64 - 1;
        [flow.0 as usize & last, flow.0.rotate_left(16) as usize & last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_of_late_is_known_and_little_else() {
        let flow = |number: u32| FlowHash(number.wrapping_mul(0x9e37_79b1));
        let (second, mut forgotten) = (Nanos::from_secs(1), Forgotten::new(1 << 10, Nanos::from_secs(10)));
        assert!(!forgotten.has(flow(1), second));
        (0..4_096).for_each(|number| forgotten.note(flow(number), second));
        assert!((0..4_096).all(|number| forgotten.has(flow(number), second * 5)));
        let others = (10_000..20_000).filter(|number| forgotten.has(flow(*number), second)).count();
        assert!(others < 50, "{others} of 10,000");
        // Another span begins, and a third.
        forgotten.note(flow(5_000), second * 12);
        assert!(forgotten.has(flow(7), second * 12) && forgotten.has(flow(5_000), second * 12));
        forgotten.note(flow(5_001), second * 23);
        assert!(!forgotten.has(flow(7), second * 23) && forgotten.has(flow(5_000), second * 23));
        assert!(!forgotten.has(flow(5_001), second * 60));
        forgotten.note(flow(5_002), second * 60);
        assert!(!forgotten.has(flow(5_001), second * 60));
    }
}
