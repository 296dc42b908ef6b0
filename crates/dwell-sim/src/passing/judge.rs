//! What a reader says of handshakes, held against the truth.

use super::truth::{HalfTruth, Truth, WhyUnknown};
use dwell_core::Nanos;
use dwell_core::tcp::{Ending, Endpoint, Half, Handshake};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::RangeInclusive;

/// How one kind of half was told, over many handshakes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HalfTally {
    /// Connections in which it can be known.
    pub knowable: u64,
    /// Those of them in which it was told exactly, and right.
    pub found: u64,
    /// Told exactly and right, although nothing that passed proves it.
    pub lucky: u64,
    /// Told exactly, and wrong; or a bound that the truth exceeds.
    pub wrong: u64,
    /// As wrong, but where the tap missed what was answered, and nothing that passed in time shows it: no reader
    /// could know.
    pub hidden: u64,
    /// Told as a bound that holds.
    pub bounded: u64,
    /// Told as one of two, of which one is true, or what is true lies between them: a SYN/ACK that a timer repeats comes
    /// after the SYN's answer was lost, and before the answer to the SYN's repetition.
    pub withheld: u64,
    /// Told as one of two, and what is true is neither of them, nor between them. It is no value, and counted apart:
    /// a SYN/ACK may be the timer's, of which the first was lost before it came here, and then answers none of the SYNs.
    pub neither: u64,
    /// Connections in which it cannot be known, by the reason.
    pub unknowable: BTreeMap<WhyUnknown, u64>,
}

impl HalfTally {
    /// What share of what can be known was found.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.knowable == 0 { 1.0 } else { self.found as f64 / self.knowable as f64 }
    }

    /// Counts what another counted.
    pub fn add(&mut self, other: &Self) {
        self.knowable += other.knowable;
        self.found += other.found;
        self.lucky += other.lucky;
        self.wrong += other.wrong;
        self.hidden += other.hidden;
        self.bounded += other.bounded;
        self.withheld += other.withheld;
        self.neither += other.neither;
        for (why, count) in &other.unknowable {
            *self.unknowable.entry(*why).or_default() += count;
        }
    }
}

impl fmt::Display for HalfTally {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { knowable, found, lucky, wrong, hidden, bounded, withheld, neither, .. } = self;
        let share = self.share() * 100.0;
        write!(
            to,
            "{wrong:>4} wrong, {hidden:>4} hidden, found {found:>7} of {knowable:>7} ({share:6.2} %), "
        )?;
        write!(to, "{lucky:>5} lucky, {bounded:>6} bounded, {withheld:>5} one of two, {neither:>4} neither")
    }
}

/// Something wrong that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// A half.
    Half {
        /// Which one.
        half: &'static str,
        /// What was said.
        said: Box<Handshake>,
        /// What is true.
        truth: Box<Truth>,
    },
    /// There was no such connection at this probe.
    NoSuchConnection(Box<Handshake>),
    /// It was told as established before.
    Twice(Box<Handshake>),
}

type Name = (Endpoint, Endpoint, u32);

struct Case {
    truth: Truth,
    established: bool,
    /// Of each half, whether it was found.
    found: [bool; 3],
}

/// Judges what a reader says of what passed one probe.
#[derive(Default)]
pub struct Judge {
    cases: Vec<Case>,
    by_name: HashMap<Name, usize>,
    tallies: BTreeMap<(&'static str, &'static str), HalfTally>,
    wrong: Vec<Wrong>,
    /// Handshakes that were told.
    said: u64,
}

/// The label of all of them.
const ALL: &str = "all";

impl Judge {
    /// A connection that passes, before anything is said of it.
    pub fn expect(&mut self, truth: Truth) {
        for (half, told) in truth.halves() {
            for label in truth.labels.iter().chain([&ALL]) {
                let tally = self.tallies.entry((label, half)).or_default();
                match told.why {
                    None => tally.knowable += 1,
                    Some(why) => *tally.unknowable.entry(why).or_default() += 1,
                }
            }
        }
        let Truth { client, server, isn_client, syn_data, .. } = truth;
        // A reader that has not seen the SYN knows its number by what acknowledges it, its data included.
        for isn in [isn_client, isn_client.wrapping_add(syn_data)] {
            self.by_name.insert((client, server, isn), self.cases.len());
        }
        self.cases.push(Case { truth, established: false, found: [false; 3] });
    }

