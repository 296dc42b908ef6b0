//! Whether the load of the narrow link is all that trains met.

use super::Busy;
use super::unparted::Another;
use super::waiting::{HOST, allowed, longer, often_waited, waited};
use crate::stats::quantile::median;
use crate::stream::line::Line;

/// Waits and trains that say of one link, in standard errors and together, what it says by chance in a tenth of runs.
const SIGNS: f64 = 1.28;

/// The sum of three signs that a link which is loaded alone reaches by chance in a tenth of runs, where the packets of others are as
/// large as ours (in fewer where they are smaller), with the few trains of a test and with more of them; the sum from which on more are
/// asked for; and the most that the strain of a test counts for.
const THREE: f64 = 0.6;
const THREE_OF_MORE: f64 = 0.2;
const DOUBTFUL: f64 = 0.0;
const STRAINED: f64 = 3.0;

/// Of a quarter of the packets hosts hold up some, too: for no longer than so many times what they make most wait.
const MUCH: f64 = 2.0;

impl Busy {
    /// What shows that the narrow link's load is not all there is: packets that wait longer than it explains, or bursts that come as it
    /// alone does not make them.
    pub(super) fn elsewhere(&self, line: &Line) -> Option<String> {
        let another = self.samples.another();
        let allowed = allowed(line, self.ours(line), self.cold(), another == Some(Another::MuchCloser));
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
        if (self.longer(line)? + self.samples.sooner(line)) / 2f64.sqrt() > SIGNS {
            return Some(String::from(
                "packets wait longer, and slower trains met more load, than one link makes likely together",
            ));
        }
        let likely = if self.trial.doubted() { THREE_OF_MORE } else { THREE };
        (self.together(line)? > likely).then(|| {
            String::from(
                "packets wait longer, slower trains met more load, and trains at what seems free are held up by more, than one link makes \
                 likely together",
            )
        })
    }

    /// Whether that other link is loaded in bursts, which hold trains of any rate up, or let them come on faster: they test nothing.
    pub(super) fn is_jerked(&self) -> bool {
        self.samples.vary() && self.samples.line().is_some_and(|line| self.elsewhere(&line).is_some())
    }

    /// Whether a quarter of the packets wait much longer than hosts make them: on a link that leaves less free than a slower one carries, which is
    /// loaded by half or more, a quarter does and more.
    pub(super) fn waits(&self) -> bool {
        often_waited(&self.samples.firsts).is_some_and(|waited| waited > MUCH * HOST.max(self.cold()))
    }

    /// Whether more trains of the test would show what its few leave open.
    pub(super) fn is_doubtful(&self, line: &Line) -> bool {
        !self.trial.doubted()
            && !self.samples.bursty()
            && self.together(line).is_some_and(|sum| sum > DOUBTFUL)
    }

    /// The sum of three signs, in standard errors. Waits count for half: by how much they exceed what one link explains goes by the size of
    /// the others' packets, which is not known.
    fn together(&self, line: &Line) -> Option<f64> {
        let strained = self.trial.strained(line.noise)?.min(STRAINED);
        Some(self.longer(line)? / 2.0 + self.samples.surplus()? + strained)
    }

    /// By how many standard errors packets waited longer than the line's load explains.
    fn longer(&self, line: &Line) -> Option<f64> {
        let firsts = &self.samples.firsts;
        let share = self.samples.share();
        Some(longer(line, share, self.ours(line), self.cold(), waited(firsts)?, firsts.len()))
    }

    /// The share of the link that our trains take, over the pauses between them.
    fn ours(&self, line: &Line) -> f64 {
        self.sending.packets as f64 * line.own.value / self.sending.pauses.as_f64()
    }

    /// How long the sender's core is busy with the first of packets that it was given at once.
    fn cold(&self) -> f64 {
        median(&self.samples.cold).unwrap_or(0.0)
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
    fn one_packet_that_a_host_held_up_is_no_other_link() {
        let mut busy = seen(|_| OWN, 0.3, 40e3);
        assert_eq!(told(&busy), None);
        busy.samples.firsts[5].1 = 20e6;
        assert_eq!(told(&busy), None);
        busy.samples.firsts[9].1 = 20e6;
        assert!(told(&busy).unwrap().contains("wait longer"));
    }

    /// A measurement whose slower trains met so much load, and of whose test so many trains were held up by so much.
    fn tested(slower: f64, trains: usize, strain: f64) -> Busy {
        let mut busy = seen(|_| OWN, slower, 40e3);
        let samples = busy.samples.full.iter_mut().chain(busy.samples.near.iter_mut().flatten());
        samples.for_each(|sample| sample.scatter = 0.013 * OWN.powi(2));
        busy.trial.at(0.6 / OWN, trains);
        let input = OWN / 0.6;
        for _ in 0..trains {
            let output = input * (1.0 + strain);
            busy.trial.see(&[], Some(Sample { input, output, gaps: 21.0, blur: 0.0, scatter: 0.0 }));
        }
        busy
    }

    #[test]
    fn signs_that_are_too_weak_alone_count_together() {
        assert_eq!(told(&tested(0.3, 2, 0.0)), None);
        assert!(told(&tested(0.3, 2, 0.1)).unwrap().contains("held up by more"));
        // Slower trains that met less say the contrary.
        assert_eq!(told(&tested(0.2, 2, 0.1)), None);
    }

    #[test]
    fn what_few_trains_of_a_test_leave_open_more_of_them_tell() {
        let doubtful = |busy: &Busy| busy.is_doubtful(&busy.samples.line().unwrap());
        let open = |trains: usize| tested(0.36, trains, 7e-4);
        assert_eq!(told(&open(2)), None);
        assert!(doubtful(&open(2)) && !doubtful(&tested(0.3, 2, 0.0)));
        assert!(told(&open(10)).unwrap().contains("held up by more"));
        assert!(!doubtful(&open(10)) && told(&tested(0.3, 10, 0.0)).is_none());
    }
}
