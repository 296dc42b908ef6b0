//! What a grid file says: worlds, conditions, methods.

use super::draw::Draw;
use super::key::{plain, set_all};
use super::method::{MethodName, MethodSpec};
use super::place::{Only, Place};
use super::published::Published;
use super::sections::{Sections, Within};
use crate::failure::bad_argument;
use crate::verb::echo::Probe;
use anyhow::{Context, Result, anyhow};
use dwell_core::Quantity;
use dwell_sim::{Ranges, Scenario, ScenarioError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A grid file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grid {
    /// What it is for.
    #[serde(default)]
    pub(super) description: String,
    /// Where the packets travel.
    pub(super) world: EvalWorld,
    /// Runs of each condition.
    pub(super) runs: u32,
    /// Labs at once, where the grid is made of runs in labs of their own that wait more than they work.
    #[serde(default = "one")]
    pub(super) together: usize,
    /// What each run measures, one after another, where its block does not say otherwise.
    #[serde(rename = "method", default)]
    methods: Vec<MethodSpec>,
    /// The quantities that get rows; all that a method finds, where none is named.
    #[serde(default)]
    quantities: Vec<Quantity>,
    #[serde(rename = "block")]
    blocks: Vec<Block>,
    /// Figures of a paper, to stand beside ours.
    #[serde(default)]
    pub(super) published: Vec<Published>,
    /// The file itself.
    #[serde(skip)]
    file: PathBuf,
}

/// The worlds that know the truth.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EvalWorld {
    /// A testbed on this machine's kernel.
    Lab,
    /// The simulator.
    Sim,
}

/// Conditions of one kind: a scenario with some of its keys varied, or scenarios drawn at random.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    name: String,
    /// What its runs measure, instead of the grid's methods.
    #[serde(rename = "method", default)]
    methods: Vec<MethodSpec>,
    /// Echoes by these probes are heard instead, in labs of their own.
    #[serde(default)]
    echo: Vec<Probe>,
    /// Routers at these hops are probed instead, in labs of their own, over IPv4 and IPv6.
    #[serde(default)]
    fsd: Vec<u8>,
    /// Its links are sections, which probes between them tell apart, in labs of their own.
    sections: Option<Sections>,
    /// Scenario file, from the grid's folder.
    base: Option<PathBuf>,
    /// Keys of the scenario that every condition sets alike.
    #[serde(default)]
    set: BTreeMap<String, Value>,
    /// Keys of the scenario, each with the values that it takes; every combination is a condition. Keys parted by
    /// commas take the same value.
    #[serde(default)]
    axis: BTreeMap<String, Vec<Value>>,
    /// Conditions of which some keys are drawn at random, instead of axes.
    draw: Option<Draw>,
    /// So many scenarios drawn at random.
    #[serde(default)]
    random: u32,
    /// The largest load that a link of them may have.
    load: Option<f64>,
}

fn one() -> usize {
    1
}

/// One condition.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    /// Name of its block.
    pub(super) block: String,
    /// Its place in the block, from 0.
    pub(super) number: u32,
    /// What its runs measure.
    pub(super) methods: Vec<MethodSpec>,
    /// What echoes its runs hear, where they hear any.
    pub(super) echo: Vec<Probe>,
    /// Which routers its runs probe, where they probe any.
    pub(super) fsd: Vec<u8>,
    /// How its runs measure sections, where they do.
    pub(super) sections: Option<Sections>,
    /// Name of the block, and the keys that differ from condition to condition.
    pub(super) settings: BTreeMap<String, Value>,
    /// All of it.
    pub(super) scenario: Scenario,
}

