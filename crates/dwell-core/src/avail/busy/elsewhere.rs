//! Whether the load of the narrow link is all that trains met.

use super::Busy;
use super::unparted::Another;
use super::waiting::{allowed, longer, waited};
use crate::stats::quantile::median;
use crate::stream::line::Line;

/// Waits and trains that say of one link, in standard errors and together, what it says by chance in a tenth of runs.
const SIGNS: f64 = 1.28;

/// The sum of three signs that a link which is loaded alone reaches by chance in a tenth of runs, where the packets of others are as
/// large as ours (in fewer where they are smaller); and the most that the strain of a test counts for.
const THREE: f64 = 0.6;
const STRAINED: f64 = 3.0;

impl Busy {
    /// What shows that the narrow link's load is not all there is: packets that wait longer than it explains, or bursts that come as it
    /// alone does not make them.
    pub(super) fn elsewhere(&self, line: &Line) -> Option<String> {
        let another = self.samples.another();
        let ours = self.sending.packets as f64 * line.own.value / self.sending.pauses.as_f64();
        let cold = median(&self.samples.cold).unwrap_or(0.0);
        let allowed = allowed(line, ours, cold, another == Some(Another::MuchCloser));
        if let Some(waited) = waited(&self.samples.firsts).filter(|waited| *waited > allowed) {
            return Some(format!(
                "packets wait longer than the load of the narrow link explains (at the mean {:.0} us before a train)",
                waited / 1e3
            ));
        }
        if !matches!(another, None | Some(Another::Closer)) || self.samples.apart(line) {
            return Some(String::from("bursts come otherwise than one link makes them"));
        }
        if self.samples.bursty() {
            return None;
        }
        if self.samples.steeper() {
            return Some(String::from("slower trains met more load than those at the narrow link's pace"));
        }
        let waits = self.samples.firsts.len();
        let longer = longer(line, self.samples.share(), ours, cold, waited(&self.samples.firsts)?, waits);
        if (longer + self.samples.sooner(line)) / 2f64.sqrt() > SIGNS {
            return Some(String::from(
                "packets wait longer, and slower trains met more load, than one link makes likely together",
            ));
        }
        let strained = self.trial.strained(line.noise)?.min(STRAINED);
        // Waits count for half: by how much they exceed what one link explains goes by the size of the others' packets, which is not known.
        (longer / 2.0 + self.samples.surplus()? + strained > THREE).then(|| {
            String::from(
                "packets wait longer, slower trains met more load, and trains at what seems free are held up by more, than one link makes \
                 likely together",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{OWN, seen};
    use super::*;
    use crate::stream::sample::Sample;

    fn told(busy: &Busy) -> Option<String> {
        busy.elsewhere(&busy.samples.line().unwrap())
    }

    #[test]
    fn each_sign_of_another_link_is_told() {
        let even = |_: usize| OWN;
        assert_eq!(told(&seen(even, 0.3, 40e3)), None);
        assert!(told(&seen(even, 0.3, 500e3)).unwrap().contains("wait longer"));
        let parted = |number: usize| if number.is_multiple_of(3) { 3.0 * OWN } else { OWN };
        assert!(told(&seen(parted, 0.3, 40e3)).unwrap().contains("bursts"));
        assert!(told(&seen(even, 0.45, 40e3)).unwrap().contains("slower trains"));
        // Packets that come a little nearer to each other are no sign but to those that wait as well.
        let closer = |number: usize| 0.79 * OWN + 0.04 * OWN * number as f64;
        assert_eq!(told(&seen(closer, 0.3, 40e3)), None);
        assert!(told(&seen(closer, 0.3, 180e3)).unwrap().contains("together"));
    }

    #[test]
    fn signs_that_are_too_weak_alone_count_together() {
        let tested = |slower: f64, strain: f64| {
            let mut busy = seen(|_| OWN, slower, 40e3);
            let samples = busy.samples.full.iter_mut().chain(busy.samples.near.iter_mut().flatten());
            samples.for_each(|sample| sample.scatter = 0.013 * OWN.powi(2));
            busy.trial.at(0.6 / OWN, 2);
            let input = OWN / 0.6;
            for _ in 0..2 {
                let output = input * (1.0 + strain);
                busy.trial.see(&[], Some(Sample { input, output, gaps: 21.0, blur: 0.0, scatter: 0.0 }));
            }
            told(&busy)
        };
        assert_eq!(tested(0.3, 0.0), None);
        assert!(tested(0.3, 0.1).unwrap().contains("held up by more"));
        // Slower trains that met less say the contrary.
        assert_eq!(tested(0.2, 0.1), None);
    }
}
