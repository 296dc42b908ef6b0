//! What a reader said, held against the truth as far as its figures go.

use dwell_core::Nanos;
use dwell_core::tcp::Endpoint;
use dwell_sim::passing::Truth;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// What a reader said of a connection.
pub(super) struct Said {
    pub(super) client: Endpoint,
    pub(super) server: Endpoint,
    /// The client's initial sequence number, where it tells that.
    pub(super) isn: Option<u32>,
    /// Of server, client, total.
    pub(super) halves: [Option<Nanos>; 3],
    /// The digits that it prints.
    pub(super) tolerance: Nanos,
}

/// What is true.
pub(super) struct Truths {
    truths: Vec<Truth>,
    by_ends: HashMap<(Endpoint, Endpoint), Vec<usize>>,
}

impl Truths {
    pub(super) fn new(truths: Vec<Truth>) -> Self {
        let mut by_ends = HashMap::<_, Vec<usize>>::new();
        for (index, truth) in truths.iter().enumerate() {
            by_ends.entry((truth.client, truth.server)).or_default().push(index);
        }
        Self { truths, by_ends }
    }

    /// Holds what a reader said against the truth.
    pub(super) fn compare<'t>(&'t self, name: &'static str, said: &[Said]) -> Compared<'t> {
        let mut found = vec![[false; 3]; self.truths.len()];
        let mut wrong_of = vec![[0_u64; 3]; self.truths.len()];
        let mut wrong = [0_u64; 3];
        for one in said {
            let cases = self.cases(one);
            for half in 0..3 {
                let Some(value) = one.halves[half] else { continue };
                let near = |other: &Nanos| (*other - value).abs() <= one.tolerance;
                let mut right = false;
                for case in &cases {
                    let truth = self.truths[*case].halves()[half].1;
                    if truth.values.iter().any(near) {
                        right = true;
                        found[*case][half] = true;
                    }
                }
                // Who opened one that both ends opened is a matter of taste.
                let taste = cases.is_empty() && self.by_ends.contains_key(&(one.server, one.client));
                let is_hidden = cases.iter().any(|case| self.truths[*case].is_hidden());
                if !right && !taste && !is_hidden {
                    wrong[half] += 1;
                    cases.iter().for_each(|case| wrong_of[*case][half] += 1);
                }
            }
        }
        // What is too short for the digits that it prints looks like nothing.
        let least = said.first().map_or(Nanos::ZERO, |one| one.tolerance);
        // A reader may have no such figure at all.
        let tells = [0, 1, 2].map(|half| said.iter().any(|one| one.halves[half].is_some()));
        Compared { name, truths: &self.truths, found, wrong_of, wrong, least, tells }
    }

    /// The connections that it may be about.
    fn cases(&self, said: &Said) -> Vec<usize> {
        let cases = self.by_ends.get(&(said.client, said.server)).map_or(&[][..], Vec::as_slice);
        let named = |case: &&usize| {
            let Truth { isn_client, syn_data, .. } = self.truths[**case];
            said.isn.is_none_or(|isn| isn == isn_client || isn == isn_client.wrapping_add(syn_data))
        };
        let by_number: Vec<usize> = cases.iter().filter(named).copied().collect();
        // argus tells another number where the client's is the greatest but one: there its ends tell whose it is. Nowhere else.
        let is_misnamed = |case: &&usize| self.truths[**case].isn_client == u32::MAX - 1;
        match by_number.is_empty() {
            true => cases.iter().filter(is_misnamed).copied().collect(),
            false => by_number,
        }
    }
}

/// What a reader said beside the truth.
pub(super) struct Compared<'t> {
    name: &'static str,
    truths: &'t [Truth],
    /// Of each connection, which halves it told right.
    found: Vec<[bool; 3]>,
    /// How many it told wrong.
    wrong_of: Vec<[u64; 3]>,
    /// Of all: of some no connection is known.
    wrong: [u64; 3],
    least: Nanos,
    tells: [bool; 3],
}

