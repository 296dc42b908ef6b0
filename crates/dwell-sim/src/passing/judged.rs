//! The tracker of handshakes, judged by what really was.

use super::{Judge, Population, Seen, Told};
use dwell_core::tcp::{Handshake, Limits, Tracker};

impl Population {
    /// What the tracker says at each probe, judged.
    #[must_use]
    pub fn judged(self) -> Vec<Judge> {
        self.judged_within(Limits::default())
    }

    /// The same of a tracker with these limits.
    #[must_use]
    pub fn judged_within(self, limits: Limits) -> Vec<Judge> {
        let mut probes: Vec<_> = (0..self.probes).map(|_| (Tracker::new(limits), Judge::default())).collect();
        let mut said: Vec<Handshake> = Vec::new();
        for told in self.passings() {
            match told {
                Told::Truth(truth) => probes[truth.probe].1.expect(*truth),
                Told::Passed(passed) => {
                    let (tracker, judge) = &mut probes[passed.probe];
                    let mut take = |handshake| said.push(handshake);
                    match &passed.what {
                        Seen::Segment(segment) => tracker.see(segment, &mut take),
                        Seen::Unreachable(message) => tracker.refused(message, &mut take),
                    }
                    said.drain(..).for_each(|handshake| judge.hear(&handshake));
                }
            }
        }
        let end = |(mut tracker, mut judge): (Tracker, Judge)| {
            tracker.finish(&mut |handshake| judge.hear(&handshake));
            judge
        };
        probes.into_iter().map(end).collect()
    }
}
