//! The lab measures itself: what was asked against what the kernel's stamps say was delivered.

mod checked;
mod delivered;
mod narrowest;
mod nic;
mod part;
mod table;
mod train;
mod verdict;

pub use checked::{LabCheck, Verdict};
pub use delivered::{Delivered, Spread};
pub use nic::NicCheck;
pub use train::TrainCheck;

use crate::error::LabError;
use crate::lane::Carried;
use crate::salvo::{self, SMALLEST, Shot};
use crate::testbed::{Carriage, Testbed};
use delivered::against;
use dwell_core::{BitRate, Bytes, Nanos};
use dwell_sim::{LinkSpec, Scenario};
use narrowest::narrowest;
use part::{Ground, Part, empty_path};

/// How much is sent. All of it together takes one to two seconds on a fast path.
const PAIRS: usize = 60;
const LONE: usize = 40;
const TRAINS: usize = 5;
const TRAIN: usize = 50;
const WINDOW: u64 = 128;
const FLOOD: Nanos = Nanos::from_millis(250);

/// Measures the testbed that carries `scenario`.
pub(crate) fn check(testbed: &Testbed, scenario: &Scenario) -> Result<LabCheck, LabError> {
    let links = &scenario.links;
    let ground = Ground::of(scenario);
    let size = ground.size;
    let narrow = narrowest(links).map(|(_, link)| link);
    let pairs = Part::run(testbed, &vec![vec![size; 2]; PAIRS], ground)?;
    let small_pairs = Part::run(testbed, &vec![vec![SMALLEST; 2]; PAIRS], ground)?;
    let alternating = (0..LONE * 2).map(|turn| vec![if turn % 2 == 0 { size } else { SMALLEST }]);
    let lone = Part::run(testbed, &alternating.collect::<Vec<_>>(), ground)?;
    let trains = Part::run(testbed, &vec![vec![size; TRAIN]; TRAINS], ground)?;
    let bursts = nic::bursts(testbed, scenario)?;
    let one_by_one = TrainCheck::of(testbed, scenario)?;
    let flood = salvo::flood(testbed, SMALLEST, WINDOW, FLOOD)?;

    let all = || [&pairs, &small_pairs, &lone, &trains, &bursts].into_iter().flat_map(|part| &part.shots);
    let lost = all().filter(|(shot, _)| shot.came.is_none()).count() as u64;
    let lost_as_asked =
        all().filter(|(_, asked)| asked.is_some_and(|asked| asked.arrival.is_none())).count() as u64;
    let occupied = narrow.as_ref().map_or(size, |link| link.framing.occupied(size));
    let one_way_delay = delays(lone.shots.iter().filter(|(shot, _)| shot.size == size));
    let mut check = LabCheck {
        scenario: scenario.name.clone(),
        carriage: testbed.carriage,
        cores: testbed.cores,
        real_time: testbed.real_time,
        cautions: testbed.cautions(),
        size,
        sent: all().count() as u64,
        lost_as_asked,
        lost_otherwise: lost.saturating_sub(lost_as_asked),
        dispersion: dispersion(testbed.carriage, &pairs, ground.rate.map(|rate| rate.time_for(occupied))),
        smallest_dispersion: dispersion(
            testbed.carriage,
            &small_pairs,
            narrow.and_then(|link| Some(link.rate?.time_for(link.framing.occupied(SMALLEST)))),
        ),
        one_way_delay,
        size_against_delay: size_against_delay(testbed.carriage, &lone, links, size),
        jitter: one_way_delay.map(|delay| Delivered {
            asked: delay.asked.map(|asked| same(asked.width())),
            delivered: same(delay.delivered.width()),
            error: delay.asked.map(|asked| same(delay.delivered.width() - asked.width())),
        }),
        nic: NicCheck::told(scenario.destination.nic, bursts.shots.iter()),
        rate_asked: ground.rate,
        rate_delivered: delivered_rate(&trains, occupied),
        trains: one_by_one,
        packets_per_second: per_second(flood.carried, flood.span),
        cost_per_packet: flood.processor_time / i64::try_from(flood.carried.max(1)).unwrap_or(i64::MAX),
        own_share: flood.processor_time.as_f64() / flood.span.as_f64(),
        verdicts: Vec::new(),
    };
    check.verdicts = verdict::on(&check, scenario);
    Ok(check)
}

fn same(time: Nanos) -> Spread {
    Spread { p25: time, median: time, p75: time }
}

fn per_second(count: u64, span: Nanos) -> u64 {
    (count as f64 / span.as_secs_f64()).round() as u64
}

fn delays<'a>(shots: impl Iterator<Item = &'a (Shot, Option<Carried>)>) -> Option<Delivered> {
    let delay = |(shot, asked): &(Shot, Option<Carried>)| {
        let asked = asked.and_then(|asked| Some(asked.arrival?.asked() - asked.entered));
        Some((shot.came? - shot.left?, asked))
    };
    against(&shots.filter_map(delay).collect::<Vec<_>>())
}

fn dispersion(carriage: Carriage, pairs: &Part, serialised: Option<Nanos>) -> Option<Delivered> {
    let gap = |pair: &[(Shot, Option<Carried>)]| {
        let [(first, before), (second, after)] = pair else { return None };
        let asked = match carriage {
            Carriage::Emulated => {
                let handed = |asked: &Option<Carried>| Some((*asked)?.arrival?.handed);
                handed(before).zip(handed(after)).map(|(before, after)| after - before)
            }
            Carriage::Tbf | Carriage::Htb => serialised,
            Carriage::Bridge => None,
        };
        Some((second.came? - first.came?, asked))
    };
    against(&pairs.bursts(2).filter_map(gap).collect::<Vec<_>>())
}

/// Neighbours of the two sizes, compared pair by pair.
fn size_against_delay(carriage: Carriage, lone: &Part, links: &[LinkSpec], size: Bytes) -> Option<Delivered> {
    let serialised = empty_path(links, size) - empty_path(links, SMALLEST);
    let difference = |pair: &[(Shot, Option<Carried>)]| {
        let [(large, asked_large), (small, asked_small)] = pair else { return None };
        let delay = |shot: &Shot| Some(shot.came? - shot.left?);
        let taken = |asked: Carried| Some(asked.arrival?.asked() - asked.entered);
        let asked = match carriage {
            Carriage::Emulated => {
                asked_large.zip(*asked_small).and_then(|(large, small)| Some(taken(large)? - taken(small)?))
            }
            Carriage::Tbf | Carriage::Htb => Some(serialised),
            Carriage::Bridge => None,
        };
        Some((delay(large)? - delay(small)?, asked))
    };
    against(&lone.bursts(2).filter_map(difference).collect::<Vec<_>>())
}

/// The median over the trains of what arrived, each packet with `occupied` bytes of the link.
fn delivered_rate(trains: &Part, occupied: Bytes) -> Option<BitRate> {
    let rate = |train: &[(Shot, Option<Carried>)]| {
        let stamps: Vec<Nanos> = train.iter().filter_map(|(shot, _)| shot.came).collect();
        let span = *stamps.iter().max()? - *stamps.iter().min()?;
        let bits = occupied.bits() as f64 * (stamps.len() - 1) as f64;
        (span > Nanos::ZERO).then(|| BitRate((bits / span.as_secs_f64()).round() as u64))
    };
    let mut rates: Vec<BitRate> = trains.bursts(TRAIN).filter_map(rate).collect();
    rates.sort_unstable();
    rates.get(rates.len() / 2).copied()
}
