//! What a reader said, held against the truth as far as its figures go.

use dwell_core::Nanos;
use dwell_core::tcp::Endpoint;
use dwell_sim::passing::Truth;
use std::collections::HashMap;
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

    /// A line of what is wrong, found and missing of each half, and one of the connections with nothing peculiar about
    /// them: what a reader says of those is right, or what it prints is misread here.
    pub(super) fn print(&self, name: &str, said: &[Said], packets: u64, took: Duration) {
        let mut found = vec![[false; 3]; self.truths.len()];
        let (mut wrong, mut plainly_wrong) = ([0_u64; 3], [0_u64; 3]);
        for one in said {
            let cases = self.by_ends.get(&(one.client, one.server)).map_or(&[][..], Vec::as_slice);
            let named = |case: &&usize| {
                let Truth { isn_client, syn_data, .. } = self.truths[**case];
                one.isn.is_none_or(|isn| isn == isn_client || isn == isn_client.wrapping_add(syn_data))
            };
            let by_number: Vec<usize> = cases.iter().filter(named).copied().collect();
            // argus tells another number where the client's is the greatest but one: there its ends tell whose it is. Nowhere else.
            let is_misnamed = |case: &&usize| self.truths[**case].isn_client == u32::MAX - 1;
            let cases: Vec<usize> = match by_number.is_empty() {
                true => cases.iter().filter(is_misnamed).copied().collect(),
                false => by_number,
            };
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
                let is = |what: fn(&Truth) -> bool| cases.iter().any(|case| what(&self.truths[*case]));
                if !right && !taste && !is(Truth::is_hidden) {
                    wrong[half] += 1;
                    plainly_wrong[half] += u64::from(is(is_plain));
                }
            }
        }
        let missing = |half: usize, of: &dyn Fn(&Truth, Nanos) -> bool| {
            let pairs = self.truths.iter().zip(&found);
            let known =
                pairs.filter(|(truth, _)| truth.halves()[half].1.known.is_some_and(|known| of(truth, known)));
            let (mut all, mut missing) = (0_u64, 0_u64);
            known.for_each(|(_, found)| (all, missing) = (all + 1, missing + u64::from(!found[half])));
            (all, missing)
        };
        // What is too short for the digits that it prints looks like nothing.
        let least = said.first().map_or(Nanos::ZERO, |one| one.tolerance);
        let plain = |truth: &Truth, known: Nanos| is_plain(truth) && known > least;
        let row = |name: &str, wrong: [u64; 3], missing: [u64; 3], end: &str| {
            let text = [0, 1, 2].map(|half| format!("{} wrong, {} missing", wrong[half], missing[half]));
            println!("{name:>10} {:>40} {:>28} {:>28} {end:>12}", text[0], text[1], text[2]);
        };
        let rate = format!("{:.0}", packets as f64 / took.as_secs_f64());
        row(name, wrong, [0, 1, 2].map(|half| missing(half, &|_, _| true).1), &rate);
        let plainly = [0, 1, 2].map(|half| missing(half, &plain));
        row("plain ones", plainly_wrong, plainly.map(|(_, missing)| missing), "");
        let is_misread = (0..3).any(|half| {
            let (all, missing) = plainly[half];
            // A reader may have no such figure at all.
            let says = said.iter().any(|one| one.halves[half].is_some());
            says && (plainly_wrong[half] + missing) * 1_000 > all * MISREAD
        });
        if is_misread {
            println!("{name:>10}: what it prints may be misread here; its figures are not to be trusted");
        }
    }
}

/// Of a thousand plain halves so many may be wrong or missing before a reader is thought misread.
const MISREAD: u64 = 10;

fn is_plain(truth: &Truth) -> bool {
    truth.labels == ["plain"]
}