impl Grid {
    /// Reads a grid file.
    pub(super) fn load(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("{}: cannot read the grid", file.display()))
            .map_err(bad_argument)?;
        let mut grid: Self = toml::from_str(&text).map_err(|error| {
            let before = error.span().map_or(0, |span| span.start).min(text.len());
            let line = 1 + text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count();
            bad_argument(anyhow!("{}:{line}: {}", file.display(), error.message()))
        })?;
        if grid.runs == 0 {
            return Err(bad_argument(anyhow!("{}: runs: at least 1", file.display())));
        }
        grid.file = file.to_owned();
        let wrong = |block: &Block, rule: &str| Err(grid.wrong(block, &anyhow!("{rule}")));
        let mut names = BTreeSet::new();
        for block in &grid.blocks {
            if block.name.is_empty() || block.name.contains(':') {
                return wrong(
                    block,
                    "a name needs letters, and no colon: `--only BLOCK:CONDITION:RUN` has them",
                );
            }
            if !names.insert(&block.name) {
                return wrong(block, "there are two of this name");
            }
            let measured = [
                !block.echo.is_empty(),
                !block.fsd.is_empty(),
                block.sections.is_some(),
                !block.methods.is_empty(),
            ];
            let [echo, fsd, sections, _] = measured;
            let several = measured.into_iter().filter(|one| *one).count() > 1;
            if (echo || fsd || sections) && (several || grid.world == EvalWorld::Sim) {
                return wrong(
                    block,
                    "echoes are heard, routers probed and sections parted in the lab, each in a block of their own \
                     without a [[method]]",
                );
            }
            if grid.together != 1 && !sections {
                return wrong(
                    block,
                    "only labs of sections may stand together: they wait more than they work",
                );
            }
            if grid.methods.is_empty() && measured == [false; 4] {
                return wrong(block, "nothing is measured: neither the block nor the grid has a [[method]]");
            }
            let methods = grid.methods_of(block);
            let asking = methods.iter().filter(|method| method.name.request().is_some()).count();
            if asking != 0 && asking != methods.len() {
                return wrong(block, "methods with and without an agent need blocks of their own");
            }
            let local = |method: &MethodSpec| method.name == MethodName::Local;
            if grid.world == EvalWorld::Sim && methods.iter().any(local) {
                return wrong(
                    block,
                    "the simulator's host has no kernel to look into: `local` is for the lab",
                );
            }
        }
        for published in &grid.published {
            if let Some(problem) = published.problem(&names) {
                return Err(bad_argument(anyhow!(
                    "{}: published, {}: {problem}",
                    file.display(),
                    published.at
                )));
            }
        }
        Ok(grid)
    }

    /// Whether a quantity gets rows.
    pub(super) fn wants(&self, quantity: Quantity) -> bool {
        self.quantities.is_empty() || self.quantities.contains(&quantity)
    }

    /// What is near enough, in the blocks that part sections.
    pub(super) fn near_enough(&self) -> BTreeMap<String, Within> {
        let of = |block: &Block| Some((block.name.clone(), block.sections?.within));
        self.blocks.iter().filter_map(of).collect()
    }

    /// All conditions, block by block.
    pub(super) fn conditions(&self, seed: u64) -> Result<Vec<Condition>> {
        let mut conditions = Vec::new();
        for block in &self.blocks {
            match (&block.base, block.random) {
                (Some(base), 0) if block.load.is_none() => {
                    for (settings, number) in
                        block.settings(seed).map_err(|error| self.wrong(block, &error))?.into_iter().zip(0..)
                    {
                        conditions.push(self.varied(block, number, base, settings)?);
                    }
                }
                (None, 1..) if block.axis.is_empty() && block.set.is_empty() && block.draw.is_none() => {
                    conditions.extend((0..block.random).map(|number| self.drawn(block, seed, number)));
                }
                _ => {
                    let rule = anyhow!(
                        "needs either `base`, with `set` and with `axis` or `draw` or without, or `random`, with `load` or \
                         without"
                    );
                    return Err(self.wrong(block, &rule));
                }
            }
        }
        if conditions.is_empty() {
            return Err(bad_argument(anyhow!("{}: there are no conditions", self.file.display())));
        }
        Ok(conditions)
    }

    /// Every run of `conditions` that `only` names, each with its condition; all of them, where it names none.
    pub(super) fn runs<'a>(
        &self,
        conditions: &'a [Condition],
        only: Option<&Only>,
    ) -> Result<Vec<(&'a Condition, Place)>> {
        let all = conditions.iter().flat_map(|condition| {
            let block = &condition.block;
            let place = move |run| Place { block: block.clone(), condition: condition.number, run };
            (0..self.runs).map(move |run| (condition, place(run)))
        });
        let asked = |place: &Place| {
            only.is_none_or(|only| {
                only.block == place.block
                    && only.condition.is_none_or(|condition| condition == place.condition)
                    && only.run.is_none_or(|run| run == place.run)
            })
        };
        let runs: Vec<_> = all.filter(|(_, place)| asked(place)).collect();
        if runs.is_empty() {
            let names: Vec<&str> = self.blocks.iter().map(|block| block.name.as_str()).collect();
            return Err(bad_argument(anyhow!(
                "{}: there is no such condition or run; the blocks are `{}`, with {} runs of each condition",
                self.file.display(),
                names.join("`, `"),
                self.runs
            )));
        }
        Ok(runs)
    }

    /// What identifies the grid: its text, and every condition that comes of it.
    pub(super) fn digest(&self, conditions: &[Condition]) -> Result<String> {
        let text = std::fs::read(&self.file).map_err(bad_argument)?;
        let mut digest = Sha256::new_with_prefix(text);
        conditions.iter().for_each(|condition| digest.update(condition.scenario.to_toml()));
        Ok(digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }

    fn varied(
        &self,
        block: &Block,
        number: u32,
        base: &Path,
        mut settings: BTreeMap<String, Value>,
    ) -> Result<Condition> {
        let base = self.file.parent().unwrap_or(Path::new("")).join(base);
        // Read as a scenario first: its mistakes are told with their lines.
        Scenario::load(&base).map_err(bad_argument)?;
        let text = std::fs::read_to_string(&base).map_err(bad_argument)?;
        let mut scenario: Value = Value::Table(text.parse::<Table>().map_err(bad_argument)?);
        for (key, value) in block.set.iter().chain(&settings) {
            set_all(&mut scenario, key, value).map_err(|error| self.wrong(block, &error))?;
        }
        let name = base.display().to_string();
        let told = |settings: &BTreeMap<String, Value>| {
            let told: Vec<String> =
                settings.iter().map(|(key, value)| format!("{key} = {}", plain(value))).collect();
            told.join(", ")
        };
        let scenario = Scenario::parse(&name, &toml::to_string(&scenario)?).map_err(|error| match error {
            // The line is one of a text that nobody has seen.
            ScenarioError::Wrong { key, problem, .. } => {
                let all = block.set.clone().into_iter().chain(settings.clone()).collect();
                self.wrong(block, &anyhow!("{name} with {}: {key}: {problem}", told(&all)))
            }
            other => bad_argument(other),
        })?;
        settings.insert("block".to_owned(), Value::String(block.name.clone()));
        Ok(self.condition(block, number, settings, scenario))
    }

    /// The scenario of number `number`; its name says how to draw it again.
    fn drawn(&self, block: &Block, seed: u64, number: u32) -> Condition {
        let usual = Ranges::default();
        let load = block.load.map_or(usual.load.clone(), |most| *usual.load.start()..=most);
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(u64::from(number));
        let scenario = Scenario::random(seed, &Ranges { load, ..usual });
        let rate = scenario.links.last().and_then(|link| link.rate);
        let settings = [
            ("block", Value::String(block.name.clone())),
            ("scenario", Value::String(scenario.name.clone())),
            ("hops", Value::Integer(scenario.links.len() as i64)),
            ("end_link", Value::String(rate.map_or_else(|| "unshaped".to_owned(), |rate| rate.to_string()))),
            ("nic", Value::String(scenario.destination.nic.kind().to_string())),
        ];
        let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        self.condition(block, number, settings, scenario)
    }

    fn condition(
        &self,
        block: &Block,
        number: u32,
        settings: BTreeMap<String, Value>,
        scenario: Scenario,
    ) -> Condition {
        Condition {
            block: block.name.clone(),
            number,
            methods: self.methods_of(block).to_vec(),
            echo: block.echo.clone(),
            fsd: block.fsd.clone(),
            sections: block.sections,
            settings,
            scenario,
        }
    }

    fn methods_of<'a>(&'a self, block: &'a Block) -> &'a [MethodSpec] {
        if block.methods.is_empty() { &self.methods } else { &block.methods }
    }

    fn wrong(&self, block: &Block, error: &anyhow::Error) -> anyhow::Error {
        bad_argument(anyhow!("{}: block `{}`: {error:#}", self.file.display(), block.name))
    }
}

