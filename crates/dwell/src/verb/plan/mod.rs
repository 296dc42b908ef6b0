//! `dwell plan`: what to send and what it will cost, before a packet is sent.

mod cost;
mod given;
mod show;

use crate::failure::bad_argument;
use crate::output::Output;
use crate::picture::Picture;
use crate::screen::{print_json, print_text};
use crate::target::Load;
use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use cost::{Cost, Settings};
use dwell_core::host::{Salehin2017, salehin2015};
use dwell_core::sizing::{self, Crossing, Link, ratio};
use dwell_core::{BitRate, Bytes, LoadLimit, Nanos, Path as _, PathFacts};
use dwell_sim::{Framing, QuantityText, Scenario, SimPath};
use given::{Given, Told};
use std::path::PathBuf;

/// Say what to send, and what it will cost, before a packet is sent
///
/// For a path whose capacities are told, described by a scenario, or measured by Dwell: packet sizes that keep compound
/// probes together (papers/000, equations 17 and 20 to 23), the dispersion on every link with and without cross traffic
/// (24 to 29), the probing load and the time of a run of each method, the smallest application stage that can be found,
/// and the errors that the resolution of the receiver's clock makes.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("path").required(true).args(["file", "links"]))]
#[command(after_help = "Examples:
  dwell plan --links '100 Mb/s, 155 Mb/s, 100 Mb/s, 10 Mb/s'
  dwell plan --links '100 Mb/s, 10 Mb/s, 155 Mb/s, 100 Mb/s' --resolution '1 us' --plot plan.svg
  dwell plan scenarios/wan-8-hops.toml --cross 1,2 --json
  dwell capacity 192.0.2.7 --json > capacity.json; dwell plan capacity.json")]
pub(crate) struct PlanArgs {
    /// A scenario (.toml), a record, or what `dwell capacity --json` printed
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Capacities from this host to the one under test, with commas between them
    #[arg(long, value_name = "RATES", value_delimiter = ',', value_parser = quantity::<BitRate>)]
    links: Vec<BitRate>,

    /// What goes around a packet on the links of --links: Ethernet's padding and gap, or nothing, as in papers/000
    #[arg(long, value_enum, conflicts_with = "file")]
    framing: Option<FramingName>,

    /// Largest IP packet of the path [default: that of the file, or 1500 B]
    #[arg(long, value_name = "SIZE", value_parser = quantity::<Bytes>)]
    mtu: Option<Bytes>,

    /// Resolution of the receiver's clock [default: that of the file, or 1 ns]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = quantity::<Nanos>)]
    resolution: Option<Nanos>,

    /// Probes of each size, of the published schemes
    #[arg(long, value_name = "NUMBER", default_value_t = 500, value_parser = probes)]
    probes: usize,

    /// Idle time before each probe of the published schemes; the other methods keep their own
    #[arg(long, value_name = "TIME", default_value = "100 ms", allow_hyphen_values = true,
          value_parser = quantity::<Nanos>)]
    pause: Nanos,

    /// Cross-traffic packets that come before P_h, and as many between P_h and P_t: one picture line for each number
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1,5,10",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    cross: Vec<u32>,

    /// Size of each cross-traffic packet on the wire
    #[arg(long, value_name = "SIZE", default_value = "64 B", value_parser = quantity::<Bytes>)]
    cross_size: Bytes,

    /// Links that cross traffic enters, counted from 1 [default: those of the scenario that have some, or all but the
    /// first and the last]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    cross_links: Vec<usize>,

    #[command(flatten)]
    load: Load,
}

/// What goes around a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum FramingName {
    /// 72 bytes at least, and a gap of 12
    Ethernet,
    /// The packet alone
    None,
}

pub(crate) fn quantity<T: QuantityText>(text: &str) -> Result<T, String> {
    T::read(text)
}

fn probes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=100_000) => Ok(count),
        _ => Err("a number from 1 to 100000 is needed".to_owned()),
    }
}

/// What is planned.
struct Plan {
    given: Given,
    /// The links that take time.
    path: Vec<Link>,
    /// s_h.
    heading: Bytes,
    resolution: Nanos,
    /// 2 R c_n.
    step: Bytes,
    /// The largest s_t that arrives without dispersion on the quiet path.
    largest: Option<f64>,
    /// s_1 and s_2.
    trailing: Option<[Bytes; 2]>,
    /// u = v, and what that means on each link; the first is the quiet path.
    crossings: Vec<(u32, Vec<Crossing>)>,
    cross_size: Bytes,
    costs: Vec<Cost>,
    probes: usize,
    pause: Nanos,
    seed: u64,
    warnings: Vec<String>,
}