    /// What a reader says.
    pub fn hear(&mut self, said: &Handshake) {
        self.said += 1;
        let Some(case) = self.by_name.get(&(said.client, said.server, said.isn_client)) else {
            return self.hear_unnamed(said);
        };
        let case = &mut self.cases[*case];
        if said.ending == Ending::Established {
            if case.established {
                self.wrong.push(Wrong::Twice(Box::new(*said)));
            }
            case.established = true;
        }
        let halves = [said.server_half, said.client_half, said.total];
        for (index, ((half, truth), told)) in case.truth.halves().into_iter().zip(halves).enumerate() {
            let verdict = match Verdict::of(told, truth) {
                Verdict::Wrong | Verdict::Neither if case.truth.is_hidden() => Verdict::Hidden,
                verdict => verdict,
            };
            let first = verdict != Verdict::Found || !case.found[index];
            case.found[index] |= verdict == Verdict::Found;
            for label in case.truth.labels.iter().chain([&ALL]) {
                let tally = self.tallies.entry((label, half)).or_default();
                if first && let Some(count) = verdict.count(tally) {
                    *count += 1;
                }
            }
            if verdict == Verdict::Wrong {
                let truth = Box::new(case.truth.clone());
                self.wrong.push(Wrong::Half { half, said: Box::new(*said), truth });
            }
        }
    }

    /// What has the name of no connection: one that both ends opened may be told from the other side, and is right if
    /// its values are. What no reader could know is counted as such, as where it is told from this side.
    fn hear_unnamed(&mut self, said: &Handshake) {
        let swapped = self.cases.iter().rev().find(|case| {
            (case.truth.client, case.truth.server) == (said.server, said.client)
                && case.truth.server_half.why == Some(WhyUnknown::SimultaneousOpen)
                && said.isn_server.is_none_or(|isn| isn == case.truth.isn_client)
        });
        let Some(Case { truth, .. }) = swapped else {
            return self.wrong.push(Wrong::NoSuchConnection(Box::new(*said)));
        };
        let told = [said.client_half, said.server_half, said.total];
        let wrong =
            truth.halves().into_iter().zip(told).filter_map(|((half, truth), told)| {
                (Verdict::of(told, truth) == Verdict::Wrong).then_some(half)
            });
        if !truth.is_hidden() {
            if wrong.count() > 0 {
                self.wrong.push(Wrong::NoSuchConnection(Box::new(*said)));
            }
            return;
        }
        for half in wrong {
            for label in truth.labels.iter().chain([&ALL]) {
                self.tallies.entry((label, half)).or_default().hidden += 1;
            }
        }
    }

    /// By label and half, how it was told; the label `all` counts every connection.
    #[must_use]
    pub fn tallies(&self) -> &BTreeMap<(&'static str, &'static str), HalfTally> {
        &self.tallies
    }

    /// The tally of all connections for one half.
    #[must_use]
    pub fn all(&self, half: &'static str) -> HalfTally {
        self.tallies.get(&(ALL, half)).cloned().unwrap_or_default()
    }

    /// What was wrong, in the order in which it was said.
    #[must_use]
    pub fn wrong(&self) -> &[Wrong] {
        &self.wrong
    }

    /// How many handshakes were told of ends between which there was none, or a second time, and how many at all.
    #[must_use]
    pub fn misnamed(&self) -> (u64, u64) {
        let is_misnamed = |wrong: &&Wrong| matches!(wrong, Wrong::NoSuchConnection(_) | Wrong::Twice(_));
        (self.wrong.iter().filter(is_misnamed).count() as u64, self.said)
    }

    /// Connections of which a half could be known, and was not told.
    pub fn missed(&self) -> impl Iterator<Item = (&'static str, &Truth)> {
        self.cases.iter().flat_map(|case| {
            let halves = case.truth.halves().into_iter().zip(case.found);
            halves
                .filter(|((_, half), found)| half.known.is_some() && !found)
                .map(|((name, _), _)| (name, &case.truth))
        })
    }
}

fn between(one: Nanos, other: Nanos) -> RangeInclusive<Nanos> {
    one.min(other)..=one.max(other)
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Nothing,
    Found,
    Lucky,
    Wrong,
    Hidden,
    Bounded,
    Withheld,
    Neither,
}

impl Verdict {
    fn of(told: Half, truth: &HalfTruth) -> Self {
        let right = |value: &Nanos| truth.values.contains(value);
        match told {
            Half::Unknown => Self::Nothing,
            Half::Exact(value) if !right(&value) => Self::Wrong,
            Half::Exact(_) if truth.known.is_some() => Self::Found,
            Half::Exact(_) => Self::Lucky,
            Half::AtMost(value) if value < truth.least => Self::Wrong,
            Half::AtMost(_) => Self::Bounded,
            // Where no answer passed there is no value to hold it against.
            Half::OneOf(..) if truth.values.is_empty() => Self::Withheld,
            Half::OneOf(one, other)
                if truth.values.iter().any(|value| between(one, other).contains(value)) =>
            {
                Self::Withheld
            }
            Half::OneOf(..) => Self::Neither,
        }
    }

    fn count(self, tally: &mut HalfTally) -> Option<&mut u64> {
        Some(match self {
            Self::Nothing => return None,
            Self::Found => &mut tally.found,
            Self::Lucky => &mut tally.lucky,
            Self::Wrong => &mut tally.wrong,
            Self::Hidden => &mut tally.hidden,
            Self::Bounded => &mut tally.bounded,
            Self::Withheld => &mut tally.withheld,
            Self::Neither => &mut tally.neither,
        })
    }
}
