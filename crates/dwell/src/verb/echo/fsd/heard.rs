//! What was heard of pairs of probes, wherever from, and what they tell.

use anyhow::{Result, bail};
use dwell_core::fsd::{self, Crossed, Pair, Tally};
use dwell_core::{Circumstances, Report};
use std::net::IpAddr;

/// Under this name the circumstances keep whose messages were heard.
pub(super) const ROUTER: &str = "router";

/// Pairs, and what could not be used.
#[derive(Default)]
pub(super) struct Heard {
    /// Where.
    pub(super) circumstances: Circumstances,
    pub(super) hop: u8,
    pub(super) pairs: Vec<Pair>,
    pub(super) router: Option<IpAddr>,
    /// Of both taps; `None` of a record, which keeps only what was used.
    pub(super) tally: Option<Tally>,
    /// In the lab, what the router took by taps on either side of it, in nanoseconds.
    pub(super) truth: Option<f64>,
    pub(super) warnings: Vec<String>,
}

impl Heard {
    /// Of two taps, by their names.
    pub(super) fn of(world: &str, hop: u8, names: [String; 2], crossed: Crossed) -> Result<Self> {
        let Crossed { pairs, router, tally } = crossed;
        if pairs.is_empty() {
            bail!("{}", why_none(&tally, hop, &names));
        }
        let mut warnings = tally.unused();
        if tally.unanswered > 0 {
            warnings.push(
                "routers limit how many time-exceeded messages they send (Linux: one a second to one host): a longer \
                 --interval may lose fewer"
                    .to_owned(),
            );
        }
        let mut circumstances = Circumstances { world: world.to_owned(), ..Circumstances::default() };
        let notes = &mut circumstances.notes;
        for (place, name) in ["source's side", "destination's side"].into_iter().zip(names) {
            notes.insert(place.to_owned(), name);
        }
        if let Some(router) = router {
            notes.insert(ROUTER.to_owned(), router.to_string());
        }
        Ok(Self { circumstances, hop, pairs, router, tally: Some(tally), truth: None, warnings })
    }

    /// The method's report, with what could not be used among its warnings.
    pub(super) fn report(&self) -> Report {
        let mut report = fsd::report(&self.pairs);
        report.warnings.extend(self.warnings.iter().cloned());
        report
    }
}

/// Why there is not one pair, and what to do.
fn why_none(tally: &Tally, hop: u8, [near, far]: &[String; 2]) -> String {
    let Tally { asked, foreign, packets, .. } = tally;
    let unused = tally.unused();
    let unused = if unused.is_empty() { String::new() } else { format!(" ({})", unused.join("; ")) };
    let all = |count: u64| count == *asked;
    let why = if *asked == 0 {
        return format!("{near}: no probe of `dwell echo --fsd` among {} packets{unused}", packets[0]);
    } else if all(tally.lost) && *foreign > 0 {
        return format!(
            "the captures do not overlap: of {asked} pairs in {near} and {foreign} in {far} none is the same; capture \
             both during the same probes"
        );
    } else if all(tally.other_hop) {
        format!("no hop-limited probe passes {near} with {hop} hops left; --fsd counts the hops from there")
    } else if all(tally.lost) {
        "nothing of them reached the destination's side: networks filter packets that bear a source address which is \
         not theirs (BCP 38), and the router before D may; or the tap is not on their way"
            .to_owned()
    } else if all(tally.unanswered) {
        "the direct probes arrived, and no time-exceeded message: the router sends none, or it is filtered"
            .to_owned()
    } else if all(tally.not_expired) {
        format!(
            "the destination is no further away than {hop} hops, so that nothing expires on the way to it"
        )
    } else {
        format!("of {asked} pairs none was seen whole at both taps")
    };
    format!("{why}{unused}")
}