impl PlanArgs {
    pub(crate) fn run(self, output: &Output) -> Result<()> {
        if let Some(file) = &output.record {
            let error = anyhow!("{}: a plan sends nothing, so there is nothing to record", file.display());
            return Err(bad_argument(error));
        }
        output.spare(&Vec::from_iter(self.file.as_deref()), &[])?;
        let plan = self.plan(output.seed)?;
        if output.json {
            print_json(&show::json(&plan)?)?;
        } else {
            print_text(&show::text(&plan))?;
        }
        if let Some(file) = &output.plot {
            let (title, notes, panels) = show::panels(&plan);
            Picture { title, notes, panels }.write(file)?;
        }
        Ok(())
    }

    fn plan(&self, seed: u64) -> Result<Plan> {
        let framing = self.framing.map(|framing| match framing {
            FramingName::Ethernet => Framing::Ethernet,
            FramingName::None => Framing::None,
        });
        let told = Told { framing, mtu: self.mtu, resolution: self.resolution };
        if let Some(problem) = self.impossible() {
            return Err(bad_argument(anyhow!(problem)));
        }
        let given = match &self.file {
            Some(file) => Given::file(file, &told)?,
            None => Given::links(&self.links, &told)?,
        };
        let scenario = &given.scenario;
        let mut warnings: Vec<String> = given.measured.iter().map(|known| known.caveat.clone()).collect();
        // A link that takes no time changes no gap.
        let shaped: Vec<usize> =
            (0..scenario.links.len()).filter(|i| scenario.links[*i].rate.is_some()).collect();
        let unshaped = scenario.links.iter().filter(|link| link.rate.is_none() && link.parallel.is_empty());
        let unshaped = unshaped.count();
        if unshaped > 0 {
            let all = scenario.links.len();
            warnings.push(format!(
                "{unshaped} of {all} links are unshaped: they take no time, and are left out of the plan"
            ));
        }
        warnings.extend(unplanned(scenario));
        let path: Vec<Link> = shaped
            .iter()
            .filter_map(|i| {
                let link = &scenario.links[*i];
                Some(match link.framing {
                    Framing::Ethernet => Link::ethernet(link.rate?),
                    Framing::None => Link::bare(link.rate?),
                })
            })
            .collect();
        let Some(end) = path.last() else {
            return Err(bad_argument(anyhow!(
                "{}: no link has a rate, so there is nothing to plan",
                given.name
            )));
        };
        let told = SimPath::connected(scenario, seed)?.facts();
        let heading = told.max_size;
        let resolution = scenario.destination.clock.resolution;
        let step = sizing::step(resolution, end.rate);
        let largest = ratio::largest_trailing(&path, heading, &[]);
        let usual = salehin2015::Config::default().trailing;
        // s_2 stays below s_h; a whole byte, not the next one up.
        let most = largest.map(|most| Bytes((most + 1e-6) as u64).min(heading - Bytes(1)));
        let trailing = most.and_then(|most| sizing::trailing_sizes(usual, given.least, step, most));
        let crossed = self.crossed(&given, &shaped, path.len())?;
        let crossings = self.crossings(&crossed, path.len());
        let facts = PathFacts {
            min_size: given.least,
            end_link: Some(end.rate),
            narrow_link: path.iter().map(|link| link.rate).min(),
            ..told
        };
        let limit = LoadLimit { share: self.load.share(), capacity: end.rate };
        let (probes, pause) = (self.probes, self.pause);
        let settings = Settings { probes, pause, trailing, limit, facts, seed };
        let costs = cost::costs(scenario, &settings)?;
        let mut plan = Plan {
            given,
            path,
            heading,
            resolution,
            step,
            largest,
            trailing,
            crossings,
            cross_size: self.cross_size,
            costs,
            probes,
            pause,
            seed,
            warnings,
        };
        plan.doubt();
        Ok(plan)
    }

    /// What cannot be, whatever the path is.
    fn impossible(&self) -> Option<String> {
        if self.resolution == Some(Nanos::ZERO) {
            return Some(
                "--resolution: a clock that ticks every 0 ns is no clock; give 1 ns or more".to_owned(),
            );
        }
        if !(Bytes(1)..=Bytes(65_561)).contains(&self.cross_size) {
            return Some(format!("--cross-size: {} is out of range: 1 to 65561 B", self.cross_size));
        }
        (self.pause > Nanos::from_secs(600))
            .then(|| format!("--pause: {} is out of range: at most 10 min", self.pause))
    }