impl Condition {
    /// Whether each of its runs is in a lab of its own.
    pub(super) fn has_own_labs(&self) -> bool {
        !self.echo.is_empty() || !self.fsd.is_empty() || self.sections.is_some()
    }
}

impl Block {
    /// What each condition sets, by the axes or by chance.
    fn settings(&self, seed: u64) -> Result<Vec<BTreeMap<String, Value>>> {
        match &self.draw {
            Some(draw) if self.axis.is_empty() => return draw.settings(&self.name, seed),
            Some(_) => return Err(anyhow!("has axes and a draw; a block has one of them")),
            None => {}
        }
        let mut all = vec![BTreeMap::new()];
        for (key, values) in &self.axis {
            if values.is_empty() {
                return Err(anyhow!("axis {key} has no values"));
            }
            let with = |settings: &BTreeMap<String, Value>, value: &Value| {
                let mut settings = settings.clone();
                settings.insert(key.clone(), value.clone());
                settings
            };
            all = all
                .iter()
                .flat_map(|settings| values.iter().map(move |value| with(settings, value)))
                .collect();
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "name = \"base\"\n[[links]]\nrate = \"1 Gb/s\"\n[[links]]\nrate = \"100 Mb/s\"\n";

    fn grid(text: &str) -> Result<Vec<Condition>> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("base.toml"), BASE)?;
        let file = folder.path().join("grid.toml");
        std::fs::write(&file, text)?;
        Grid::load(&file)?.conditions(1)
    }

