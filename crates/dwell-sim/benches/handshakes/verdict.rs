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

    /// A line of what is wrong, found and missing of each half.
    pub(super) fn print(&self, name: &str, said: &[Said], packets: u64, took: Duration) {
        let mut found = vec![[false; 3]; self.truths.len()];
        let mut wrong = [0_u64; 3];
        for one in said {
            let cases = self.by_ends.get(&(one.client, one.server)).map_or(&[][..], Vec::as_slice);
            let named = |case: &&usize| {
                let Truth { isn_client, syn_data, .. } = self.truths[**case];
                one.isn.is_none_or(|isn| isn == isn_client || isn == isn_client.wrapping_add(syn_data))
            };
            let cases: Vec<usize> = cases.iter().filter(named).copied().collect();
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
                wrong[half] += u64::from(!right && !taste);
            }
        }
        let known = |half: usize| {
            self.truths.iter().filter(move |truth| truth.halves()[half].1.known.is_some()).count()
        };
        let both = |half: usize| {
            let pairs = self.truths.iter().zip(&found);
            pairs.filter(|(truth, found)| truth.halves()[half].1.known.is_some() && found[half]).count()
        };
        let text =
            [0, 1, 2].map(|half| format!("{} wrong, {} missing", wrong[half], known(half) - both(half)));
        let rate = packets as f64 / took.as_secs_f64();
        println!("{name:>10} {:>40} {:>28} {:>28} {rate:>12.0}", text[0], text[1], text[2]);
    }
}