    /// The links of the plan, from 0, that cross traffic enters.
    fn crossed(&self, given: &Given, shaped: &[usize], count: usize) -> Result<Vec<usize>> {
        if let Some(wrong) = self.cross_links.iter().find(|link| !(1..=count).contains(*link)) {
            let error = anyhow!("--cross-links: there is no link {wrong}; the plan has links 1 to {count}");
            return Err(bad_argument(error));
        }
        if !self.cross_links.is_empty() {
            return Ok(self.cross_links.iter().map(|link| link - 1).collect());
        }
        let links = &given.scenario.links;
        let enters = |at: usize| {
            links[..=at].iter().enumerate().any(|(i, link)| link.cross.iter().any(|flow| i + flow.hops > at))
        };
        let told: Vec<usize> = (0..count).filter(|i| enters(shaped[*i])).collect();
        Ok(if told.is_empty() { (1..count.saturating_sub(1)).collect() } else { told })
    }

    /// The quiet path, and each number of packets.
    fn crossings(&self, crossed: &[usize], count: usize) -> Vec<(u32, Vec<Crossing>)> {
        let mut counts = self.cross.clone();
        counts.sort_unstable();
        counts.dedup();
        if crossed.is_empty() {
            counts.clear();
        }
        let with = |packets: u32| {
            let at = |i| {
                if crossed.contains(&i) {
                    Crossing::both(packets, self.cross_size)
                } else {
                    Crossing::default()
                }
            };
            (packets, (0..count).map(at).collect())
        };
        [0].into_iter().chain(counts).map(with).collect()
    }
}

/// What of a scenario's links no plan allows for.
fn unplanned(scenario: &Scenario) -> Vec<String> {
    let links = || (1..).zip(&scenario.links);
    let parallel = links().filter(|(_, link)| !link.parallel.is_empty()).map(|(number, _)| {
        format!("link {number} is of parallel links, on which packets do not wait for each other: it is left out of the plan")
    });
    let buckets = links().filter_map(|(number, link)| {
        let kind = match (&link.shaper, &link.policer) {
            (Some(_), _) => "shaper",
            (None, Some(_)) => "policer",
            _ => return None,
        };
        let rate = link.rate?;
        Some(format!(
            "link {number} has a {kind}: the plan is for what passes at {rate} before the bucket is empty, and no more than its rate passes for long"
        ))
    });
    parallel.chain(buckets).collect()
}

impl Plan {
    /// The end link.
    fn end(&self) -> BitRate {
        self.path.last().map_or(BitRate(0), |link| link.rate)
    }

    /// Adds what a reader should know before relying on it.
    fn doubt(&mut self) {
        let mut doubts = Vec::new();
        match (self.largest, self.trailing) {
            (None, _) => doubts.push(format!(
                "no trailing packet is small enough to reach the end link together with a heading packet of {}: \
                 `salehin2015` cannot work here; `knee` sends equal packets and does not need it",
                self.heading
            )),
            (Some(largest), None) => doubts.push(format!(
                "no two trailing sizes fit between {} and {largest:.0} B with {} between them: `salehin2015` cannot work \
                 here with this clock; `knee` sends equal packets and does not need it",
                self.given.least, self.step
            )),
            _ => {}
        }
        // The paper's rule against the exact one, on the links that the paper knows: without inter-frame gaps.
        let bare: Vec<Link> = self.path.iter().map(|link| Link::bare(link.rate)).collect();
        if let Some(published) = ratio::published(&bare)
            && let Some(exact) = ratio::largest_trailing(&bare, self.heading, &[])
        {
            let size = self.heading.0 as f64 / published.capped();
            if size >= exact + 1.0 {
                doubts.push(format!(
                    "(20)-(23) allow trailing packets of {size:.0} B, but the dispersion that they reckon away closes \
                     before the end link and opens again: by (24)-(26), {exact:.0} B is the most that arrives without"
                ));
            }
        }
        for cost in self.costs.iter().filter(|cost| cost.method == Salehin2017::NAME) {
            let late = cost.trailing.iter().filter(|size| self.disperses(**size));
            let late: Vec<String> = late.map(|size| size.0.to_string()).collect();
            if !late.is_empty() {
                doubts.push(format!(
                    "`salehin2017` sends trailing packets of {} B, which do not stay with their heading packet on this \
                     path: their gaps are not the end link's",
                    late.join(", ")
                ));
            }
            let close = cost.trailing.windows(2).filter(|two| two[1] - two[0] < self.step).count();
            if close > 0 {
                doubts.push(format!(
                    "{close} of the {} steps between the trailing sizes of `salehin2017` are smaller than 2 R c_n = {}: \
                     this clock hardly tells such sizes apart",
                    cost.trailing.len() - 1,
                    self.step
                ));
            }
        }
        self.warnings.extend(doubts);
    }

    fn disperses(&self, size: Bytes) -> bool {
        self.largest.is_none_or(|largest| size.0 as f64 > largest + 1e-6)
    }
}
