//! What a reader says of sections, held against the truth.

use super::deaf::Deafness;
use super::judge::HalfTally;
use super::way::Way;
use dwell_core::Nanos;
use dwell_core::tcp::section::{Connection, Estimate, Order, Place, Section, SectionQuality, split};
use dwell_core::tcp::{Endpoint, Half, Handshake};
use std::collections::{BTreeMap, HashMap};

/// The client as the probe sees it, the server, the client's number.
type Name = (usize, Endpoint, Endpoint, u32);

/// Judges what a reader says of the sections of a path.
#[derive(Default)]
pub struct JoinedJudge {
    ways: Vec<Case>,
    by_name: HashMap<Name, usize>,
    tallies: BTreeMap<(&'static str, &'static str), HalfTally>,
    wrong: Vec<WrongSection>,
    false_matches: u64,
    matches: u64,
}

struct Case {
    way: Way,
    /// What was told of it by each probe.
    sights: Vec<(usize, Half, Half)>,
    /// The probes between which a section was found; `None` is the end of the path.
    found: Vec<[Option<usize>; 2]>,
}

/// A section that was told, and is not so.
#[derive(Clone, Debug)]
pub struct WrongSection {
    /// From the client on: which probes it is between.
    pub between: [Option<usize>; 2],
    /// What was said.
    pub said: Section,
    /// What was joined.
    pub joined: Connection,
    /// What is true.
    pub way: Way,
}

/// The label of all of them.
const ALL: &str = "all";

/// What kind of section is between these.
const fn kind(between: [Option<usize>; 2]) -> &'static str {
    match between {
        [None, _] => "client",
        [_, None] => "server",
        _ => "inner",
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Nothing,
    Right,
    Wrong,
    /// Wrong, where a tap missed what was answered and no reader could know.
    Hidden,
    Bounded,
    Withheld,
}

impl JoinedJudge {
    /// A connection that passes, before anything is said of it.
    pub fn expect(&mut self, way: Way) {
        for between in knowable(&way) {
            for label in labels(&way) {
                self.tallies.entry((label, kind(between))).or_default().knowable += 1;
            }
        }
        for (probe, truth) in way.at.iter().enumerate() {
            for isn in [truth.isn_client, truth.isn_client.wrapping_add(truth.syn_data)] {
                self.by_name.insert((probe, truth.client, truth.server, isn), self.ways.len());
            }
        }
        self.ways.push(Case { way, sights: Vec::new(), found: Vec::new() });
    }

    /// What a probe tells, before it is joined.
    pub fn told(&mut self, probe: usize, handshake: &Handshake) {
        let Handshake { client, server, isn_client, server_half, client_half, .. } = *handshake;
        if let Some(case) = self.by_name.get(&(probe, client, server, isn_client)) {
            self.ways[*case].sights.push((probe, certain(server_half), certain(client_half)));
        }
    }

    /// What was joined, of which `list` names the probe at each place of the reader's list.
    pub fn hear(&mut self, joined: &Connection, order: &Order, list: &[usize]) {
        let Some(nearest) = joined.sights.iter().map(|sight| list[sight.probe]).find_map(|probe| {
            let ends = &joined.ends;
            self.by_name.get(&(probe, ends.client, ends.server, ends.isn_client)).copied()
        }) else {
            return;
        };
        let case = &self.ways[nearest];
        let is_its = joined
            .sights
            .iter()
            .all(|sight| case.sights.contains(&(list[sight.probe], sight.server, sight.client)));
        let nat = joined.sights.iter().any(|sight| sight.flags.has(dwell_core::tcp::Flag::Nat));
        self.matches += u64::from(nat);
        self.false_matches += u64::from(nat && !is_its);
        for said in split(joined, order) {
            let at = |place| match place {
                Place::Client | Place::Server => None,
                Place::Probe(rank) => Some(list[order.probe(said.way, rank)]),
            };
            self.judge(nearest, [at(said.from), at(said.to)], &said, joined);
        }
    }

    fn judge(&mut self, case: usize, between: [Option<usize>; 2], said: &Section, joined: &Connection) {
        let Case { way, found, .. } = &mut self.ways[case];
        let verdict = verdict(way, between, said);
        let is_known = knowable(way).contains(&between);
        if verdict == Verdict::Right && is_known {
            if found.contains(&between) {
                return;
            }
            found.push(between);
        }
        for label in labels(way) {
            let tally = self.tallies.entry((label, kind(between))).or_default();
            match verdict {
                Verdict::Nothing => {}
                Verdict::Right if is_known => tally.found += 1,
                Verdict::Right => tally.lucky += 1,
                Verdict::Wrong => tally.wrong += 1,
                Verdict::Hidden => tally.hidden += 1,
                Verdict::Bounded => tally.bounded += 1,
                Verdict::Withheld => tally.withheld += 1,
            }
        }
        if verdict == Verdict::Wrong {
            self.wrong.push(WrongSection { between, said: *said, joined: joined.clone(), way: way.clone() });
        }
    }

