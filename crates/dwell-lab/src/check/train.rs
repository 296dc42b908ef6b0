//! Whether a lab carries what a train asks of it: packets that leave one after another, each by a call of its own, as
//! fast as the narrowest link takes them, beside the cross traffic that the scenario asks for, and come in their order.

use super::narrowest::narrowest;
use crate::error::LabError;
use crate::salvo::{self, Calls, Shot};
use crate::testbed::Testbed;
use dwell_core::stats::quantile::{mean, standard_deviation};
use dwell_core::{Bytes, Nanos};
use dwell_sim::{CrossSpec, LinkSpec, Scenario};
use serde::{Deserialize, Serialize};

/// How many are sent, and of how many packets: fewer than a queue drops.
const TRAINS: usize = 10;
const TRAIN: usize = 30;

/// Out of order now and then is a train that a method leaves out; more of them, and too few are left.
const DISORDERED: usize = TRAINS / 10;

/// What a kernel's bucket holds passes as it was sent: so many gaps are not looked at.
const HEAD: usize = 3;

/// They may come apart by so much more or less than the link makes them, as a share of what it takes for a packet: what a
/// method may be off at the median.
const PARTED: f64 = 0.05;

/// And by so many standard errors of what cross traffic does by chance.
const CHANCE: f64 = 2.5;

/// What became of trains.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainCheck {
    /// Size of their packets on the wire.
    pub size: Bytes,
    /// How far apart packets left, by the kernel's stamps: the median of the trains' means.
    pub left: Nanos,
    /// How far apart the narrowest link lets them go.
    pub served: Nanos,
    /// How far apart they came: the mean over whole trains.
    pub came: Nanos,
    /// The same as one link with this load makes it, which sends between two packets the second and what came of others since the
    /// first; `None` where others send what they get, or on several links.
    pub due: Option<Nanos>,
    /// Standard error of what came.
    pub error: Nanos,
    /// Trains that were sent.
    pub trains: usize,
    /// Of these, how many lost packets.
    pub lossy: usize,
    /// And of how many all packets came, by the kernel's stamps in another order than they were sent in.
    pub disordered: usize,
}

impl TrainCheck {
    /// Sends trains through `testbed`; `None` where `scenario` limits nothing, or the kernel gives no stamps.
    pub(crate) fn of(testbed: &Testbed, scenario: &Scenario) -> Result<Option<Self>, LabError> {
        let Some((place, narrow)) = narrowest(&scenario.links) else { return Ok(None) };
        let size = scenario.max_size();
        let Some(served) = narrow.rate.map(|rate| rate.time_for(narrow.framing.occupied(size))) else {
            return Ok(None);
        };
        let lasting = served * TRAIN as i64;
        // Each train finds the queue as if none of ours had been before it.
        let period = lasting * 4 + Nanos::from_millis(2);
        let way: Nanos = scenario.links.iter().map(|link: &LinkSpec| link.propagations().1).sum();
        let bursts = vec![vec![size; TRAIN]; TRAINS];
        let shots = salvo::fire(testbed, &bursts, Calls::Each, period, way * 2 + period)?;
        Ok(Self::told(&shots, size, served, load(&scenario.links, place)))
    }

    fn told(shots: &[Shot], size: Bytes, served: Nanos, load: Option<f64>) -> Option<Self> {
        let trains: Vec<&[Shot]> = shots.chunks_exact(TRAIN).collect();
        let span = |train: &&[Shot]| Some(train.last()?.left? - train.first()?.left?);
        let mut spans: Vec<Nanos> = trains.iter().filter_map(span).collect();
        spans.sort_unstable();
        let left = Nanos(spans.get(spans.len() / 2)?.0 / (TRAIN as i64 - 1));
        let whole = |train: &&&[Shot]| train.iter().all(|shot| shot.came.is_some());
        let disordered = |train: &&&[Shot]| train.windows(2).any(|two| two[1].came < two[0].came);
        let (lossy, disordered) = (
            trains.iter().filter(|train| !whole(train)).count(),
            trains.iter().filter(whole).filter(disordered).count(),
        );
        let gaps = (TRAIN - 1 - HEAD) as f64;
        let parted = |train: &&[Shot]| Some((train.last()?.came? - train[HEAD].came?).as_f64() / gaps);
        let came: Vec<f64> = trains.iter().filter(whole).filter_map(parted).collect();
        let error = standard_deviation(&came)? / ((came.len().max(2) - 1) as f64).sqrt();
        Some(Self {
            size,
            left,
            served,
            came: Nanos::from_f64(mean(&came)?),
            due: load.map(|load| served + Nanos::from_f64(load * left.as_f64())),
            error: Nanos::from_f64(error),
            trains: trains.len(),
            lossy,
            disordered,
        })
    }

    /// Whether a method that sends trains can be judged in this lab. (What a queue drops is the scenario's.)
    #[must_use]
    pub fn carried(&self) -> bool {
        self.left <= self.served && self.disordered <= DISORDERED
    }

    /// Whether the link parts packets as one with this load does; `None` where nobody can say what that would be. What it
    /// says is close to what methods rest on: a run that fails it is counted, or those that suit methods would be chosen.
    #[must_use]
    pub fn parted(&self) -> Option<bool> {
        let allowed = PARTED * self.served.as_f64() + CHANCE * self.error.as_f64();
        self.due.map(|due| (self.came - due).abs().as_f64() <= allowed)
    }