    const HEAD: &str = "world = \"sim\"\nruns = 2\n[[method]]\nname = \"knee\"\n";

    #[test]
    fn every_combination_is_a_condition() {
        let block = "[[block]]\nname = \"b\"\nbase = \"base.toml\"\n[block.axis]\n\
                     \"destination.spin\" = [\"0 us\", \"5 us\", \"10 us\"]\n\
                     \"links.last.rate\" = [\"100 Mb/s\", \"unshaped\"]\n";
        let conditions = grid(&format!("{HEAD}{block}")).unwrap();
        assert_eq!(conditions.len(), 6);
        let last = &conditions[5];
        assert_eq!(last.scenario.links[1].rate, None);
        assert_eq!(last.settings["destination.spin"].as_str(), Some("10 us"));
        assert_eq!(last.settings["block"].as_str(), Some("b"));
    }

    #[test]
    fn random_conditions_repeat() {
        let conditions = grid(&format!("{HEAD}[[block]]\nname = \"any\"\nrandom = 5\n")).unwrap();
        let again = grid(&format!("{HEAD}[[block]]\nname = \"any\"\nrandom = 5\n")).unwrap();
        assert_eq!(conditions.len(), 5);
        assert!(conditions.iter().zip(&again).all(|(one, other)| one.scenario == other.scenario));
        assert!(conditions[0].scenario != conditions[1].scenario);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let told = |text: &str| format!("{:#}", grid(text).unwrap_err());
        assert!(told("world = \"sim\"\nruns = \"two\"\n").contains("grid.toml:2: "));
        let error = told(&format!("{HEAD}[[block]]\nname = \"b\"\n"));
        assert!(error.contains("block `b`: needs either `base`"), "{error}");
        let block = |axis: &str| {
            format!("{HEAD}[[block]]\nname = \"b\"\nbase = \"base.toml\"\n[block.axis]\n{axis}\n")
        };
        let error = told(&block("\"links.7.rate\" = [\"1 Gb/s\"]"));
        assert!(error.contains("block `b`: links.7.rate: `7`: there are 2"), "{error}");
        let error = told(&block("\"links.0.rate\" = [\"fast\"]"));
        assert!(error.contains("grid.toml: block `b`") && error.contains("links"), "{error}");
        let error = told(&block("\"destination.spin\" = []"));
        assert!(error.contains("axis destination.spin has no values"), "{error}");
    }

