//! The gaps of back-to-back pairs, size by size: what the published methods read their figures from, and the papers
//! print beside them.

use dwell_core::truth::Ground;
use dwell_core::{Bytes, Passage, Vantage, gap};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The gaps of one trailing size in one run, as the filter of papers/000 (2.3) leaves them, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SizeGaps {
    pub(super) method: String,
    pub(super) stamps: Vantage,
    /// s_t.
    pub(super) size: Bytes,
    /// G_low.
    pub(super) low: f64,
    /// G_avg.
    pub(super) average: f64,
    /// G_high.
    pub(super) high: f64,
    /// Serialisation and gap between frames on the end link, where it has a rate.
    pub(super) expected: Option<f64>,
}

/// Of the pairs that `method` sent, size by size.
pub(super) fn of<'a>(
    passages: impl Iterator<Item = &'a Passage>,
    method: &str,
    stamps: Vantage,
    ground: &Ground,
) -> Vec<SizeGaps> {
    let mut sizes: BTreeMap<Bytes, Vec<f64>> = BTreeMap::new();
    for passage in passages {
        let Some((_, trailing)) = gap::compound_probe(&passage.observation) else { continue };
        let [first, second] = passage.observation.fates.as_slice() else { continue };
        sizes.entry(trailing).or_default().extend(gap::between(first, second, stamps));
    }
    let filtered = sizes.into_iter().filter_map(|(size, gaps)| {
        let filtered = gap::filter(&gaps, gap::FILTER_BIN.as_f64())?;
        let rounded = |ns: f64| (ns * 1e3).round() / 1e3;
        Some(SizeGaps {
            method: method.to_owned(),
            stamps,
            size,
            low: rounded(filtered.low()),
            average: rounded(filtered.avg),
            high: rounded(filtered.high()),
            expected: ground.on_end_link(size).map(rounded),
        })
    });
    filtered.collect()
}