    /// The figures behind [`Self::carried`].
    #[must_use]
    pub fn reason(&self) -> String {
        let Self { size, left, served, trains, lossy, disordered, .. } = self;
        format!(
            "packets of {size}, sent one by one as fast as it goes, leave every {left}, where the narrowest link \
             takes {served} for each; of {trains} trains {lossy} lost packets and {disordered} came in another order"
        )
    }

    /// The figures behind [`Self::parted`].
    #[must_use]
    pub fn spacing(&self) -> String {
        let Self { size, came, error, due, .. } = self;
        let due = due.map_or(String::new(), |due| format!(", which the link and its load make {due}"));
        format!("packets of {size} in trains come every {came} +- {error}{due}")
    }
}

/// What others ask of the link at `place`, as a share of it, where they ask for nothing else and take nothing more.
fn load(links: &[LinkSpec], place: usize) -> Option<f64> {
    let is_loaded = |link: &LinkSpec| !link.cross.is_empty();
    let loaded = (0..links.len())
        .filter(|other| is_loaded(&links[*other]) || links[*other].parallel.iter().any(is_loaded));
    match loaded.collect::<Vec<_>>().as_slice() {
        [] => Some(0.0),
        [one] if *one == place => {
            let narrow = &links[place];
            let asked = |cross: &CrossSpec| narrow.bits_of(cross).filter(|bits| *bits > 0.0);
            let bits: f64 = narrow.cross.iter().map(asked).sum::<Option<f64>>()?;
            // Of parallel links each has its own.
            Some(bits / narrow.rate?.0 as f64)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trains whose packets leave every `left` and come every `came`, both in microseconds.
    fn shots(left: i64, came: i64) -> Vec<Shot> {
        let shot = |number: usize| {
            let (train, place) = ((number / TRAIN) as i64 * 10_000, (number % TRAIN) as i64);
            let at = |gap: i64| Some(Nanos::from_micros(train + place * gap));
            Shot { size: Bytes(1526), left: at(left), came: at(came) }
        };
        (0..TRAINS * TRAIN).map(shot).collect()
    }

    #[test]
    fn a_sender_slower_than_the_link_makes_no_train_for_it() {
        let served = Nanos::from_micros(12);
        let told = |left| TrainCheck::told(&shots(left, 12), Bytes(1526), served, None).unwrap();
        assert!(told(12).carried() && told(3).carried());
        assert!(!told(13).carried());
        assert_eq!(told(13).left, Nanos::from_micros(13));
    }

    #[test]
    fn parallel_links_may_be_the_narrowest() {
        let links = |balance: &str, cross: &str| {
            let text = format!(
                "name = 'p'\n[[links]]\nrate = '1 Gb/s'\n[[links]]\nbalance = '{balance}'\n\
                 parallel = [ {{ rate = '100 Mb/s'{cross} }}, {{ rate = '155 Mb/s' }} ]\n[[links]]\nrate = '1 Gb/s'\n"
            );
            Scenario::parse("p.toml", &text).unwrap().links
        };
        let narrow = |balance| {
            let (place, link) = narrowest(&links(balance, "")).unwrap();
            (place, link.rate.unwrap().0)
        };
        assert_eq!((narrow("packet"), narrow("flow")), ((1, 200_000_000), (1, 100_000_000)));
        // What others on one of them do to a train nobody can say.
        let loaded = links("packet", ", cross = [ { kind = 'poisson', load = '50 %' } ]");
        assert_eq!((load(&links("packet", ""), 1), load(&loaded, 1)), (Some(0.0), None));
    }

    #[test]
    fn order_counts_and_loss_is_told() {
        let served = Nanos::from_micros(12);
        let mut some = shots(3, 12);
        some[5].came = some[4].came.map(|came| came - Nanos(1));
        some[TRAIN * 3].came = None;
        let told = TrainCheck::told(&some, Bytes(1526), served, None).unwrap();
        assert_eq!((told.lossy, told.disordered, told.carried()), (1, 1, true));
        some[TRAIN + 5].came = some[TRAIN + 4].came.map(|came| came - Nanos(1));
        assert!(!TrainCheck::told(&some, Bytes(1526), served, None).unwrap().carried());
        // Without stamps at the sender nothing is known.
        some.iter_mut().for_each(|shot| shot.left = None);
        assert_eq!(TrainCheck::told(&some, Bytes(1526), served, None), None);
    }

    #[test]
    fn what_comes_between_packets_is_the_loads() {
        // Half of 10 us beside 100 of their own: 105.
        let (served, load) = (Nanos::from_micros(100), Some(0.5));
        let told = |came| TrainCheck::told(&shots(10, came), Bytes(1526), served, load).unwrap();
        assert_eq!(told(105).due, Some(Nanos::from_micros(105)));
        assert_eq!([101, 109, 111, 99].map(|came| told(came).parted()), [true, true, false, false].map(Some));
        assert!(told(111).carried(), "the run counts");
        assert!(told(111).spacing().contains("come every 111"), "{}", told(111).spacing());
        assert_eq!(TrainCheck::told(&shots(10, 111), Bytes(1526), served, None).unwrap().parted(), None);
    }
}
