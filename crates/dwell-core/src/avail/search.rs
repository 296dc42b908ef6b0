//! The search of pathload: between a rate that is free and one that is not, around rates of which neither is true.

/// What a fleet at one rate showed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// R > A.
    Above,
    /// R < A.
    Below,
    /// Now the one, now the other: A varied around R while the fleet went on.
    Grey,
}

/// What is known so far (ToN 2003, section IV-C), in bits per second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Search {
    /// R_min: the highest rate known to be free.
    pub(super) free: f64,
    /// R_max: the lowest rate known to be too much.
    pub(super) full: Option<f64>,
    /// G_min and G_max.
    pub(super) grey: Option<(f64, f64)>,
    /// omega: R_min and R_max need not be nearer to each other.
    pub(super) resolution: f64,
    /// chi: nor need the grey region's ends be nearer to R_min and R_max.
    pub(super) grey_resolution: f64,
}

impl Search {
    pub(super) fn new(resolution: f64, grey_resolution: f64) -> Self {
        Self { free: 0.0, full: None, grey: None, resolution, grey_resolution }
    }

    /// Takes a fleet at `rate` into account.
    pub(super) fn learn(&mut self, rate: f64, verdict: Verdict) {
        match verdict {
            Verdict::Above => self.full = Some(self.full.map_or(rate, |full| full.min(rate))),
            Verdict::Below => self.free = self.free.max(rate),
            Verdict::Grey => {
                let (low, high) = self.grey.unwrap_or((rate, rate));
                self.grey = Some((low.min(rate), high.max(rate)));
            }
        }
        // A later fleet may contradict the grey region of an earlier one: it speaks of now.
        self.grey = self.grey.and_then(|(low, high)| {
            let (low, high) = (low.max(self.free), self.full.map_or(high, |full| high.min(full)));
            (low <= high && high > self.free && self.full.is_none_or(|full| low < full))
                .then_some((low, high))
        });
        if self.full.is_some_and(|full| full <= self.free) {
            match verdict {
                Verdict::Above => self.free = 0.0,
                _ => self.full = None,
            }
        }
    }

    /// The next rate to try; `None`: all is known that was wanted.
    pub(super) fn next(&self) -> Option<f64> {
        let Some(full) = self.full else {
            // Nothing was too much yet: double.
            return Some(2.0 * self.grey.map_or(self.free, |(_, high)| high));
        };
        if full - self.free <= self.resolution {
            return None;
        }
        match self.grey {
            None => Some((full + self.free) / 2.0),
            Some((_, high)) if full - high > self.grey_resolution => Some((full + high) / 2.0),
            Some((low, _)) if low - self.free > self.grey_resolution => Some((low + self.free) / 2.0),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs the search against a bandwidth that varies between two figures.
    fn found(low: f64, high: f64, start: f64) -> (Search, usize) {
        let mut search = Search::new(1.0, 1.5);
        let mut rate = start;
        for fleets in 1.. {
            let verdict = match rate {
                rate if rate > high => Verdict::Above,
                rate if rate < low => Verdict::Below,
                _ => Verdict::Grey,
            };
            search.learn(rate, verdict);
            match search.next() {
                Some(next) => rate = next,
                None => return (search, fleets),
            }
        }
        unreachable!()
    }

    proptest! {
        #[test]
        fn the_range_holds_what_is_free(low in 5.0..80.0f64, width in 0.0..20.0f64, start in 1.0..100.0f64) {
            let high = low + width;
            let (search, fleets) = found(low, high, start);
            let full = search.full.unwrap();
            prop_assert!(search.free <= low && full >= high, "{search:?}");
            // To either side no further off than the resolution of a search with a grey region.
            prop_assert!(low - search.free <= 3.0 && full - high <= 3.0, "{search:?}");
            prop_assert!(fleets < 30);
        }
    }
}