    /// By label and kind of section (client, inner, server), how it was told; the label `all` counts every connection.
    #[must_use]
    pub const fn tallies(&self) -> &BTreeMap<(&'static str, &'static str), HalfTally> {
        &self.tallies
    }

    /// The tally of all connections for one kind.
    #[must_use]
    pub fn all(&self, kind: &'static str) -> HalfTally {
        self.tallies.get(&(ALL, kind)).cloned().unwrap_or_default()
    }

    /// What was wrong.
    #[must_use]
    pub fn wrong(&self) -> &[WrongSection] {
        &self.wrong
    }

    /// How many connections were joined by their numbers alone, and how many of those are several.
    #[must_use]
    pub const fn matches(&self) -> (u64, u64) {
        (self.matches, self.false_matches)
    }

    /// The connections of which a section could be known and was not told, with the probes that it is between.
    pub fn missed(&self) -> impl Iterator<Item = ([Option<usize>; 2], &Way)> {
        self.ways.iter().flat_map(|case| {
            let missed = knowable(&case.way).into_iter().filter(|between| !case.found.contains(between));
            missed.map(|between| (between, &case.way))
        })
    }
}

fn labels(way: &Way) -> impl Iterator<Item = &'static str> {
    way.at.first().into_iter().flat_map(|truth| truth.labels.clone()).chain([ALL])
}

fn certain(half: Half) -> Half {
    if matches!(half, Half::OneOf(..)) { Half::Unknown } else { half }
}

/// Each section of which what passed proves a value.
fn knowable(way: &Way) -> Vec<[Option<usize>; 2]> {
    let parting: Vec<usize> = way.parting().collect();
    let (Some(first), Some(last)) = (parting.first(), parting.last()) else { return Vec::new() };
    let mut known = Vec::new();
    if way.at[*first].client_half.known.is_some() {
        known.push([None, Some(*first)]);
    }
    let inner = parting.windows(2).filter(|pair| way.between(pair[0], pair[1]).knowable);
    known.extend(inner.map(|pair| [Some(pair[0]), Some(pair[1])]));
    if way.at[*last].server_half.known.is_some() {
        known.push([Some(*last), None]);
    }
    known
}

fn verdict(way: &Way, between: [Option<usize>; 2], said: &Section) -> Verdict {
    let (server_side, client_side, least) = match between {
        // There is no such section: the order is wrong.
        [Some(near), Some(far)] if near >= far => {
            return if said.rtt.is_some() { Verdict::Wrong } else { Verdict::Nothing };
        }
        [Some(near), Some(far)] => {
            let between = way.between(near, far);
            (between.server_side, between.client_side, between.least)
        }
        [None, Some(first)] => {
            let half = &way.at[first].client_half;
            (Vec::new(), half.values.clone(), half.least)
        }
        [Some(last), None] => {
            let half = &way.at[last].server_half;
            (half.values.clone(), Vec::new(), half.least)
        }
        [None, None] => return Verdict::Nothing,
    };
    let is_false = |estimate: Estimate, values: &[Nanos]| match estimate {
        Estimate::Exact(value) => !values.contains(&value),
        Estimate::AtMost(bound) => bound < least,
        Estimate::AtLeast(bound) => !values.is_empty() && values.iter().all(|value| *value < bound),
        Estimate::Unknown => false,
    };
    // A contradiction that is told as one misleads nobody; that there is one in what is true is our fault.
    let is_wrong = said.quality == SectionQuality::Inconsistent
        || said.rtt.is_some()
            && (is_false(said.server_side, &server_side) || is_false(said.client_side, &client_side));
    let is_hidden =
        |probe: &usize| matches!(way.at[*probe].deafness, Some(Deafness::Hidden | Deafness::ShownLater));
    match said.quality {
        _ if is_wrong && between.iter().flatten().any(is_hidden) => Verdict::Hidden,
        _ if is_wrong => Verdict::Wrong,
        SectionQuality::UpperBound | SectionQuality::LowerBound => Verdict::Bounded,
        SectionQuality::Ambiguous => Verdict::Withheld,
        _ if said.rtt.is_some() => Verdict::Right,
        _ => Verdict::Nothing,
    }
}