    #[test]
    fn the_simulator_has_no_kernel_to_look_into() {
        let head = HEAD.replace("knee", "local");
        let error = grid(&format!("{head}[[block]]\nname = \"any\"\nrandom = 1\n")).unwrap_err();
        assert!(format!("{error:#}").contains("`local` is for the lab"), "{error:#}");
    }

    #[test]
    fn settings_of_a_block_are_no_axis() {
        let block = "[[block]]\nname = \"b\"\nbase = \"base.toml\"\nset = { destination = { spin = \"7 us\" } }\n\
                     [block.axis]\n\"destination.nic\" = [\"none\", { hold = { period = \"25 us\" } }]\n";
        let conditions = grid(&format!("{HEAD}{block}")).unwrap();
        assert_eq!(conditions.len(), 2);
        assert_eq!(conditions[1].scenario.destination.spin.median().0, 7_000);
        assert_eq!(conditions[1].scenario.destination.nic.period().map(|period| period.0), Some(25_000));
        let keys: Vec<&str> = conditions[1].settings.keys().map(String::as_str).collect();
        assert_eq!(keys, ["block", "destination.nic"]);
    }

    #[test]
    fn a_part_of_a_grid_is_made_of_the_same_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("grid.toml");
        let blocks = "[[block]]\nname = \"a\"\nrandom = 3\n[[block]]\nname = \"b\"\nrandom = 4\n";
        std::fs::write(&file, format!("{HEAD}{blocks}")).unwrap();
        let grid = Grid::load(&file).unwrap();
        let conditions = grid.conditions(1).unwrap();
        let places = |only: Option<&str>| {
            let only = only.map(|only| only.parse().unwrap());
            grid.runs(&conditions, only.as_ref())
                .map(|runs| runs.into_iter().map(|(_, place)| place.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(places(None).unwrap().len(), 14);
        assert_eq!(places(Some("b:2")).unwrap(), ["b:2:0", "b:2:1"]);
        assert_eq!(places(Some("b:3:1")).unwrap(), ["b:3:1"]);
        assert!(places(Some("b:4")).unwrap_err().to_string().contains("the blocks are `a`, `b`"));
        assert_eq!(grid.digest(&conditions).unwrap(), grid.digest(&conditions).unwrap());
        assert_ne!(grid.digest(&conditions).unwrap(), grid.digest(&grid.conditions(2).unwrap()).unwrap());
    }

    #[test]
    fn names_of_blocks_can_be_told_apart() {
        let told = |names: [&str; 2]| {
            let blocks = names.map(|name| format!("[[block]]\nname = \"{name}\"\nrandom = 1\n"));
            format!("{:#}", grid(&format!("{HEAD}{}", blocks.concat())).unwrap_err())
        };
        assert!(told(["a", "a"]).contains("block `a`: there are two"));
        assert!(told(["a:1", "b"]).contains("no colon"));
    }
}
