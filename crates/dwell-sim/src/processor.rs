//! A processor that others want too.

use crate::random::Stream;
use crate::scenario::BusySpec;
use dwell_core::Nanos;
use rand_distr::{Distribution, Exp1};

/// What a program has of its processor.
#[derive(Clone, Debug)]
pub(crate) struct Processor {
    busy: Option<Busy>,
}

/// The slices of the others, one after the other.
#[derive(Clone, Debug)]
struct Busy {
    slice: f64,
    between: f64,
    rng: Stream,
    /// The next slice that is not over.
    from: Nanos,
    to: Nanos,
}

impl Processor {
    pub(crate) fn new(spec: Option<BusySpec>, rng: Stream) -> Self {
        let busy = spec.filter(|spec| spec.share > 0.0).map(|BusySpec { share, slice }| {
            let slice = slice.as_f64();
            let between = slice * (1.0 - share) / share;
            let mut busy = Busy { slice, between, rng, from: Nanos::ZERO, to: Nanos::ZERO };
            busy.turn();
            busy
        });
        Self { busy }
    }

    /// When `work` is done that may begin at `at`; calls come in order of time.
    pub(crate) fn done(&mut self, at: Nanos, mut work: Nanos) -> Nanos {
        let (Some(busy), mut at) = (&mut self.busy, at) else { return at + work };
        loop {
            while busy.to <= at {
                busy.turn();
            }
            if at + work <= busy.from {
                return at + work;
            }
            work -= (busy.from - at).max(Nanos::ZERO);
            at = busy.to;
        }
    }
}

impl Busy {
    fn turn(&mut self) {
        let mut draw = |mean: f64| {
            let unit: f64 = Exp1.sample(&mut self.rng);
            Nanos::from_f64(unit * mean)
        };
        self.from = self.to + draw(self.between);
        // At least a nanosecond, so that time moves on.
        self.to = self.from + draw(self.slice).max(Nanos(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn a_program_gets_what_the_others_leave() {
        let spec = BusySpec { share: 0.4, slice: Nanos::from_micros(300) };
        let mut processor = Processor::new(Some(spec), stream(1, &[]));
        let mut at = Nanos::ZERO;
        for _ in 0..200_000 {
            at = processor.done(at, Nanos::from_micros(30));
        }
        // 6 s of work.
        assert!((9.7..10.3).contains(&at.as_secs_f64()), "{at}");
        let mut idle = Processor::new(None, stream(1, &[]));
        assert_eq!(idle.done(Nanos(5), Nanos(7)), Nanos(12));
    }
}