impl Compared<'_> {
    /// A line of what is wrong and missing of each half, and one of the connections with nothing peculiar about
    /// them: what a reader says of those is right, or what it prints is misread here.
    pub(super) fn print(&self, packets: u64, took: Duration) {
        let row = |name: &str, wrong: [u64; 3], missing: [u64; 3], end: &str| {
            let text = [0, 1, 2].map(|half| format!("{} wrong, {} missing", wrong[half], missing[half]));
            println!("{name:>10} {:>40} {:>28} {:>28} {end:>12}", text[0], text[1], text[2]);
        };
        let rate = format!("{:.0}", packets as f64 / took.as_secs_f64());
        let any = |_: &Truth, _: Nanos| true;
        row(self.name, self.wrong, [0, 1, 2].map(|half| self.missing(half, any).missing), &rate);
        let plainly =
            [0, 1, 2].map(|half| self.missing(half, |truth, known| is_plain(truth) && known > self.least));
        let wrong = [0, 1, 2].map(|half| self.wrong(half, is_plain));
        row("plain ones", wrong, [0, 1, 2].map(|half| plainly[half].missing), "");
        let is_misread = (0..3).any(|half| {
            let Missing { known, missing } = plainly[half];
            self.tells[half] && (wrong[half] + missing) * 1_000 > known * MISREAD
        });
        if is_misread {
            println!(
                "{:>10}: what it prints may be misread here; its figures are not to be trusted",
                self.name
            );
        }
    }

    /// Of all halves of the connections with this label that it tells of at all.
    fn of_label(&self, label: &str) -> (u64, Missing) {
        let has = |truth: &Truth| truth.labels.contains(&label);
        (0..3).filter(|half| self.tells[*half]).fold((0, Missing::default()), |(wrong, sum), half| {
            let Missing { known, missing } =
                self.missing(half, |truth, known| has(truth) && known > self.least);
            let sum = Missing { known: sum.known + known, missing: sum.missing + missing };
            (wrong + self.wrong(half, has), sum)
        })
    }

    fn wrong(&self, half: usize, of: impl Fn(&Truth) -> bool) -> u64 {
        let pairs = self.truths.iter().zip(&self.wrong_of);
        pairs.filter(|(truth, _)| of(truth)).map(|(_, wrong)| wrong[half]).sum()
    }

    fn missing(&self, half: usize, of: impl Fn(&Truth, Nanos) -> bool) -> Missing {
        let mut sum = Missing::default();
        for (truth, found) in self.truths.iter().zip(&self.found) {
            if truth.halves()[half].1.known.is_some_and(|known| of(truth, known)) {
                sum.known += 1;
                sum.missing += u64::from(!found[half]);
            }
        }
        sum
    }
}

/// How many figures can be known, and how many of these are not told.
#[derive(Copy, Clone, Default)]
struct Missing {
    known: u64,
    missing: u64,
}

/// What each reader makes of each behaviour: how many values it tells wrong, and which share of those that can be known it does not tell,
/// of the figures that it has at all. A connection can bear several labels.
pub(super) fn print_by_behaviour(readers: &[Compared<'_>]) {
    println!("\nBy behaviour: wrong, missing of what can be known");
    let names: String = readers.iter().map(|reader| format!("{:>18}", reader.name)).collect();
    println!("{:>18} {names}", "");
    let labels: BTreeSet<&str> =
        readers.iter().flat_map(|reader| reader.truths).flat_map(|truth| &truth.labels).copied().collect();
    for label in labels {
        let cells = readers.iter().map(|reader| {
            let (wrong, Missing { known, missing }) = reader.of_label(label);
            match known {
                0 => format!("{wrong:>8} {:>9}", "-"),
                _ => format!("{wrong:>8} {:>7.1} %", 100.0 * missing as f64 / known as f64),
            }
        });
        println!("{label:>18} {}", cells.collect::<String>());
    }
}

/// Of a thousand plain halves so many may be wrong or missing before a reader is thought misread.
const MISREAD: u64 = 10;

fn is_plain(truth: &Truth) -> bool {
    truth.labels == ["plain"]
}
