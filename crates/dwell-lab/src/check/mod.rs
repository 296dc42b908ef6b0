//! The lab measures itself: what was asked against what the kernel's stamps say was delivered.

mod checked;
mod delivered;
mod narrowest;
mod nic;
mod table;
mod train;
mod verdict;

pub use checked::{LabCheck, Verdict};
pub use delivered::{Delivered, Spread};
pub use nic::NicCheck;
pub use train::TrainCheck;

use crate::error::LabError;
use crate::lane::Carried;
use crate::nic_stage::has_nic;
use crate::salvo::{self, Calls, SMALLEST, Shot};
use crate::testbed::{Carriage, Testbed};
use delivered::against;
use dwell_core::{BitRate, Bytes, Direction, Nanos};
use dwell_sim::nic::NicSpec;
use dwell_sim::{LabNic, LinkSpec, Scenario};
use narrowest::narrowest;

/// How much is sent. All of it together takes one to two seconds on a fast path.
const PAIRS: usize = 60;
const LONE: usize = 40;
const TRAINS: usize = 5;
const TRAIN: usize = 50;
const WINDOW: u64 = 128;
const FLOOD: Nanos = Nanos::from_millis(250);
/// The longest that one part may take.
const LONGEST: Nanos = Nanos::from_secs(3);

/// What one part of the check sent, with what the engine asked of each packet, where there is an engine.
struct Part {
    shots: Vec<(Shot, Option<Carried>)>,
}

impl Part {
    fn run(testbed: &Testbed, bursts: &[Vec<Bytes>], ground: Ground) -> Result<Self, LabError> {
        let bytes = bursts.iter().map(|burst| burst.iter().copied().sum::<Bytes>()).max().unwrap_or_default();
        // Twice what a burst takes, so that each finds the queues as if nothing of ours had been before.
        let taken = ground.rate.map_or(Nanos::ZERO, |rate| rate.time_for(bytes));
        let period = (taken * 2).max(Nanos::from_millis(2)) + ground.rest;
        let count = i64::try_from(bursts.len()).unwrap_or(i64::MAX);
        let affordable = (LONGEST.0 / period.0.max(1)).clamp(4, count) as usize;
        testbed.write_down(true);
        let patience = ground.delay * 2 + taken * 4 + ground.rest;
        let shots = salvo::fire(testbed, &bursts[..affordable], Calls::One, period, patience)?;
        let mut asked: Vec<Carried> = testbed.write_down(false);
        asked.retain(|frame| frame.direction == Direction::Forward);
        asked.sort_by_key(|frame| frame.entered);
        if let Some(nic) = ground.kernels_nic {
            nic::as_modelled(nic, &mut asked);
        }
        Ok(Self { shots: paired(shots, &asked) })
    }

    /// Burst by burst of `length`.
    fn bursts(&self, length: usize) -> impl Iterator<Item = &[(Shot, Option<Carried>)]> {
        self.shots.chunks_exact(length)
    }
}

/// Puts to each shot what the engine asked of it: frames enter the engine in the order of sending.
fn paired(shots: Vec<Shot>, asked: &[Carried]) -> Vec<(Shot, Option<Carried>)> {
    let mut rest = asked.iter();
    let pair = |shot: Shot| (shot, rest.find(|frame| frame.size == shot.size).copied());
    shots.into_iter().map(pair).collect()
}

/// What is known of the path before anything is sent.
#[derive(Copy, Clone, Debug)]
struct Ground {
    rate: Option<BitRate>,
    delay: Nanos,
    /// How long the receiver's NIC may hold a packet, or the kernel's go on polling.
    rest: Nanos,
    /// The NIC whose work the kernel does.
    kernels_nic: Option<NicSpec>,
}

/// Time from the first bit's start to the last bit's arrival of a packet that finds every queue empty, on the longest way.
fn empty_path(links: &[LinkSpec], size: Bytes) -> Nanos {
    links
        .iter()
        .map(|link| {
            let sent = link.rate.map_or(Nanos::ZERO, |rate| rate.time_for(link.framing.padded(size)));
            sent + link.propagations().1
        })
        .sum()
}

/// Measures the testbed that carries `scenario`.
pub(crate) fn check(testbed: &Testbed, scenario: &Scenario) -> Result<LabCheck, LabError> {
    let links = &scenario.links;
    let size = scenario.max_size().min(Bytes(1502));
    let narrow = narrowest(links).map(|(_, link)| link);
    let nic = scenario.destination.nic;
    let ground = Ground {
        rate: narrow.as_ref().and_then(|link| link.rate),
        delay: empty_path(links, size),
        rest: nic::rest(nic),
        kernels_nic: (scenario.lab.nic == LabNic::Kernel).then_some(nic),
    };
    let pairs = Part::run(testbed, &vec![vec![size; 2]; PAIRS], ground)?;
    let small_pairs = Part::run(testbed, &vec![vec![SMALLEST; 2]; PAIRS], ground)?;
    let alternating = (0..LONE * 2).map(|turn| vec![if turn % 2 == 0 { size } else { SMALLEST }]);
    let lone = Part::run(testbed, &alternating.collect::<Vec<_>>(), ground)?;
    let trains = Part::run(testbed, &vec![vec![size; TRAIN]; TRAINS], ground)?;
    let bursts = match has_nic(&scenario.destination) {
        true => Part::run(testbed, &vec![vec![SMALLEST; nic::BURST]; nic::BURSTS], ground)?,
        false => Part { shots: Vec::new() },
    };
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
        nic: NicCheck::of(nic, bursts.shots.iter()),
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
